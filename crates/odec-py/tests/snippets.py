"""Uses of the package that pass a strict type check; not run."""

import pickle

import numpy as np
import odec

m = odec.compile("model decay\nparam k = 2\nstate x = 1\nx' = -k*x")
s = m.run(t=(0, 5), samples=100)
fast = m.with_(k=20.0, x=3)
in_a_unit = m.with_(k="20 [1/s]")
x: odec.Solution = fast.run(5)
print(m.params["k"], x["x"][-1], s.t, s.y, s.columns, s.stats["accepted"])
total: float = float(s["x"].sum())
w = m.sweep({"k": odec.geom(0.1, 10, 200), "x": [1.0, 2.0]}, t=5)
print(w.points["k"], w["x"], w.ok.all())
g = m.run(5, sens=["k"]).sens["x", "k"]
r = odec.solve_ivp(m, (0, 5), [1.0], method="bdf", rtol=1e-8, t_eval=np.linspace(0, 5, 50))
at = m.run(5, dense=True)
value = at(0.5)["x"]
rows: odec.Solution = at(np.linspace(0, 5, 7))
f = m.f(0.0, m.y0())
j = m.jac(0.0, m.y0())
j[0, 0] = 1.0
again = pickle.loads(pickle.dumps(fast))
try:
    odec.compile("x' = -k*x")
except odec.CompileError as e:
    print(e.diagnostics[0].code, e.diagnostics[0].render(), e.lineno)
try:
    m.run(5, max_steps=1)
except odec.RunError as e:
    print(e.t, e.partial["x"] if e.partial else None)
