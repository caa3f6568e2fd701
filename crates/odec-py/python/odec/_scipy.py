"""SciPy's `solve_ivp` interface, solved by odec."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import OdecWarning, RunError, UsageError
from ._model import Model
from ._numbers import numbers, real, whole
from ._options import settings as _settings
from ._solution import F64, Floats, Solution, need, outside

# SciPy's names; all others are odec's
_METHODS = {"RK45": "dopri5", "RK23": "bs32", "DOP853": "dop853", "Radau": "radau5", "BDF": "bdf", "LSODA": "auto"}
# what SciPy's methods take beside tolerances, and a model has by itself
_KNOWN = ("jac", "jac_sparsity", "vectorized", "lband", "uband")
# SciPy has no relative tolerance below this either
_LEAST = 100 * np.finfo(float).eps
# nodes of the polynomial on a step in which an event happens, and of the first run that looks for an end by an event
_NODES = 9
_FIRST_STEPS = 500
_SUCCESS = "The solver successfully reached the end of the integration interval."
_TERMINATED = "A termination event occurred."
_TOLERANCES = ("rtol", "atol", "max_step", "first_step")


class _Dense:
    """The solution at other times: n values, or n rows of as many values as there are times."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def __call__(self, t: float | Floats) -> F64:
        times = numbers("t", t)
        rows = self._solution(np.atleast_1d(times)).y.T
        return rows[:, 0] if times.ndim == 0 else rows


class _Event:
    """An event function with the attributes that SciPy reads."""

    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        if not callable(function):
            raise UsageError(f"an event must be a function of t and y, not {function!r:.200}")
        self.function, self.args = function, args
        terminal = getattr(function, "terminal", None)
        self.most = whole("terminal", int(terminal) if isinstance(terminal, bool) else terminal) if terminal else np.inf
        self.direction = real("direction", getattr(function, "direction", 0))

    def __call__(self, t: float, y: F64) -> float:
        value = numbers("the value of an event", self.function(float(t), y, *self.args))
        if value.size != 1:
            raise UsageError(f"an event must return a single number, not an array of shape {value.shape}")
        return float(value.ravel()[0])

    def active(self, before: F64, after: F64) -> Any:
        """The steps in which an event lies, according to its values at their ends."""
        up, down = (before <= 0) & (after >= 0), (before >= 0) & (after <= 0)
        return up if self.direction > 0 else down if self.direction < 0 else up | down


def _root(event: _Event, values: Callable[[float], F64], a: float, b: float) -> float:
    """Where an event function is zero between two times, as SciPy finds it."""
    ends = event(a, values(a)), event(b, values(b))
    if ends[0] == 0 or ends[1] == 0 or np.sign(ends[0]) == np.sign(ends[1]):
        return a if ends[0] == 0 else b
    close = 4 * np.finfo(float).eps
    brent = need("scipy.optimize", "odec.solve_ivp").brentq
    return float(brent(lambda t: event(t, values(t)), a, b, xtol=close, rtol=close))


class _Polynomial:
    """The states on a step, by their values at Chebyshev's points."""

    def __init__(self, a: float, b: float) -> None:
        self.nodes = 0.5 * (a + b) - 0.5 * (b - a) * np.cos(np.pi * np.arange(_NODES) / (_NODES - 1))
        self.nodes[0], self.nodes[-1] = a, b
        self.weights = (-1.0) ** np.arange(_NODES)
        self.weights[[0, -1]] *= 0.5
        self.values: F64 = np.empty((_NODES, 0))

    def __call__(self, t: float) -> F64:
        away = t - self.nodes
        if (at := np.flatnonzero(away == 0)).size:
            return self.values[at[0]].copy()
        weights = self.weights / away
        return np.asarray(weights @ self.values / weights.sum())


class _Found:
    """The events that were found in a run."""

    def __init__(self, events: list[_Event]) -> None:
        self.events = events
        self.clear()

    def clear(self) -> None:
        self.t: list[list[float]] = [[] for _ in self.events]
        self.y: list[list[F64]] = [[] for _ in self.events]
        self.end: float | None = None

    def look(self, steps: Solution, at: Callable[[F64], F64]) -> None:
        """Finds the events in the steps of a run; `at` gives states at times in ascending order of the run."""
        times, rows = steps.t, np.ascontiguousarray(steps.y)
        values = np.array([[event(t, y.copy()) for t, y in zip(times, rows)] for event in self.events])
        active = [event.active(g[:-1], g[1:]) for event, g in zip(self.events, values)]
        wanted = np.flatnonzero(np.any(active, axis=0))
        pieces = {int(k): _Polynomial(times[k], times[k + 1]) for k in wanted}
        inner = [piece.nodes[1:-1] for k, piece in pieces.items() if times[k] != times[k + 1]]
        states = iter(at(np.concatenate(inner)).reshape(len(inner), _NODES - 2, -1) if inner else ())
        roots: list[tuple[float, int, F64]] = []
        forward = 1.0 if times[-1] >= times[0] else -1.0
        for k, piece in pieces.items():
            a, b = float(times[k]), float(times[k + 1])
            if a != b:
                piece.values = np.vstack([rows[k], next(states), rows[k + 1]])
            for number, event in enumerate(self.events):
                if active[number][k]:
                    # at an instant the model itself changes its states
                    t = _root(event, piece, a, b) if a != b else b
                    roots.append((t, number, piece(t) if a != b else rows[k + 1].copy()))
        roots.sort(key=lambda root: forward * root[0])
        for t, number, y in roots:
            self.t[number].append(t)
            self.y[number].append(y)
            if len(self.t[number]) >= self.events[number].most:
                self.end = t
                return


def _events(given: Any, args: tuple[Any, ...]) -> list[_Event]:
    if given is None:
        return []
    return [_Event(event, args) for event in (given if isinstance(given, (list, tuple)) else [given])]


def _span(t_span: Any) -> tuple[float, float]:
    try:
        start, end = t_span
    except (TypeError, ValueError):
        raise UsageError(f"`t_span` must be a pair of start and end, not {t_span!r:.200}") from None
    return real("t_span", start), real("t_span", end)


def _with_args(model: Model, args: Any) -> Model:
    """The model with the values of its parameters, in their order."""
    names = list(model.params)
    given = tuple(args) if isinstance(args, (tuple, list)) else None
    if given is None:
        raise UsageError(f"`args` must be a tuple of values of the parameters, such as `args=({', '.join(names[:3]) or '1.5'},)`, not {args!r:.100}")
    if len(given) != len(names):
        raise UsageError(
            f"`args` has {len(given)} values, but the model has {len(names)} parameters: {', '.join(names[:20]) or 'none'}; "
            "`m.with_(k=2)` sets one by name"
        )
    return model.with_(dict(zip(names, given)))


def _tolerances(model: Model, taken: dict[str, Any]) -> None:
    """Converts arrays of tolerances for odec: one relative tolerance, and an absolute one for each state."""
    n = len(model.states)
    for name in ("rtol", "atol"):
        if np.ndim(taken.get(name, 0.0)):
            each = numbers(name, taken[name])
            if each.shape != (n,):
                raise UsageError(f"`{name}` has shape {each.shape}; it must be one number or {n} numbers")
            # the smallest one meets them all
            taken[name] = float(each.min()) if name == "rtol" else dict(zip(model.states, each.tolist()))
    if "rtol" in taken and 0 <= real("rtol", taken["rtol"]) < _LEAST:
        warnings.warn(f"`rtol` is too small; odec uses {_LEAST:.3g}", OdecWarning, stacklevel=outside())
        taken["rtol"] = _LEAST


def _checked(fun: Any, t_eval: Any, options: dict[str, Any], span: tuple[float, float]) -> tuple[dict[str, Any], F64 | None]:
    if not isinstance(fun, Model):
        raise UsageError(
            "odec.solve_ivp solves compiled models: use scipy.integrate.solve_ivp for a Python function, "
            "or write its equations as a model: odec.compile(text)"
        )
    options = {name: value for name, value in options.items() if name not in _KNOWN and value is not None}
    taken = {name: options.pop(name) for name in (*_TOLERANCES, "run", "params") if name in options}
    if options.get("min_step") == 0:
        del options["min_step"]
    if options:
        raise UsageError(f"odec.solve_ivp has no option `{next(iter(options))}`; it takes {', '.join(_TOLERANCES)}, run, params")
    if isinstance(taken.get("max_step"), float) and taken["max_step"] == np.inf:
        del taken["max_step"]
    if "first_step" in taken and real("first_step", taken["first_step"]) > abs(span[1] - span[0]):
        raise UsageError(f"`first_step` is {taken['first_step']!r}, longer than `t_span`, {span[0]:g} to {span[1]:g}")
    times = None if t_eval is None else numbers("t_eval", t_eval)
    if times is not None and times.ndim != 1:
        raise UsageError("`t_eval` must be a list of times")
    if times is not None and not (np.isfinite(times).all() and (np.minimum(*span) <= times).all() and (times <= np.maximum(*span)).all()):
        raise UsageError(f"`t_eval` contains times outside `t_span`, {span[0]:g} to {span[1]:g}")
    if times is not None and (np.diff(times) * (1 if span[1] >= span[0] else -1) <= 0).any():
        raise UsageError("the times in `t_eval` must be in the direction of the run, each of them once")
    return taken, times


def solve_ivp(
    fun: Model,
    t_span: tuple[float, float],
    y0: Floats | None = None,
    method: str = "auto",
    t_eval: Floats | None = None,
    dense_output: bool = False,
    events: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp` for a compiled model, with the same arguments and the same result.

    `y0` is in the order of `Model.states`; the default is the start of the model. `args` are the values of all parameters, in the order of
    `Model.params`; odec passes them to the event functions too. `method` is the name of a method of odec or SciPy. The default tolerances
    are those of the model, or else odec's, which are tighter than SciPy's. If `rtol` is an array, its smallest element applies to all
    states. The error control chooses the steps, even if the run block has a constant one. `run` selects a run block, and `params` applies
    a parameter set.

    If a `stop` of the model ends the run, the status is 1 and the message names the event.
    """
    span = _span(t_span)
    taken, times = _checked(fun, t_eval, options, span)
    model = fun if args is None else _with_args(fun, args)
    _tolerances(model, taken)
    if y0 is not None:
        if np.iscomplexobj(y0):
            raise UsageError("`y0` is complex, but states are real: make the real and the imaginary part two states")
        start = numbers("y0", y0)
        if start.shape != (len(model.states),):
            raise UsageError(f"`y0` has shape {start.shape}; the model has {len(model.states)} states: {', '.join(model.states[:10])}")
        model = model.with_(dict(zip(model.states, start.tolist())))
    result = need("scipy.optimize", "odec.solve_ivp").OptimizeResult
    found = _Found(_events(events, () if args is None else tuple(args)))

    def settings(end: float, samples: Any, **more: Any) -> dict[str, Any]:
        options = {**taken, **more}
        chosen = _settings((span[0], end), samples, _METHODS.get(method, method), record="states", step="auto", **options)
        # initial values of the caller hold even if the run block says `start = steady`
        return {**chosen, "start_given": y0 is not None}

    def run(end: float, samples: Any, dense: bool = False, **more: Any) -> tuple[Solution, int, str]:
        try:
            solution = model._run(settings(end, samples, **more), dense, None)
            if solution._ended is None:
                return solution, 0, _SUCCESS
            stop = next((event.name for event in reversed(solution.events) if event.t == solution._ended), "stop")
            return solution, 1, f"{_TERMINATED[:-1]} in the model: {stop}"
        except RunError as error:
            if error.partial is None:
                raise
            return error.partial, -1, str(error)

    if span[0] == span[1]:
        return _nothing(result, run, span[0], times, dense_output, events)
    if found.events:
        solution, status, message = _until_an_event(found, span, run)
    else:
        solution, status, message = run(span[1], "steps" if times is None else times, dense_output)
    end = span[1] if found.end is None else found.end
    dense = solution if dense_output and status >= 0 else None
    if found.end is not None:
        status, message = 1, _TERMINATED
        dense = run(end, "steps", True)[0] if dense_output else None
    empty = None
    if found.events and times is not None:
        # steps were looked at; now the rows that are wanted, up to the end
        last = end if status >= 0 else float(solution.t[-1])
        inside = times <= last if span[1] >= span[0] else times >= last
        if inside.any() and last != span[0]:
            solution = run(last, times[inside])[0]
        else:
            empty = times[inside]
    t, y = solution.t, solution.y.T
    if times is not None and len(t) > np.count_nonzero(np.isin(t, times)):
        # the row where the model ended the run
        t, y = t[np.isin(t, times)], y[:, np.isin(t, times)]
    if empty is not None:
        t, y = empty, np.tile(run(span[1], [span[0]])[0].y.T[:, :1], (1, len(empty)))
    if found.end is not None and times is None:
        k = int(np.flatnonzero(t >= end if span[1] >= span[0] else t <= end)[0])
        which = next(n for n, list_ in enumerate(found.t) if list_ and list_[-1] == end)
        t, y = np.append(t[:k], end), np.column_stack([y[:, :k], found.y[which][-1]])
    stats = solution.stats
    return result(
        t=t,
        y=y,
        sol=_Dense(dense) if dense is not None else None,
        t_events=[np.array(list_) for list_ in found.t] if events is not None else None,
        y_events=[np.array(list_) for list_ in found.y] if events is not None else None,
        nfev=stats["f"],
        njev=stats["jacobians"],
        nlu=stats["factorisations"],
        status=status,
        message=message,
        success=status >= 0,
    )


def _nothing(result: Any, run: Callable[..., Any], t: float, times: F64 | None, dense_output: bool, events: Any) -> Any:
    """The result if start and end are equal."""
    y = run(t + 1, [t])[0].y.T[:, :1]
    times = np.array([t, t]) if times is None else times
    none = None if events is None else [np.empty(0)] * (1 if callable(events) else len(events))

    def sol(at: float | Floats) -> F64:
        return y[:, 0] if np.ndim(at) == 0 else np.tile(y, (1, len(numbers("t", at))))

    return result(
        t=times,
        y=np.tile(y, (1, len(times))),
        sol=sol if dense_output else None,
        t_events=none,
        y_events=none,
        nfev=0,
        njev=0,
        nlu=0,
        status=0,
        message=_SUCCESS,
        success=True,
    )


def _until_an_event(found: _Found, span: tuple[float, float], run: Callable[..., Any]) -> tuple[Solution, int, str]:
    """A row for each step, up to the end or to an event that ends the run. It begins with few steps, because an event may be near."""
    budget = _FIRST_STEPS if any(event.most < np.inf for event in found.events) else None
    while True:
        more = {} if budget is None else {"max_steps": budget}
        solution, status, message = run(span[1], "steps", True, **more)
        found.clear()
        reached = float(solution.t[-1])

        def at(times: F64, reached: float = reached) -> F64:
            # without the row where the model itself ended the run
            return np.asarray(run(reached, times)[0].y)[: len(times)]

        if len(solution) > 1:
            found.look(solution, at)
        over = "E0607" in message and budget is not None
        if found.end is not None or not over:
            return solution, status, message
        budget = None if budget * 4 > 10_000_000 else budget * 4
