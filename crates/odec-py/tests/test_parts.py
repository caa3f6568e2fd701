"""Sweeps in parts: the rows are those of a sweep at once, whatever made them and whatever ended on the way."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import odec
import pytest

ODEC = Path(sys.executable).with_name("odec")
# stiff for some points and not for others, and without an end for some
MODEL = """model mixed
param k = 1, a = 0
state x = 1, y = 0
x' = -k*x + a*x^2
y' = 1000*(x - y)
run { t = 0 .. 2; rtol = 1e-6 }
"""
OVER = {"k": odec.geom(0.1, 100, 9), "a": [0.0, 0.5, 3.0]}


@pytest.fixture
def model():
    return odec.compile(MODEL)


def same(a, b):
    assert a._rows.tobytes() == b._rows.tobytes() and a.columns == b.columns
    assert a.ok.tolist() == b.ok.tolist() and a.point.tolist() == b.point.tolist()
    assert a.stats == b.stats and [d.code for d in a.warnings] == [d.code for d in b.warnings]
    assert {k: (repr(e.t), str(e)) for k, e in a.failed.items()} == {k: (repr(e.t), str(e)) for k, e in b.failed.items()}


@pytest.mark.parametrize("shards", [1, 4, 27, 64])
def test_parts_are_the_whole(model, shards):
    whole = model.sweep(OVER, samples=3)
    assert not whole.ok.all() and whole.ok.any()
    same(model.sweep(OVER, samples=3, shards=shards), whole)
    with ThreadPoolExecutor(3) as pool:
        same(model.sweep(OVER, samples=3, shards=shards, executor=pool), whole)


def test_processes_make_the_same_rows(model, tmp_path):
    whole = model.sweep({"k": odec.geom(0.1, 10), "x": odec.lin(0, 1)}, random=40, seed=3)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = model.sweep({"k": odec.geom(0.1, 10), "x": odec.lin(0, 1)}, random=40, seed=3, executor=pool, shards=7)
    same(parts, whole)
    for sweep, name in ((whole, "a.parquet"), (parts, "b.parquet")):
        sweep.save(tmp_path / name)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_killed_worker_costs_its_parts_alone(model, tmp_path):
    slow = dict(t=1000, method="dopri5", max_steps=100_000_000)
    over = {"k": odec.geom(1e-3, 1e-1, 16)}
    whole = model.sweep(over, **slow)
    out = tmp_path / "parts"
    pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))

    def kill():
        for _ in range(600):
            if len(list(out.glob("part-*.npz"))) >= 2:
                break
            time.sleep(0.05)
        os.kill(next(iter(pool._processes)), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(odec.OdecError, match=r"of 16 parts are complete, and they are in"):
        model.sweep(over, executor=pool, shards=16, out=out, **slow)
    killer.join()
    pool.shutdown()
    kept = {path.name: path.read_bytes() for path in out.glob("part-*.npz")}
    assert 2 <= len(kept) < 16 and len(list(out.iterdir())) == len(kept)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        same(model.sweep(over, executor=pool, shards=16, out=out, **slow), whole)
    assert all((out / name).read_bytes() == data for name, data in kept.items())
    # a third time nothing is left to make: an executor that makes nothing is enough
    same(model.sweep(over, executor=Refuses(), shards=16, out=out, **slow), whole)


class Refuses:
    def submit(self, *_arguments):
        raise AssertionError("a part is made again")


def test_parts_of_another_sweep_are_refused(model, tmp_path):
    first = model.sweep(OVER, shards=3, out=tmp_path)
    same(model.sweep(OVER, shards=3, out=tmp_path), first)
    others = [
        lambda: model.sweep(OVER, shards=3, out=tmp_path, rtol=1e-7),
        lambda: model.sweep({**OVER, "a": [0.0, 0.5, 3.5]}, shards=3, out=tmp_path),
        lambda: model.with_(x=2).sweep(OVER, shards=3, out=tmp_path),
        lambda: odec.compile(MODEL + "\n").sweep(OVER, shards=3, out=tmp_path),
        lambda: model.sweep(OVER, shards=4, out=tmp_path),
    ]
    for other in others:
        with pytest.raises(odec.UsageError, match="another sweep"):
            other()
    path = tmp_path / "part-1-of-3.npz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(odec.UsageError, match="damaged"):
        model.sweep(OVER, shards=3, out=tmp_path)
    path.unlink()
    same(model.sweep(OVER, shards=3, out=tmp_path), first)


def test_dask_survives_a_killed_worker(model, tmp_path):
    distributed = pytest.importorskip("distributed")
    over = {"k": odec.geom(1e-3, 1e-1, 12)}
    slow = dict(t=1000, method="dopri5", max_steps=100_000_000)
    whole = model.sweep(over, **slow)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
        killer = threading.Timer(1.5, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        parts = model.sweep(over, executor=client.get_executor(retries=3), shards=12, out=tmp_path, **slow)
        killer.join()
    same(parts, whole)


def command(folder, *words):
    return subprocess.run([str(ODEC), "sweep", *words], cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_command_makes_parts_and_joins_them(tmp_path):
    (tmp_path / "m.ode").write_text(MODEL)
    flags = ["m.ode", "--set", "k=0.1:100:9:log", "--set", "a=0:3:3", "--samples", "3"]
    whole = command(tmp_path, *flags, "-o", "whole.csv")
    assert whole.returncode == 3
    assert command(tmp_path, "--join", ".").returncode == 5
    for k in (2, 0, 3, 1):
        made = command(tmp_path, *flags, "--shard", f"{k}/4", "-o", "parts")
        assert made.returncode in (0, 3), made.stderr
        if k != 1:
            missing = command(tmp_path, "--join", "parts", "-o", "joined.csv")
            assert missing.returncode == 5 and "parts are missing" in missing.stderr and not (tmp_path / "joined.csv").exists()
    joined = command(tmp_path, "--join", "parts", "-o", "joined.csv")
    assert (tmp_path / "joined.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert command(tmp_path, "--join", "parts", "-q").stdout == (tmp_path / "whole.csv").read_text()
    # the runs that failed are listed with their values
    failed = [json.loads(path.read_text())["failed"] for path in sorted((tmp_path / "parts").glob("*.json"))]
    lost = [one for part in failed for one in part]
    rows = [line.split(",") for line in (tmp_path / "whole.csv").read_text().splitlines()[1:]]
    points = sorted({(row[0], row[1]) for row in rows if row[3] == "nan"})
    assert joined.returncode == 3 and len(lost) == len(points) > 0
    assert sorted((f"{dict(one['values'])['k']}", f"{dict(one['values'])['a']}") for one in lost) == sorted(
        (f"{float(k)}", f"{float(a)}") for k, a in points
    )
    assert f"{len(points)} runs failed out of 27" in joined.stderr
    # a part that is there is left alone, and one of other flags is refused
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert "already" in command(tmp_path, *flags, "--shard", "1/4", "-o", "parts").stderr
    for other in (["--rtol", "1e-7", "--shard", "1/4"], ["--shard", "1/5"], ["--set", "x=2", "--shard", "1/4"]):
        refused = command(tmp_path, *flags, *other, "-o", "parts")
        assert refused.returncode == 2 and "E0852" in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()} == before
    # a damaged part is seen, and made again
    part = tmp_path / "parts" / "part-2-of-4.csv"
    whole_part = part.read_bytes()
    part.write_bytes(whole_part[:-10])
    damaged = command(tmp_path, "--join", "parts", "-o", "joined.csv")
    assert damaged.returncode == 5 and "part-2-of-4.csv" in damaged.stderr
    command(tmp_path, *flags, "--shard", "2/4", "-o", "parts")
    assert part.read_bytes() == whole_part


def test_a_killed_part_is_no_part(tmp_path):
    (tmp_path / "m.ode").write_text(MODEL)
    flags = ["m.ode", "--set", "k=0.001:0.1:40", "--t-end", "300", "--method", "dopri5", "--max-steps", "100000000"]
    words = [str(ODEC), "sweep", *flags, "--shard", "0/2", "-o", "parts"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL)
    folder = tmp_path / "parts"
    for _ in range(600):
        if folder.exists() and any(path.stat().st_size > 10 for path in folder.glob(".part*")):
            break
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert not list(folder.glob("part-*"))
    for k in (0, 1):
        assert command(tmp_path, *flags, "--shard", f"{k}/2", "-o", "parts").returncode == 0
    assert command(tmp_path, "--join", "parts", "-o", "a.csv").returncode == 0
    assert command(tmp_path, *flags, "-o", "b.csv").returncode == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_the_script_for_a_batch_queue_is_run_as_it_stands(tmp_path):
    """The array job of docs/python.md, with each task as the queue would start it, two of them at a time and one of them twice."""
    page = Path(__file__).parents[3] / "docs" / "python.md"
    (script,) = re.findall(r"^(#!/bin/bash\n.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    first, last = map(int, re.search(r"--array=(\d+)-(\d+)", script).groups())
    assert f"/{last - first + 1} " in script
    # fewer points, and the command of this environment
    (tmp_path / "job.sh").write_text(script.replace(":100000:", ":200:"))
    (tmp_path / "model.ode").write_text("param k = 1\nstate x = 1\nx' = -k*x\nrun { t = 0 .. 1 }")

    def task(k):
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(k), "PATH": f"{ODEC.parent}{os.pathsep}{os.environ['PATH']}"}
        return subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True)

    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(task, [*range(first, last + 1), 7]):
            assert done.returncode == 0, done.stderr
    assert command(tmp_path, "--join", "parts/", "-o", "rows.csv").returncode == 0
    assert command(tmp_path, "model.ode", "--set", "k=0.1:10:200:log", "-o", "one.csv").returncode == 0
    assert (tmp_path / "rows.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
