"""Which settings hold: those of the run block, those of the caller, and which of them SciPy's interface and fits use."""

import math

import numpy as np
import odec
import pytest

STEADY = "state x = 0\nx' = 1 - 0.5*x\nrun { t = 0 .. 3; start = steady }\n"
EULER = "param k = 1\nstate x = 1\nx' = -k*x\nrun { t = 0 .. 2; method = euler; step = 0.1 }\n"
SET = "param k = 1\nstate x = 1\nx' = -k*x\nparams fast { k = 5 }\nrun { t = 0 .. 1; params = fast }\n"
TWO = "param k = 1\nstate x = 1\nx' = -k*x\nparams fast { k = 5 }\nrun a { t = 0 .. 1 }\nrun b { t = 0 .. 2; params = fast }\n"


def test_initial_values_of_solve_ivp_hold_although_the_run_starts_from_a_steady_state():
    m = odec.compile(STEADY)
    r = odec.solve_ivp(m, (0, 1), [0.0], rtol=1e-10, atol=1e-12)
    assert r.y[0, 0] == 0.0
    assert r.y[0, -1] == pytest.approx(2 - 2 * math.exp(-0.5), rel=1e-8)
    assert odec.solve_ivp(m, (0, 0), [0.0]).y[0, 0] == 0.0
    # without values the model starts as it says
    assert odec.solve_ivp(m, (0, 1)).y[0, 0] == pytest.approx(2)


def test_an_initial_value_that_is_not_the_start_is_told():
    m = odec.compile(STEADY)
    with pytest.warns(odec.OdecWarning, match="does not start at `x = 5`, but from a steady state with `x = 2`"):
        s = m.with_(x=5).run()
    assert s["x"][0] == pytest.approx(2) and [d.code for d in s.warnings] == ["W0623"]
    with pytest.warns(odec.OdecWarning, match="in 2 of 3 runs, first in this one:"):
        m.sweep({"x": [1.0, 2.0, 3.0]})
    assert m.run().warnings == []


def test_totals_of_a_conserved_quantity_come_from_initial_values():
    m = odec.compile("state a = 1, b = 0\na' = b - a\nb' = a - b\nrun { t = 0 .. 1; start = steady }\n")
    s = m.with_(a=3).run()
    assert s["a"][0] == pytest.approx(1.5) and s.warnings == []


def test_solve_ivp_controls_errors_whatever_the_run_block_says():
    r = odec.solve_ivp(odec.compile(EULER), (0, 2), [1.0], rtol=1e-10, atol=1e-12)
    assert r.y[0, -1] == pytest.approx(math.exp(-2), rel=1e-8)


def test_a_run_may_leave_the_constant_step_of_its_block():
    m = odec.compile(EULER)
    assert m.run(method="dopri5", step="auto", rtol=1e-10, samples=2)["x"][-1] == pytest.approx(math.exp(-2), rel=1e-8)
    assert len(m.run()) == 21
    with pytest.raises(odec.UsageError, match="`step=\"often\"`"):
        m.run(step="often")


def test_a_fit_does_not_contain_the_errors_of_constant_steps():
    m = odec.compile(EULER.replace("euler; step = 0.1", "bs32; step = 0.25"))
    times = np.linspace(0.25, 2, 8)
    found = m.fit({"t": times, "x": np.exp(-1.5 * times)}, ["k"])
    assert found.params["k"] == pytest.approx(1.5, rel=1e-7)
    assert found.solutions[0]["x"] == pytest.approx(np.exp(-1.5 * times), rel=1e-7)
    # the caller may ask for the step
    assert abs(m.fit({"t": times, "x": np.exp(-1.5 * times)}, ["k"], step=0.25).params["k"] - 1.5) > 1e-4


def test_parameters_have_the_values_of_the_set_that_the_run_applies():
    m = odec.compile(SET)
    assert m.params["k"] == 5 and m.f(0, [1.0])[0] == -5 and m.run().y[-1, 0] == pytest.approx(math.exp(-5), rel=1e-4)
    assert m.with_(k=2).params["k"] == 2


def test_f_needs_no_run_block():
    m = odec.compile(TWO)
    assert m.f(0, [1.0])[0] == -1 and m.jac(0, [1.0])[0, 0] == -1 and m.y0()[0] == 1 and m.params["k"] == 1
    assert m.cfunc("f").address
    with pytest.raises(odec.UsageError, match="choose one with `run`"):
        odec.solve_ivp(m, (0, 1), [1.0])
    fast = odec.solve_ivp(m, (0, 1), [1.0], run="b", rtol=1e-9)
    assert fast.y[0, -1] == pytest.approx(math.exp(-5), rel=1e-6)
    assert odec.solve_ivp(m, (0, 1), [1.0], run="a", params="fast", rtol=1e-9).y[0, -1] == fast.y[0, -1]


def test_f_needs_no_bounds():
    m = odec.compile("state x = 1, x >= 0\nx' = -2*x\n")
    assert m.f(0, [3.0])[0] == -6 and m.y0()[0] == 1


def test_a_model_with_events_has_initial_values():
    m = odec.compile("param v = 3\nstate x = v, y = 1\nx' = -1\ny' = 1\nwhen x < 1 { y := 0 }\n")
    assert m.y0().tolist() == [3, 1] and m.with_(v=5).y0().tolist() == [5, 1]
    with pytest.raises(odec.UsageError, match="no function f"):
        m.f(0, [1.0, 1.0])


def test_the_gradient_of_constant_steps_is_refused():
    m = odec.compile(EULER)
    with pytest.raises(odec.UsageError, match="constant steps"):
        m.grad(lambda s: (s["x"][-1], {"x": np.arange(21) == 20}), ["k"])
    g = m.grad(lambda s: (s["x"][-1], {"x": [0.0, 1.0]}), ["k"], method="dopri5", step="auto", samples=1, rtol=1e-9)
    assert g["k"] == pytest.approx(-2 * math.exp(-2), rel=1e-5)


def test_values_may_have_units_and_constants_come_before_arrays():
    m = odec.compile("param k = 1 [1/s]\nstate x = 1 [m]\nx' = -k*x\n")
    assert m.with_(k="3 [1/min]").params["k"] == pytest.approx(0.05)
    assert m.run(1, params={"x": "20 [cm]"}, samples=1)["x"][0] == pytest.approx(0.2)
    for wrong in ("3", "[1/s]", "nan [1/s]", "3 [kg]"):
        with pytest.raises(odec.UsageError):
            m.with_(k=wrong)
    sized = odec.compile("const N = 3\nindex i = 1 .. N\nparam c[i] = 1\nstate u[i] = 0\nu[i]' = c[i]\n")
    five = sized.with_(c=[1, 2, 3, 4, 5], N=5)
    assert five.params["c"].tolist() == [1, 2, 3, 4, 5] and len(five.states) == 5
    assert five.with_(c=7).params["c"].tolist() == [7] * 5
