"""Ctrl-C during runs and sweeps: what was made up to then is kept."""

import _thread
import signal
import threading

import odec
import pytest

SLOW = "param a = 1\nstate x = 1, y = 0\nx' = a*y\ny' = -x\nrun { t = 0 .. 1e5; method = rk4; step = 1e-3; samples = 100000; max_steps = 1e9 }\n"


@pytest.fixture
def soon():
    # a shell starts jobs in the background with interrupts ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    yield
    timer.cancel()
    signal.signal(signal.SIGINT, before)


def test_a_run_keeps_its_rows(soon):
    with pytest.raises(KeyboardInterrupt) as e:
        odec.compile(SLOW).run()
    part = e.value.partial
    assert isinstance(part, odec.Solution) and 0 < len(part) < 100001 and part["x"][0] == 1


def test_a_sweep_keeps_its_runs(soon):
    m = odec.compile(SLOW)
    with pytest.raises(KeyboardInterrupt) as e:
        m.sweep({"a": odec.lin(1, 2, 100000)}, t=20, samples=1, threads=1)
    part = e.value.partial
    assert isinstance(part, odec.Sweep) and 0 < len(part.ok) < 100000 and part.ok.all()
    assert len(part) == 2 * len(part.ok) and part.points["a"][0] == 1 and len(part.points["a"]) == len(part.ok)


def test_a_sweep_in_parts_keeps_its_runs(soon, tmp_path):
    m = odec.compile(SLOW)
    with pytest.raises(KeyboardInterrupt) as e:
        m.sweep({"a": odec.lin(1, 2, 100000)}, t=20, threads=1, out=tmp_path, shards=1000)
    assert 0 < len(e.value.partial.ok) < 100000
