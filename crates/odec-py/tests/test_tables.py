"""Rows in the forms of other packages, by name and number."""

import numpy as np
import odec
import pytest
from conftest import HEAT

MODEL = """model two
time s [min]
index i = 1 .. 3
index j = 0 .. 1
param k = 2
state x = 1
state u[i] = i
state v[i,j] = 10*i + j
x' = -k*x
u[i]' = -i*u[i]
v[i,j]' = -v[i,j]
output total = x + sum(i: u[i])
"""


@pytest.fixture
def solution():
    return odec.compile(MODEL).run(2, samples=4)


def test_pandas(solution):
    pandas = pytest.importorskip("pandas")
    frame = solution.to_pandas()
    assert frame.index.name == "s" and list(frame.columns) == list(solution.columns)
    assert (frame["u[2]"].to_numpy() == solution["u"][:, 1]).all()
    assert frame.loc[2.0, "x"] == solution["x"][-1] and isinstance(frame, pandas.DataFrame)
    # the frame is the caller's own
    frame.loc[:, "x"] = 0.0
    assert solution["x"][0] == 1.0


def test_polars(solution):
    pytest.importorskip("polars")
    frame = solution.to_polars()
    assert frame.columns == ["s", *solution.columns]
    assert (frame["v[3,1]"].to_numpy() == solution["v"][:, 2, 1]).all()


def test_arrow_streams(solution):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(solution)
    assert table.column_names == ["s", *solution.columns] and table["total"].to_numpy().tolist() == solution["total"].tolist()
    polars = pytest.importorskip("polars")
    assert (polars.DataFrame(solution)["x"].to_numpy() == solution["x"]).all()
    sweep = odec.compile("param k = 1\nstate x = 1\nx' = -k*x\n").sweep({"k": [1.0, 2.0]}, t=1)
    assert polars.DataFrame(sweep)["x"].to_list() == sweep["x"].tolist()


def test_duckdb_reads_a_solution(solution):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    assert duckdb.sql("select max(x) from solution").fetchall()[0][0] == 1.0


def test_xarray_has_places_as_coordinates():
    pytest.importorskip("xarray")
    text = "const N = 3\nindex i = 1..N\nparam L = 6 [m], z[i] = 2*i [m], D[i] = 1/i\nstate u[i] = 1, x = 0\nu[i]' = -D[i]*u[i]*z[i]/L\nx' = 1\n"
    data = odec.compile(text).run(1, samples=2).to_xarray()
    assert data.z.dims == ("i",) and data.z.values.tolist() == [2, 4, 6] and data.z.attrs == {"units": "m"}
    assert "z" in data.u.coords and "z" not in data.x.coords and "D" in data.coords and "L" not in data.coords
    assert float(data.u.swap_dims(i="z").sel(z=4, t=1)) == pytest.approx(np.exp(-1 / 3), rel=1e-5)


def test_xarray(solution):
    pytest.importorskip("xarray")
    data = solution.to_xarray()
    assert data["v"].dims == ("s", "i", "j") and data["u"].dims == ("s", "i") and data["x"].dims == ("s",)
    assert data["i"].values.tolist() == [1, 2, 3] and data["j"].values.tolist() == [0, 1]
    for t in (0, 4):
        for i in (1, 2, 3):
            for j in (0, 1):
                wanted = solution[f"v[{i},{j}]"][t]
                assert float(data["v"].isel(s=t).sel(i=i, j=j)) == wanted
    assert float(data["v"].sel(s=0, i=3, j=1)) == 31.0
    # a part of a range keeps its own places
    heat = odec.compile(HEAT).run(1, samples=2).to_xarray()
    assert float(heat["u"].sel(t=0, i=4)) == 16.0


def test_units_are_attributes():
    pytest.importorskip("xarray")
    m = odec.compile("param k = 2 [1/s]\nstate x = 1 [m]\nx' = -k*x\n")
    assert m.run(1).to_xarray()["x"].attrs == {"units": "m"}


def test_frames_of_points_give_the_runs_of_their_rows():
    pandas = pytest.importorskip("pandas")
    m = odec.compile("param k = 1\nstate x = 1\nx' = -k*x\n")
    points = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "k": [0.5, 1.0, 2.0]})
    w = m.sweep(points, t=1)
    np.testing.assert_allclose(w["x"], points["x"] * np.exp(-points["k"]), rtol=1e-5)
    frame = w.to_pandas()
    assert list(frame.columns) == ["point", "x(0)", "k", "t", "x", "ok"] and (frame["x(0)"] == points["x"]).all()


def test_frames_with_gaps_texts_or_a_name_twice_are_refused(decay):
    pandas = pytest.importorskip("pandas")
    for frame in (
        pandas.DataFrame({"k": [1.0, np.nan]}),
        pandas.DataFrame({"k": [1.0, np.inf]}),
        pandas.DataFrame({"k": ["1", "2"]}),
        pandas.DataFrame({"k": [1, 1j]}),
        pandas.DataFrame({"k": []}),
        pandas.DataFrame([[1.0, 2.0]], columns=["k", "k"]),
    ):
        with pytest.raises(odec.UsageError):
            decay.sweep(frame, t=1)


def test_arrays_of_parts_have_the_names_that_are_typed(tmp_path):
    (tmp_path / "cell.ode").write_text("param k = 1\nstate V = 1\nV' = -k*V\noutput o = 2*V\n")
    (tmp_path / "m.ode").write_text('index i = 1 .. 2\nuse "cell.ode" as c[i] { k = i }\nrun { t = 0 .. 1; samples = 1 }\n')
    m = odec.load(tmp_path / "m.ode")
    s = m.run()
    assert s["c.V"].shape == (2, 2) and (s["c.V"][:, 1] == s["c[2].V"]).all()
    assert m.with_({"c.V": [3.0, 4.0]}).run()["c.V"][0].tolist() == [3.0, 4.0]
    assert m.with_({"c[1].V": 3.0, "c[2].V": 4.0}).with_({"c.V": 9.0}).run()["c.V"][0].tolist() == [9.0, 9.0]


def test_a_value_for_an_array_takes_the_place_of_its_elements_alone():
    m = odec.compile("index i = 1 .. 2\nstate x[i] = i, x[i]' = 0\nx[i]'' = 0\nrun { t = 0 .. 1; samples = 1 }\n")
    a = m.with_({"x'": [10.0, 20.0]})
    assert a.run()["x"][-1].tolist() == pytest.approx([11, 22])
    assert a.with_({"x'": 1.0}).run()["x"][-1].tolist() == pytest.approx([2, 3])
    assert a.with_(x=7.0).run()["x"][-1].tolist() == pytest.approx([17, 27])
    assert a.with_({"x[1]": 7.0}).run()["x"][-1].tolist() == pytest.approx([17, 22])


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


def test_plots(solution, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    m = odec.compile("time t [s]\nparam k = 2 [1/s]\nstate x = 1 [m]\nx' = -k*x\n")
    figure, axes = pyplot.subplots()
    assert m.run(3).plot("x", ax=axes, log="y") is axes
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("t [s]", "x [m]", "log")
    line = axes.lines[0]
    np.testing.assert_allclose(line.get_ydata(), np.exp(-2 * line.get_xdata()), rtol=1e-5)
    assert len(np.unique(pixels(figure).reshape(-1, 4), axis=0)) > 10
    pyplot.close(figure)
    figure, axes = pyplot.subplots()
    solution.plot(ax=axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["x", "total"]
    pyplot.close(figure)
    # an array is a map whose colours are its values
    figure, axes = pyplot.subplots()
    solution.plot("u", ax=axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("s [min]", "i")
    assert axes.collections[0].get_array().ravel().tolist() == solution["u"].T.ravel().tolist()
    assert figure.axes[1].get_ylabel() == "u"
    pyplot.close(figure)
    figure, axes = pyplot.subplots()
    solution.plot("v", ax=axes)
    assert axes.get_title() == "s = 2" and axes.collections[0].get_array().ravel().tolist() == solution["v"][-1].T.ravel().tolist()
    pyplot.close(figure)
    with pytest.raises(odec.UsageError, match="no `q`"):
        solution.plot("q")
