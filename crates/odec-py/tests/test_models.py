"""Models: other values, threads, pickles, messages, files."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import odec
import pytest
from conftest import BALL, BODIES, DECAY, HEAT, LORENZ


def last(model):
    return model.run(3)["x"][-1]


def test_with_makes_another_model_and_leaves_this_one(decay):
    fast = decay.with_(k=20.0, x=3)
    assert decay.params == {"k": 2.0} and fast.params == {"k": 20.0}
    assert decay.y0().tolist() == [1.0] and fast.y0().tolist() == [3.0]
    np.testing.assert_allclose(fast.run(0.1)["x"][-1], 3 * np.exp(-2), rtol=1e-5)
    np.testing.assert_allclose(decay.run(0.1)["x"][-1], np.exp(-0.2), rtol=1e-5)
    assert fast.f(0.0, np.ones(1)).tolist() == [-20.0] and decay.f(0.0, np.ones(1)).tolist() == [-2.0]
    # what was chosen before stays, and the last choice counts
    assert fast.with_(k=5).y0().tolist() == [3.0]
    assert fast.with_(k=5).params["k"] == 5.0
    with pytest.raises(AttributeError, match="immutable"):
        decay.k = 3


def test_a_value_in_any_order_is_that_of_a_fresh_model():
    base = odec.compile(LORENZ)
    base.run(1)
    chosen = {"beta": 3.0, "x": 4.0, "rho": 20.0}
    seen = base.with_(chosen).run(1, samples=5).y
    for order in (["rho", "x", "beta"], ["x", "beta", "rho"]):
        assert (base.with_({name: chosen[name] for name in order}).run(1, samples=5).y == seen).all()
    text = LORENZ.replace("beta = 2.5", "beta = 3").replace("rho = 28", "rho = 20").replace("state x = 1", "state x = 4")
    assert (odec.compile(text).run(1, samples=5).y == seen).all()
    # and back again
    assert (base.with_(beta=2.5).run(1, samples=5).y == odec.compile(LORENZ).run(1, samples=5).y).all()


def test_an_initial_value_that_depends_on_a_parameter_follows_it():
    m = odec.compile("param a = 2\nstate x = 3*a\nx' = -x\n")
    assert m.with_(a=5).y0().tolist() == [15.0]
    assert m.with_(a=5).run(1)["x"][0] == 15.0
    assert m.with_(a=5, x=1).run(1)["x"][0] == 1.0 and m.with_(a=7).run(1)["x"][0] == 21.0


def test_constants_change_sizes():
    m = odec.compile(HEAT)
    small = m.with_(N=3)
    assert small.states == ("u[1]", "u[2]", "u[3]") and len(m.states) == 5
    assert small.run(0.1)["u"].shape[1] == 3 and m.run(0.1)["u"].shape[1] == 5
    assert small.f(0.0, small.y0()).shape == (3,)


def test_arrays_take_arrays():
    m = odec.compile(HEAT)
    s = [5.0, 4.0, 3.0, 2.0, 1.0]
    assert m.with_(s=s).params["s"].tolist() == s and m.params["s"].tolist() == [1.0] * 5
    zero = np.zeros(5)
    assert m.with_(s=s).f(0.0, zero).tolist() == s
    assert m.with_(u=s).y0().tolist() == s
    assert m.with_(s=s).with_({"s[2]": 9}).params["s"].tolist() == [5, 9, 3, 2, 1]
    assert m.with_(s=s).with_(s=2).params["s"].tolist() == [2.0] * 5
    with pytest.raises(odec.UsageError, match="5 elements"):
        m.with_(s=[1, 2])
    with pytest.raises(odec.UsageError, match="single number"):
        odec.compile(DECAY).with_(k=[1, 2])


@pytest.mark.parametrize("values", [{"q": 1}, {"k": float("nan")}, {"k": "2"}, {"k": None}, {"k": 1j}, {"x''": 1}])
def test_values_that_make_no_sense_are_refused(decay, values):
    with pytest.raises(odec.UsageError):
        decay.with_(values)


def test_bounds_of_parameters_hold():
    m = odec.compile("param k = 2 in 0 .. 10\nstate x = 1\nx' = -k*x\n")
    with pytest.raises(odec.UsageError, match="E0407"):
        m.with_(k=11)


def test_pickles_are_text_and_values():
    for text in (DECAY, LORENZ, BODIES, BALL):
        m = odec.compile(text)
        again = pickle.loads(pickle.dumps(m))
        assert (again.run(1, samples=5).y == m.run(1, samples=5).y).all()
    fast = odec.compile(DECAY).with_(k=20.0, x=3)
    fast.run(1)
    again = pickle.loads(pickle.dumps(fast))
    assert again.params == fast.params and again.y0().tolist() == [3.0]
    assert (again.run(1).y == fast.run(1).y).all()
    assert copy.deepcopy(fast) is fast


def test_solutions_and_errors_travel_too(decay):
    s = decay.run(1)
    again = pickle.loads(pickle.dumps(s))
    assert (again["x"] == s["x"]).all() and not again.y.flags.writeable
    with pytest.raises(odec.RunError) as caught:
        odec.compile("state x = 1\nx' = x^2\n").run(2)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.t == caught.value.t and str(error) == str(caught.value)
    assert (error.partial.y == caught.value.partial.y).all()
    with pytest.raises(odec.CompileError) as caught:
        odec.compile("x' = -k*y")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.lineno, error.offset, str(error)) == (caught.value.lineno, caught.value.offset, str(caught.value))


def test_processes_get_the_values(decay):
    models = [decay.with_(k=k) for k in (0.5, 1.0, 2.0)]
    import multiprocessing

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(last, models)) == [last(m) for m in models]


def test_threads_share_nothing_but_code():
    texts = [DECAY, DECAY.replace("k = 2", "k = 3")]
    shared = [odec.compile(text) for text in texts]
    wanted = {(i, k): odec.compile(texts[i]).with_(k=k).run(3).y.tobytes() for i in (0, 1) for k in (0.5, 1.0, 4.0)}

    def one(n):
        i, k = n % 2, (0.5, 1.0, 4.0)[n % 3]
        m = shared[i] if n % 4 else odec.compile(texts[i])
        y = np.array([float(n)])
        ok = m.with_(k=k).f(0.0, y)[0] == -k * n
        return ok and m.with_(k=k).run(3).y.tobytes() == wanted[i, k] and m.run(3).y.shape == (201, 1)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(240)))


def test_a_text_that_is_no_model_is_a_syntax_error():
    with pytest.raises(odec.CompileError) as caught:
        odec.compile("state y = 1\ny' = -k*y\n", name="bad.ode")
    error = caught.value
    assert isinstance(error, SyntaxError)
    assert (error.filename, error.lineno, error.offset, error.text) == ("bad.ode", 2, 7, "y' = -k*y")
    assert error.diagnostics[0].code == "E0201" and "bad.ode:2:7" in str(error)
    assert error.diagnostics[0].render().strip() in str(error)
    assert "\x1b[" in error.diagnostics[0].render(color=True) and "\x1b[" not in str(error)
    with pytest.raises(odec.UsageError, match="takes the text"):
        odec.compile(None)


def test_spans_count_characters():
    text = "# Größe µ\nstate y = 1\ny' = -k*y\n"
    d = odec.check(text)[0]
    assert text[slice(*d.span)] == "k" and (d.line, d.column) == (3, 7)


def test_tables_are_read_from_the_folder_of_the_model_and_travel(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "w.csv").write_text("1\n2\n4\n")
    (folder / "m.ode").write_text('index i = 1 .. 3\nparam w[i] = csv("w.csv")\nstate u[i] = 1\nu[i]\' = -w[i]*u[i]\n')
    m = odec.load(folder / "m.ode")
    assert m.params["w"].tolist() == [1, 2, 4]
    data = pickle.dumps(m)
    (folder / "w.csv").write_text("9\n9\n9\n")
    assert pickle.loads(data).params["w"].tolist() == [1, 2, 4]
    assert m.with_({"w[2]": 7}).params["w"].tolist() == [1, 7, 4]
    (tmp_path / "x.csv").write_text("1\n2\n3\n")
    outside = (folder / "m.ode").read_text().replace("w.csv", "../x.csv")
    with pytest.raises(odec.UsageError, match="outside the model's folder"):
        odec.compile(outside, base=folder)
    assert odec.compile(outside, base=folder, allow_read=[tmp_path]).params["w"].tolist() == [1, 2, 3]
    given = odec.compile((folder / "m.ode").read_text(), files={"w.csv": "5\n6\n7\n"})
    assert given.params["w"].tolist() == [5, 6, 7]
    with pytest.raises(odec.OdecError, match="w.csv"):
        odec.compile((folder / "m.ode").read_text())
    with pytest.raises(FileNotFoundError):
        odec.load(folder / "none.ode")


def test_parts_of_parts_are_found(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rate.ode").write_text("param k = 2\nr = 3*k\n")
    (tmp_path / "parts" / "cell.ode").write_text('use "rate.ode" as q\nstate x = 1\nx\' = -q.r*x\n')
    (tmp_path / "m.ode").write_text('use "parts/cell.ode" as c\nrun { t = 0 .. 1; rtol = 1e-9 }\n')
    m = odec.load(tmp_path / "m.ode")
    np.testing.assert_allclose(m.run(samples=1)["c.x"][-1], np.exp(-6), rtol=1e-6)
    again = pickle.loads(pickle.dumps(m)).with_({"c.q.k": 1.0})
    np.testing.assert_allclose(again.run(samples=1)["c.x"][-1], np.exp(-3), rtol=1e-6)
    with pytest.raises(odec.CompileError, match="E0580"):
        odec.compile((tmp_path / "m.ode").read_text())


def test_sweeps_run_every_point():
    m = odec.compile(DECAY)
    w = m.sweep({"k": odec.geom(0.1, 10, 3), "x": [1.0, 2.0]}, t=1, rtol=1e-9, atol=1e-12)
    assert w.points["k"].tolist() == [0.1, 0.1, 1.0, 1.0, 10.0, 10.0] and w.points["x"].tolist() == [1, 2] * 3
    np.testing.assert_allclose(w["x"], w.points["x"] * np.exp(-w.points["k"]), rtol=1e-7)
    assert w.ok.all() and len(w) == 6 and (w.t == 1).all() and w.stats["runs"] == 6
    one = m.sweep({"k": odec.geom(0.1, 10, 3), "x": [1.0, 2.0]}, t=1, rtol=1e-9, atol=1e-12, threads=1)
    assert one["x"].tobytes() == w["x"].tobytes()
    alone = m.with_(k=10.0, x=2.0).run(1, rtol=1e-9, atol=1e-12)
    assert w["x"][-1] == alone["x"][-1]
    rows = m.sweep({"k": [1.0, 2.0]}, t=1, samples=4)
    assert rows.point.tolist() == [0] * 5 + [1] * 5
    # a value that the model was given counts, except for what is swept
    np.testing.assert_allclose(m.with_(k=9.0, x=5.0).sweep({"k": [1.0]}, t=1)["x"], 5 * np.exp(-1), rtol=1e-4)


def test_drawn_points_follow_the_seed():
    m = odec.compile(DECAY)
    draw = lambda seed: m.sweep({"k": odec.geom(0.1, 10)}, t=1, random=20, seed=seed).points["k"]
    assert (draw(1) == draw(1)).all() and (draw(1) != draw(2)).all()
    assert ((0.1 <= draw(1)) & (draw(1) <= 10)).all()
    with pytest.raises(odec.UsageError, match="needs a range for `k`"):
        m.sweep({"k": [1.0]}, t=1, random=3)


def test_a_run_of_a_sweep_that_fails_cannot_pass_for_one_that_ended():
    m = odec.compile("param a = 1\nstate x = 1\nx' = a*x^2\n")
    w = m.sweep({"a": [0.5, 2.0]}, t=1, samples=3)
    assert w.ok.tolist() == [True, False] and np.isnan(w["x"][w.point == 1][-1])
    assert 0.4 < w.t[w.point == 1][-1] < 0.6 and np.isfinite(w["x"][w.point == 0]).all()
    assert isinstance(w.failed[1], odec.RunError)
    with pytest.raises(odec.RunError):
        m.sweep({"a": [0.5, 2.0]}, t=1, errors="raise")


@pytest.mark.parametrize("over", [{}, {"q": [1.0]}, {"k": []}, {"k": [float("inf")]}, {"k": odec.lin(0, 1)}], ids=str)
def test_sweeps_that_make_no_sense_are_refused(decay, over):
    with pytest.raises(odec.UsageError):
        decay.sweep(over, t=1)


def test_the_package_imports_no_more_than_numpy():
    code = "import sys, odec; print([m for m in ('scipy', 'pandas', 'matplotlib', 'xarray') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


MATRIX = """const M = 2, N = 3
index i = 1 .. M, j = 1 .. N
param w[i, j] = 0
state x[i] = 0
x[i]' = sum(j: w[i, j])
"""


def test_an_array_in_another_shape_is_refused():
    m = odec.compile(MATRIX)
    w = np.arange(6.0).reshape(2, 3)
    assert (m.with_(w=w).params["w"] == w).all()
    np.testing.assert_allclose(m.with_(w=np.asfortranarray(w)).run(1)["x"][-1], [3, 12])
    # as many numbers, which would stand at other indices
    for other in (w.T, w.ravel(), w[None]):
        with pytest.raises(odec.UsageError, match="2 by 3 elements .i, j."):
            m.with_(w=other)


@pytest.mark.parametrize(
    "given", [np.array([1, 2j]), ["1", "2"], np.ma.array([1.0, 2.0], mask=[True, False]), [1, None]], ids=str
)
def test_what_is_no_real_number_is_refused_everywhere(decay, given):
    for use in (
        lambda: decay.sweep({"k": given}, t=1),
        lambda: decay.run(2, samples=given),
        lambda: decay.with_(k=given[1]) if not np.ma.isMaskedArray(given) else decay.with_(k=given),
        lambda: decay.fit({"t": [1.0, 2.0], "x": [1, 1]}, ["k"], sigma=given) if given[1] is not None else decay.run(given),
        lambda: decay.fit({"t": given, "x": [1.0, 1.0]}, ["k"]),
        lambda: odec.solve_ivp(decay, (0, 1), given),
        lambda: odec.solve_ivp(decay, (0, 1), [1.0], t_eval=given),
    ):
        with pytest.raises(odec.UsageError):
            use()


COMPILES = """
import gc, mmap, pathlib
import odec

def held():
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

def compiled(first, last):
    for k in range(first, last):
        m = odec.compile(f"param k = {k}\\nstate x = 1, v = 0\\nx' = v\\nv' = -k*x\\n")
        m.run(0.1, samples=1)
        m.f(0.0, m.y0())
        try:
            odec.compile(f"state x = {k}\\nx' = -q*x\\n")
        except odec.CompileError:
            continue
        raise AssertionError("q is not declared")

compiled(0, 300)
before = held()
compiled(300, 900)
print(held() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="skipped: no /proc tells the memory of this process")
def test_memory_does_not_grow_with_compiles():
    # in a process of its own: other libraries take and return memory beside the compiler in this one
    grown = subprocess.run([sys.executable, "-c", COMPILES], check=True, capture_output=True, text=True).stdout
    # the machine code of one model takes more than a page of 4096 bytes, and the text and tables of one some more
    assert int(grown) < 300 * 4096
