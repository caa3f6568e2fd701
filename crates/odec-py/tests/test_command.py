"""The command `odec` of the package."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import odec
from conftest import DECAY

ODEC = Path(sys.executable).with_name("odec")


def run(*words, **options):
    return subprocess.run([str(ODEC), *map(str, words)], capture_output=True, text=True, timeout=120, **options)


def test_rows_and_exit_codes_are_those_of_the_command(tmp_path):
    model = tmp_path / "decay.ode"
    model.write_text(DECAY)
    done = run("run", model, "--samples", "5", "--set", "k=3")
    assert done.returncode == 0 and done.stderr.startswith("decay")
    lines = done.stdout.splitlines()
    rows = odec.load(model).with_(k=3).run(samples=5)
    assert lines[0] == "t,x" and [float(line.split(",")[1]) for line in lines[1:]] == rows["x"].tolist()
    assert run("--version").stdout == f"odec {odec.__version__}\n"
    wrong = run("run", model, "--message-format", "json", "--set", "q=1")
    assert wrong.returncode == 2 and wrong.stderr.startswith('{"')
    # words that no command has are answered as JSON too
    assert run("rum", "--message-format", "json").stderr.startswith('{"')
    model.write_text("x' = -k*y")
    assert run("check", model).returncode == 1
    assert run("run", tmp_path / "no.ode").returncode == 5


def test_arguments_are_bytes(tmp_path):
    model = tmp_path / b"\xff.ode".decode("utf-8", "surrogateescape")
    model.write_text(DECAY)
    assert run("run", model, "--samples", "1").returncode == 0


def test_the_command_needs_no_numpy():
    code = "import sys; import odec._command; sys.exit(int('numpy' in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_a_first_interrupt_keeps_the_rows(tmp_path):
    rows = tmp_path / "rows.csv"
    model = tmp_path / "m.ode"
    model.write_text("state x = 1, y = 0\nx' = y\ny' = -x\nrun { t = 0 .. 1e9; method = dopri5; samples = steps; max_steps = 1000000000 }\n")
    process = subprocess.Popen([str(ODEC), "run", str(model), "-o", str(rows)], stderr=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.05)
        if rows.exists() and rows.stat().st_size > 10_000:
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    lines = rows.read_text().splitlines()
    assert len(lines) > 10 and all(line.count(",") == 2 for line in lines)
