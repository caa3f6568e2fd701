"""Runs: rows by name, samples, options, failures, signals."""

import gc
import pickle
import signal
import threading

import numpy as np
import odec
import pytest
from conftest import BALL, BODIES, DECAY, HEAT


def test_a_run_gives_rows_by_name(decay):
    s = decay.run(t=(0, 5), samples=100)
    assert s.columns == ("x",) and s.t.shape == (101,) and s.y.shape == (101, 1)
    assert s.t[0] == 0 and s.t[-1] == 5
    np.testing.assert_allclose(s["x"], np.exp(-2 * s.t), rtol=1e-5, atol=1e-8)
    assert s.stats["accepted"] > 3 and s.stats["f"] > 3 and s.stats["method"] in odec.methods()
    assert s.warnings == [] and s.events == []


def test_the_end_is_that_of_the_run_block_or_of_the_caller(decay):
    assert decay.run().t[-1] == 5 and decay.run(3).t[-1] == 3 and decay.run((1, 2)).t[0] == 1
    # the first run must not lend its times, rows or tolerances to the next
    loose = decay.run(3, method="dopri5", rtol=1e-2, atol=1e-3)
    tight = decay.run(3, method="dopri5", rtol=1e-10, atol=1e-13)
    assert tight.stats["accepted"] > loose.stats["accepted"]
    np.testing.assert_allclose(tight["x"], np.exp(-2 * tight.t), rtol=1e-8)
    fresh = odec.compile(DECAY).run(3, method="dopri5", rtol=1e-10, atol=1e-13)
    assert (fresh.y == tight.y).all()


def test_samples_say_which_times_become_rows(decay):
    assert len(decay.run(5, samples=7)) == 8
    steps = decay.run(5, samples="steps")
    assert len(steps) == steps.stats["accepted"] + 1
    times = [0.5, 1.0, 4.0]
    listed = decay.run(5, samples=times)
    assert listed.t.tolist() == times
    np.testing.assert_allclose(listed["x"], np.exp(-2 * np.array(times)), rtol=1e-4)
    log = decay.run(5, samples=odec.log(3, 0.05))
    np.testing.assert_allclose(log.t, [0, 0.05, 0.5, 5])
    with pytest.raises(odec.UsageError, match="outside the run"):
        decay.run(5, samples=[6.0])


def test_columns_are_those_of_their_names(lorenz):
    s = lorenz.run(1, samples=20)
    assert s.columns == ("x", "y", "z", "r")
    np.testing.assert_allclose(s["r"], np.sqrt(s["x"] ** 2 + s["y"] ** 2 + s["z"] ** 2), rtol=1e-14)
    assert s.y[0].tolist()[:3] == [1, 2, 3]
    part = lorenz.run(1, samples=20, record=["z", "x"])
    assert part.columns == ("z", "x") and (part["x"] == s["x"]).all() and (part["z"] == s["z"]).all()
    # the same options again, and others: what was kept of the run before is not taken for them
    assert lorenz.run(1, samples=20).columns == s.columns
    assert lorenz.run(1, samples=20, record="outputs").columns == ("r",)
    with pytest.raises(odec.UsageError, match="no `q`"):
        s["q"]


def test_arrays_have_their_shape():
    m = odec.compile(HEAT)
    s = m.run(0.5, samples=4)
    assert s["u"].shape == (5, 5) and s["u"][0].tolist() == [1, 4, 9, 16, 25]
    assert (s["u[2]"] == s["u"][:, 1]).all()
    assert m.states == ("u[1]", "u[2]", "u[3]", "u[4]", "u[5]")


def test_second_order_states_keep_the_order_of_the_text():
    m = odec.compile(BODIES)
    assert m.states == ("w", "x", "x'", "y", "y'")
    s = m.run(1, samples=10)
    assert s.columns == m.states and s.y[0].tolist() == [7, 1, 2, 3, 4]
    assert m.y0().tolist() == [7, 1, 2, 3, 4]


def test_rows_are_views_that_outlive_the_run_and_cannot_be_written(decay):
    x = decay.run(5)["x"]
    kept = x.copy()
    for k in range(50):
        decay.with_(k=k + 3.0).run(5)
    gc.collect()
    assert (x == kept).all()
    s = decay.run(5)
    assert np.shares_memory(s.y, s["x"])
    for view in (s.t, s.y, s["x"]):
        with pytest.raises(ValueError):
            view[0] = 3
    assert s.to_numpy().flags.writeable


def test_a_failed_run_raises_and_carries_its_rows():
    m = odec.compile("state x = 1\nx' = x^2\n")
    with pytest.raises(odec.RunError) as caught:
        m.run(2, samples=20)
    error = caught.value
    # the solution is 1/(1 - t), with a pole at 1
    assert 0.9 < error.t < 1.001 and len(error.partial) < 21
    assert error.partial.t[-1] <= error.t
    early = error.partial.t < 0.95
    np.testing.assert_allclose(error.partial["x"][early], 1 / (1 - error.partial.t[early]), rtol=1e-3)
    assert error.diagnostics[0].code == "E0604" and early.sum() == 10
    with pytest.raises(odec.RunError):
        m.run(0.5, max_steps=1)


def test_dense_solutions_have_the_values_of_rows(lorenz):
    s = lorenz.run(2, samples=4, dense=True)
    times = np.array([1.7, 0.3, 0.9])
    at = s(times)
    assert at.t.tolist() == times.tolist()
    rows = lorenz.run(2, samples=np.sort(times))
    assert (at["x"] == rows["x"][[2, 0, 1]]).all() and (at["r"] == rows["r"][[2, 0, 1]]).all()
    assert s(0.9)["y"] == rows["y"][1]
    again = pickle.loads(pickle.dumps(s))
    assert (again(times)["x"] == at["x"]).all()
    with pytest.raises(odec.UsageError, match="dense=True"):
        lorenz.run(2)(0.5)


def test_backwards(decay):
    s = decay.run((1, 0), samples=4, dense=True)
    np.testing.assert_allclose(s["x"], np.exp(-2 * (s.t - 1)), rtol=1e-5)
    assert s([0.2, 0.8]).t.tolist() == [0.2, 0.8]


def test_sensitivities(decay):
    s = decay.run(2, sens=["k", "x"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(s.sens["x", "k"], -s.t * np.exp(-2 * s.t), atol=1e-7)
    np.testing.assert_allclose(s.sens["x", "x"], np.exp(-2 * s.t), atol=1e-7)
    assert set(s.sens) == {("x", "k"), ("x", "x")}
    moved = decay.with_(k=3.0).run(2, sens=["k"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(moved.sens["x", "k"], -moved.t * np.exp(-3 * moved.t), atol=1e-7)
    with pytest.raises(odec.UsageError, match="sens="):
        decay.run(2).sens["x", "k"]


def test_sensitivities_by_initial_values_do_not_depend_on_what_ran_before():
    text = "param k = 2, c = 1\nstate x = 1\nx' = c - k*x\n"
    options = {"t": 3, "samples": [0.5, 3.0], "rtol": 1e-10, "atol": 1e-12, "sens": ["x", "k"]}
    lists = [{}, {"x": 0.7}, {"k": 1.3}, {"x": 0.2, "k": 0.9}]
    for first in lists:
        m = odec.compile(text)
        m.with_(first).run(**options)
        for then in lists:
            s = m.with_(then).run(**options)
            x0, k = then.get("x", 1.0), then.get("k", 2.0)
            fast = np.exp(-k * s.t)
            np.testing.assert_allclose(s["x"], 1 / k + (x0 - 1 / k) * fast, rtol=1e-8)
            np.testing.assert_allclose(s.sens["x", "x"], fast, rtol=1e-8)
            np.testing.assert_allclose(s.sens["x", "k"], (fast - 1) / k**2 - s.t * (x0 - 1 / k) * fast, rtol=1e-8)


def test_events_are_executed_and_listed():
    s = odec.compile(BALL).run(0.7, samples=200)
    assert len(s.events) >= 1 and s["h"].min() > -1e-6
    first = s.events[0]
    np.testing.assert_allclose(first.t, np.sqrt(2 / 9.81), rtol=1e-6)
    assert first.name == "bounce"
    name, before, after = first.changes[0]
    assert name == "h'" and after == -0.5 * before
    changed = odec.compile(BALL).with_(e=0.25).run(0.7, samples=200)
    assert changed.events[0].changes[0][2] == -0.25 * changed.events[0].changes[0][1]


def test_warnings_are_issued_once_with_their_message():
    text = "param q = 1\nstate x = 1\nx' = -x\n"
    with pytest.warns(odec.OdecWarning, match="W0201"):
        m = odec.compile(text)
    assert [d.code for d in m.warnings] == ["W0201"]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # said when it was compiled
        m.run(1)


def test_progress_is_told_the_time_and_may_stop_the_run(lorenz):
    told = []
    lorenz.run(2000, samples=2, progress=lambda t: told.append(t))
    assert told and told == sorted(told) and 0 < told[0] <= told[-1] <= 2000
    with pytest.raises(odec.RunError, match="progress") as caught:
        lorenz.run(1e7, samples="steps", record=["x"], progress=lambda t: False)
    assert caught.value.t < 1e7 and caught.value.partial.t[-1] <= caught.value.t
    with pytest.raises(ZeroDivisionError):
        lorenz.run(1e7, samples=2, progress=lambda t: 1 / 0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
def test_a_signal_ends_a_run_without_end(lorenz):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            lorenz.run(1e9, samples=2)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            lorenz.sweep({"rho": odec.lin(20, 30, 1000)}, t=1e6)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert lorenz.run(1).t[-1] == 1


def test_other_threads_go_on_while_a_run_is_solved(lorenz):
    begun, done = threading.Event(), []

    def other():
        begun.wait()
        done.append(1)

    thread = threading.Thread(target=other)
    thread.start()

    def progress(t):
        begun.set()
        return not done

    with pytest.raises(odec.RunError, match="progress"):
        lorenz.run(1e9, samples=2, progress=progress)
    thread.join()


@pytest.mark.parametrize(
    "options",
    [
        {"t": (0, 1, 2)},
        {"t": float("nan")},
        {"t": "1"},
        {"rtol": -1},
        {"atol": {"x": -1}},
        {"atol": {"q": 1e-9}},
        {"step": 0},
        {"max_steps": 0},
        {"max_steps": 1.5},
        {"samples": 0},
        {"samples": "all"},
        {"record": "some"},
        {"record": ["q"]},
        {"method": "rk77"},
        {"linear": "magic"},
        {"run": "second"},
        {"params": "hot"},
        {"sens": ["q"]},
        {"params": {"q": 1}},
        {"params": 3},
        {"method": 3},
        {"record": [1]},
        {"sens": [1]},
        {"samples": 10**30},
        {"t": np.array([0, 1, 2.0])},
        {"t": np.complex128(1 + 1j)},
        {"progress": 3},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_by_name(decay, options):
    with pytest.raises(odec.UsageError) as caught:
        decay.run(**options)
    assert str(caught.value).strip()
