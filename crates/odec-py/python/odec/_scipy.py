"""SciPy's `solve_ivp` interface, solved by odec."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import RunError, UsageError
from ._model import Model
from ._numbers import numbers, real
from ._solution import F64, Floats, Solution, need

# SciPy's names; all others are odec's
_METHODS = {"RK45": "dopri5", "RK23": "bs32", "DOP853": "dop853", "Radau": "radau5", "BDF": "bdf", "LSODA": "auto"}
# what SciPy's methods take beside tolerances, and a model has by itself
_KNOWN = ("jac", "jac_sparsity", "vectorized")


class _Dense:
    """The solution at other times: n values, or n rows of as many values as there are times."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def __call__(self, t: float | Floats) -> F64:
        times = numbers("t", t)
        rows = self._solution(np.atleast_1d(times)).y.T
        return rows[:, 0] if times.ndim == 0 else rows


def _span(t_span: Any) -> tuple[float, float]:
    try:
        start, end = t_span
    except (TypeError, ValueError):
        raise UsageError(f"`t_span` is start and end, not {t_span!r:.200}") from None
    return real("t_span", start), real("t_span", end)


def solve_ivp(
    fun: Model,
    t_span: tuple[float, float],
    y0: Floats | None = None,
    method: str = "auto",
    t_eval: Floats | None = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp` for a compiled model: the same arguments, the same result.

    `y0` is in the order of `Model.states`; without it the model starts as it says. Methods are odec's or SciPy's by name. Tolerances
    that are left out are those of the model, or odec's, which are tighter than SciPy's.
    """
    if not isinstance(fun, Model):
        raise UsageError(
            "odec.solve_ivp solves compiled models: use scipy.integrate.solve_ivp for a Python function, "
            "or write its equations as a model: odec.compile(text)"
        )
    if events is not None:
        raise UsageError("events are part of the model, `when x < 0 { ... }`: odec.solve_ivp takes no event functions")
    if args:
        raise UsageError("set parameters by name: `m.with_(k=2)` instead of `args`")
    for name in _KNOWN:
        options.pop(name, None)
    taken = {name: options.pop(name) for name in ("rtol", "atol", "max_step") if options.get(name) is not None}
    options = {name: value for name, value in options.items() if value is not None and name not in taken}
    if options:
        raise UsageError(f"odec.solve_ivp has no option `{next(iter(options))}`; it takes rtol, atol, max_step")
    if taken.get("max_step") == np.inf:
        del taken["max_step"]
    if np.ndim(taken.get("atol", 0.0)):
        each = numbers("atol", taken["atol"])
        if each.shape != (len(fun.states),):
            raise UsageError(f"`atol` has shape {each.shape}; it must be one number or {len(fun.states)} numbers")
        taken["atol"] = dict(zip(fun.states, each.tolist()))
    model = fun
    if y0 is not None:
        start = numbers("y0", y0)
        if start.shape != (len(fun.states),):
            raise UsageError(f"`y0` has shape {start.shape}; the model has {len(fun.states)} states: {', '.join(fun.states[:10])}")
        model = fun.with_(dict(zip(fun.states, start.tolist())))
    result = need("scipy.optimize", "odec.solve_ivp").OptimizeResult
    status, message = 0, "The solver successfully reached the end of the integration interval."
    span = _span(t_span)
    samples: Any = "steps" if t_eval is None else numbers("t_eval", t_eval)
    if np.ndim(samples) > 1 or (t_eval is not None and np.ndim(samples) == 0):
        raise UsageError("`t_eval` is a list of times")
    try:
        solution = model.run(
            span, method=_METHODS.get(method, method), samples=samples, record="states", dense=dense_output, **taken
        )
    except RunError as error:
        if error.partial is None:
            raise
        solution, status, message = error.partial, -1, str(error)
    stats = solution.stats
    return result(
        t=solution.t,
        y=solution.y.T,
        sol=_Dense(solution) if dense_output and status == 0 else None,
        t_events=None,
        y_events=None,
        nfev=stats["f"],
        njev=stats["jacobians"],
        nlu=stats["factorisations"],
        status=status,
        message=message,
        success=status >= 0,
    )
