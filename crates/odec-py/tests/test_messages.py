"""Messages name what Python has: arguments, not options of the command."""

import warnings

import odec
import pytest
from conftest import LORENZ


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


def test_errors_that_the_model_amplifies_are_warned_of_as_on_the_command_line():
    with pytest.warns(odec.OdecWarning, match="W0622"):
        s = odec.compile(LORENZ).run(40, samples=4000, dense=True)
    assert [d.code for d in s.warnings] == ["W0622"]
    late = s([10.0, 40.0])
    assert (late["x"] == [s["x"][1000], s["x"][4000]]).all() and not late.warnings
    with pytest.warns(odec.OdecWarning, match="W0622") as seen:
        odec.solve_ivp(odec.compile(LORENZ), (0, 40), t_eval=[10, 40])
        odec.compile(LORENZ).grad(lambda s: (0.0, {}), t=40, samples=[10, 40])
    # at the line of the caller
    assert [w.filename for w in seen] == [__file__] * 2
    # not where errors have no time to grow
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not odec.compile(LORENZ).run(1).warnings
        assert not odec.compile(LORENZ).sweep({"rho": [28, 29]}, t=1).warnings


def test_sweeps_warn_of_errors_that_the_model_amplifies_as_the_command_does():
    with pytest.warns(odec.OdecWarning, match="in 2 of 3 runs, first in this one: errors of the steps grow") as seen:
        # with the smallest value, the solution goes to an equilibrium
        swept = odec.compile(LORENZ).sweep({"rho": [5, 28, 29]}, t=40)
    assert [w.filename for w in seen] == [__file__]
    assert [d.code for d in swept.warnings] == ["W0622"]
