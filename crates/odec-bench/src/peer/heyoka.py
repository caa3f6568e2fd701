"""Solves one of the non-stiff problems with heyoka at several tolerances; called by peer/heyoka.rs.

usage: heyoka.py PROBLEM T_END RUNS SECONDS RTOL... < initial values
One line a tolerance: rtol, least and median milliseconds, number of runs, steps, order, then the state at the end.
Only the propagation is timed: the integrator, which holds the compiled code, is made once for each tolerance.
"""

import statistics
import sys
import time

import heyoka as hy


def pleiades():
    """x1..x7, y1..y7, then their velocities; masses 1 to 7."""
    x, y, u, v = (hy.make_vars(*[f"{name}{k}" for k in range(1, 8)]) for name in ("x", "y", "u", "v"))
    ax, ay = [[] for _ in x], [[] for _ in x]
    for i in range(7):
        for j in range(i + 1, 7):
            dx, dy = x[j] - x[i], y[j] - y[i]
            pull = (dx * dx + dy * dy) ** -1.5
            ax[i].append((j + 1) * dx * pull)
            ay[i].append((j + 1) * dy * pull)
            ax[j].append(-(i + 1) * dx * pull)
            ay[j].append(-(i + 1) * dy * pull)
    return (
        list(zip(x, u)) + list(zip(y, v)) + [(u[i], hy.sum(ax[i])) for i in range(7)] + [(v[i], hy.sum(ay[i])) for i in range(7)]
    )


def lorenz():
    x, y, z = hy.make_vars("x", "y", "z")
    return [(x, 10.0 * (y - x)), (y, x * (28.0 - z) - y), (z, x * y - 8.0 / 3.0 * z)]


def arenstorf():
    x, y, u, v = hy.make_vars("x", "y", "u", "v")
    mu = 0.012277471
    rest = 1.0 - mu
    earth = ((x + mu) ** 2 + y * y) ** -1.5
    moon = ((x - rest) ** 2 + y * y) ** -1.5
    return [
        (x, u),
        (y, v),
        (u, x + 2.0 * v - rest * (x + mu) * earth - mu * (x - rest) * moon),
        (v, y - 2.0 * u - rest * y * earth - mu * y * moon),
    ]


def main():
    if sys.argv[1] == "--version":
        print(hy.__version__)
        return
    problem, t_end, runs, budget = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    start = [float(word) for word in sys.stdin.read().split()]
    system = {"pleiades": pleiades, "lorenz": lorenz, "arenstorf": arenstorf}[problem]()
    for word in sys.argv[5:]:
        integrator = hy.taylor_adaptive(system, start, tol=float(word))
        times, steps = [], 0
        while len(times) < 2 or (len(times) < runs and sum(times) < budget):
            integrator.time = 0.0
            integrator.state[:] = start
            clock = time.perf_counter()
            outcome = integrator.propagate_until(t_end)
            times.append(time.perf_counter() - clock)
            steps = outcome[3]
        end = " ".join(repr(float(value)) for value in integrator.state)
        print(word, 1e3 * min(times), 1e3 * statistics.median(times), len(times), steps, integrator.order, end, flush=True)


main()
