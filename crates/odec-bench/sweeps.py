"""Sweeps of 10,000 runs with odec and with other packages of Python: time, error, and lines of code.

    pip install . diffrax numba scipy pandas libroadrunner antimony pydiffsol
    python sweeps.py [number of runs [packages]]

Every package has its section below: what its user writes, and nothing else. The number of lines is that of the section.
All solve the same problems to the same tolerances. The error of a package is the largest difference to SciPy's Radau at
1e-12 over some of the runs, relative to |value| + floor. Times are CPU times of the process, of the second call: compiling
is in the first one. They do not depend on what else the machine does.
"""

import inspect
import sys
import time

import numpy as np

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
TOLERANCES = (1e-4, 1e-6, 1e-8)
RTOL = TOLERANCES[0]
# what is varied: two rates of Robertson's problem, and the current into a neuron of Hodgkin and Huxley
RATES = np.column_stack([np.geomspace(0.01, 0.1, COUNT), np.tile(np.geomspace(3e3, 3e4, 100), COUNT // 100 + 1)[:COUNT]])
CURRENTS = np.linspace(2.0, 12.0, COUNT)
START = [-65.0, 0.053, 0.596, 0.318]
ROBERTSON = """
param k1 = 0.04, k2 = 3e7, k3 = 1e4
state A = 1, B = 0, C = 0
A' = -k1*A + k3*B*C
B' = k1*A - k3*B*C - k2*B^2
C' = k2*B^2
"""
NEURON = """
param I = 10
state V = -65, m = 0.053, h = 0.596, n = 0.318
V' = I - 120*m^3*h*(V - 50) - 36*n^4*(V + 77) - 0.3*(V + 54.4)
m' = 0.1*(V + 40)/(1 - exp(-(V + 40)/10))*(1 - m) - 4*exp(-(V + 65)/18)*m
h' = 0.07*exp(-(V + 65)/20)*(1 - h) - h/(1 + exp(-(V + 35)/10))
n' = 0.01*(V + 55)/(1 - exp(-(V + 55)/10))*(1 - n) - 0.125*exp(-(V + 65)/80)*n
"""


class Odec:
    def robertson():
        import odec
        import pandas

        m = odec.compile(ROBERTSON)
        points = pandas.DataFrame(RATES, columns=["k1", "k3"])
        return lambda: m.sweep(points, t=40, rtol=RTOL, atol=1e-4 * RTOL, threads=1).to_pandas()[["A", "B", "C"]].to_numpy()

    def neuron():
        import odec

        m = odec.compile(NEURON)
        return lambda: m.sweep({"I": CURRENTS}, t=20, rtol=RTOL, atol=0.01 * RTOL, threads=1).to_pandas()[list("Vmhn")].to_numpy()


class Numba:
    def robertson():
        from numba import njit
        from scipy.integrate import odeint

        @njit
        def f(y, t, k1, k2, k3):
            a, b, c = y
            return np.array([-k1 * a + k3 * b * c, k1 * a - k3 * b * c - k2 * b * b, k2 * b * b])

        t = [0.0, 40.0]
        return lambda: np.array([odeint(f, [1.0, 0, 0], t, args=(k1, 3e7, k3), rtol=RTOL, atol=1e-4 * RTOL)[-1] for k1, k3 in RATES])

    def neuron():
        from numba import njit
        from scipy.integrate import odeint

        @njit
        def f(y, t, I):
            V, m, h, n = y
            dV = I - 120 * m**3 * h * (V - 50) - 36 * n**4 * (V + 77) - 0.3 * (V + 54.4)
            dm = 0.1 * (V + 40) / (1 - np.exp(-(V + 40) / 10)) * (1 - m) - 4 * np.exp(-(V + 65) / 18) * m
            dh = 0.07 * np.exp(-(V + 65) / 20) * (1 - h) - h / (1 + np.exp(-(V + 35) / 10))
            dn = 0.01 * (V + 55) / (1 - np.exp(-(V + 55) / 10)) * (1 - n) - 0.125 * np.exp(-(V + 65) / 80) * n
            return np.array([dV, dm, dh, dn])

        t, options = [0.0, 20.0], {"rtol": RTOL, "atol": 0.01 * RTOL, "mxstep": 5000}
        return lambda: np.array([odeint(f, START, t, args=(I,), **options)[-1] for I in CURRENTS])


class Diffrax:
    def robertson():
        import diffrax
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def f(t, y, k):
            a, b, c = y
            return jnp.stack([-k[0] * a + k[1] * b * c, k[0] * a - k[1] * b * c - 3e7 * b * b, 3e7 * b * b])

        def run(k):
            control = diffrax.PIDController(rtol=RTOL, atol=1e-4 * RTOL)
            y0, term, method = jnp.array([1.0, 0, 0]), diffrax.ODETerm(f), diffrax.Kvaerno5()
            return diffrax.diffeqsolve(term, method, 0.0, 40.0, 1e-4, y0, k, stepsize_controller=control).ys[-1]

        every = jax.jit(jax.vmap(run))
        return lambda: np.asarray(every(RATES))

    def neuron():
        import diffrax
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def f(t, y, I):
            V, m, h, n = y
            dV = I - 120 * m**3 * h * (V - 50) - 36 * n**4 * (V + 77) - 0.3 * (V + 54.4)
            dm = 0.1 * (V + 40) / (1 - jnp.exp(-(V + 40) / 10)) * (1 - m) - 4 * jnp.exp(-(V + 65) / 18) * m
            dh = 0.07 * jnp.exp(-(V + 65) / 20) * (1 - h) - h / (1 + jnp.exp(-(V + 35) / 10))
            dn = 0.01 * (V + 55) / (1 - jnp.exp(-(V + 55) / 10)) * (1 - n) - 0.125 * jnp.exp(-(V + 65) / 80) * n
            return jnp.stack([dV, dm, dh, dn])

        def run(I):
            control = diffrax.PIDController(rtol=RTOL, atol=0.01 * RTOL)
            y0, term, method = jnp.array(START), diffrax.ODETerm(f), diffrax.Tsit5()
            return diffrax.diffeqsolve(term, method, 0.0, 20.0, 0.01, y0, I, stepsize_controller=control).ys[-1]

        every = jax.jit(jax.vmap(run))
        return lambda: np.asarray(every(CURRENTS))


class Roadrunner:
    def robertson():
        import antimony
        import roadrunner

        antimony.loadAntimonyString(
            "k1 = 0.04; k2 = 3e7; k3 = 1e4; A = 1; B = 0; C = 0;"
            "A' = -k1*A + k3*B*C; B' = k1*A - k3*B*C - k2*B^2; C' = k2*B^2;"
        )
        r = roadrunner.RoadRunner(antimony.getSBMLString())
        r.integrator.relative_tolerance, r.integrator.absolute_tolerance = RTOL, 1e-4 * RTOL

        def run(k1, k3):
            r.resetAll()
            r.k1, r.k3 = k1, k3
            return r.simulate(0, 40, 2, ["A", "B", "C"])[-1]

        return lambda: np.array([run(k1, k3) for k1, k3 in RATES])

    def neuron():
        import antimony
        import roadrunner

        antimony.loadAntimonyString(
            "I = 10; V = -65; m = 0.053; h = 0.596; n = 0.318;"
            "V' = I - 120*m^3*h*(V - 50) - 36*n^4*(V + 77) - 0.3*(V + 54.4);"
            "m' = 0.1*(V + 40)/(1 - exp(-(V + 40)/10))*(1 - m) - 4*exp(-(V + 65)/18)*m;"
            "h' = 0.07*exp(-(V + 65)/20)*(1 - h) - h/(1 + exp(-(V + 35)/10));"
            "n' = 0.01*(V + 55)/(1 - exp(-(V + 55)/10))*(1 - n) - 0.125*exp(-(V + 65)/80)*n;"
        )
        r = roadrunner.RoadRunner(antimony.getSBMLString())
        r.integrator.relative_tolerance, r.integrator.absolute_tolerance = RTOL, 0.01 * RTOL

        def run(I):
            r.resetAll()
            r.I = I
            return r.simulate(0, 20, 2, ["V", "m", "h", "n"])[-1]

        return lambda: np.array([run(I) for I in CURRENTS])


class Diffsol:
    def robertson():
        import pydiffsol

        ode = pydiffsol.Ode(
            """
            in_i { k1 = 0.04, k3 = 1e4 }
            k2 { 3e7 }
            u_i { a = 1, b = 0, c = 0 }
            F_i { -k1*a + k3*b*c, k1*a - k3*b*c - k2*b*b, k2*b*b }
            """,
            matrix_type=pydiffsol.nalgebra_dense,
            ode_solver=pydiffsol.bdf,
        )
        ode.rtol, ode.atol = RTOL, 1e-4 * RTOL
        return lambda: np.array([ode.solve_dense(k, np.array([40.0])).ys[:, -1] for k in RATES])

    def neuron():
        import pydiffsol

        ode = pydiffsol.Ode(
            """
            in_i { I = 10 }
            u_i { V = -65, m = 0.053, h = 0.596, n = 0.318 }
            F_i {
              I - 120*m*m*m*h*(V - 50) - 36*n*n*n*n*(V + 77) - 0.3*(V + 54.4),
              0.1*(V + 40)/(1 - exp(-(V + 40)/10))*(1 - m) - 4*exp(-(V + 65)/18)*m,
              0.07*exp(-(V + 65)/20)*(1 - h) - h/(1 + exp(-(V + 35)/10)),
              0.01*(V + 55)/(1 - exp(-(V + 55)/10))*(1 - n) - 0.125*exp(-(V + 65)/80)*n,
            }
            """,
            matrix_type=pydiffsol.nalgebra_dense,
            ode_solver=pydiffsol.tsit45,
        )
        ode.rtol, ode.atol = RTOL, 0.01 * RTOL
        return lambda: np.array([ode.solve_dense(np.array([I]), np.array([20.0])).ys[:, -1] for I in CURRENTS])


def reference(problem, k):
    """SciPy's Radau at a tight tolerance for run number k."""
    from scipy.integrate import solve_ivp

    if problem == "robertson":
        (k1, k3), y0, end, atol = RATES[k], [1.0, 0, 0], 40.0, 1e-16

        def f(t, y):
            a, b, c = y
            return [-k1 * a + k3 * b * c, k1 * a - k3 * b * c - 3e7 * b * b, 3e7 * b * b]
    else:
        current, y0, end, atol = CURRENTS[k], START, 20.0, 1e-13

        def f(t, y):
            V, m, h, n = y
            return [
                current - 120 * m**3 * h * (V - 50) - 36 * n**4 * (V + 77) - 0.3 * (V + 54.4),
                0.1 * (V + 40) / (1 - np.exp(-(V + 40) / 10)) * (1 - m) - 4 * np.exp(-(V + 65) / 18) * m,
                0.07 * np.exp(-(V + 65) / 20) * (1 - h) - h / (1 + np.exp(-(V + 35) / 10)),
                0.01 * (V + 55) / (1 - np.exp(-(V + 55) / 10)) * (1 - n) - 0.125 * np.exp(-(V + 65) / 80) * n,
            ]

    return solve_ivp(f, (0, end), y0, method="Radau", rtol=1e-12, atol=atol).y[:, -1]


def lines(section, problem):
    """Lines of code, with those of the text of odec's model, and without empty ones."""
    own = [line for line in inspect.getsource(getattr(section, problem)).splitlines()[1:] if line.strip()]
    text = {"robertson": ROBERTSON, "neuron": NEURON}[problem].strip().splitlines() if section is Odec else []
    return len(own) + len(text)


def measured(section, problem, looked, wanted, floor):
    sweep = getattr(section, problem)()
    sweep()
    began = time.process_time()
    rows = sweep()
    took = time.process_time() - began
    return took, (np.abs(rows[looked] - wanted) / (np.abs(wanted) + floor)).max()


def main():
    global RTOL
    packages = {"odec": Odec, "scipy + numba (LSODA)": Numba, "diffrax": Diffrax, "libRoadRunner": Roadrunner, "pydiffsol": Diffsol}
    floors = {"robertson": np.array([1e-4, 1e-9, 1e-4]), "neuron": np.array([1.0, 1e-2, 1e-2, 1e-2])}
    for problem, floor in floors.items():
        looked = np.linspace(0, COUNT - 1, 25).astype(int)
        wanted = np.array([reference(problem, k) for k in looked])
        print(f"\n{problem}, {COUNT} runs: CPU time, error\n")
        print("| package | " + " | ".join(f"rtol {rtol:g}" for rtol in TOLERANCES) + " | lines |\n" + "|---" * (len(TOLERANCES) + 2) + "|")
        for name, section in packages.items():
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            cells = []
            for RTOL in TOLERANCES:
                try:
                    took, error = measured(section, problem, looked, wanted, floor)
                    cells.append(f"{took:.2g} s, {error:.0e}")
                except Exception as why:
                    cells.append(f"{type(why).__name__}: {str(why)[:60]!r}")
            print(f"| {name} | {' | '.join(cells)} | {lines(section, problem)} |", flush=True)


main()
