"""Fits: parameters and initial values that bring a model nearest to data, by SciPy's least squares with exact derivatives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import OdecError, RunError, UsageError
from ._solution import F64, Solution, need

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ._model import Model, Range

# A combination of parameters that changes the residuals this much less than the best known one is not determined by the data: the
# derivatives are exact up to the tolerance of the run, which is 1e-8 unless the caller asks for another.
RANK = 1e-6
# a parameter is named in a combination from this part of it on
NAMED = 0.1


@dataclass(frozen=True)
class Data:
    """A set of measurements: the times and the quantities by name, and what was different from other sets.

    `values` are values of parameters and initial values that hold in this set, `params` is the name of a set of parameters of the model,
    and `sigma` takes the place of that of the fit.
    """

    table: Any
    values: Mapping[str, Any] = field(default_factory=dict)
    params: str | None = None
    sigma: float | Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _Quantity:
    """What is fitted: where it may lie, where it begins, and whether its logarithm is fitted."""

    name: str
    start: float
    low: float
    high: float
    log: bool

    def inner(self, value: float) -> float:
        return math.log(value) if self.log and value > 0 else (-math.inf if self.log else value)

    def outer(self, value: float) -> float:
        return math.exp(value) if self.log else value


class _Set:
    """A set of data in the form that a run is compared with: `times[row]`, and for each measured number its row, column and weight."""

    def __init__(self, model: Model, data: Data, sigma: Any) -> None:
        self.values, self.params = dict(data.values), data.params
        table = data.table
        names = [str(name) for name in (table.columns if hasattr(table, "columns") else table)]
        if model.time not in names:
            raise UsageError(f"the data have no times: `{model.time}` is not among {', '.join(names)}")
        self.names = [name for name in names if name != model.time]
        if not self.names:
            raise UsageError("the data have times alone; a measured quantity is needed beside them")
        times = np.asarray(table[model.time], dtype=np.float64)
        if times.ndim != 1 or not np.isfinite(times).all():
            raise UsageError("the times of the data are a list of finite numbers")
        self.times, rows = np.unique(times, return_inverse=True)
        sigma = data.sigma if data.sigma is not None else sigma
        self.rows, self.columns, self.measured, self.weights = [], [], [], []
        for k, name in enumerate(self.names):
            given = np.asarray(table[name], dtype=np.float64)
            if given.shape != times.shape or np.isinf(given).any():
                raise UsageError(f"the data of `{name}` are {len(times)} numbers, or NaN where one is missing")
            there = ~np.isnan(given)
            self.rows.append(rows[there])
            self.columns.append(np.full(there.sum(), k))
            self.measured.append(given[there])
            self.weights.append(1 / _deviations(sigma, name, there))
        self.row, self.column = np.concatenate(self.rows), np.concatenate(self.columns)
        self.value, self.weight = np.concatenate(self.measured), np.concatenate(self.weights)

    def run(self, model: Model, by: Sequence[str] | None, options: Mapping[str, Any]) -> Solution:
        from ._model import _settings

        given = model.with_(self.values) if self.values else model
        # a value that this set has for itself is not fitted here
        own = None if by is None else [name for name in by if name not in self.values]
        end = float(self.times[-1])
        settings = _settings(t=end, samples=self.times, record=self.names, sens=own or None, params=self.params, **options)
        return given._run(settings, False, None, depth=0)


def _deviations(sigma: Any, name: str, there: Any) -> F64:
    if isinstance(sigma, Mapping):
        if name not in sigma:
            raise UsageError(f"`sigma` has no `{name}`; it has {', '.join(map(str, sigma))}")
        sigma = sigma[name]
    of = np.asarray(1.0 if sigma is None else sigma, dtype=np.float64)
    if of.ndim == 0:
        of = np.full(there.shape, float(of))
    if of.shape != there.shape:
        raise UsageError(f"`sigma` of `{name}` is one number, or one for each time")
    of = of[there]
    if not (np.isfinite(of).all() and (of > 0).all()):
        raise UsageError(f"`sigma` of `{name}` is above 0")
    return of


@dataclass
class _Problem:
    """What a start needs; it travels to the workers of an executor."""

    model: Model
    sets: list[_Set]
    quantities: list[_Quantity]
    options: dict[str, Any]
    loss: str

    def at(self, point: F64) -> dict[str, float]:
        found = {}
        for q, inner in zip(self.quantities, point):
            # rounding in a logarithm must not leave the bounds
            found[q.name] = min(max(q.outer(float(inner)), q.low), q.high)
        return found

    def solutions(self, point: F64, sens: bool) -> list[Solution]:
        model = self.model.with_(self.at(point))
        by = [q.name for q in self.quantities] if sens else None
        return [data.run(model, by, self.options) for data in self.sets]

    def both(self, point: F64) -> tuple[F64, F64]:
        """Weighted residuals, and their derivatives by the inner values."""
        residuals, slopes = [], []
        values = self.at(point)
        for data, solution in zip(self.sets, self.solutions(point, True)):
            table = np.column_stack([_one(solution, name) for name in data.names])
            residuals.append((table[data.row, data.column] - data.value) * data.weight)
            jac = np.zeros((len(data.value), len(self.quantities)))
            for j, q in enumerate(self.quantities):
                if q.name in data.values:
                    continue
                change = np.column_stack([solution.sens[name, q.name] for name in data.names])
                scale = values[q.name] if q.log else 1.0
                jac[:, j] = change[data.row, data.column] * data.weight * scale
            slopes.append(jac)
        return np.concatenate(residuals), np.concatenate(slopes)


def _one(solution: Solution, name: str) -> F64:
    values = solution[name]
    if values.ndim != 1:
        raise UsageError(f"`{name}` is an array: give the data of its elements, such as `{solution.columns[0]}`")
    return values


def _begun(problem: _Problem, start: F64) -> tuple[F64, float, str, bool, int]:
    """A fit from a point: where it ends, its cost, what SciPy says, whether it converged, and its runs."""
    optimize = need("scipy.optimize", "Model.fit")
    last: dict[bytes, tuple[F64, F64] | None] = {}
    runs = 0

    def both(point: F64) -> tuple[F64, F64] | None:
        nonlocal runs
        key = point.tobytes()
        if key not in last:
            last.clear()
            runs += 1
            try:
                last[key] = problem.both(point)
            except RunError:
                if runs == 1:
                    raise
                # a step to where the model has no solution is too long
                last[key] = None
        return last[key]

    def residuals(point: F64) -> F64:
        found = both(point)
        return np.full(count, np.nan) if found is None else found[0]

    def slopes(point: F64) -> F64:
        found = both(point)
        assert found is not None
        return found[1]

    first = both(start)
    assert first is not None
    count = len(first[0])
    low = np.array([q.inner(q.low) for q in problem.quantities])
    high = np.array([q.inner(q.high) for q in problem.quantities])
    # of logarithms a step of 1 is a factor of e for all; other numbers are as large as they are
    sizes = [1.0 if q.log else max(abs(x), 1e-3 * _width(q)) or 1.0 for q, x in zip(problem.quantities, start)]
    result = optimize.least_squares(
        residuals,
        np.clip(start, low, high),
        jac=slopes,
        bounds=(low, high),
        x_scale=np.array(sizes),
        loss=problem.loss,
        ftol=1e-12,
        xtol=1e-10,
        gtol=1e-12,
        max_nfev=400,
    )
    return result.x, float(result.cost), str(result.message), result.status > 0, runs


def _width(q: _Quantity) -> float:
    return q.high - q.low if math.isfinite(q.high - q.low) else 0.0


class Fit:
    """What a fit found.

    `params` has the values, `model` is the model with them, `stderr` their standard errors and `covariance` their covariances in the order
    of `params`. `unidentified` lists the combinations of parameters that the data do not determine. `starts` has the sum of squares that
    each start came to, and `converged` says whether the best one ended at a minimum.
    """

    def __init__(self, problem: _Problem, best: tuple[F64, float, str, bool, int], starts: list[float], runs: int, known: bool) -> None:
        self._problem, self._inner = problem, best[0]
        self.params: Mapping[str, float] = problem.at(best[0])
        self.model = problem.model.with_(self.params)
        self.message, self.converged, self.starts, self.runs = best[2], best[3], starts, runs
        self.residuals, jac = problem.both(best[0])
        self.rss = float(self.residuals @ self.residuals)
        self.dof = len(self.residuals) - len(self.params)
        self._known = known
        self._analyse(jac)

    def _analyse(self, jac: F64) -> None:
        quantities, values = self._problem.quantities, list(self.params.values())
        # derivatives by relative changes, so that the units of parameters do not matter
        sizes = np.array([1.0 if q.log else abs(x) or 1.0 for q, x in zip(quantities, values)])
        _, singular, directions = np.linalg.svd(jac * sizes, full_matrices=True)
        singular = np.concatenate([singular, np.zeros(len(values) - len(singular))])
        self.singular_values = singular
        poor = singular <= RANK * singular[0] if singular[0] > 0 else np.ones(len(singular), dtype=bool)
        names = list(self.params)
        self.unidentified = [
            {name: float(part) for name, part in zip(names, direction) if abs(part) >= NAMED}
            for direction, lost in zip(directions, poor)
            if lost
        ]
        rich = directions[~poor] / singular[~poor, None]
        scale = 1.0 if self._known else (self.rss / self.dof if self.dof > 0 else math.nan)
        inner = (rich.T @ rich) * scale
        # what the data do not determine has no finite error
        lost = np.abs(directions[poor]).max(axis=0) > 1e-3 if poor.any() else np.zeros(len(names), dtype=bool)
        inner[lost, :] = inner[:, lost] = np.nan
        inner[lost, lost] = np.inf
        self._errors = np.sqrt(np.diag(inner)) * sizes
        outer = sizes * np.array([x if q.log else 1.0 for q, x in zip(quantities, values)])
        self.covariance: F64 = inner * np.outer(outer, outer)
        self.stderr: Mapping[str, float] = dict(zip(names, np.sqrt(np.diag(self.covariance)).tolist()))

    @property
    def correlation(self) -> F64:
        """Correlations of the estimates, in the order of `params`."""
        errors = np.sqrt(np.diag(self.covariance))
        with np.errstate(invalid="ignore"):
            return self.covariance / np.outer(errors, errors)

    def interval(self, level: float = 0.95) -> Mapping[str, tuple[float, float]]:
        """Confidence intervals by the curvature at the minimum; of a parameter whose logarithm was fitted, those of the logarithm."""
        if not 0 < level < 1:
            raise UsageError(f"`level` lies between 0 and 1, not {level!r}")
        stats = need("scipy.stats", "Fit.interval")
        if self._known:
            factor = float(stats.norm.ppf(0.5 + level / 2))
        else:
            factor = float(stats.t.ppf(0.5 + level / 2, self.dof)) if self.dof > 0 else math.nan
        found = {}
        for q, inner, error in zip(self._problem.quantities, self._inner, self._errors):
            ends = (float(inner - factor * error), float(inner + factor * error))
            found[q.name] = (_exp(ends[0]), _exp(ends[1])) if q.log else ends
        return found

    @property
    def solutions(self) -> list[Solution]:
        """The runs at the times of the data, one for each set."""
        return self._problem.solutions(self._inner, False)

    def plot(self, ax: Any = None) -> Any:
        """Residuals divided by their standard deviation over the time, by matplotlib. Gives the axes."""
        if ax is None:
            ax = need("matplotlib.pyplot", "plot").gca()
        at = 0
        for k, data in enumerate(self._problem.sets):
            own = self.residuals[at : at + len(data.value)]
            at += len(data.value)
            for j, name in enumerate(data.names):
                label = name if len(self._problem.sets) == 1 else f"{name}, set {k + 1}"
                ax.plot(data.times[data.row[data.column == j]], own[data.column == j], "o", label=label)
        ax.axhline(0, color="0.7", linewidth=1, zorder=0)
        ax.set_xlabel(self.model.time)
        ax.set_ylabel("model - data" if not self._known else "(model - data)/sigma")
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

    def __repr__(self) -> str:
        return "\n".join(self._lines())


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def _quantities(model: Model, params: Any) -> list[_Quantity]:
    from ._model import Range, _number

    given = dict.fromkeys([params] if isinstance(params, str) else params) if not isinstance(params, Mapping) else dict(params)
    if not given:
        raise UsageError('nothing is given to fit: for example `m.fit(data, ["k"])`')
    values = _values(model, list(given))
    found = []
    for name, what in given.items():
        start = values[name]
        low, high, log = -math.inf, math.inf, False
        if isinstance(what, Range):
            low, high, log = min(what.start, what.stop), max(what.start, what.stop), what.logarithmic
            if not low < high:
                raise UsageError(f"the range of `{name}` has two different ends")
            if not low <= start <= high:
                start = math.sqrt(low * high) if log else (low + high) / 2
        elif what is not None:
            start = _number(name, what)
        found.append(_Quantity(name, start, low, high, log))
    return found


def _values(model: Model, names: list[str]) -> dict[str, float]:
    """Values of parameters, elements of parameters, and initial values."""
    known: dict[str, float] = {}
    for name, values, shape, axes in model.parameters():
        if not shape:
            known[name] = values[0]
            continue
        places = itertools.product(*(range(first, first + length) for length, (_, first) in zip(shape, axes)))
        known |= {f"{name}[{','.join(map(str, place))}]": value for place, value in zip(places, values)}
    if any(name not in known for name in names):
        try:
            start = model.y0()
        except OdecError:
            # a model with events has no f, but a first row
            start = model.run(record="states").y[0]
        known |= dict(zip(model.states, start.tolist()))
    wrong = next((name for name in names if name not in known), None)
    if wrong is not None:
        raise UsageError(f"`{wrong}` is no parameter and no initial value of one number; there are {', '.join(list(known)[:20])}")
    return known


def _starts(quantities: list[_Quantity], count: int, seed: int) -> list[F64]:
    from ._odec import drawn_points

    first = np.array([q.inner(q.start) for q in quantities])
    if isinstance(count, bool) or int(count) != count or count < 1:
        raise UsageError(f"`starts` is a whole number above 0, not {count!r}")
    if count == 1:
        return [first]
    free = [q.name for q in quantities if not math.isfinite(q.high - q.low)]
    if free:
        raise UsageError(f"starts are drawn from ranges: `{free[0]}` needs one, `odec.lin(0, 1)` or `odec.geom(0.1, 10)`")
    drawn = drawn_points([(q.low, q.high, q.log) for q in quantities], int(count) - 1, int(seed))
    return [first, *(np.array([q.inner(x) for q, x in zip(quantities, point)]) for point in drawn.tolist())]


def fit(
    model: Model,
    data: Any,
    params: Any,
    sigma: Any,
    loss: str,
    starts: int,
    seed: int,
    executor: Executor | None,
    options: dict[str, Any],
) -> Fit:
    """`Model.fit`."""
    quantities = _quantities(model, params)
    given = [data] if isinstance(data, (Data, Mapping)) or hasattr(data, "columns") else list(data)
    sets = [_Set(model, one if isinstance(one, Data) else Data(one), sigma) for one in given]
    if not any(len(one.value) for one in sets):
        raise UsageError("the data have no numbers")
    idle = next((q.name for q in quantities if all(q.name in one.values for one in sets)), None)
    if idle is not None:
        raise UsageError(f"`{idle}` has a value of its own in each set of data, so that there is nothing to fit")
    problem = _Problem(model, sets, quantities, options, loss)
    points = _starts(quantities, starts, seed)
    if executor is None:
        ends = [_attempt(problem, point, k == 0) for k, point in enumerate(points)]
    else:
        futures = [executor.submit(_attempt, problem, point, k == 0) for k, point in enumerate(points)]
        ends = [future.result() for future in futures]
    there = [end for end in ends if end is not None]
    if not there:
        raise UsageError("no start has a solution")
    # the first one of equal costs, so that the order of the workers does not matter
    best = min(there, key=lambda end: end[1])
    costs = [math.nan if end is None else 2 * end[1] for end in ends]
    known = all(sigma is not None or isinstance(one, Data) and one.sigma is not None for one in given)
    return Fit(problem, best, costs, sum(end[4] for end in there), known)


def _attempt(problem: _Problem, point: F64, first: bool) -> tuple[F64, float, str, bool, int] | None:
    """A start; one of several may have no solution."""
    try:
        return _begun(problem, point)
    except RunError:
        if first:
            raise
        return None
