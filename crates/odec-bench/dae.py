"""Algebraic equations: odec beside IDA of SUNDIALS, processor time to reach an error.

    apt-get install libsundials-dev
    python dae.py [amplifier|ring|front ...]

`ODEC` names the command of odec (target/release/odec of this repository). IDA solves `limit/ida.c`, whose residuals and
exact Jacobians are written by hand, and is built with `cc -O3 -march=native`; CFLAGS and LDFLAGS are passed on. The time of
IDA is that of the solve. That of odec is the processor time of a run minus that of a run of a ten millionth of its length,
both the least of several: what remains is the solve, and every check during it. The error is the largest one of all
unknowns at the end relative to |value| + floor, compared with radau5 at 1e-11. The time to an error is interpolated between
two tolerances; the error at a tolerance counts as no smaller than those at the next two tighter ones.
"""

import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ODEC = os.environ.get("ODEC", str(ROOT / "target/release/odec"))
TOLERANCES = [10.0 ** (-k / 2) for k in range(2, 20)]
ERRORS = [10.0**-k for k in range(3, 9)]
REPEATS = 5
FRONT = [name for i in range(1, 501) for name in (f"u[{i}]", f"phi[{i}]")]
RING = [f"U{k}" for k in range(1, 8)] + [f"I{k}" for k in range(1, 9)]
# file, end, unknowns in the order of ida.c, absolute tolerance as a part of the relative one, more arguments, methods
PROBLEMS = {
    "amplifier": ("models/transistor_amplifier.ode", 0.2, [f"y{k}" for k in range(1, 9)], 1.0, [], "rodas5p"),
    "ring": ("models/ring_modulator.ode", 1000.0, RING, 1e-4, ["--run", "whole"], "rodas5p"),
    "front": ("crates/odec-bench/models/front.ode", 10.0, FRONT, 1e-3, [], "bdf"),
}


def built():
    program = pathlib.Path(tempfile.mkdtemp()) / "ida"
    parts = ["ida", "nvecserial", "sunlinsolband", "sunlinsoldense", "sunmatrixband", "sunmatrixdense"]
    flags = os.environ.get("CFLAGS", "").split(), os.environ.get("LDFLAGS", "").split()
    libraries = [f"-lsundials_{part}" for part in parts]
    command = ["cc", "-O3", "-march=native", *flags[0], str(HERE / "limit/ida.c"), "-o", str(program), *flags[1], *libraries, "-lm"]
    subprocess.run(command, check=True)
    return program


def ida(program, name):
    """Tolerance, milliseconds and values at the end, where IDA reaches it."""
    found = []
    for rtol in TOLERANCES:
        words = subprocess.run([program, name, repr(rtol)], capture_output=True, text=True, check=True).stdout.split()
        if int(words[3]) >= 0:
            found.append((rtol, float(words[1]), [float(word) for word in words[4:]]))
    return found


def processor_time(command):
    """Milliseconds, and what the command prints; None if it fails."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        return (1e3 * (usage.ru_utime + usage.ru_stime), out.read()) if status == 0 else None


def odec(name, method, rtol, repeats=REPEATS):
    """Milliseconds and values at the end, or None."""
    file, end, unknowns, floor, more, _ = PROBLEMS[name]
    flags = ["--method", method, "--rtol", repr(rtol), "--atol", repr(rtol * floor), "--samples", "1", "--quiet"]
    command = [ODEC, "run", str(ROOT / file), *more, *flags, "--record", "states"]
    whole, short = [], []
    for _ in range(repeats):
        ran, begun = processor_time(command), processor_time([*command, "--t-end", repr(1e-7 * end)])
        if ran is None or begun is None:
            return None
        whole.append(ran[0])
        short.append(begun[0])
        text = ran[1]
    header, *_, last = text.strip().split("\n")
    values = dict(zip(header.split(","), map(float, last.split(","))))
    return max(min(whole) - min(short), 0.05), [values[unknown] for unknown in unknowns]


def times(found, exact, floor):
    """The time to each of the errors."""
    def error(values):
        return max(abs(a - b) / (abs(b) + floor) for a, b in zip(values, exact))

    points = [(time, error(values)) for _, time, values in found]
    points = [(time, max(e for _, e in points[k : k + 3])) for k, (time, _) in enumerate(points)]
    reached = []
    for wanted in ERRORS:
        k = next((k for k, (_, e) in enumerate(points) if e <= wanted), None)
        if not k:
            reached.append(points[0][0] if k == 0 else None)
            continue
        (before, large), (after, small) = points[k - 1], points[k]
        part = (math.log(large) - math.log(wanted)) / (math.log(large) - math.log(max(small, 1e-300)))
        reached.append(math.exp((1 - part) * math.log(before) + part * math.log(after)))
    return reached


def main():
    program = built()
    for name in sys.argv[1:] or PROBLEMS:
        exact = odec(name, "radau5", 1e-11, 1)[1]
        floor = PROBLEMS[name][3]
        rows = {"IDA": times(ida(program, name), exact, floor)}
        for method in ("auto", PROBLEMS[name][5]):
            runs = [(rtol, odec(name, method, rtol)) for rtol in TOLERANCES]
            rows[f"odec {method}"] = times([(rtol, *run) for rtol, run in runs if run], exact, floor)
        print(f"| {name}, ms to an error of | " + " | ".join(f"{e:.0e}".replace("e-0", "e-") for e in ERRORS) + " |")
        print("|---" * (len(ERRORS) + 1) + "|")
        for row, values in rows.items():
            print(f"| {row} | " + " | ".join("-" if v is None else f"{v:.3g}" for v in values) + " |", flush=True)
        ratios = [a / b if a and b else None for a, b in zip(rows["IDA"], rows["odec auto"])]
        print("| IDA over auto | " + " | ".join("-" if r is None else f"{r:.3g}" for r in ratios) + " |", flush=True)


main()
