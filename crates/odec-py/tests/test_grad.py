"""Gradients by the adjoint equations beside closed forms and beside forward sensitivities."""

import numpy as np
import odec
import pytest
from conftest import BALL, BODIES, HEAT, LORENZ

# six masses, whose accelerations depend on one another and on where they are
COUPLED = "param k = 1\nindex i = 1..6\nindex j = 1..6\nstate x[i] = i\nx[i]' + sum(j: 0.1*sin(x[j])*x[j]') = -k*x[i]"
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def squares(s):
    """The sum of the squares of all rows but the first, and its derivatives."""
    y = np.where(s.t[:, None] > s.t[0], s.y, 0.0)
    return (y**2).sum(), 2 * y


def by_sensitivities(m, names, **options):
    """The same from forward sensitivities."""
    s = m.run(**options, sens=names)
    later = s.t > s.t[0]
    columns = [name for name in s.columns if not name.startswith("d(")]
    return np.array([sum(2 * (s[c] * s.sens[c, name])[later].sum() for c in columns) for name in names])


def network(n=50):
    """A ring of reactions with a rate constant each way."""
    lines = [f"param f{i} = {0.5 + 0.01 * i}, b{i} = {0.3 + 0.02 * (i % 7)}" for i in range(n)]
    lines += [f"state x{i} = {1 + 0.1 * (i % 5)}" for i in range(n)]
    for i in range(n):
        j, h = (i + 1) % n, (i - 1) % n
        lines.append(f"x{i}' = -f{i}*x{i}^2 + b{i}*x{j} + f{h}*x{h}^2 - b{h}*x{i}")
    return "\n".join(lines), [f"{k}{i}" for i in range(n) for k in "fb"]


def rod(n=100):
    """A rod with a source at each of its points: stiff."""
    lines = [f"param s{i} = {0.1 * (1 + i % 3)}" for i in range(n)] + [f"state u{i} = 0" for i in range(n)]
    for i in range(n):
        left, right = (f"u{i - 1}" if i else "0"), (f"u{i + 1}" if i + 1 < n else "0")
        lines.append(f"u{i}' = 400*({left} - 2*u{i} + {right}) + s{i}*exp(-u{i})")
    return "\n".join(lines), [f"s{i}" for i in range(n)]


def neurons(n=10):
    """Neurons that all act on each other."""
    weights = np.sin(np.arange(n * n)).reshape(n, n)
    lines = [f"param w{i}_{j} = {float(weights[i, j])!r}" for i in range(n) for j in range(n)]
    lines += [f"state a{i} = {0.1 * (i - 4)}" for i in range(n)]
    lines += [f"a{i}' = -a{i} + tanh({' + '.join(f'w{i}_{j}*a{j}' for j in range(n))})" for i in range(n)]
    return "\n".join(lines), [f"w{i}_{j}" for i in range(n) for j in range(n)]


@pytest.mark.parametrize("made, end", [(network, 3), (rod, 0.5), (neurons, 4)], ids=["network", "rod", "neurons"])
def test_by_100_parameters_it_is_that_of_sensitivities(made, end):
    text, names = made()
    assert len(names) == 100
    m = odec.compile(text)
    options = {"t": end, "samples": np.linspace(0, end, 5), **TIGHT}
    g = m.grad(squares, names, **options)
    wanted = by_sensitivities(m, names, **options)
    assert np.abs(g.to_numpy() - wanted).max() <= 1e-8 * np.abs(wanted).max()
    # each by itself, where it is not next to nothing
    large = np.abs(wanted) > 1e-6 * np.abs(wanted).max()
    np.testing.assert_allclose(g.to_numpy()[large], wanted[large], rtol=1e-8)
    # the rows are those of a run, and no second run records the solution
    s = m.run(**options)
    # whether a second run compares the rows depends on the code that exists already
    counts = [{key: n for key, n in of.stats.items() if key != "second_run"} for of in (g.solution, s)]
    assert (g.solution.y == s.y).all() and counts[0] == counts[1]
    assert g.stats["forward"]["accepted"] == 0
    # the work does not grow with the number of parameters
    few = m.grad(squares, names[:1], **options)
    assert g.stats["backward"]["accepted"] < 3 * max(few.stats["backward"]["accepted"], s.stats["accepted"])
    assert abs(few[names[0]] - wanted[0]) <= 1e-8 * np.abs(wanted).max()


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("made, end", [(network, 3), (rod, 0.5), (neurons, 4)], ids=["network", "rod", "neurons"])
def test_the_error_is_that_of_a_run_of_this_tolerance(made, end, rtol):
    text, names = made()
    m = odec.compile(text)
    options = {"t": end, "samples": np.linspace(0, end, 5)}
    g = m.grad(squares, names, **options, rtol=rtol, atol=1e-3 * rtol)
    found = g.to_numpy()
    wanted = m.grad(squares, names, **options, **TIGHT).to_numpy()
    assert np.abs(found - wanted).max() <= 10 * rtol * np.abs(wanted).max()
    # at a cost below that of 6 runs: evaluations of f, of products with the transpose of df/dy, and of df/dp
    work = g.solution.stats["f"] + g.stats["forward"]["f"] + g.stats["backward"]["f"] + g.stats["integrand"]
    assert work < 4.5 * g.solution.stats["f"], g.stats
    # of which the polynomials of the solution take a part of a run, and steps share the nodes of the integrals
    assert g.stats["forward"]["f"] < 0.6 * g.solution.stats["f"], g.stats
    assert g.stats["integrand"] < 7 * g.stats["backward"]["accepted"], g.stats


def test_a_closed_form_with_every_kind_of_dependence():
    # k is in f, in the initial value and in the output; c in the output alone
    m = odec.compile("param k = 2, c = 3\nstate x = 5/k\nx' = -k*x\noutput q = c*x^2*k")
    times = np.array([0.0, 0.5, 1.0])
    x = 2.5 * np.exp(-2 * times)

    def loss(s):
        return s["q"].sum() + 2 * s["x"][-1], {"q": 1.0, "x": np.array([0, 0, 2.0])}

    g = m.grad(loss, ["k", "c", "x"], t=1, samples=times, **TIGHT)
    # x = 5/k*exp(-k*t): dx/dk = -x*(1/k + t)
    by_k = -x * (0.5 + times)
    assert g.value == pytest.approx((6 * x**2).sum() + 2 * x[-1], rel=1e-11)
    assert g["k"] == pytest.approx((3 * x**2 + 12 * x * by_k).sum() + 2 * by_k[-1], rel=1e-10)
    assert g["c"] == pytest.approx((2 * x**2).sum(), rel=1e-11)
    # a change of the initial value that adds to 5/k
    assert g["x"] == pytest.approx((12 * x * x / 2.5).sum() + 2 * x[-1] / 2.5, rel=1e-10)
    assert list(g) == ["k", "c", "x"] and "x" in g and "z" not in g
    # a value of its own takes the place of 5/k
    own = m.with_(x=2.5).grad(loss, ["k", "x"], t=1, samples=times, **TIGHT)
    assert own["x"] == pytest.approx(g["x"], rel=1e-10)
    x_by_k = -x * times
    assert own["k"] == pytest.approx((3 * x**2 + 12 * x * x_by_k).sum() + 2 * x_by_k[-1], rel=1e-10)


@pytest.mark.parametrize("text, names", [(LORENZ, ["sigma", "rho", "beta", "x", "z"]), (BODIES, ["c", "d", "w", "x", "x'", "y", "y'"])])
def test_other_models_agree_with_sensitivities(text, names):
    m = odec.compile(text)
    options = {"t": (0.1, 1.5), "samples": [0.1, 0.4, 1.5], **TIGHT}
    for model in (m, m.with_({names[0]: 2.5, names[-1]: 1.25})):
        g = model.grad(squares, names, **options)
        np.testing.assert_allclose(g.to_numpy(), by_sensitivities(model, names, **options), rtol=1e-9)
    # and back in time
    options = {"t": (1.0, 0.0), "samples": [1.0, 0.5, 0.0], **TIGHT}
    g = m.grad(squares, names, **options)
    np.testing.assert_allclose(g.to_numpy(), by_sensitivities(m, names, **options), rtol=1e-9)


def test_arrays_have_gradients_of_their_shape():
    m = odec.compile(HEAT)
    options = {"t": 1, "samples": [0, 0.3, 1], **TIGHT}
    g = m.grad(squares, ["D", "s", "u", "s[2]"], **options)
    assert g["s"].shape == (5,) and g["u"].shape == (5,) and isinstance(g["D"], float)
    assert g["s[2]"] == g["s"][1]
    np.testing.assert_allclose(g["D"], by_sensitivities(m, ["D"], **options), rtol=1e-9)
    # it is linear: u = e^(At) u0 + (e^(At) - 1) A^-1 s
    A = 0.7 * (np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1) - 2 * np.eye(5))
    values, vectors = np.linalg.eigh(A)
    by_u, by_s = np.zeros(5), np.zeros(5)
    for t in (0.3, 1.0):
        e = vectors @ np.diag(np.exp(values * t)) @ vectors.T
        d = vectors @ np.diag((np.exp(values * t) - 1) / values) @ vectors.T
        u = e @ np.arange(1, 6.0) ** 2 + d @ np.ones(5)
        by_u, by_s = by_u + 2 * e.T @ u, by_s + 2 * d.T @ u
    np.testing.assert_allclose(g["u"], by_u, rtol=1e-9)
    np.testing.assert_allclose(g["s"], by_s, rtol=1e-9)
    # all parameters without a list
    assert list(m.grad(squares, **options)) == ["D", "s"]


def test_an_integral_is_a_state():
    m = odec.compile("param k = 2\nstate x = 1, L = 0\nx' = -k*x\nL' = (x - 1)^2")
    g = m.grad(lambda s: (s["L"][-1], {"L": (np.arange(len(s)) == len(s) - 1) * 1.0}), t=1, samples=[1], **TIGHT)
    k, e = 2.0, np.exp(-2.0)
    assert g.value == pytest.approx((1 - e**2) / (2 * k) - 2 * (1 - e) / k + 1, rel=1e-10)
    by_k = e**2 / k - (1 - e**2) / (2 * k**2) - 2 * e / k + 2 * (1 - e) / k**2
    assert g["k"] == pytest.approx(by_k, rel=1e-9)


def test_scales_do_not_matter(lorenz):
    options = {"t": 1, "samples": [0.5, 1], "rtol": 1e-9, "atol": 1e-12}
    g = lorenz.grad(squares, ["rho", "x"], **options).to_numpy()
    for factor in (1e-200, 1e-30, 1e30, 1e200):
        scaled = lorenz.grad(lambda s: tuple(factor * part for part in squares(s)), ["rho", "x"], **options).to_numpy()
        np.testing.assert_allclose(scaled / factor, g, rtol=1e-8)
    nothing = lorenz.grad(lambda s: (0, {}), ["rho", "x"], **options)
    assert nothing.value == 0 and (nothing.to_numpy() == 0).all()


def test_the_same_again_and_pickled(lorenz):
    import pickle

    options = {"t": 1, "samples": [0.5, 1]}
    g = lorenz.grad(squares, **options)
    again = pickle.loads(pickle.dumps(lorenz)).grad(squares, **options)
    assert dict(g) == dict(again) and g.stats["parts"] == 1
    assert "Gradient" in repr(g) and g.solution["x"].shape == (2,)


@pytest.mark.parametrize(
    "text, message",
    [
        (BALL, "events"),
        ("param k = 1\nstate x = 1, x >= 0\nx' = -k*x", "bounds"),
        ("param k = 1\nstate x = 1\nx' = if x > 0.5 then -k else -2*k", "comparisons"),
        ("param k = 1\nstate x = 1\nunknown z = 1\nx' = -z\nz^3 + z = k*x", "unknowns"),
        (COUPLED, "coupled"),
        ("param k = 1\nstate x = 1\nx' = 1 - k*x\nrun { t = 0 .. 1; start = steady }", "steady"),
    ],
)
def test_models_without_a_gradient_are_refused_by_name(text, message):
    m = odec.compile(text)
    with pytest.raises(odec.UsageError, match=message):
        m.grad(squares, t=1, samples=[0.5, 1])


def test_what_is_wrong_is_said(lorenz):
    def zero(s):
        return 0.0, np.zeros(s.y.shape)

    for loss, options, match in [
        (3, {}, "function"),
        (lambda s: 1.0, {}, "must return"),
        (lambda s: (1.0, np.zeros(3)), {}, "shape"),
        (lambda s: ("a", s.y), {}, "value of loss"),
        (lambda s: (np.nan, s.y), {}, "value of loss"),
        (lambda s: (1.0, s.y * np.inf), {}, "not finite"),
        (lambda s: (1.0, {"q": s.t}), {}, "no `q`"),
        (lambda s: (1.0, {"x": [1, 2]}), {}, "shape"),
        (lambda s: (1.0, {"t": s.t}), {}, "time"),
        (lambda s: (1.0, {"x": s.t * 1j}), {}, "real"),
        (zero, {"samples": "steps"}, "steps"),
        (zero, {"by": ["rho", "rho"]}, "twice"),
        (zero, {"by": ["q"]}, "neither"),
        (zero, {"by": ["r"]}, "neither"),
        (zero, {"by": 3}, "names"),
    ]:
        with pytest.raises(odec.UsageError, match=match):
            lorenz.grad(loss, **{"t": 1, "samples": [0, 0.5, 1], **options})
    with pytest.raises(ZeroDivisionError):
        lorenz.grad(lambda s: 1 / 0, t=1)
    with pytest.raises(odec.RunError):
        odec.compile("param k = 1\nstate x = 1\nx' = k*x^2").grad(squares, t=2, samples=[1, 2])
    chained = odec.compile("param k = 1\nindex i = 1..2\nstate x = 1\nstate v[i] = 2*x\nx' = -k*x\nv[i]' = -v[i]")
    with pytest.raises(odec.UsageError, match="reads states"):
        chained.grad(squares, ["v"], t=1)
    assert chained.grad(squares, ["x"], t=1, **TIGHT)["x"] == pytest.approx(
        by_sensitivities(chained, ["x"], t=1, **TIGHT)[0], rel=1e-9
    )


def test_vectors_have_a_gradient_with_their_components_last():
    m = odec.compile("param k = 2, w = (0.5, 1)\nstate r = (1, 2), r' = (0.5, 1), x = 1\nr'' = -k*r*x + w\nx' = -x")
    options = {"t": 1, "samples": [0, 0.5, 1.0], **TIGHT}
    for model in (m, m.with_({"r.x": 0.7, "r'.y": 3})):
        g = model.grad(squares, ["r", "r'", "w"], **options)
        names = ["r.x", "r.y", "r'.x", "r'.y", "w.x", "w.y"]
        assert {name: of.shape for name, of in g.items()} == {"r": (2,), "r'": (2,), "w": (2,)}
        np.testing.assert_allclose(g.to_numpy(), by_sensitivities(model, names, **options), rtol=1e-9)
        apart = model.grad(squares, names, **options)
        np.testing.assert_allclose(g.to_numpy(), apart.to_numpy(), rtol=1e-12)
    # of an array: the components of an element next to each other
    m = odec.compile("param k = 2\nindex i = 1..3\nstate p[i] = (i, 2, 1/i), x = 1\np[i]' = -k*i*p[i]*x\nx' = -x")
    g = m.grad(squares, ["p", "p[2]", "p.y", "p[1..2]", "p[3].z"], **options)
    assert [np.shape(of) for of in g.values()] == [(3, 3), (3,), (3,), (2, 3), ()]
    wanted = [by_sensitivities(m, [f"p[{i}].{c}" for c in "xyz"], **options) for i in (1, 2, 3)]
    np.testing.assert_allclose(g["p"], wanted, rtol=1e-9)
    for name, part in [("p[2]", g["p"][1]), ("p.y", g["p"][:, 1]), ("p[1..2]", g["p"][:2]), ("p[3].z", g["p"][2, 2])]:
        assert (g[name] == part).all()
