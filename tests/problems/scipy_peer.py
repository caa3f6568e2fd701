#!/usr/bin/env python3
"""Measures Radau, LSODA and DOP853 of SciPy on the problems in this folder, with f in C as odec writes it.

    scipy_peer.py ODEC SOLUTIONS [NAME ...] > scipy.tsv

The problems named come first.
ODEC is the command; SOLUTIONS is the folder that `accuracy --solutions` has filled. Needs a C compiler named cc.
Errors are measured as in tests/examples/accuracy/measure.rs; `last` and `rows` are in units of the tolerance.
"""

import ctypes
import itertools
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import scipy
from scipy.integrate import DOP853, LSODA, Radau

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 10_000
SECONDS = 20
FLOORS = [1e-3]
RTOLS = [1e-4, 1e-6, 1e-8]
LONG = "too many steps"


def compiled(odec, path, folder):
    """f(t, y) and the state at the start; nothing for a model with a mass matrix."""
    base = folder / path.stem
    command = [odec, "emit", path, "--to", "c", "--prefix", "m", "-o", f"{base}.c"]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", f"{base}.so", f"{base}.c", "-lm"], check=True)
    code = ctypes.CDLL(f"{base}.so")
    if ctypes.c_int32.in_dll(code, "m_mass_entries").value:
        return None
    n = ctypes.c_int32.in_dll(code, "m_states").value
    count = ctypes.c_int32.in_dll(code, "m_parameters").value
    buffer = (ctypes.c_double * max(1, ctypes.c_int32.in_dll(code, "m_buffer").value))()
    defaults = (ctypes.c_double * max(1, count)).in_dll(code, "m_defaults")
    buffer[:count] = defaults[:count]
    for name in ["m_prepare", "m_init", "m_f"]:
        function = getattr(code, name)
        function.argtypes = [ctypes.c_double] + 4 * [ctypes.c_void_p]
        function.restype = None
    p = ctypes.addressof(buffer)
    code.m_prepare(0.0, None, p, None, p)
    start = numpy.zeros(n)
    code.m_init(0.0, None, p, None, start.ctypes.data)

    def f(t, y):
        _ = buffer
        y = numpy.ascontiguousarray(y)
        out = numpy.empty(n)
        code.m_f(t, y.ctypes.data, p, None, out.ctypes.data)
        return out

    return f, start


def run(method, f, start, known, rtol, atol):
    """Steps, evaluations of f, errors at the end and over rows."""
    times, states = known[:, 0], known[:, 1:]
    sizes = numpy.maximum(abs(states).max(axis=0), abs(start))
    sizes = numpy.maximum(sizes, 1e-30 * sizes.max())
    solver = method(f, 0.0, start, times[-1], rtol=rtol, atol=atol)
    steps, row, rows, began = 0, 0, 0.0, time.process_time()
    while solver.status == "running":
        why = solver.step()
        steps += 1
        if solver.status == "failed" or not numpy.isfinite(solver.y).all():
            return None, f"fails at t = {solver.t:.3e}: {why}"
        if steps >= STEPS or time.process_time() - began > SECONDS:
            return None, LONG
        reached = numpy.searchsorted(times, solver.t, side="right")
        if reached > row:
            values = solver.dense_output()(times[row:reached]).T
            rows = max(rows, (abs(values - states[row:reached]) / (atol + rtol * sizes)).max())
            row = reached
    last = (abs(solver.y - states[-1]) / (atol + rtol * abs(states[-1]))).max()
    return (steps, solver.nfev, last, rows), ""


def main():
    odec, solutions, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    print(f"# SciPy {scipy.__version__}, NumPy {numpy.__version__}, {time.strftime('%Y-%m-%d')}")
    print("problem\tmethod\trtol\tfloor\tsteps\tf\tlast\trows\twhat")
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(HERE.glob("*.ode"), key=lambda path: (path.stem not in names, path.stem)):
            found = compiled(odec, path, pathlib.Path(folder))
            if found is None:
                continue
            known = numpy.loadtxt(solutions / f"{path.stem}.txt", ndmin=2)
            for method, floor in itertools.product([Radau, LSODA, DOP853], FLOORS):
                what = ""
                for rtol in RTOLS:
                    figures = None
                    if what != LONG:
                        with numpy.errstate(all="ignore"):
                            figures, what = run(method, *found, known, rtol, rtol * floor)
                    text = "\t\t\t" if figures is None else "{}\t{}\t{:.3e}\t{:.3e}".format(*figures)
                    print(f"{path.stem}\t{method.__name__}\t{rtol:g}\t{floor:g}\t{text}\t{what}", flush=True)


main()
