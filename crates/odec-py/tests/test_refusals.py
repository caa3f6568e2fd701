"""What callers give by mistake, and what they are told."""

import warnings

import numpy as np
import odec
import pytest


@pytest.fixture
def m() -> odec.Model:
    return odec.compile("param k = 2\nstate x = 1\nx' = -k*x\nrun { t = 0 .. 1 }\n")


def test_points_are_given_or_drawn(m):
    with pytest.raises(odec.UsageError, match="leave out `random`"):
        m.sweep([{"k": 1.0}], random=5)
    with pytest.raises(odec.UsageError, match="has 7 values, but `random` draws others"):
        m.sweep({"k": odec.lin(0, 1, 7)}, random=5)
    with pytest.raises(odec.UsageError, match="2\\^64"):
        m.sweep({"k": odec.lin(0, 1)}, random=5, seed=2**70)
    with pytest.raises(odec.UsageError, match="`k` twice"):
        m.fit({"t": [0.5, 1.0], "x": [0.3, 0.1]}, ["k", "k"])


def test_a_sweep_that_does_not_fit_into_memory_is_refused(m):
    with pytest.raises(odec.UsageError, match="E0720"):
        m.sweep({"k": odec.lin(1, 2, 10**6)}, samples=10**4)


def test_an_executor_is_no_number(m):
    for call in (lambda: m.sweep({"k": [1.0]}, executor=3), lambda: m.fit({"t": [0.5, 1.0], "x": [0.3, 0.1]}, ["k"], executor=3)):
        with pytest.raises(odec.UsageError, match="`executor` must be an executor"):
            call()


def test_folders_and_parts_that_are_files(m, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(odec.UsageError, match="must be a folder for the parts"):
        m.sweep({"k": [1.0, 2.0]}, out=tmp_path / "file")
    m.sweep({"k": [1.0, 2.0]}, out=tmp_path / "parts", shards=2)
    (tmp_path / "parts" / "part-0-of-2.npz").write_bytes(b"")
    with pytest.raises(odec.UsageError, match="is damaged"):
        m.sweep({"k": [1.0, 2.0]}, out=tmp_path / "parts", shards=2)


def test_names_and_texts_of_a_wrong_kind(m, tmp_path):
    s = m.run()
    for wrong in (lambda: s[["x"]], lambda: m.sweep({"k": [1.0]})[["x"]], lambda: m.with_([1]), lambda: odec.compile("\ud800")):
        with pytest.raises(odec.UsageError):
            wrong()
    with pytest.raises(FileNotFoundError) as e:
        odec.load(tmp_path / "nothing.ode")
    assert isinstance(e.value, odec.UsageError) and "there is no file" in str(e.value)
    assert m.run(record="x").columns == ("x",) and m.run(record="states").columns == ("x",)


def test_plots_of_nothing_and_unknown_scales(m):
    pytest.importorskip("matplotlib").use("agg")
    with pytest.raises(odec.UsageError, match="`log` must be"):
        m.run().plot(log=True)
    with pytest.raises(odec.UsageError, match="`log` must be"):
        m.sweep({"k": [1.0, 2.0]}).plot(log=True)
    with pytest.raises(odec.UsageError, match="nothing to plot"):
        m.run(samples=[]).plot()


def test_messages_have_the_words_of_python():
    m = odec.compile("const q = 2\nstate x = 1\nx' = -q*x\n")
    with pytest.raises(odec.UsageError) as e:
        m.sweep({"q": [1.0]}, t=1)
    assert "with_(q=...)" in str(e.value) and "--set" not in str(e.value)
    table = odec.compile("input q(t) = table([0, 1, 2], [0, 1, 0], linear)\nparam k = 1\nstate x = 1\nx' = -k*x + q(t)\nrun { t = 0 .. 2; samples = 1 }\n")
    with pytest.raises(odec.UsageError, match="reads a table here"):
        table.grad(lambda s: (s["x"][-1], {"x": [0.0, 1.0]}), ["k"])


def test_sweeps_warn_as_the_command_does():
    m = odec.compile("param k = 1\nstate x = 1\nx' = -k*x\nrun { t = 0 .. 1; method = euler; step = 0.025 }\n")
    with pytest.warns(odec.OdecWarning, match="in 1 of 3 runs, first in this one:"):
        w = m.sweep({"k": [1.0, 2.0, 100.0]})
    assert [d.code for d in w.warnings] == ["W0603"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.sweep({"k": [1.0, 1.5]})


def test_numbers_of_numpy_are_numbers(m):
    assert m.with_(k=np.float32(0.5), x=np.int64(3)).values == [("k", 0.5), ("x", 3.0)]
