"""What shows only after a while: threads that compile and run at the same time, and memory after many compiles.

With ODEC_LONG=1 in the environment (`.ci/python` sets it) the threads go on for a minute, and 10,000 models are compiled.
"""

import os
import subprocess
import sys
import threading
import time

import odec
import pytest
from conftest import BALL, BODIES, HEAT, LORENZ

LONG = os.environ.get("ODEC_LONG") == "1"
STIFF = "param k = 3e7\nstate A = 1, B = 0, C = 0\nA' = -0.04*A + 1e4*B*C\nB' = 0.04*A - 1e4*B*C - k*B^2\nC' = k*B^2"


def work(text, shared, n):
    """Compiles a model, or takes the one that all share, and runs it in the n-th way. Returns all of its bits."""
    m = odec.compile(text) if n % 3 == 0 else shared
    if n % 5 == 0 and m.params:
        m = m.with_({next(iter(m.params)): 1.5})
    s = m.run(1, samples=20)
    if n % 4 == 0:
        s = s.model.run(1, samples=20, dense=True)([0.25, 0.75])
    return s.to_numpy().tobytes()


def test_eight_threads_compile_and_run_the_same_and_different_models():
    texts = [LORENZ, BODIES, HEAT, BALL, STIFF]
    shared = [odec.compile(text) for text in texts]
    ways = 60
    wanted = [[work(text, m, n) for n in range(ways)] for text, m in zip(texts, shared)]
    end = time.monotonic() + (60 if LONG else 3)
    done, wrong = [0] * 8, []

    def thread(k):
        n = k
        while time.monotonic() < end and not wrong:
            which = (n * (k + 1)) % len(texts)
            try:
                if work(texts[which], shared[which], n % ways) != wanted[which][n % ways]:
                    wrong.append((k, which, n))
            except Exception as error:
                wrong.append((k, which, n, error))
            done[k] += 1
            n += 1

    threads = [threading.Thread(target=thread, args=(k,), daemon=True) for k in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(300)
    assert not any(one.is_alive() for one in threads), "a deadlock"
    assert not wrong and min(done) > 0, (wrong, done)


def test_a_python_without_a_lock_stays_without():
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        # importing the module would have switched the lock on
        assert not sys._is_gil_enabled()
    elif "free-threading" in sys.version:
        pytest.fail("the lock is on after the import")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_after_many_compiles_is_flat():
    rounds = 10_000 if LONG else 600
    program = f"""
import gc, odec, os

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def one(k):
    m = odec.compile(f"param k = {{k}}\\nstate x = 1, y = 0\\nx' = -k*x + y\\ny' = x*y - {{k % 7}}*y")
    m.run(1, samples=2)
    m.f(0.0, m.y0())

for k in range({rounds // 3}):
    one(k)
before = resident()
for k in range({rounds}):
    one(k)
print(resident() - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)
    # a model that is kept would be some 30 kB
    assert grown < 2_000_000 + 500 * rounds, grown
