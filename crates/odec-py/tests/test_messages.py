"""Messages name what Python has: arguments, not options of the command."""

import odec
import pytest


def said(call):
    with pytest.raises(odec.OdecError) as caught:
        call()
    return " ".join(str(caught.value).split())


def test_options_are_arguments(decay, lorenz):
    assert "add `t=10`" in said(lambda: lorenz.run())
    assert "`max_steps`" in said(lambda: lorenz.run(5, max_steps=3, method="dopri5"))
    assert '`record=["y"]`' in said(lambda: decay.run(record=["y"]))
    assert "`odec.methods()` lists" in said(lambda: decay.run(method="RK77"))
    with pytest.warns(odec.OdecWarning, match='`method="rodas5p"`'):
        odec.compile("state x = 1\nx' = -1e4*(x - cos(t))\n").run(10, method="tsit5")
    for call in (
        lambda: lorenz.run(),
        lambda: lorenz.run(5, max_steps=3, method="dopri5"),
        lambda: decay.run(record=["y"]),
        lambda: decay.run(atol={"y": 1e-3}),
        lambda: decay.run(samples=[6]),
    ):
        assert "`--" not in said(call)


def test_where_events_change_f_it_is_said():
    ball = odec.compile("state h = 1, h' = 0\nh'' = -9.81\nwhen h < 0 { h' := -h' }\n")
    with pytest.raises(odec.UsageError, match="has no function f") as caught:
        ball.f(0.0, [1.0, 0.0])
    assert caught.value.diagnostics[0].line == 3


def test_mistakes_in_names_and_data_are_said(decay):
    s = decay.run(sens=["k"])
    assert 'sens["x", "k"]' in said(lambda: s.sens["x"])
    assert "samples=" in said(lambda: decay.run([0, 1, 2]))
    assert "read_csv" in said(lambda: decay.fit("data.csv", ["k"]))
    assert "odec.lin" in said(lambda: decay.fit({"t": [1.0], "x": [0.5]}, {"k": (0.1, 10)}))


def test_solutions_are_mappings_and_arrays(decay):
    import numpy as np

    s = decay.run(samples=3)
    assert list(s) == ["t", "x"] and list(dict(s)) == ["t", "x"] and (dict(s)["x"] == s["x"]).all()
    assert np.asarray(s).shape == (4, 2) and (np.array(s) == s.to_numpy()).all()
    w = decay.sweep({"k": [1, 2]})
    assert list(w) == ["t", "x"] and "x" in w and "y" not in w
