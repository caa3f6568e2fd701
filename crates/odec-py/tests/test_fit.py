"""Fits: parameters that are known come back, published problems reach their published optimum, and what data lack is said."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import odec
import pytest

KINETICS = """model kinetics
param k1 = 1, k2 = 1
state A = 1, B = 0
A' = -k1*A
B' = k1*A - k2*B
output seen = 2*B
run { t = 0 .. 5 }
"""


def sampled(model, times, names):
    rows = model.run(float(times[-1]), samples=times, rtol=1e-10)
    return {"t": np.array(times), **{name: rows[name].copy() for name in names}}


def test_messages_have_ranges_of_python():
    m = odec.compile("param k = 1, A = 1\nstate x = 1\nx' = -k*x\noutput q = A*x\n")
    data = {"t": [0.5, 1.0, 2.0], "q": [1.2, 0.8, 0.3]}
    with pytest.raises(odec.UsageError, match="E0855") as caught:
        m.fit(data, {"k": odec.geom(0.1, 10), "A": None}, starts=3)
    assert '`"A": odec.lin(0.1, 10)` or `"A": odec.geom(0.1, 10)`' in str(caught.value)


def test_known_parameters_come_back():
    m = odec.compile(KINETICS)
    times = np.linspace(0, 5, 20)
    data = sampled(m.with_(k1=2.5, k2=0.3, A=1.7), times, ["B", "seen"])
    for params in (
        ["k1", "k2", "A"],
        {"k1": odec.geom(1e-3, 1e3), "k2": odec.geom(1e-3, 1e3), "A": odec.lin(0, 10)},
        {"k1": 5.0, "k2": 0.01, "A": None},
    ):
        fit = m.fit(data, params)
        assert fit.converged and not fit.unidentified and fit.rss < 1e-14
        assert list(fit.params) == list(params)
        assert [fit.params[n] for n in ("k1", "k2", "A")] == pytest.approx([2.5, 0.3, 1.7], rel=1e-6)
        assert fit.model.params["k1"] == fit.params["k1"] and fit.model.y0()[0] == fit.params["A"]


def test_the_jacobian_is_that_of_the_residuals():
    from odec._fit import Data, _Problem, _quantities, _set
    from odec._model import _settings

    m = odec.compile(KINETICS)
    data = sampled(m.with_(k1=2.5), np.linspace(0, 5, 7), ["B", "seen"])
    quantities = _quantities({"k1": odec.geom(0.1, 10), "k2": odec.lin(0, 2), "A": None})
    sets = [_set(m, Data(data), {"B": 0.1, "seen": 0.5}, 0, 2), _set(m, Data(data, {"B": 0.3}), 2.0, 1, 2)]
    fitting = _Problem(m, sets, quantities, _settings(rtol=1e-11, atol=1e-14)).fitting
    point = np.array([0.3, 0.7, 1.2])
    residuals, jac = fitting.evaluated(point.tolist())
    assert residuals.shape == (28,) and jac.shape == (28, 3)
    for k in range(3):
        step = np.zeros(3)
        step[k] = 1e-5
        wanted = (fitting.evaluated((point + step).tolist())[0] - fitting.evaluated((point - step).tolist())[0]) / 2e-5
        np.testing.assert_allclose(jac[:, k], wanted, atol=1e-7)


def test_a_value_of_a_set_is_not_fitted_too():
    m = odec.compile(KINETICS)
    data = sampled(m, [1.0, 2.0], ["B"])
    with pytest.raises(odec.UsageError, match="`k1` is fitted"):
        m.fit([odec.Data(data), odec.Data(data, {"k1": 3.0})], ["k1", "k2"])


def test_sets_missing_values_and_repeated_times():
    m = odec.compile(KINETICS)
    true = m.with_(k1=2.0, k2=0.5)
    times = np.array([0.5, 1.0, 1.0, 3.0])
    sets = []
    for A in (1.0, 4.0):
        rows = true.with_(A=A).run(3, samples=[0.5, 1.0, 3.0], rtol=1e-10)
        B = rows["B"][[0, 1, 1, 2]].copy()
        B[1] += 0.01
        B[2] -= 0.01
        sets.append(odec.Data({"t": times, "A": [math.nan] * 3 + [rows["A"][2]], "B": B}, {"A": A}))
    fit = m.fit(sets, ["k1", "k2"])
    assert len(fit.residuals) == 10 and fit.dof == 8
    # repeated measurements weigh as their mean
    assert [fit.params["k1"], fit.params["k2"]] == pytest.approx([2.0, 0.5], rel=1e-6)
    assert fit.rss == pytest.approx(4e-4, rel=1e-6)
    assert [s["A"][0] for s in fit.solutions] == pytest.approx([4 * math.exp(-1) / 4, 4 * math.exp(-1)], rel=1e-6)
    backwards = [odec.Data({name: np.asarray(v)[::-1] for name, v in one.table.items()}, one.values) for one in sets]
    assert m.fit(backwards, ["k1", "k2"]).params == pytest.approx(fit.params, rel=1e-9)


def test_weights_decide_between_data_that_disagree():
    m = odec.compile("param c = 1\nstate x = 0\nx' = c\nrun { t = 0 .. 1 }\n")
    data = {"t": [1.0, 1.0], "x": [1.0, 2.0]}
    assert m.fit(data, ["c"]).params["c"] == pytest.approx(1.5)
    # weights 1 and 1/4 by sigma 1 and 2
    fit = m.fit(data, ["c"], sigma={"x": [1.0, 2.0]})
    assert fit.params["c"] == pytest.approx((1 + 2 / 4) / (1 + 1 / 4)) and fit.stderr["c"] == pytest.approx(math.sqrt(1 / 1.25))
    low, high = fit.interval(0.95)["c"]
    assert high - low == pytest.approx(2 * 1.959964 * math.sqrt(1 / 1.25), rel=1e-5)


def test_a_line_has_the_errors_of_linear_regression():
    stats = pytest.importorskip("scipy.stats")
    m = odec.compile("param slope = 1\nstate x = 0\nx' = slope\nrun { t = 0 .. 1 }\n")
    t = np.linspace(0.5, 6, 12)
    x = 0.7 + 1.3 * t + 0.1 * np.sin(37 * t)
    fit = m.fit({"t": t, "x": x}, ["slope", "x"])
    line = stats.linregress(t, x)
    assert [fit.params["slope"], fit.params["x"]] == pytest.approx([line.slope, line.intercept], rel=1e-8)
    assert [fit.stderr["slope"], fit.stderr["x"]] == pytest.approx([line.stderr, line.intercept_stderr], rel=1e-6)
    factor = stats.t.ppf(0.975, 10)
    assert fit.interval()["slope"] == pytest.approx((line.slope - factor * line.stderr, line.slope + factor * line.stderr))
    assert fit.correlation[0, 1] == pytest.approx(-np.mean(t) / math.sqrt(np.mean(t**2)))


def test_what_the_data_do_not_determine_is_named():
    m = odec.compile("param a = 2, b = 3, c = 1, idle = 4\nstate x = 1\nx' = -a*b*x + c\noutput u = idle\nrun { t = 0 .. 2 }\n")
    data = sampled(m.with_(a=1.0, c=0.5), np.linspace(0, 2, 9), ["x"])
    with pytest.warns(odec.OdecWarning, match="do not determine `a` and `b` separately"):
        fit = m.fit(data, ["a", "b", "c"])
    assert [set(names) for names in fit.unidentified] == [{"a", "b"}]
    assert fit.params["a"] * fit.params["b"] == pytest.approx(3.0, rel=1e-6) and fit.params["c"] == pytest.approx(0.5, rel=1e-6)
    assert math.isinf(fit.stderr["a"]) and math.isinf(fit.stderr["b"]) and math.isfinite(fit.stderr["c"])
    assert "do not determine a and b separately" in repr(fit)
    with pytest.warns(odec.OdecWarning, match="do not determine `idle`"):
        alone = m.fit(data, {"a": odec.geom(0.1, 10), "idle": odec.geom(1, 10)})
    assert [set(names) for names in alone.unidentified] == [{"idle"}] and math.isfinite(alone.stderr["a"])


def test_starts_find_the_best_of_several_minima():
    m = odec.compile("param w = 3\nstate x = 0, v = 1\nx' = v*w\nv' = -w*x\nrun { t = 0 .. 10 }\n")
    data = sampled(m.with_(w=5.0), np.linspace(0.1, 10, 60), ["x"])
    alone = m.fit(data, {"w": odec.geom(2.5, 8)})
    assert alone.rss > 1
    many = m.fit(data, {"w": odec.geom(2.5, 8)}, starts=12, seed=2)
    assert many.params["w"] == pytest.approx(5.0, rel=1e-6) and len(many.starts) == 12
    assert many.starts[0] == pytest.approx(alone.rss) and min(many.starts) == pytest.approx(many.rss, abs=1e-12)
    with ThreadPoolExecutor(2) as pool:
        assert m.fit(data, {"w": odec.geom(2.5, 8)}, starts=12, seed=2, executor=pool).starts == many.starts


def test_steps_to_where_there_is_no_solution_are_shortened():
    # from k = 3 on there is no solution at the last time
    m = odec.compile("param k = 0.2\nstate x = 1\nx' = k*x^2\nrun { t = 0 .. 0.9 }\n")
    t = np.linspace(0.1, 0.9, 9)
    fit = m.fit({"t": t, "x": 1 / (1 - 1.05 * t)}, ["k"])
    assert fit.params["k"] == pytest.approx(1.05, rel=1e-6)
    with pytest.raises(odec.RunError):
        m.fit({"t": t, "x": 1 / (1 - t)}, {"k": 5.0})


def test_fits_can_be_pickled_and_interrupted():
    m = odec.compile(KINETICS)
    fit = m.fit(sampled(m.with_(k1=2.5), np.linspace(0, 5, 7), ["B"]), {"k1": odec.geom(0.1, 10)}, starts=3, threads=2)
    again = pickle.loads(pickle.dumps(fit))
    assert again.params == fit.params and again.interval(0.9) == fit.interval(0.9)
    assert (again.solutions[0]["B"] == fit.solutions[0]["B"]).all()


def test_bounds_hold():
    m = odec.compile(KINETICS)
    data = sampled(m.with_(k1=2.5, k2=0.3), np.linspace(0, 5, 20), ["B"])
    with pytest.warns(odec.OdecWarning, match="upper end"):
        fit = m.fit(data, {"k1": odec.lin(0.1, 2.0), "k2": odec.geom(0.01, 10)})
    assert fit.params["k1"] == 2.0 and fit.bounded == {"k1": "upper"} and math.isnan(fit.stderr["k1"])


@pytest.mark.parametrize(
    ("data", "params", "match"),
    [
        ({"B": [1.0]}, ["k1"], "no time column"),
        ({"t": [1.0]}, ["k1"], "measured"),
        ({"t": [1.0], "q": [1.0]}, ["k1"], "q"),
        ({"t": [1.0], "B": [1.0, 2.0]}, ["k1"], "`B`"),
        ({"t": [1.0], "B": [math.nan]}, ["k1"], "no numbers"),
        ({"t": [math.nan], "B": [1.0]}, ["k1"], "times"),
        ({"t": [-1.0, 1.0], "B": [1.0, 1.0]}, ["k1"], "-1"),
        ({"t": [1.0], "B": [1.0]}, ["q"], "`q`"),
        ({"t": [1.0], "B": [1.0]}, [], "at least one"),
        ({"t": [1.0], "B": [1.0]}, {"k1": odec.lin(1, 1)}, "range"),
        ({"t": [1.0], "B": [1.0]}, {"k1": "2"}, "k1"),
        ({"t": [1.0], "B": [1.0]}, ["k1", "k2"], "2 parameters"),
        ({"t": [0.0], "B": [1.0]}, ["k1"], "start"),
    ],
)
def test_what_makes_no_sense_is_refused(data, params, match):
    with pytest.raises(odec.UsageError, match=match):
        odec.compile(KINETICS).fit(data, params)
    with pytest.raises(odec.UsageError, match="starts"):
        odec.compile(KINETICS).fit({"t": [1.0], "B": [1.0]}, ["k1"], starts=0)
    with pytest.raises(odec.UsageError, match="has no range"):
        odec.compile(KINETICS).fit({"t": [1.0], "B": [1.0]}, ["k1"], starts=2)
    for sigma in (0.0, -1.0, math.nan, {"A": 1.0}, [1.0, 2.0]):
        with pytest.raises(odec.UsageError, match="sigma"):
            odec.compile(KINETICS).fit({"t": [1.0], "B": [1.0]}, ["k1"], sigma=sigma)


# A published problem through the Python functions; `tests/tests/fit/published.rs` has the others, which the same code solves.


def test_misra1a_of_nist():
    """NIST StRD, Misra1a (dental research, monomolecular adsorption): y = b1*(1 - exp(-b2*x)), with its certified values."""
    x = [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0]
    y = [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78]
    m = odec.compile("param b1 = 500, b2 = 1e-4\nstate y = 0\ny' = b2*(b1 - y)\nrun { t = 0 .. 800 }\n")
    for params in (["b1", "b2"], {"b1": odec.geom(1, 1e5), "b2": odec.geom(1e-7, 1)}):
        fit = m.fit({"t": x, "y": y}, params, rtol=1e-11)
        assert fit.params["b1"] == pytest.approx(2.3894212918e2, rel=1e-6)
        assert fit.params["b2"] == pytest.approx(5.5015643181e-4, rel=1e-6)
        assert fit.rss == pytest.approx(1.2455138894e-1, rel=1e-8)
        assert fit.stderr["b1"] == pytest.approx(2.7070075241, rel=1e-5)
        assert fit.stderr["b2"] == pytest.approx(7.2668688436e-6, rel=1e-5)
        assert fit.solutions[0].t.tolist() == x
