"""Files of rows: what other programs read of them, and what is left when a write fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import odec
import pytest
from conftest import HEAT

ODEC = Path(sys.executable).with_name("odec")
# numbers that come back to the last bit or not at all
PENDULUM = """model pendulum
param L = 2 [m], g = 9.81 [m/s^2]
state a = 1, a' = 0
a'' = -g/L*sin(a)
output energy = L^2*a'^2/2 - g*L*cos(a) [m^2/s^2]
run { t = 0 .. 10; samples = 500 }
"""


@pytest.fixture
def solution():
    return odec.compile(PENDULUM).with_(L=1.5).run(method="dopri5", rtol=1e-7)


def columns(solution):
    return {name: solution._rows[:, k] for k, name in enumerate(solution._all)}


def same(table, solution):
    for name, values in columns(solution).items():
        assert np.asarray(table[name]).tobytes() == np.ascontiguousarray(values).tobytes(), name


def test_parquet(solution, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    solution.save(tmp_path / "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert table.column_names == ["t", *solution.columns] and {str(c.type) for c in table.columns} == {"double"}
    same({name: table[name].to_numpy() for name in table.column_names}, solution)
    meta = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert meta["odec.model"] == PENDULUM and json.loads(meta["odec.values"]) == {"L": 1.5}
    assert meta["odec.method"] == "dopri5" and meta["odec.rtol"] == "1e-7" and meta["odec.version"] == odec.__version__
    assert json.loads(meta["odec.units"])["energy"] == "m^2/s^2"
    # what the file says makes the rows again
    again = odec.compile(meta["odec.model"]).with_(json.loads(meta["odec.values"]))
    same(columns(again.run(method=meta["odec.method"], rtol=float(meta["odec.rtol"]))), solution)


@pytest.mark.parametrize("package", ["polars", "duckdb"])
def test_parquet_in_other_programs(solution, tmp_path, package):
    reader = pytest.importorskip(package)
    path = tmp_path / "rows.parquet"
    solution.save(path)
    table = reader.read_parquet(str(path))
    if package == "duckdb":
        table = table.fetchnumpy()
    same({name: np.asarray(table[name]) for name in ["t", *solution.columns]}, solution)


def test_many_rows_are_many_row_groups(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    m = odec.compile(HEAT).with_(N=100)
    rows = m.run(1, samples=50_000)
    rows.save(tmp_path / "rows.parquet")
    rows.save(tmp_path / "rows.npz")
    file = parquet.ParquetFile(tmp_path / "rows.parquet")
    assert file.num_row_groups == 3 and file.metadata.num_rows == 50_001
    same({name: file.read([name])[name].to_numpy() for name in ("t", "u[1]", "u[100]")} | columns(rows), rows)
    table = file.read()
    same({name: table[name].to_numpy() for name in table.column_names}, rows)
    with np.load(tmp_path / "rows.npz") as arrays:
        same(arrays, rows)


def test_npz(solution, tmp_path):
    solution.save(tmp_path / "rows.npz")
    with np.load(tmp_path / "rows.npz", allow_pickle=False) as arrays:
        same(arrays, solution)
        assert json.loads(arrays["odec.json"])["odec.model"] == PENDULUM


def test_csv_and_json_lines(solution, tmp_path):
    solution.save(tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "t," + ",".join(solution.columns) and len(lines) == 1 + len(solution)
    same({name: np.array([float(line.split(",")[k]) for line in lines[1:]]) for k, name in enumerate(lines[0].split(","))}, solution)
    solution.save(tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    same({name: np.array([float(row[name]) for row in rows]) for name in rows[0]}, solution)


def test_what_is_not_finite_is_null_in_json_lines(tmp_path):
    m = odec.compile("state x = 1\nx' = -x\noutput low = log(x - x), none = 0*low\n")
    s = m.run(1, samples=1)
    assert s["low"].tolist() == [-np.inf] * 2 and np.isnan(s["none"]).all()
    s.save(tmp_path / "rows.jsonl")
    text = (tmp_path / "rows.jsonl").read_text()
    assert '"low":null' in text.replace(" ", "") and "nan" not in text.lower() and "inf" not in text.lower()
    assert [json.loads(line)["low"] for line in text.splitlines()] == [None, None]
    # CSV has both
    s.save(tmp_path / "rows.csv")
    assert [float(line.split(",")[2]) for line in (tmp_path / "rows.csv").read_text().splitlines()[1:]] == [-np.inf] * 2


def test_arrow(solution, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    solution.save(tmp_path / "rows.arrow")
    with arrow.ipc.open_file(tmp_path / "rows.arrow") as file:
        table = file.read_all()
    same({name: table[name].to_numpy() for name in table.column_names}, solution)
    assert table.schema.metadata[b"odec.model"].decode() == PENDULUM
    # every value is there, none is marked as missing, and other readers agree
    assert all(column.null_count == 0 and str(column.type) == "double" for column in table.columns)
    polars = pytest.importorskip("polars")
    same({name: c.to_numpy() for name, c in zip(table.column_names, polars.read_ipc(tmp_path / "rows.arrow"))}, solution)


def test_arrow_in_batches(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    m = odec.compile("state x = 1, y = 0\nx' = y\ny' = -x\noutput none = 0/0*x\n")
    s = m.run(1, samples=1_500_000)
    s.save(tmp_path / "rows.feather")
    with arrow.memory_map(str(tmp_path / "rows.feather")) as mapped, arrow.ipc.open_file(mapped) as file:
        assert file.num_record_batches > 1
        table = file.read_all()
        table.validate(full=True)
        for k, name in enumerate(table.column_names):
            assert np.array_equal(table[name].to_numpy(), s.to_numpy()[:, k], equal_nan=True), name
        del table
    # as a stream from behind the mark, too
    with open(tmp_path / "rows.feather", "rb") as file:
        file.seek(8)
        assert sum(batch.num_rows for batch in arrow.ipc.open_stream(file)) == len(s)


def test_sweeps_have_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    m = odec.compile("param k = 1\nstate x = 1\nx' = k*x^2\n")
    w = m.sweep({"k": [0.5, 2.0, 0.1], "x": [1.0, 1.5]}, t=1)
    assert w.ok.tolist() == [True, True, False, False, True, True]
    w.save(tmp_path / "sweep.parquet")
    table = parquet.read_table(tmp_path / "sweep.parquet")
    assert [str(c.type) for c in table.columns] == ["int64", "double", "double", "double", "double", "bool"]
    assert table.column_names == ["point", "k", "x(0)", "t", "x", "ok"] == list(w._table())
    assert table["ok"].to_pylist() == w.ok.tolist() and table["point"].to_pylist() == list(range(6))
    assert np.isnan(table["x"].to_numpy()).tolist() == (~w.ok).tolist() and 0 < table["t"][2].as_py() < 1
    arrow = pytest.importorskip("pyarrow")
    w.save(tmp_path / "sweep.arrow")
    with arrow.ipc.open_file(tmp_path / "sweep.arrow") as file:
        as_arrow = file.read_all()
    assert [str(c.type) for c in as_arrow.columns] == ["int64", "double", "double", "double", "double", "bool"]
    for name in table.column_names:
        assert np.array_equal(as_arrow[name].to_numpy(), table[name].to_numpy(), equal_nan=name == "x"), name
    w.save(tmp_path / "sweep.npz")
    with np.load(tmp_path / "sweep.npz") as arrays:
        assert arrays["ok"].dtype == bool and arrays["point"].dtype == np.int64
        assert arrays["ok"].tolist() == w.ok.tolist() and (arrays["x(0)"] == w.points["x"]).all()
    w.save(tmp_path / "sweep.jsonl")
    assert json.loads((tmp_path / "sweep.jsonl").read_text().splitlines()[2])["x"] is None


def test_the_command_writes_the_same_bytes(tmp_path):
    (tmp_path / "p.ode").write_text(PENDULUM)
    rows = odec.load(tmp_path / "p.ode").with_(L=1.5).run(method="dopri5", rtol=1e-7)
    for kind in ("parquet", "arrow", "npz", "csv", "jsonl"):
        words = ["run", "p.ode", "--set", "L=1.5", "--method", "dopri5", "--rtol", "1e-7", "-o", f"rows.{kind}"]
        subprocess.run([str(ODEC), *words], cwd=tmp_path, check=True, capture_output=True, timeout=120)
        rows.save(tmp_path / f"own.{kind}")
        assert (tmp_path / f"rows.{kind}").read_bytes() == (tmp_path / f"own.{kind}").read_bytes(), kind


def test_a_failed_run_keeps_its_rows(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "m.ode").write_text("state x = 1\nx' = x^2\nrun { t = 0 .. 2; samples = 100 }\n")
    done = subprocess.run([str(ODEC), "run", "m.ode", "-o", "r.parquet"], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 3
    table = parquet.read_table(tmp_path / "r.parquet")
    # x = 1/(1 - t) up to its pole
    t, x = table["t"].to_numpy(), table["x"].to_numpy()
    assert len(t) in (50, 51) and np.allclose(x[:49], 1 / (1 - t[:49]), rtol=1e-4)
    assert sorted(os.listdir(tmp_path)) == ["m.ode", "r.parquet"]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "npz"])
def test_a_killed_write_leaves_no_file(tmp_path, kind):
    (tmp_path / "m.ode").write_text(
        "state x = 1, y = 0\nx' = y\ny' = -x\nrun { t = 0 .. 1e9; method = dopri5; samples = steps; max_steps = 1000000000 }\n"
    )
    process = subprocess.Popen([str(ODEC), "run", "m.ode", "-o", f"r.{kind}"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if process.poll() is not None or any(name.endswith(".part") for name in os.listdir(tmp_path)):
            break
        import time

        time.sleep(0.05)
    process.kill()
    process.wait()
    assert f"r.{kind}" not in os.listdir(tmp_path)
    # an old file stays as it was
    (tmp_path / f"r.{kind}").write_bytes(b"old")
    limited = ["bash", "-c", f"ulimit -f 1; trap '' XFSZ; exec {ODEC} run m.ode --t-end 1e4 -o r.{kind}"]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 5 and "cannot write" in done.stderr
    assert (tmp_path / f"r.{kind}").read_bytes() == b"old"


def test_other_kinds_of_files_are_refused(solution, tmp_path):
    for name in ("rows.h5", "rows.xlsx", "rows.csv.gz"):
        with pytest.raises(odec.UsageError, match="E0850"):
            solution.save(tmp_path / name)
    with pytest.raises(odec.UsageError, match="E0703"):
        solution.save(tmp_path / "no" / "rows.csv")
    assert os.listdir(tmp_path) == []
