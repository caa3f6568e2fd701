"""Names of columns, units and coordinates in tables, pictures and files."""

import json

import numpy as np
import odec
import pytest

OK = "param k = 1\nstate ok = 1, point = 2\nok' = -k*ok\npoint' = -point\nrun { t = 0 .. 1 }\n"
UNITS = "param k = 2 [1/s]\nstate x = 1 [m], x' = 0 [m/s]\nx'' = -k^2*x\noutput e = x'^2 + (k*x)^2\nrun { t = 0 .. 1 }\n"
ROD = """const N = 4
index i = 1 .. N
param L = 2 [m]
axis z[i] = (i - 1/2)*L/N [m]
state u[i] = z[i]
u[i]' = -u[i] * 1 [1/s]
run { t = 0 .. 1 }
"""


def test_quantities_named_as_columns_of_a_sweep_are_not_lost(tmp_path):
    w = odec.compile(OK).sweep({"k": [1.0, 2.0]})
    names = ["point_", "k", "t", "ok", "point", "ok_"]
    table = w._table()
    assert list(table) == names and table["ok"] == pytest.approx(np.exp([-1, -2]), rel=1e-4) and table["ok_"].all()
    w.save(tmp_path / "w.npz")
    with np.load(tmp_path / "w.npz") as file:
        assert file["point"] == pytest.approx(2 * np.exp([-1, -1]), rel=1e-4) and file["point_"].tolist() == [0, 1]
    w.save(tmp_path / "w.csv")
    assert (tmp_path / "w.csv").read_text().splitlines()[0] == ",".join(names)


def test_unknown_names_of_files_are_refused(tmp_path, monkeypatch):
    s = odec.compile(OK).run()
    with pytest.raises(odec.UsageError, match="tsv"):
        s.save(tmp_path / "rows.tsv")
    s.save(tmp_path / "rows.pq")
    assert (tmp_path / "rows.pq").read_bytes()[:4] == b"PAR1"
    monkeypatch.chdir(tmp_path)
    for name in ("nowhere/rows.csv", "nowhere/rows.parquet"):
        with pytest.raises(odec.UsageError) as e:
            s.save(name)
        assert f"`{name}`" in str(e.value) and ".part" not in str(e.value)


def test_units_follow_from_the_equations():
    m = odec.compile(UNITS)
    assert m.units["t"] == "s" and m.units["x'"] in ("m/s", "m s^-1") and m.units["e"] and m.units["k"] == "1/s"
    s = m.run(sens=["k"])
    described = json.loads(dict(m.described(s._settings))["odec.units"])
    for name in s.columns:
        assert m._unit(name) == described.get(name)
    assert "m" in m._unit("d(x)/d(k)")


def test_labels_and_attributes_have_units():
    pytest.importorskip("matplotlib").use("agg")
    xarray = pytest.importorskip("xarray")
    import matplotlib.pyplot as plt

    m = odec.compile(UNITS)
    s = m.run(sens=["k"])
    axes = s.plot("x'", ax=plt.figure().gca())
    assert axes.get_xlabel() == "t [s]" and axes.get_ylabel() == f"x' [{m.units[chr(120) + chr(39)]}]"
    data = s.to_xarray()
    assert isinstance(data, xarray.Dataset) and data["t"].attrs["units"] == "s" and data["e"].attrs["units"] == m.units["e"]


def test_the_axis_of_an_index_is_a_coordinate():
    pytest.importorskip("matplotlib").use("agg")
    pytest.importorskip("xarray")
    import matplotlib.pyplot as plt

    s = odec.compile(ROD).run()
    data = s.to_xarray()
    assert data["z"].dims == ("i",) and data["z"].values.tolist() == [0.25, 0.75, 1.25, 1.75]
    assert data["z"].attrs["units"] == "m"
    assert s.plot("u", ax=plt.figure().gca()).get_ylabel() == "z [m]"
    assert odec.compile(ROD).with_(L=4).coordinates()[0][3] == [0.5, 1.5, 2.5, 3.5]


def test_vectors_have_their_components_last():
    s = odec.compile("state p = (1, 2)\np' = -p\nrun { t = 0 .. 1 }\n").run()
    assert s["p"].shape == (len(s), 2) and s["p"][0].tolist() == [1, 2] and s["p"][:, 1].tolist() == s["p.y"].tolist()
    with pytest.raises(odec.UsageError):
        s["q"]


def test_equations_have_their_definitions():
    m = odec.compile("param a = 2\nfn f(u) = u^2\nstate x = 1\ny = f(x)*a\nx' = -y\n")
    lines = m.equations().splitlines()
    assert lines[0] == "x' = -y" and "y = f(x)*a" in lines and "f(u) = u^2" in lines
    reactions = odec.compile("param k = 1\nstate A = 1, B = 2, C = 0\nA + 2 B -> C  mass k\n")
    left = [line.split(" = ")[0] for line in reactions.equations().splitlines()]
    assert "reaction_1" in left and "<" in m._repr_html_()
