"""Solutions of runs and sweeps: rows by name, statistics and warnings."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

from ._errors import Diagnostic, RunError, UsageError
from ._numbers import numbers

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._model import Model

    F64 = npt.NDArray[np.float64]
    Floats = Union[Sequence[float], npt.NDArray[np.floating[Any]]]
else:
    # numpy.typing takes some milliseconds to import, and only type checkers read it
    F64 = Floats = np.ndarray
Groups = Mapping[str, tuple[int, list[int], list[tuple[str, int]]]]


def need(module: str, what: str) -> Any:
    """Imports an optional package when it is needed."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f"{what} needs the package {package}: pip install {package}") from error


@dataclass(frozen=True)
class Event:
    """An executed event: its time, its name, its indices, and its changes (name, value before, value after)."""

    t: float
    name: str
    index: tuple[int, ...]
    changes: tuple[tuple[str, float, float], ...]


class Sensitivities(Mapping[tuple[str, str], F64]):
    """Derivatives by name: `sens["x", "k"]` is dx/dk at the times of the rows."""

    def __init__(self, solution: Solution, by: tuple[str, ...]) -> None:
        self._solution = solution
        self._by = by

    @staticmethod
    def column(of: str, by: str) -> str:
        return f"d({of})/d({by})"

    def __getitem__(self, key: tuple[str, str]) -> F64:
        if not self._by:
            raise UsageError('the run has no sensitivities: ask for them, `run(..., sens=["k"])`')
        if not isinstance(key, tuple) or len(key) != 2:
            raise UsageError(f'`sens` needs two names, as in `sens["x", "k"]` for dx/dk, not {key!r:.200}')
        of, by = key
        elements = [name for name in self._by if re.sub(r"\[[^]]*\]", "", name) == by]
        if not elements or by in self._by:
            return self._solution[self.column(of, by)]
        # by an array: its indices come last
        model = self._solution.model
        states = {name: shape for name, shape, _ in model.quantities()}
        shape = states[by] if by in states else np.shape(model.params[by])
        if int(np.prod(shape)) != len(elements):
            raise UsageError(f"the run has sensitivities with respect to {', '.join(elements[:20])}, but not to all of `{by}`")
        columns = [self._solution[self.column(of, element)] for element in elements]
        return np.stack(columns, axis=-1).reshape(*columns[0].shape, *shape)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for name in self._solution.columns:
            if not name.startswith("d("):
                for by in self._by:
                    if self.column(name, by) in self._solution._places:
                        yield name, by

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Solution:
    """The rows of a run. The arrays are read-only views of one matrix.

    `t` contains the times. `y` has one row for each time and one column for each name in `columns`.
    """

    def __init__(
        self,
        model: Model,
        columns: tuple[str, ...],
        groups: Groups,
        rows: F64,
        stats: Mapping[str, Any],
        warnings: list[Diagnostic],
        events: list[Event],
        sens: tuple[str, ...] = (),
        dense: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.model = model
        self._all = columns
        self._groups = groups
        self._rows = rows
        self.stats = stats
        self.warnings = warnings
        self.events = events
        self._by = sens
        self._dense = dense
        self._settings = settings
        self._index: dict[str, int] | None = None
        # the time at which an event of the model or an error ended the run before its end
        self._ended: float | None = None

    @property
    def t(self) -> F64:
        """The times."""
        return self._rows[:, 0]

    @property
    def y(self) -> F64:
        """All columns except the time, with shape (times, columns)."""
        return self._rows[:, 1:]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of `y`."""
        return self._all[1:]

    @property
    def sens(self) -> Sensitivities:
        """The sensitivities that the run computed."""
        return Sensitivities(self, self._by)

    @property
    def _places(self) -> dict[str, int]:
        if self._index is None:
            self._index = {name: k for k, name in enumerate(self._all)}
        return self._index

    def __getitem__(self, name: str) -> F64:
        """A quantity: one number for each time; for an array, shape (times, extents); for vectors, the last axis is the component."""
        _name(name)
        group = self._groups.get(name)
        if group is not None:
            start, shape, _ = group
            if not shape:
                return self._rows[:, start]
            count = int(np.prod(shape))
            return self._rows[:, start : start + count].reshape((len(self._rows), *shape))
        place = self._places.get(name)
        if place is None:
            components = [self[own] for own in self._groups if own.startswith(f"{name}.")]
            if components:
                return np.stack(components, axis=-1)
            known = ", ".join(f"`{n}`" for n in list(self._groups)[:20]) or ", ".join(self._all[1:21])
            raise UsageError(f"the rows have no `{name}`; they have {known}")
        return self._rows[:, place]

    def __contains__(self, name: object) -> bool:
        return name in self._groups or name in self._places

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self) -> list[str]:
        """The names of the time and of all quantities, so that `dict(s)` has their values."""
        return [self._all[0], *self._groups]

    def __iter__(self) -> Iterator[str]:
        """The names, as those of a data frame."""
        return iter(self.keys())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The matrix of all rows, with the time in the first column."""
        if copy is False and dtype not in (None, np.float64):
            raise ValueError("rows are of type float64: another type needs a copy")
        return self._rows.astype(dtype or np.float64, copy=bool(copy))

    @overload
    def __call__(self, t: float) -> Mapping[str, Any]: ...
    @overload
    def __call__(self, t: Floats) -> Solution: ...
    def __call__(self, t: float | Floats) -> Mapping[str, Any] | Solution:
        """The solution at other times, after a run with `dense=True`.

        odec repeats the run with these times as its rows, so the values are bitwise equal to those of rows. For efficiency, pass many
        times in one call.
        """
        if not self._dense or self._settings is None:
            raise UsageError("the solution is only known at its rows: run with `dense=True` to evaluate it at other times")
        asked = numbers("t", t)
        times = np.atleast_1d(asked)
        if times.ndim != 1:
            raise UsageError("times must be one number or a list of numbers")
        forward = len(self._rows) < 2 or self._rows[-1, 0] >= self._rows[0, 0]
        if self._ended is not None and len(times) and (times.max() > self._ended if forward else times.min() < self._ended):
            beyond = times.max() if forward else times.min()
            raise UsageError(f"the run ended at {self._all[0]} = {self._ended:.10g}, so it has no value at {beyond:.10g}")
        order = np.argsort(times if forward else -times, kind="stable")
        none = dict.fromkeys(["samples_word", "samples_count", "samples_log"])
        settings = {**self._settings, **none, "samples_times": times[order].tolist()}
        try:
            found = self.model._run(settings, False, None, compared=False)
        except RunError as error:
            if self._ended is None or error.partial is None:
                raise
            # the run ends where the run before ended
            found = error.partial
        # a run that a `stop` ends has a row there too
        ordered = found._rows[: len(times)]
        if len(ordered) < len(times):
            raise UsageError(f"the run has values up to {self._all[0]} = {found._rows[-1, 0] if len(found) else self._ended:.10g}")
        rows = np.empty_like(ordered)
        rows[order] = ordered
        rows.setflags(write=False)
        made = Solution(
            self.model, self._all, self._groups, rows, found.stats, found.warnings, found.events, self._by, settings=self._settings
        )
        if asked.ndim == 0:
            return {name: made[name][0] for name in (*made._groups, self._all[0])}
        return made

    def to_numpy(self) -> F64:
        """The matrix of all rows, with the time in the first column; a writable copy."""
        return self._rows.copy()

    def to_pandas(self) -> Any:
        """A pandas data frame with the times as its index."""
        pandas = need("pandas", "to_pandas")
        index = pandas.Index(self.t, name=self._all[0])
        # a copy: the caller may write into it
        return pandas.DataFrame(self.y.copy(), index=index, columns=list(self.columns))

    def to_polars(self) -> Any:
        """A polars data frame, with the time in the first column."""
        polars = need("polars", "to_polars")
        return polars.DataFrame({name: self._rows[:, k] for k, name in enumerate(self._all)})

    def to_arrow(self) -> Any:
        """A pyarrow table, with the time in the first column."""
        arrow = need("pyarrow", "to_arrow")
        columns = [np.ascontiguousarray(self._rows[:, k]) for k in range(len(self._all))]
        return arrow.table(columns, names=list(self._all))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the rows to a file. The file extension selects the format: `.csv`, `.jsonl`, `.parquet`, `.npz` or `.arrow`.

        Parquet, npz and Arrow files also contain the text of the model, the values you set, the method, the tolerances, the version of
        odec, and the units. odec never leaves a partial file.
        """
        columns = [(name, "number") for name in self._all]
        _save(path, columns, self._rows, self.model.described(self._settings) if self._settings else [])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream, through pyarrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_xarray(self) -> Any:
        """An xarray data set. Arrays keep their indices as dimensions, and parameters with these indices are coordinates; units become attributes."""
        xarray = need("xarray", "to_xarray")
        time = self._all[0]
        variables: dict[str, Any] = {}
        coordinates: dict[str, Any] = {time: (time, self.t, self._attributes(time))}
        indices: dict[str, Any] = {}
        for name, (_, shape, axes) in self._groups.items():
            dims = [axis for axis, _ in axes]
            if len(set(dims)) < len(dims):
                dims = [f"{axis}_{k}" for k, axis in enumerate(dims)]
            for dim, length, (_, first) in zip(dims, shape, axes):
                own = np.arange(first, first + length)
                if not np.array_equal(indices.setdefault(dim, own), own):
                    raise UsageError(f"arrays with different ranges share the index `{dim}`: record only one of them")
            variables[name] = ((time, *dims), self[name], self._attributes(name))
        coordinates |= indices
        given = [(name, np.array(values), shape, axes) for name, values, shape, axes in self.model.parameters()]
        # the places of an index, by its line `axis`
        given += [(name, np.array(places), [len(at)], [(index, at[0])]) for index, name, at, places in self.model.coordinates() if at]
        for name, array, shape, axes in given:
            # places of the elements, for example
            dims = [axis for axis, _ in axes]
            ranges = [np.arange(first, first + length) for length, (_, first) in zip(shape, axes)]
            known = all(dim in indices and np.isin(indices[dim], own).all() for dim, own in zip(dims, ranges))
            if shape and known and len(set(dims)) == len(dims) and name not in variables and name not in coordinates:
                chosen = np.ix_(*(np.searchsorted(own, indices[dim]) for dim, own in zip(dims, ranges)))
                coordinates[name] = (dims, array.reshape(shape)[chosen], self._attributes(name))
        return xarray.Dataset(variables, coordinates)

    def _attributes(self, name: str) -> dict[str, str]:
        unit = self.model._unit(name)
        return {} if unit is None else {"units": unit}

    def plot(self, *names: str, ax: Any = None, log: str = "") -> Any:
        """Plots `names`, or all scalar quantities, over time with matplotlib. `log` is "x", "y" or "xy". Returns the axes.

        A single array with one index becomes a colour map over time and index; one with two indices, a colour map of the last row.
        """
        chosen = names or tuple(name for name in self._groups if self[name].ndim == 1) or tuple(self._groups)[:1]
        for name in chosen:
            self[name]
        if not chosen or not len(self):
            raise UsageError("the solution has nothing to plot: no rows" if chosen else "the rows have no column to plot")
        scale_of(log)
        if ax is None:
            ax = need("matplotlib.pyplot", "plot").gca()
        if len(chosen) == 1 and self[chosen[0]].ndim in (2, 3):
            return self._map(chosen[0], ax)
        for name in chosen:
            values = self[name]
            for k, curve in enumerate(values.reshape(len(values), -1).T):
                ax.plot(self.t, curve, label=self._label(name) if k == 0 else None)
        ax.set_xlabel(self._label(self._all[0]))
        scaled(ax, log)
        if len(chosen) == 1:
            ax.set_ylabel(self._label(chosen[0]))
        else:
            ax.legend()
            units = {self.model._unit(name) for name in chosen}
            if len(units) == 1 and None not in units:
                ax.set_ylabel(f"[{units.pop()}]")
        return ax

    def _label(self, name: str) -> str:
        unit = self.model._unit(name)
        return f"{name} [{unit}]" if unit else name

    def _along(self, index: str, first: int, length: int) -> tuple[F64, str]:
        """The coordinates of an index and their label: those of its `axis` line, or else its values."""
        for name, array, at, places in self.model.coordinates():
            known = dict(zip(at, places))
            if name == index and all(k in known for k in range(first, first + length)):
                return np.array([known[k] for k in range(first, first + length)]), self._label(array)
        return np.arange(first, first + length, dtype=np.float64), index

    def _map(self, name: str, ax: Any) -> Any:
        """Plots an array as a colour map."""
        values, (_, shape, axes) = self[name], self._groups[name]
        places = [self._along(index, first, length) for length, (index, first) in zip(shape, axes)]
        if values.ndim == 2:
            drawn = ax.pcolormesh(self.t, places[0][0], values.T, shading="nearest")
            ax.set_xlabel(self._label(self._all[0]))
            ax.set_ylabel(places[0][1])
        else:
            drawn = ax.pcolormesh(places[0][0], places[1][0], values[-1].T, shading="nearest")
            ax.set_xlabel(places[0][1])
            ax.set_ylabel(places[1][1])
            ax.set_title(f"{self._all[0]} = {self.t[-1]:g}")
        ax.figure.colorbar(drawn, ax=ax, label=self._label(name))
        return ax

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self._all[:9])
        body = ""
        for row in (*self._rows[:3], *(self._rows[-3:] if len(self._rows) > 6 else self._rows[3:])):
            body += "<tr>" + "".join(f"<td>{value:.6g}</td>" for value in row[:9]) + "</tr>"
        note = f"{len(self._rows)} rows, {len(self._all) - 1} columns, {escape(str(self.stats.get('method', '')))}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{note}</p>"

    def __repr__(self) -> str:
        span = f"{self._all[0]} = {self.t[0]:g} .. {self.t[-1]:g}" if len(self._rows) else "no rows"
        return f"<odec.Solution of {self.model.name}: {len(self._rows)} rows, {span}, {len(self._all) - 1} columns>"

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.model, self._all, dict(self._groups), self._rows, dict(self.stats), self.warnings, self.events)
        return (_solution, (*state, self._by, self._dense, self._settings, self._ended))


def _solution(
    model: Model,
    columns: tuple[str, ...],
    groups: Groups,
    rows: F64,
    stats: Mapping[str, Any],
    warnings: list[Diagnostic],
    events: list[Event],
    by: tuple[str, ...],
    dense: bool,
    settings: dict[str, Any] | None,
    ended: float | None,
) -> Solution:
    rows.setflags(write=False)
    made = Solution(model, columns, groups, rows, stats, warnings, events, by, dense, settings)
    made._ended = ended
    return made


class Sweep:
    """The rows of all runs of a sweep, run by run, in the order of `points`.

    `points` contains the values of each run by name, and `point` the number of the run of each row. The last row of a failed run contains
    the time that it reached, and NaN in all other columns. `ok` is True for each run that reached its end.
    """

    def __init__(
        self,
        model: Model,
        points: Mapping[str, F64],
        columns: tuple[str, ...],
        rows: F64,
        counts: npt.NDArray[np.int64],
        stats: Mapping[str, Any],
        warnings: list[Diagnostic],
        bad: Sequence[int],
        failed: Mapping[int, RunError],
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.points = points
        self._all = columns
        self._rows = rows
        self.stats = stats
        self.warnings = warnings
        self.failed = failed
        self._settings = settings
        self.point: npt.NDArray[np.int64] = np.repeat(np.arange(len(counts)), counts)
        self.ok: npt.NDArray[np.bool_] = np.ones(len(counts), dtype=bool)
        self.ok[list(bad)] = False

    @property
    def t(self) -> F64:
        """The time of each row."""
        return self._rows[:, 0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns other than the time."""
        return self._all[1:]

    def __getitem__(self, name: str) -> F64:
        """A quantity: one number for each row; for an array, shape (rows, extents)."""
        _name(name)
        if name in self._all:
            return self._rows[:, self._all.index(name)]
        shapes = {known: shape for known, shape, _ in self.model.quantities()}
        # the elements of an array are columns side by side, if all of them were recorded
        own = [k for k, column in enumerate(self._all) if re.sub(r"\[[^]]*\]", "", column) == name]
        if name not in shapes or not own or len(own) != int(np.prod(shapes[name])):
            raise UsageError(f"the rows have no `{name}`; they have {', '.join(self._all[:20])}")
        return self._rows[:, own[0] : own[0] + len(own)].reshape(len(self._rows), *shapes[name])

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        """The names of the columns, the time first, as those of a data frame."""
        return iter(self._all)

    def _table(self) -> dict[str, Any]:
        # as the command writes it: the values that vary in front
        varied = {(f"{name}(0)" if name in self._all else name): self.points[name][self.point] for name in self.points}
        named = {**varied, **{name: self[name] for name in self._all}}
        # a quantity of the model keeps its name
        point, ok = "point", "ok"
        while point in named:
            point += "_"
        while ok in named:
            ok += "_"
        return {point: self.point, **named, ok: self.ok[self.point]}

    def to_pandas(self) -> Any:
        """A pandas data frame with the number of the run, its values (`x(0)` is an initial value), the time, the columns, and `ok`.

        If the model has a quantity with the name `point` or `ok`, the column of the sweep is `point_` or `ok_`.
        """
        return need("pandas", "to_pandas").DataFrame(self._table())

    def to_polars(self) -> Any:
        """The same as a polars data frame."""
        return need("polars", "to_polars").DataFrame(self._table())

    def to_arrow(self) -> Any:
        """The same as a pyarrow table."""
        return need("pyarrow", "to_arrow").table(self._table())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same as an Arrow stream, through pyarrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the table to a file, like `Solution.save`."""
        table = self._table()
        kinds = {"i": "whole", "b": "flag"}
        columns = [(name, kinds.get(values.dtype.kind, "number")) for name, values in table.items()]
        rows = np.column_stack([values.astype(np.float64) for values in table.values()])
        _save(path, columns, rows, self.model.described(self._settings) if self._settings else [])

    def plot(self, *names: str, over: str | None = None, ax: Any = None, log: str = "") -> Any:
        """Plots quantities over the values that the sweep varies, with matplotlib. `log` is "x", "y" or "xy". Returns the axes.

        If each run has one row, the plot shows `names` (by default all scalar columns) as curves over the value that varies. If two values
        vary, it shows the first quantity as a colour map over both. With `samples`, it shows the first quantity over time, with a curve for
        each run, coloured by the value that varies. `over` selects among the values that vary.
        """
        from ._sweep_plot import plot

        return plot(self, names, over, ax, log)

    def _repr_html_(self) -> str:
        from html import escape

        table = self._table()
        shown = [name for name in table if np.ndim(table[name]) == 1][:10]
        rows = len(self._rows)
        places = [*range(min(rows, 3)), *range(max(3, rows - 3), rows)]
        head = "".join(f"<th>{escape(name)}</th>" for name in shown)
        cells = [[table[name][k] for name in shown] for k in places]
        text = [[str(v) if isinstance(v, (bool, np.bool_, np.integer)) else f"{v:.6g}" for v in row] for row in cells]
        body = "".join("<tr>" + "".join(f"<td>{v}</td>" for v in row) + "</tr>" for row in text)
        note = f"{len(self.ok)} runs, {int((~self.ok).sum())} failed, {rows} rows, {len(self.columns)} columns"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{note}</p>"

    def __repr__(self) -> str:
        failed = int((~self.ok).sum())
        return f"<odec.Sweep of {self.model.name}: {len(self.ok)} runs, {failed} failed, {len(self._rows)} rows>"


def _save(path: str | PathLike[str], columns: list[tuple[str, str]], rows: F64, meta: list[tuple[str, str]]) -> None:
    from ._odec import save_rows

    save_rows(fspath(path), columns, np.ascontiguousarray(rows), meta)


def outside() -> int:
    """The `stacklevel` with which a warning of the calling function points to the first line outside of the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "odec":
        frame, level = frame.f_back, level + 1
    return level


def _name(name: Any) -> None:
    if not isinstance(name, str):
        raise UsageError(f"rows are indexed by the name of a quantity, not by {name!r:.200}")


def scale_of(log: Any) -> str:
    """The axes with a logarithmic scale."""
    if log not in ("", "x", "y", "xy", "yx"):
        raise UsageError(f'`log` must be "x", "y" or "xy", not {log!r:.200}')
    return str(log)


def scaled(ax: Any, log: str) -> None:
    """Gives axes a logarithmic scale."""
    if "x" in log:
        ax.set_xscale("log")
    if "y" in log:
        ax.set_yscale("log")


def warn_of_runs(counted: list[tuple[Diagnostic, int]], runs: int) -> None:
    """Issues one warning of each kind for a sweep, with the number of runs."""
    if runs == 1:
        warn([d for d, _ in counted])
        return
    warn([d for d, _ in counted], [f"in {n} of {runs} runs, first in this one:\n" for _, n in counted])


def warn(diagnostics: list[Diagnostic], before: list[str] | None = None) -> None:
    """Issues warnings at the line that called the package."""
    if diagnostics:
        import warnings as standard

        from ._errors import OdecWarning

        for k, d in enumerate(diagnostics):
            if d.severity == "warning":
                said = "" if before is None else before[k]
                standard.warn(f"\n{said}{d.rendered}", OdecWarning, stacklevel=outside())
