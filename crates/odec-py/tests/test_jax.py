"""f and runs as functions of jax: values, both directions of differentiation, compiled and mapped. Skipped where there is no jax."""

import numpy as np
import odec
import pytest
from conftest import BALL, BODIES, HEAT, LORENZ

jax = pytest.importorskip("jax", reason="skipped: jax is not installed")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy
import odec.jax  # noqa: E402

P = jnp.array([10.0, 28.0])


@pytest.mark.parametrize("text, names", [(LORENZ, ("sigma", "rho")), (BODIES, ("d", "c")), (HEAT, ("D", "s[2]"))])
def test_f_and_its_derivatives_are_those_of_the_model(text, names):
    m = odec.compile(text)
    f = odec.jax.rhs(m, names)
    t, y = 0.3, m.y0() + 0.5
    p = np.array([0.9, 1.7])
    own = m.with_(dict(zip(names, p)))
    assert (f(t, y, p) == own.f(t, y)).all() and (jax.jit(f)(t, y, p) == own.f(t, y)).all()
    for differentiate in (jax.jacfwd, jax.jacrev):
        by_t, by_y, by_p = differentiate(f, argnums=(0, 1, 2))(t, y, p)
        np.testing.assert_array_equal(by_y, own.jac(t, y))
        np.testing.assert_array_equal(by_t, own.dfdt(t, y))
        np.testing.assert_array_equal(by_p, own.dfdp(t, y, names))
    many = np.stack([y, 2 * y, y - 1])
    np.testing.assert_array_equal(jax.vmap(f, in_axes=(None, 0, None))(t, many, p), [own.f(t, row) for row in many])
    plain = odec.jax.rhs(m)
    assert (plain(t, y) == m.f(t, y)).all()


def test_runs_have_exact_derivatives_in_both_directions():
    m = odec.compile("param k = 2, c = 1\nstate x = 1\nx' = c - k*x\noutput q = x^2\n")
    times = [0.5, 1.0, 3.0]
    solve = odec.jax.solution(m, ["x", "k"], t=3, samples=times, rtol=1e-11, atol=1e-13)
    assert solve.columns == ["x", "q"]

    def exact(p):
        x0, k = p
        x = jnp.stack([1 / k + (x0 - 1 / k) * jnp.exp(-k * t) for t in times])
        return jnp.stack([x, x**2], axis=1)

    p = jnp.array([0.7, 1.3])
    np.testing.assert_allclose(solve(p), exact(p), rtol=1e-9)
    for differentiate in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(differentiate(solve)(p), differentiate(exact)(p), rtol=1e-8)

    def loss(of):
        return lambda p: jnp.sum(jnp.sin(of(p)) * jnp.arange(6.0).reshape(3, 2))

    np.testing.assert_allclose(jax.jit(jax.grad(loss(solve)))(p), jax.grad(loss(exact))(p), rtol=1e-8)
    many = jnp.stack([p, 2 * p])
    np.testing.assert_allclose(jax.vmap(jax.grad(loss(solve)))(many), jax.vmap(jax.grad(loss(exact)))(many), rtol=1e-8)


def test_what_makes_no_sense_is_refused(lorenz):
    heat = odec.compile(HEAT)
    for wrong in (
        lambda: odec.jax.rhs(lorenz, ["q"]),
        lambda: odec.jax.rhs(lorenz, ["rho", "rho"]),
        lambda: odec.jax.rhs(heat, ["s"]),
        lambda: odec.jax.rhs(odec.compile(BALL)),
        lambda: odec.jax.rhs(lorenz, ["rho"])(0.0, jnp.ones(3)),
        lambda: odec.jax.rhs(lorenz, ["rho"])(0.0, jnp.ones(4), P[:1]),
        lambda: odec.jax.solution(lorenz, [], t=1),
        lambda: odec.jax.solution(lorenz, ["q"], t=1),
        lambda: odec.jax.solution(heat, ["s"], t=1),
        lambda: odec.jax.solution(lorenz, ["rho"], t=1, samples="steps"),
        lambda: odec.jax.solution(lorenz, ["rho"], t=1)(P),
    ):
        with pytest.raises(odec.OdecError):
            wrong()
    # a second derivative is none that odec has
    with pytest.raises(ValueError):
        jax.hessian(lambda p: odec.jax.solution(lorenz, ["rho", "sigma"], t=1, samples=[1.0])(p).sum())(P)


def test_single_precision_is_refused(lorenz):
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(odec.UsageError, match="double precision"):
            odec.jax.rhs(lorenz)
    finally:
        jax.config.update("jax_enable_x64", True)
