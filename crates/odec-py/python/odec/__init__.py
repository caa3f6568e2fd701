"""odec: models made of differential equations, compiled to machine code, solved and differentiated.

    import odec
    m = odec.compile("model decay\\nparam k = 2\\nstate x = 1\\nx' = -k*x")
    s = m.run(t=(0, 5))
    s["x"]
"""

from __future__ import annotations

from typing import Any

from ._errors import CompileError, Diagnostic, OdecError, OdecWarning, RunError, UsageError
from ._model import CFunc, Log, Model, Range, check, compile, geom, lin, load, log
from ._odec import __version__, methods
from ._scipy import solve_ivp
from ._solution import Event, Solution, Sweep

__all__ = [
    "CFunc",
    "CompileError",
    "Diagnostic",
    "Event",
    "Log",
    "Model",
    "OdecError",
    "OdecWarning",
    "Range",
    "RunError",
    "Solution",
    "Sweep",
    "UsageError",
    "__version__",
    "check",
    "compile",
    "geom",
    "lin",
    "load",
    "log",
    "methods",
    "solve_ivp",
]


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext odec`: adds the cell magic `%%odec`."""
    from ._notebook import register

    register(shell)
