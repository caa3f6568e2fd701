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
    [{"events": len}, {"args": (1,)}, {"min_step": 1e-3}, {"y0": [1.0, 2.0]}, {"method": "rk77"}, {"atol": [1.0, 2.0]}],
    ids=str,
)
def test_what_it_does_not_take_is_refused_by_name(decay, options):
    with pytest.raises(odec.UsageError):
        odec.solve_ivp(decay, (0, 1), **options)


def test_functions_of_python_are_sent_to_scipy():
    with pytest.raises(odec.UsageError, match="scipy.integrate.solve_ivp"):
        odec.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
