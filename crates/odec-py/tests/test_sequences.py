"""What ran before on a model does not change what runs next: every run is compared to that of a model that was compiled for it alone."""

import random

import numpy as np
import odec
import pytest

ARRAYS = """const N = 3
index i = 1 .. N
param k = 2, c = 1, w[i] = 0.5*i
state x = k/2, v = c + 1
state u[i] = i*c
x' = c - k*x + v
v' = -v + sum(i: u[i])*0.1
u[i]' = -w[i]*u[i] + x
output q = x^2 + v
params hot { k = 5, c = 3 }
"""
BALL = """param g = 9.81, e = 0.8
state h = 1, h' = 0.1*g
h'' = -g
when h < 0 { h' := -e*h' }
"""
CASES = {
    "arrays": (ARRAYS, {"k": 4, "c": 2, "x": 2, "v": 2, "u[2]": 3, "w[1]": 2, "N": 4}, [["k", "x"], ["v"]], "hot"),
    "ball": (BALL, {"g": 12, "e": 0.9, "h": 2, "h'": 3}, [["g", "h"], ["e"]], None),
}


@pytest.mark.parametrize("case", CASES)
def test_no_run_depends_on_those_before(case):
    text, largest, by, params = CASES[case]
    draw, compared = random.Random(1), 0
    for _ in range(4):
        model = odec.compile(text)
        for _ in range(7):
            names = draw.sample(list(largest), draw.randint(0, 3))
            values = {n: draw.randint(2, 4) if n == "N" else largest[n] * draw.uniform(0.85, 1.0) for n in names}
            options = {"t": 0.9, "samples": 5, "rtol": 1e-9, "atol": 1e-11, "sens": draw.choice([None, *by])}
            if params and draw.random() < 0.3:
                options["params"] = params
            found = []
            for one in (model, odec.compile(text)):
                try:
                    s = one.with_(values).run(**options)
                    found.append((s.columns, s.y))
                except odec.OdecError as error:
                    found.append((error.diagnostics[0].code, None))
            (columns, rows), (wanted_columns, wanted) = found
            assert columns == wanted_columns, (values, options)
            if rows is not None:
                compared += 1
                np.testing.assert_allclose(rows, wanted, rtol=1e-6, atol=1e-8, err_msg=f"{values} {options}")
    assert compared > 20
