"""odec: models made of differential equations, compiled to machine code, solved and differentiated.

    import odec
    m = odec.compile("model decay\\nparam k = 2\\nstate x = 1\\nx' = -k*x")
    s = m.run(t=(0, 5))
    s["x"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._errors import CompileError, Diagnostic, OdecError, OdecWarning, RunError, UsageError
    from ._fit import Data, Fit
    from ._grad import Gradient
    from ._model import CFunc, Model, check, compile, load
    from ._odec import __version__, methods
    from ._points import Log, Range, geom, lin, log
    from ._scipy import solve_ivp
    from ._solution import Event, Solution, Sweep

# The modules of the names, which are imported on first use: the command `odec` has no need of NumPy.
_PLACES = {
    "_errors": "CompileError Diagnostic OdecError OdecWarning RunError UsageError",
    "_fit": "Data Fit",
    "_grad": "Gradient",
    "_model": "CFunc Model check compile load",
    "_odec": "__version__ methods",
    "_points": "Log Range geom lin log",
    "_scipy": "solve_ivp",
    "_solution": "Event Solution Sweep",
}

__all__ = [
    "CFunc",
    "CompileError",
    "Data",
    "Diagnostic",
    "Event",
    "Fit",
    "Gradient",
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


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for module, names in _PLACES.items():
        if name in names.split():
            value = getattr(import_module(f"odec.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'odec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext odec`: adds the cell magic `%%odec`."""
    from ._notebook import register

    register(shell)
