"""Derivatives by arrays and fits of them: against the equations of the derivatives, solved by SciPy."""

import pickle

import numpy as np
import odec
import pytest

si = pytest.importorskip("scipy.integrate")

ROD = """const N = 5
index i = 1..N
param D = 1.5
param q[i] = i/10
state u[i] = i^2*(1 + q[i]^2)
u[i]' = D*(u[i-1] - 2*u[i] + u[i+1]) + q[i]^2*sin(t)*u[i]
boundary u[0] = u[1], u[N+1] = u[N]
output total = sum(i: u[i]*q[i])
"""
FINE = {"rtol": 1e-12, "atol": 1e-14}


def derivatives(times):
    """u, du/dq, du/du(0) and du/dD."""
    i = np.arange(1.0, 6)
    q = i / 10
    laplace = -2 * np.eye(5) + np.eye(5, k=1) + np.eye(5, k=-1)
    laplace[0, 0] += 1
    laplace[4, 4] += 1

    def f(t, z):
        u, by_q, by_u, by_d = z[:5], z[5:30].reshape(5, 5), z[30:55].reshape(5, 5), z[55:]
        jac = 1.5 * laplace + np.diag(q**2 * np.sin(t))
        own = np.diag(2 * q * np.sin(t) * u)
        return np.concatenate([jac @ u, (jac @ by_q + own).ravel(), (jac @ by_u).ravel(), jac @ by_d + laplace @ u])

    start = np.concatenate([i**2 * (1 + q**2), np.diag(i**2 * 2 * q).ravel(), np.eye(5).ravel(), np.zeros(5)])
    z = si.solve_ivp(f, (0, 2), start, method="DOP853", rtol=1e-13, atol=1e-15, t_eval=times).y.T
    return z[:, :5], z[:, 5:30].reshape(-1, 5, 5), z[:, 30:55].reshape(-1, 5, 5), z[:, 55:]


def test_derivatives_by_arrays():
    times = [1.0, 2.0]
    m = odec.compile(ROD)
    s = m.run(2, samples=times, sens=["q", "u", "D"], **FINE)
    u, by_q, by_u, by_d = derivatives(times)
    close = {"rtol": 1e-10, "atol": 1e-11}
    np.testing.assert_allclose(s["u"], u, **close)
    np.testing.assert_allclose(s.sens["u", "q"], by_q, **close)
    np.testing.assert_allclose(s.sens["u", "u"], by_u, **close)
    np.testing.assert_allclose(s.sens["u", "D"], by_d, **close)
    # an output reads q too
    q = np.arange(1, 6) / 10
    np.testing.assert_allclose(s.sens["total", "q"], np.einsum("i,tij->tj", q, by_q) + u, **close)
    # single elements, and those of which one has a value of its own
    np.testing.assert_allclose(s.sens["u[2]", "q[3]"], by_q[:, 1, 2], **close)
    given = m.with_({"u[2]": 7.0}).run(2, samples=times, sens=["u[2]", "u[3]", "q[3]"], **FINE)
    np.testing.assert_allclose(given.sens["u", "u[2]"], by_u[:, :, 1], **close)
    np.testing.assert_allclose(given.sens["u", "u[3]"], by_u[:, :, 2], **close)
    with pytest.raises(odec.UsageError, match="not to all of `q`"):
        given.sens["u", "q"]
    again = pickle.loads(pickle.dumps(s))
    assert (again.sens["u", "q"] == s.sens["u", "q"]).all()
    # the adjoint equations give the same
    g = m.grad(lambda s: (s["total"].sum(), {"total": 1.0}), ["q"], t=2, samples=times, **FINE)
    np.testing.assert_allclose(g["q"], s.sens["total", "q"].sum(axis=0), rtol=1e-9)


def test_two_indices_and_second_order():
    m = odec.compile("index i = 1..2, j = 1..3\nparam k[i,j] = i + j/10\nstate x[i,j] = 1, x[i,j]' = 0\nx[i,j]'' = -k[i,j]*x[i,j]\n")
    s = m.run(1, samples=[1.0], sens=["k", "x'"], **FINE)
    w = np.sqrt(np.add.outer([1.0, 2.0], [0.1, 0.2, 0.3])).ravel()
    assert s.sens["x", "k"].shape == (1, 2, 3, 2, 3)
    np.testing.assert_allclose(s.sens["x", "k"].reshape(6, 6), np.diag(-np.sin(w) / (2 * w)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(s.sens["x", "x'"].reshape(6, 6), np.diag(np.sin(w) / w), rtol=1e-10, atol=1e-12)


HYBRID = """index i = 1..2
param c[i] = 0.5 + i/2, a[i] = i
state x[i] = 0
discrete n = 0
x[1]' = a[1]
x[2]' = a[2] + n
when x[1] > c[1] { x[1] := c[2]/10; n += a[2] }
output n
"""


def hybrid(c, a, end):
    x, n, t = [0.0, 0.0], 0.0, 0.0
    while t + (dt := (c[0] - x[0]) / a[0]) < end:
        x, n, t = [c[1] / 10, x[1] + (a[1] + n) * dt], n + a[1], t + dt
    return np.array([x[0] + a[0] * (end - t), x[1] + (a[1] + n) * (end - t)])


def test_across_events():
    m = odec.compile(HYBRID)
    s = m.run(3, samples=[2.5, 3.0], sens=["c", "a"], **FINE)
    values = {"c": [1.0, 1.5], "a": [1.0, 2.0]}
    for name in values:
        for k in range(2):
            moved = [{of: np.array(v) for of, v in values.items()} for _ in range(2)]
            moved[0][name][k] += 1e-6
            moved[1][name][k] -= 1e-6
            plus, minus = (np.array([hybrid(v["c"], v["a"], t) for t in s.t]) for v in moved)
            np.testing.assert_allclose(s.sens["x", name][:, :, k], (plus - minus) / 2e-6, rtol=1e-7, atol=1e-7)


def test_arrays_are_fitted():
    m = odec.compile(ROD)
    wanted = {"q": [0.15, 0.2, 0.3, 0.45, 0.5], "D": 1.3}
    data = m.with_(wanted).run(1, samples=[0.2, 0.4, 0.6, 1.0])
    fit = m.fit({"t": data.t, "u": data["u"]}, ["q", "D"])
    np.testing.assert_allclose([fit.params[f"q[{k}]"] for k in range(1, 6)], wanted["q"], rtol=1e-5)
    assert fit.params["D"] == pytest.approx(1.3, rel=1e-5)
    # the same by names and a frame with the times as its index
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"u[{k}]": data["u"][:, k - 1] for k in range(1, 6)}, index=pandas.Index(data.t, name="t"))
    each = m.fit(frame, [*(f"q[{k}]" for k in range(1, 6)), "D"])
    assert dict(each.params) == dict(fit.params)
    weighted = m.fit({"t": data.t, "u": data["u"]}, ["q"], sigma={"u": np.linspace(0.1, 1, 20).reshape(4, 5)})
    by_name = {f"u[{k}]": np.linspace(0.1, 1, 20).reshape(4, 5)[:, k - 1] for k in range(1, 6)}
    assert dict(weighted.params) == dict(m.fit(frame, ["q"], sigma=by_name).params)
    with pytest.raises(odec.UsageError, match="has 5 elements"):
        m.fit({"t": data.t, "u": data["u"][:, :3]}, ["q"])


def test_sweeps_have_arrays():
    m = odec.compile(ROD)
    w = m.sweep({"D": [1.0, 2.0]}, t=1)
    assert w["u"].shape == (2, 5) and (w["u"][:, 2] == w["u[3]"]).all()
    with pytest.raises(odec.UsageError, match="have no `u`"):
        m.sweep({"D": [1.0, 2.0]}, t=1, record=["u[2..3]"])["u"]
