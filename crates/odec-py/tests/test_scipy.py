"""`odec.solve_ivp` beside SciPy's, and SciPy's solvers on our kernels."""

import numpy as np
import odec
import pytest

si = pytest.importorskip("scipy.integrate")

# the problem of SciPy's own tests of `solve_ivp`: y1 = t/(t + 10), y2 = 10*t/(t + 10)^2
RATIONAL = """state y1 = 1/3, y2 = 2/9
y1' = y2/t
y2' = y2*(y1 + 2*y2 - 1)/(t*(y1 - 1))
"""


def exact(t):
    return np.array([t / (t + 10), 10 * t / (t + 10) ** 2])


def test_the_rational_problem_with_every_method():
    m = odec.compile(RATIONAL)
    rtol, atol = 1e-3, 1e-6
    for method in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA", "auto", "tsit5"):
        for span in ((5, 9), (5, 1)):
            res = odec.solve_ivp(m, span, [1 / 3, 2 / 9], method=method, rtol=rtol, atol=atol, dense_output=True)
            assert res.success and res.status == 0 and res.t[0] == span[0] and res.t[-1] == span[1]
            assert res.y.shape == (2, len(res.t)) and res.nfev > 0 and res.t_events is None
            error = (res.y - exact(res.t)) / (atol + rtol * np.abs(exact(res.t)))
            # errors of steps add up: the tolerance bounds the error of one
            assert np.abs(error).max() < 10, (method, span)
            times = np.linspace(*span, 20)
            error = (res.sol(times) - exact(times)) / (atol + rtol * np.abs(exact(times)))
            assert np.abs(error).max() < 10, (method, span)
            assert res.sol(span[1]).shape == (2,)
            np.testing.assert_allclose(res.sol(res.t), res.y, rtol=1e-6)


def test_t_eval_gives_these_times_and_others_are_refused():
    m = odec.compile(RATIONAL)
    for times in (np.array([5, 5.01, 7, 8, 8.01, 9]), np.array([5.01, 7, 8, 8.01]), np.array([5.0])):
        res = odec.solve_ivp(m, (5, 9), [1 / 3, 2 / 9], rtol=1e-6, t_eval=times)
        assert (res.t == times).all()
        np.testing.assert_allclose(res.y, exact(times), rtol=1e-5)
    for times in ([4, 6], [6, 10], [7, 6]):
        with pytest.raises(ValueError):
            odec.solve_ivp(m, (5, 9), [1 / 3, 2 / 9], t_eval=times)


def test_it_agrees_with_scipy_on_the_same_f(lorenz):
    ours = odec.solve_ivp(lorenz, (0, 2), [1.0, 2.0, 3.0], rtol=1e-10, atol=1e-12, t_eval=[0.5, 2])
    theirs = si.solve_ivp(lorenz.f, (0, 2), lorenz.y0(), rtol=1e-10, atol=1e-12, t_eval=[0.5, 2], method="DOP853")
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-7)
    # y0 in the order of `states`, also where solvers have another one
    default = odec.solve_ivp(lorenz, (0, 2), rtol=1e-10, atol=1e-12, t_eval=[0.5, 2])
    assert (default.y == ours.y).all()


def test_start_values_are_in_the_order_of_the_states(bodies):
    y0 = [0.5, 1.5, -1.0, 2.5, 0.25]
    ours = odec.solve_ivp(bodies, (0, 1), y0, rtol=1e-9, atol=1e-12, t_eval=[0, 1])
    assert ours.y[:, 0].tolist() == y0
    theirs = si.solve_ivp(bodies.f, (0, 1), y0, rtol=1e-9, atol=1e-12, t_eval=[0, 1], method="Radau", jac=bodies.jac)
    np.testing.assert_allclose(ours.y[:, 1], theirs.y[:, 1], rtol=1e-6)
    assert bodies.y0().tolist() == [7, 1, 2, 3, 4]


def test_scipy_solves_with_our_jacobians(lorenz):
    wanted = odec.solve_ivp(lorenz, (0, 1), rtol=1e-9, atol=1e-12, t_eval=[1]).y
    for jac in (lorenz.jac, lorenz.jac_sparse):
        res = si.solve_ivp(lorenz.f, (0, 1), lorenz.y0(), method="BDF", jac=jac, rtol=1e-9, atol=1e-12, t_eval=[1])
        np.testing.assert_allclose(res.y, wanted, rtol=1e-5)


def test_a_failure_is_told_as_scipy_tells_it():
    m = odec.compile("state x = 1\nx' = x^2\n")
    res = odec.solve_ivp(m, (0, 2), [1.0])
    assert not res.success and res.status == -1 and res.t[-1] < 1.001 and res.message.strip()


@pytest.mark.parametrize(
    "options",
    [
        {"events": 3},
        {"events": [len]},
        {"events": lambda t, y: y[[0, 0]]},
        {"args": 1.5},
        {"args": (1, 2)},
        {"min_step": 1e-3},
        {"y0": [1.0, 2.0]},
        {"method": "rk77"},
        {"atol": [1.0, 2.0]},
        {"rtol": [1e-3, 1e-3]},
        {"rtol": -1},
        {"first_step": -1},
        {"max_step": -1},
        {"max_step": 0},
        {"t_eval": [[0.5]]},
        {"t_eval": [0.5, 0.5]},
        {"t_eval": [np.nan]},
        {"banana": 1},
    ],
    ids=str,
)
def test_what_it_does_not_take_is_refused_by_name(decay, options):
    with pytest.raises((odec.UsageError, TypeError) if options.get("events") == [len] else odec.UsageError):
        odec.solve_ivp(decay, (0, 1), **options)


def test_functions_of_python_are_sent_to_scipy():
    with pytest.raises(odec.UsageError, match="scipy.integrate.solve_ivp"):
        odec.solve_ivp(lambda t, y: -y, (0, 1), [1.0])


# What follows are SciPy's own tests of `solve_ivp` (scipy/integrate/_ivp/tests/test_ivp.py), on the model in the place of the function.


def close(res, times=None, most=5):
    times = res.t if times is None else times
    y = res.y if times is res.t else res.sol(times)
    error = (y - exact(times)) / (1e-6 + 1e-3 * np.abs(exact(times)))
    assert np.abs(error).max() < most


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("backwards", [False, True])
def test_events(method, backwards):
    m = odec.compile(RATIONAL)

    def first(t, y):
        return y[0] - y[1] ** 0.7

    def second(t, y):
        return y[1] ** 0.6 - y[0]

    def third(t, y):
        return t - 7.4

    third.terminal = True
    span = (8, 5) if backwards else (5, 8)
    start = [4 / 9, 20 / 81] if backwards else [1 / 3, 2 / 9]
    theirs = si.solve_ivp(m.f, span, start, method=method, jac=m.jac if method in ("Radau", "BDF") else None, events=(first, second))
    res = odec.solve_ivp(m, span, start, method=method, rtol=1e-3, atol=1e-6, events=(first, second))
    assert res.status == 0 and len(res.t_events) == 2
    for ours, wanted in zip(res.t_events, theirs.t_events):
        assert len(ours) == len(wanted) == 1 and abs(ours[0] - wanted[0]) < 0.02
    assert 5.3 < res.t_events[0][0] < 5.7 and 7.3 < res.t_events[1][0] < 7.7
    for event, times, rows in zip((first, second), res.t_events, res.y_events):
        assert rows.shape == (1, 2) and np.isclose(event(times[0], rows[0]), 0, atol=1e-9)
        np.testing.assert_allclose(rows[0], exact(times[0]), rtol=5e-3)
    # one direction alone: what goes up with the time goes down against it
    for event in (first, second):
        event.direction = 1
    up = odec.solve_ivp(m, span, start, method=method, rtol=1e-3, atol=1e-6, events=(first, second))
    kept = [len(times) for times in up.t_events]
    for event in (first, second):
        event.direction = -1
    down = odec.solve_ivp(m, span, start, method=method, rtol=1e-3, atol=1e-6, events=(first, second))
    assert [len(times) for times in down.t_events] == [1 - k for k in kept] and sorted(kept) == [0, 1]
    # an end
    res = odec.solve_ivp(m, span, start, method=method, rtol=1e-3, atol=1e-6, events=third, dense_output=True)
    assert res.status == 1 and res.success and res.message == "A termination event occurred."
    assert res.t[-1] == pytest.approx(7.4, abs=1e-12) and res.t_events[0].tolist() == [res.t[-1]]
    np.testing.assert_array_equal(res.y[:, -1], res.y_events[0][-1])
    close(res)
    close(res, np.linspace(span[0], 7.4, 20))
    for times in ([span[0], 6.0 if not backwards else 7.8, 5.0 if backwards else 8.0], [7.5 if backwards else 7.0]):
        res = odec.solve_ivp(m, span, start, method=method, rtol=1e-3, atol=1e-6, events=third, t_eval=times)
        assert res.status == 1 and res.t.tolist() == times[:2] and res.y.shape == (2, len(res.t))
        close(res)


def test_an_event_may_have_to_happen_several_times():
    m = odec.compile("state x = 0, v = 1\nx' = v\nv' = -x\n")

    def up(t, y):
        return y[0] - 0.5

    up.terminal = 3
    res = odec.solve_ivp(m, (0, 1e9), rtol=1e-9, atol=1e-12, events=up)
    wanted = [np.pi / 6, 5 * np.pi / 6, 13 * np.pi / 6]
    np.testing.assert_allclose(res.t_events[0], wanted, rtol=1e-8)
    assert res.status == 1 and res.t[-1] == res.t_events[0][-1]
    up.terminal, up.direction = 2, -1
    res = odec.solve_ivp(m, (0, 100), rtol=1e-9, atol=1e-12, events=[up], t_eval=np.arange(0, 100, 0.5))
    np.testing.assert_allclose(res.t_events[0], [5 * np.pi / 6, 17 * np.pi / 6], rtol=1e-8)
    assert res.t[-1] == 8.5
    # before a solution that ends
    fails = odec.compile("state x = 1\nx' = x^2\n")
    at_5 = lambda t, y: y[0] - 5  # noqa: E731
    res = odec.solve_ivp(fails, (0, 2), rtol=1e-9, events=at_5)
    assert res.status == -1 and res.t_events[0][0] == pytest.approx(0.8, rel=1e-7)
    at_5.terminal = True
    res = odec.solve_ivp(fails, (0, 2), rtol=1e-9, events=at_5, dense_output=True)
    assert res.status == 1 and res.t[-1] == pytest.approx(0.8, rel=1e-7) and res.sol(0.5)[0] == pytest.approx(2, rel=1e-7)


def test_max_step():
    m = odec.compile(RATIONAL)
    for method in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"):
        for span in ((5, 9), (5, 1)):
            res = odec.solve_ivp(m, span, [1 / 3, 2 / 9], rtol=1e-3, atol=1e-6, method=method, max_step=0.5)
            assert res.t[0] == span[0] and res.t[-1] == span[1] and (np.abs(np.diff(res.t)) <= 0.5 + 1e-15).all()
            close(res)


def test_args_are_the_parameters_and_events_take_them():
    m = odec.compile("param a = 1, b = 1\nstate x = 1, y = 0\nx' = -a*x\ny' = b*x\n")
    event = lambda t, y, a, b: y[0] - np.exp(-a)  # noqa: E731
    res = odec.solve_ivp(m, (0, 3), [1.0, 0.0], args=(0.5, 3.0), rtol=1e-9, events=event)
    theirs = si.solve_ivp(lambda t, y, a, b: [-a * y[0], b * y[0]], (0, 3), [1, 0], args=(0.5, 3.0), rtol=1e-9, events=event)
    np.testing.assert_allclose(res.y[:, -1], theirs.y[:, -1], rtol=1e-6)
    assert res.t_events[0][0] == pytest.approx(1.0, rel=1e-8)
    # without args, `fun` has its own
    assert odec.solve_ivp(m, (0, 3)).y[0, -1] == pytest.approx(np.exp(-3), rel=1e-5)


def test_array_rtol():
    m = odec.compile(RATIONAL)
    one = odec.solve_ivp(m, (5, 9), [1 / 3, 2 / 9], rtol=1e-3)
    each = odec.solve_ivp(m, (5, 9), [1 / 3, 2 / 9], rtol=[1e-3, 1e-3])
    finer = odec.solve_ivp(m, (5, 9), [1 / 3, 2 / 9], rtol=[1e-3, 1e-8])
    assert (one.y[:, -1] == each.y[:, -1]).all()
    assert np.abs(finer.y[:, -1] - exact(9)).max() < 1e-7
    with pytest.warns(odec.OdecWarning, match="rtol"):
        odec.solve_ivp(m, (5, 9), [1 / 3, 2 / 9], rtol=1e-20)


def test_no_integration_and_no_times():
    m = odec.compile("state x = 2, y = 3\nx' = -x\ny' = -y\n")
    sol = odec.solve_ivp(m, [4, 4], [2, 3], dense_output=True)
    assert sol.sol(4).tolist() == [2, 3] and sol.sol([4, 5, 6]).tolist() == [[2, 2, 2], [3, 3, 3]] and sol.success
    event = lambda t, y: y[0] - 1.5  # noqa: E731
    for events in (None, event):
        res = odec.solve_ivp(m, [0, 1], [2, 3], t_eval=[], events=events)
        assert res.t.size == 0 and res.y.shape == (2, 0) and res.success
    event.terminal = True
    res = odec.solve_ivp(m, [0, 1], [2, 3], t_eval=[0.9], events=event)
    assert res.t.size == 0 and res.status == 1 and res.t_events[0][0] == pytest.approx(np.log(4 / 3), rel=1e-6)


def test_first_step():
    m = odec.compile(RATIONAL)
    for method in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"):
        for span in ((5, 9), (5, 1)):
            options = {"rtol": 1e-3, "atol": 1e-6, "method": method, "max_step": 0.5}
            res = odec.solve_ivp(m, span, [1 / 3, 2 / 9], first_step=0.1, dense_output=True, **options)
            assert res.t[0] == span[0] and res.t[-1] == span[1]
            assert abs(res.t[1] - 5) == pytest.approx(0.1, rel=1e-12), method
            close(res, np.linspace(*span, 20))
            with pytest.raises(ValueError):
                odec.solve_ivp(m, span, [1 / 3, 2 / 9], first_step=5, **options)
            with pytest.raises(ValueError):
                odec.solve_ivp(m, span, [1 / 3, 2 / 9], first_step=-1, **options)


def test_complex_states_are_refused_with_what_to_do():
    with pytest.raises(odec.UsageError, match="the imaginary part two states"):
        odec.solve_ivp(odec.compile("state x = 1\nx' = -x"), (0, 1), [1 + 1j])
