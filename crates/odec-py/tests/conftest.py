"""Models that several tests use."""

import odec
import pytest

DECAY = "model decay\nparam k = 2\nstate x = 1\nx' = -k*x\nrun { t = 0 .. 5 }\n"

# derivatives of all kinds differ from one another, so that a swapped row or column shows
LORENZ = """model lorenz
param sigma = 10, rho = 28, beta = 2.5
state x = 1, y = 2, z = 3
x' = sigma*(y - x) + 0.1*sin(t)
y' = x*(rho - z) - y
z' = x*y - beta*z
output r = sqrt(x^2 + y^2 + z^2)
"""

# positions stand before velocities where solvers work, and not in the text
BODIES = """model bodies
param c = 3, d = 0.5
state w = 7
state x = 1, x' = 2
state y = 3, y' = 4
x'' = -c*x + d*y' + w
y'' = -2*y*x' - d*y
w' = x' - w
"""

HEAT = """model heat
const N = 5
index i = 1 .. N
param D = 0.7
param s[i] = 1
state u[i] = i^2
u[i]' = D*(u[i-1] - 2*u[i] + u[i+1]) + s[i]
boundary u[0] = 0, u[N+1] = 0
"""

BALL = """model ball
param g = 9.81, e = 0.5
state h = 1, h' = 0
h'' = -g
## bounce
when h < 0 { h' := -e*h' }
"""


@pytest.fixture
def decay() -> odec.Model:
    return odec.compile(DECAY)


@pytest.fixture
def lorenz() -> odec.Model:
    return odec.compile(LORENZ)


@pytest.fixture
def bodies() -> odec.Model:
    return odec.compile(BODIES)


def pytest_configure(config):
    # models of the tests have few rows on purpose, and are warned of
    config.addinivalue_line("filterwarnings", "ignore::odec.OdecWarning")
