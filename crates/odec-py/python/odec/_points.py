"""Points of sweeps, and the ranges that give them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError
from ._numbers import MOST, numbers, real, seed_of, whole
from ._odec import MAX_RUNS, drawn_points, range_values
from ._solution import F64

if TYPE_CHECKING:
    from ._options import Number


class Range:
    """A range from `start` to `stop`, which includes both ends; `lin` and `geom` create it."""

    start: float
    stop: float
    n: int | None
    logarithmic: bool

    def __init__(self, start: float, stop: float, n: int | None, logarithmic: bool) -> None:
        self.start, self.stop, self.logarithmic = real("start", start), real("stop", stop), logarithmic
        self.n = None if n is None else whole("n", n)
        if logarithmic and not (self.start > 0 and self.stop > 0):
            raise UsageError("the ends of a logarithmic range must be above 0")

    def values(self) -> F64:
        """Its values, by the same formula as `odec sweep`."""
        if self.n is None:
            raise UsageError("this range has no number of values, so it needs `random=`")
        return range_values(self.start, self.stop, self.n, self.logarithmic)

    def __repr__(self) -> str:
        return f"odec.{'geom' if self.logarithmic else 'lin'}({self.start!r}, {self.stop!r}, {self.n!r})"


class Log:
    """Sample times: the start, then `n` times from `first` to the end, evenly spaced in the logarithm."""

    n: int
    first: float

    def __init__(self, n: int, first: float) -> None:
        self.n, self.first = whole("n", n), real("first", first)


def lin(start: float, stop: float, n: int | None = None) -> Range:
    """`n` evenly spaced values. Without `n`, a range for random points or fits."""
    return Range(start, stop, n, False)


def geom(start: float, stop: float, n: int | None = None) -> Range:
    """`n` values, evenly spaced in the logarithm. Without `n`, a range for random points or fits."""
    return Range(start, stop, n, True)


def log(n: int, first: float) -> Log:
    """Sample times, evenly spaced in the logarithm."""
    return Log(n, first)


def points(over: Any, random: int | None, seed: Any) -> tuple[list[str], F64]:
    """The names, and one row of values for each point."""
    listed = isinstance(over, (list, tuple)) and over and all(isinstance(point, Mapping) for point in over)
    if listed or hasattr(over, "columns") and not isinstance(over, Mapping):
        if random is not None:
            raise UsageError("`random` draws points from ranges, but the points are listed here: leave out `random`")
        return _list(over) if listed else _frame(over)
    if not isinstance(over, Mapping) or not over:
        raise UsageError('name at least one quantity to sweep over, for example `m.sweep({"k": odec.lin(0, 1, 11)})`')
    names = list(over)
    if random is not None:
        random, seed = min(whole("random", random), MOST), seed_of(seed)
        wrong = [name for name in names if not isinstance(over[name], Range)]
        if wrong:
            raise UsageError(f"`random` needs a range for `{wrong[0]}`: `odec.lin(0, 1)` or `odec.geom(0.1, 10)`")
        counted = [name for name in names if over[name].n is not None]
        if counted:
            raise UsageError(f"the range of `{counted[0]}` has {over[counted[0]].n} values, but `random` draws others: leave out one of the two")
        ranges = [(r.start, r.stop, r.logarithmic) for r in over.values()]
        return names, drawn_points(ranges, random, seed)
    lists = []
    for name, given in over.items():
        values = given.values() if isinstance(given, Range) else np.atleast_1d(numbers(name, given))
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise UsageError(f"`{name}` must be a range or a list of finite numbers")
        lists.append(values)
    count = math.prod(len(values) for values in lists)
    if count > MAX_RUNS:
        raise UsageError(f"the combinations give {count} runs; a sweep can have at most {MAX_RUNS}")
    grid = np.meshgrid(*lists, indexing="ij")
    return names, np.column_stack([axis.ravel() for axis in grid])


def _list(points: Sequence[Mapping[str, Number]]) -> tuple[list[str], F64]:
    """The points of a list, each with its values by name."""
    names = list(points[0])
    for k, point in enumerate(points):
        if set(point) != set(names) or not names:
            raise UsageError(f"point {k} of the list has {', '.join(point) or 'no values'}, but point 0 has {', '.join(names) or 'none'}")
    return names, np.array([[real(name, point[name]) for name in names] for point in points])


def _frame(frame: Any) -> tuple[list[str], F64]:
    """The points of a data frame, one in each row."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names) or not names:
        raise UsageError(f"a data frame of points needs a column for each name that varies; this one has {', '.join(names) or 'none'}")
    table = np.column_stack([numbers(name, frame[own]) for name, own in zip(names, frame.columns)])
    if not len(table):
        raise UsageError("the data frame of points has no rows")
    for name, values in zip(names, table.T):
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise UsageError(f"`{name}` must contain finite numbers, but row {row} of the data frame has {values[row]}")
    return names, table
