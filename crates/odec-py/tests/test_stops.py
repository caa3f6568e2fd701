"""Runs that a `stop` of the model or an error ends, and what is known of them."""

import odec
import pytest

STOP = "state x = 1\nx' = -x\n## half\nwhen x < 0.5 { stop }\nrun { t = 0 .. 5 }\n"
END = 0.6931471805599453
POLE = "state x = 1\nx' = x^2\n"


def test_solve_ivp_ends_at_a_stop_of_the_model():
    r = odec.solve_ivp(odec.compile(STOP), (0, 5), [1.0], dense_output=True, rtol=1e-9)
    assert r.status == 1 and r.success and "half" in r.message
    assert r.t[-1] == pytest.approx(END) and r.sol(0.5)[0] == pytest.approx(2.718281828459045**-0.5, rel=1e-7)
    with pytest.raises(odec.UsageError, match="the run ended at t = 0.69"):
        r.sol(3.0)
    some = odec.solve_ivp(odec.compile(STOP), (0, 5), [1.0], t_eval=[0.1, 0.2, 3, 4])
    assert some.t.tolist() == [0.1, 0.2] and some.y.shape == (1, 2) and some.status == 1
    whole = odec.solve_ivp(odec.compile(STOP), (0, 0.5), [1.0])
    assert whole.status == 0


def test_an_event_of_the_caller_comes_before_a_stop():
    def early(t, y):
        return y[0] - 0.8

    early.terminal = True
    r = odec.solve_ivp(odec.compile(STOP), (0, 5), [1.0], events=early, rtol=1e-9)
    assert r.status == 1 and r.message == "A termination event occurred." and r.y[0, -1] == pytest.approx(0.8)


def test_dense_runs_are_not_evaluated_beyond_a_stop():
    s = odec.compile(STOP).run(5, dense=True, rtol=1e-9)
    for beyond in (3.0, [0.1, 3, 4]):
        with pytest.raises(odec.UsageError, match="the run ended at t = 0.69"):
            s(beyond)
    some = s([0.6, 0.1])
    assert some.t.tolist() == [0.6, 0.1] and len(some) == 2
    assert s(0.25)["x"] == pytest.approx(2.718281828459045**-0.25, rel=1e-7)


def test_dense_runs_that_failed_are_evaluated_up_to_the_failure():
    with pytest.raises(odec.RunError) as e:
        odec.compile(POLE).run(5, dense=True, rtol=1e-9)
    part = e.value.partial
    assert part(0.5)["x"] == pytest.approx(2, rel=1e-6) and part([0.1, 0.8])["x"][1] == pytest.approx(5, rel=1e-6)
    with pytest.raises(odec.UsageError, match="the run ended at t = "):
        part(1.5)


def test_failed_runs_of_sweeps_have_their_times_and_rows():
    m = odec.compile(POLE)
    w = m.sweep({"x": [0.1, 1.0, 2.0]}, t=2, samples=[0.25, 0.75, 2.0])
    assert w.ok.tolist() == [True, False, False]
    assert w.failed[1].t == pytest.approx(1, rel=1e-6) and w.failed[2].t == pytest.approx(0.5, rel=1e-6)
    assert w.failed[1].partial.t.tolist() == [0.25, 0.75] and w.failed[1].partial["x"][1] == pytest.approx(4, rel=1e-3)
    assert w.failed[2].partial.t.tolist() == [0.25] and w.failed[2].partial.model.values == [("x", 2.0)]
    with pytest.raises(odec.RunError) as e:
        m.sweep({"x": [1.0]}, t=2, errors="raise")
    assert e.value.t == pytest.approx(1, rel=1e-6) and len(e.value.partial) == 0


def test_jax_has_no_rows_beyond_a_stop():
    jax = pytest.importorskip("jax")
    import odec.jax

    jax.config.update("jax_enable_x64", True)
    m = odec.compile("param k = 1\nstate x = 1\nx' = -k*x\nwhen x < 0.5 { stop }\n")
    with pytest.raises(odec.UsageError, match="a `stop` of the model ends the run"):
        odec.jax.solution(m, ["k"], t=5, samples=[0.1, 3.0])
    solve = odec.jax.solution(m, ["k"], t=0.5, samples=[0.1, 0.5])
    with pytest.raises(Exception, match="rows at other times"):
        solve(jax.numpy.array([3.0]))
