"""Fits parameters and initial values to data. The Rust code of `odec fit` does the work."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import Diagnostic, UsageError
from ._numbers import numbers, real, seed_of, whole
from ._parts import workers_of
from ._solution import F64, Solution, need, warn

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ._model import Model
    from ._odec import Fitting


@dataclass(frozen=True)
class Data:
    """A set of measurements: the times and the measured quantities by name, and the conditions of this experiment.

    `values` gives parameters and initial values that apply to this set only. `params` applies a parameter set of the model. `sigma`
    replaces the standard deviation of the fit.
    """

    table: Any
    values: Mapping[str, Any] = field(default_factory=dict)
    params: str | None = None
    sigma: float | Mapping[str, Any] | None = None


def _set(model: Model, data: Data, sigma: Any, number: int, count: int) -> dict[str, Any]:
    """Converts a data set for the extension module."""
    table = data.table
    if isinstance(table, (str, bytes, PathLike)):
        raise UsageError(f"`data` must be a mapping or a data frame, not {table!r:.200}: read a file with `pandas.read_csv`")
    if getattr(getattr(table, "index", None), "name", None) == model.time:
        # as `Solution.to_pandas` makes it: the times are the index
        table = table.reset_index()
    names = [str(name) for name in (table.columns if hasattr(table, "columns") else table)]
    if model.time not in names:
        raise UsageError(f"the data have no time column `{model.time}`; their columns are {', '.join(names)}")
    measured = [name for name in names if name != model.time]
    if not measured:
        raise UsageError("the data contain only times: add a measured quantity")
    times = numbers(model.time, table[model.time])
    if times.ndim != 1 or not np.isfinite(times).all():
        raise UsageError("the times of the data must be finite numbers")
    sigma = data.sigma if data.sigma is not None else sigma
    values, deviations = [], []
    columns = [column for name in measured for column in _columns(model, name, numbers(name, table[name], missing=True), sigma)]
    for name, given, sigma in columns:
        if given.shape != times.shape or np.isinf(given).any():
            raise UsageError(f"the data of `{name}` must be {len(times)} numbers, with NaN for missing values")
        values.append(given.tolist())
        deviations.append(_deviations(sigma, name, ~np.isnan(given)))
    if not any(math.isfinite(value) for column in values for value in column):
        raise UsageError("the data contain no numbers")
    return {
        "shown": "the data" if count == 1 else f"set {number + 1}",
        "times": times.tolist(),
        "names": [name for name, _, _ in columns],
        "values": values,
        "deviations": deviations,
        "own": [(str(name), real(str(name), value)) for name, value in data.values.items()],
        "params": data.params,
    }


def _columns(model: Model, name: str, given: F64, sigma: Any) -> list[tuple[str, F64, Any]]:
    """Name, values and standard deviations of each measured quantity; for an array, those of its elements."""
    if given.ndim < 2:
        return [(name, given, sigma)]
    shape = list(given.shape[1:])
    names = [element for element, _ in model.spread(name, [0.0] * math.prod(shape), shape)]
    if isinstance(sigma, Mapping):
        if name not in sigma:
            raise UsageError(f"`sigma` has no `{name}`; it has {', '.join(map(str, sigma))}")
        sigma = sigma[name]
    each = None if sigma is None else np.broadcast_to(numbers("sigma", sigma, missing=True), given.shape).reshape(len(given), -1)
    flat = given.reshape(len(given), -1)
    return [(element, flat[:, k], None if each is None else each[:, k]) for k, element in enumerate(names)]


def _deviations(sigma: Any, name: str, there: Any) -> list[float] | None:
    if isinstance(sigma, Mapping):
        if name not in sigma:
            raise UsageError(f"`sigma` has no `{name}`; it has {', '.join(map(str, sigma))}")
        sigma = sigma[name]
    if sigma is None:
        return None
    of = numbers("sigma", sigma, missing=True)
    if of.ndim == 0:
        of = np.full(there.shape, float(of))
    if of.shape != there.shape:
        raise UsageError(f"`sigma` of `{name}` must be one number, or one for each time")
    if not (np.isfinite(of[there]).all() and (of[there] > 0).all()):
        raise UsageError(f"`sigma` of `{name}` must be above 0")
    return [float(value) for value in of]


# name, start, ends of the range, and whether the logarithm is fitted
_Quantity = tuple[str, "float | None", float, float, bool]


def _quantities(params: Any) -> list[_Quantity]:
    from ._options import names_of
    from ._points import Range

    names = [] if isinstance(params, Mapping) else names_of("params", params)
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise UsageError(f"`params` contains `{twice}` twice")
    given = dict(params) if isinstance(params, Mapping) else dict.fromkeys(names)
    if not given:
        raise UsageError('name at least one parameter to fit, for example `m.fit(data, ["k"])`')
    found: list[_Quantity] = []
    for name, what in given.items():
        start: float | None = None
        low, high, log = -math.inf, math.inf, False
        if isinstance(what, Range):
            low, high, log = min(what.start, what.stop), max(what.start, what.stop), what.logarithmic
            if not low < high:
                raise UsageError(f"the two ends of the range of `{name}` must differ")
        elif isinstance(what, (tuple, list)):
            raise UsageError(f"the range of `{name}` must be `odec.lin(low, high)`, or `odec.geom(low, high)` for its logarithm, not {what!r:.200}")
        elif what is not None:
            start = real(name, what)
        found.append((str(name), start, low, high, log))
    return found


class _Problem:
    """The input of one start. It is sent to the workers of an executor, which compile the model."""

    model: Model
    sets: list[dict[str, Any]]
    quantities: list[_Quantity]
    settings: dict[str, Any]

    def __init__(self, model: Model, sets: list[dict[str, Any]], quantities: list[_Quantity], settings: dict[str, Any]) -> None:
        self.model, self.sets, self.quantities, self.settings = model, sets, quantities, settings
        self._fitting: Fitting | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.model, self.sets, self.quantities, self.settings)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @property
    def fitting(self) -> Fitting:
        if self._fitting is None:
            self._fitting = self.model.fitting(self.settings, self.sets, self.quantities)
        return self._fitting

    def inner(self, values: Sequence[float]) -> list[float]:
        """The fitted numbers: logarithms where odec fits logarithms."""
        return [math.log(value) if log else value for (_, _, _, _, log), value in zip(self.quantities, values)]


def _attempts(problem: _Problem, starts: int, seed: int, first: int, last: int, threads: int | None) -> list[Any]:
    return problem.fitting.attempts(starts, seed, first, last, threads)


_MESSAGES = {
    "minimum": "the fit reached a minimum",
    "stuck": "no step lowers the sum of squares, although its derivatives predict a decrease",
    "evaluations": "the fit did not reach a minimum within the limit of runs",
}


class Fit:
    """The result of a fit.

    `params` contains the fitted values, and `model` is the model with these values. `stderr` contains the standard errors, and `covariance`
    the covariance matrix, in the order of `params`. `unidentified` lists the combinations of parameters that the data do not determine.
    `starts` contains the sum of squares that each start reached. `converged` is True if the best start ended at a minimum.
    """

    message: str
    converged: bool
    starts: list[float]
    runs: int
    model: Model
    unidentified: list[dict[str, float]]
    table: F64
    warnings: list[Diagnostic]

    def __init__(self, problem: _Problem, point: list[float], ended: str, starts: list[float], runs: int) -> None:
        self._problem, self._inner = problem, point
        self.message, self.converged, self.starts, self.runs = _MESSAGES[ended], ended == "minimum", starts, runs
        found = problem.fitting.found(point, 0.95)
        names = [quantity[0] for quantity in problem.quantities]
        self.params: Mapping[str, float] = dict(zip(names, found["values"]))
        self.model = problem.model.with_(self.params)
        self.stderr: Mapping[str, float] = dict(zip(names, found["errors"]))
        self.covariance: F64 = found["covariance"]
        self.singular_values: F64 = np.array(found["singular"])
        self.unidentified = [{names[j]: part for j, part in combination} for combination in found["undetermined"]]
        self.bounded: Mapping[str, str] = {names[j]: "upper" if upper else "lower" for j, upper in found["bounded"]}
        self.residuals: F64 = found["residuals"]
        self.rss: float = found["squares"]
        self.dof: int = found["freedom"]
        self._known: bool = found["known"]
        self.table, self.warnings = problem.fitting.compared(point, ended)
        known = problem.model.warnings
        self.warnings = [d for d in self.warnings if d not in known]

    @property
    def correlation(self) -> F64:
        """Correlation matrix of the estimates, in the order of `params`."""
        errors = np.sqrt(np.diag(self.covariance))
        with np.errstate(invalid="ignore"):
            return self.covariance / np.outer(errors, errors)

    def interval(self, level: float = 0.95) -> Mapping[str, tuple[float, float]]:
        """Confidence intervals from the curvature at the minimum. If a logarithm was fitted, the interval of the logarithm."""
        if not 0 < level < 1:
            raise UsageError(f"`level` must be between 0 and 1, not {level!r}")
        return dict(zip(self.params, self._problem.fitting.found(self._inner, level)["intervals"]))

    @property
    def solutions(self) -> list[Solution]:
        """The solutions at the times of the data, one for each data set."""
        found = []
        for one in self._problem.sets:
            own = dict(one["own"])
            model = self.model.with_({**{name: value for name, value in self.params.items() if name not in own}, **own})
            times = np.unique(one["times"]).tolist()
            asked = {"t_end": times[-1], "samples_times": times, "record": one["names"], "params": one["params"]}
            settings = {**self._problem.settings, **asked}
            settings["rtol"] = settings["rtol"] or 1e-8
            if settings["step"] is None:
                # as in the fit: a constant step of the run block does not apply
                settings["step_word"] = "auto"
            found.append(model._run(settings, False, None, compared=False))
        return found

    def plot(self, ax: Any = None) -> Any:
        """Plots the residuals, divided by their standard deviation, over time with matplotlib. Returns the axes."""
        if ax is None:
            ax = need("matplotlib.pyplot", "plot").gca()
        for k, data in enumerate(self._problem.sets):
            for j, name in enumerate(data["names"]):
                own = self.table[(self.table[:, 0] == k) & (self.table[:, 1] == j)]
                label = name if len(self._problem.sets) == 1 else f"{name}, set {k + 1}"
                ax.plot(own[:, 2], own[:, 5], "o", label=label)
        ax.axhline(0, color="0.7", linewidth=1, zorder=0)
        time = self.model._unit(self.model.time)
        ax.set_xlabel(f"{self.model.time} [{time}]" if time else self.model.time)
        own = {self.model._unit(name) for data in self._problem.sets for name in data["names"]}
        unit = f" [{own.pop()}]" if len(own) == 1 and None not in own else ""
        ax.set_ylabel(f"model - data{unit}" if not self._known else "(model - data)/sigma")
        ax.legend()
        return ax

    def _lines(self) -> Iterator[str]:
        width = max(len(name) for name in self.params)
        for name, value in self.params.items():
            yield f"{name:<{width}} = {value:.6g} ± {self.stderr[name]:.2g}"
        yield f"sum of squares {self.rss:.6g}, {len(self.residuals)} data, {self.runs} runs"
        if not self.converged:
            yield f"not converged: {self.message}"
        for combination in self.unidentified:
            yield "the data do not determine " + " and ".join(combination) + (" separately" if len(combination) > 1 else "")
        for name, end in self.bounded.items():
            yield f"{name} is on the {end} end of its range"

    def __repr__(self) -> str:
        return "\n".join(self._lines())


def fit(
    model: Model,
    data: Any,
    params: Any,
    sigma: Any,
    starts: int,
    seed: int,
    threads: int | None,
    executor: Executor | None,
    settings: dict[str, Any],
) -> Fit:
    """`Model.fit`."""
    asked = _quantities(params)
    quantities = [(each, start, low, high, log) for name, start, low, high, log in asked for each in model.elements([name])]
    one = isinstance(data, (Data, Mapping, str, bytes, PathLike)) or hasattr(data, "columns")
    given = [data] if one else list(data)
    if not given:
        raise UsageError("the list of data sets is empty")
    starts, seed = whole("starts", starts), seed_of(seed)
    workers_of(executor)
    every = [one if isinstance(one, Data) else Data(one) for one in given]
    sets = [_set(model, one, sigma, k, len(every)) for k, one in enumerate(every)]
    problem = _Problem(model, sets, quantities, settings)
    # what makes no sense is said here, and not in a worker
    problem.fitting  # noqa: B018
    if executor is None:
        ends = _attempts(problem, starts, seed, 0, starts, threads)
    else:
        futures = [executor.submit(_attempts, problem, starts, seed, k, k + 1, 1) for k in range(starts)]
        ends = [end for future in futures for end in future.result()]
    there = [end for end in ends if end[4] is None]
    if not there:
        raise ends[0][4]
    # the first one of equal sums, so that the order of the workers does not matter
    best = min(there, key=lambda end: float(end[1]))
    found = Fit(problem, best[0], best[2], [float(end[1]) for end in ends], sum(end[3] for end in ends))
    warn(found.warnings)
    return found
