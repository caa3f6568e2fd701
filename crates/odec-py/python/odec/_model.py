"""Models: compile them from text or a file, change their values, run and sweep them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union

import numpy as np

from ._errors import Diagnostic, RunError, UsageError
from ._numbers import numbers, real, whole
from ._odec import MAX_RUNS, Core, check as _check, doubts, drawn_points, named_files, range_values
from ._solution import F64, Event, Floats, Solution, Sweep, need, warn

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

    from ._fit import Data, Fit
    from ._grad import Gradient, Loss

Number = Union[float, int]
Values = Mapping[str, Union[Number, Floats]]
Samples = Union[int, Literal["steps"], Floats, "Log"]
Record = Union[Literal["all", "states", "outputs"], Sequence[str]]


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


_OPTIONS: dict[str, Any] = dict.fromkeys(
    "run params t0 t_end method step rtol atol samples_word samples_count samples_times samples_log record_word record "
    "max_step max_steps first_step linear".split()
)
# the largest count that the extension module takes
_MOST = 2**63 - 1


def _names(what: str, given: Any) -> list[str]:
    try:
        names = [given] if isinstance(given, str) else list(given)
    except TypeError:
        raise UsageError(f"`{what}` takes names, not {given!r:.200}") from None
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise UsageError(f"`{what}` takes names, not {wrong[0]!r:.200}")
    return names


def _threads(threads: Any) -> int | None:
    return None if threads is None else min(whole("threads", threads), _MOST)


def _settings(
    t: tuple[float, float] | float | None = None,
    samples: Samples | None = None,
    method: str | None = None,
    rtol: float | None = None,
    atol: float | Mapping[str, float] | None = None,
    step: float | None = None,
    max_step: float | None = None,
    max_steps: int | None = None,
    record: Record | None = None,
    sens: Sequence[str] | None = None,
    params: str | None = None,
    run: str | None = None,
    linear: str | None = None,
    first_step: float | None = None,
) -> dict[str, Any]:
    s = dict(_OPTIONS, atol_for=[], sens=[], open=[], method=method, run=run, params=params, linear=linear)
    for name in ("method", "run", "params", "linear"):
        if s[name] is not None and not isinstance(s[name], str):
            raise UsageError(f"`{name}` is a name, not {s[name]!r:.200}")
    if t is None:
        pass
    elif isinstance(t, (tuple, list)) or np.ndim(t) == 1:
        if len(t) != 2:
            raise UsageError(f"`t` must be the end time, or start and end, not {t!r:.200}; `samples=` takes the times of rows")
        s["t0"], s["t_end"] = real("t", t[0]), real("t", t[1])
    else:
        s["t_end"] = real("t", t)
    for name, value in (("rtol", rtol), ("step", step), ("max_step", max_step), ("first_step", first_step)):
        if value is not None:
            s[name] = real(name, value)
            if s[name] < 0 or (s[name] == 0 and name != "rtol"):
                raise UsageError(f"`{name}` must be above 0, not {value!r}")
    if isinstance(atol, Mapping):
        s["atol_for"] = [(name, real("atol", value)) for name, value in atol.items()]
    elif atol is not None:
        s["atol"] = real("atol", atol)
    if min([s["atol"] or 0.0, *(value for _, value in s["atol_for"])]) < 0:
        raise UsageError("`atol`: a tolerance cannot be negative")
    if max_steps is not None:
        s["max_steps"] = min(whole("max_steps", max_steps), _MOST)
    if samples is None:
        pass
    elif isinstance(samples, str):
        s["samples_word"] = samples
    elif isinstance(samples, Log):
        s["samples_log"] = (samples.n, samples.first)
    elif isinstance(samples, (int, np.integer)) and not isinstance(samples, bool):
        # more are refused by what they take of memory
        s["samples_count"] = min(whole("samples", samples), _MOST)
    else:
        times = numbers("samples", samples)
        if times.ndim != 1:
            raise UsageError('`samples` is a number of rows, "steps", a list of times, or `odec.log(n, first)`')
        s["samples_times"] = times.tolist()
    if isinstance(record, str):
        s["record_word"] = record
    elif record is not None:
        s["record"] = _names("record", record)
    if sens is not None:
        s["sens"] = _names("sens", sens)
    return s


class Model(Core):
    """A compiled model with its values. It is immutable, so threads can share it. You can pickle it."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a model is immutable: `m.with_(k=20)` returns a model with other values")

    @property
    def source(self) -> str:
        """The text."""
        return self.source_text

    @property
    def params(self) -> Mapping[str, float | F64]:
        """The values of the parameters by name, in the order of the text."""
        found: dict[str, float | F64] = {}
        for name, values, shape, _ in self.parameters():
            found[name] = np.array(values).reshape(shape) if shape else values[0]
        return MappingProxyType(found)

    @property
    def units(self) -> Mapping[str, str]:
        """The units of all quantities that have one, as written."""
        return MappingProxyType(dict(self.written_units()))

    @property
    def docs(self) -> Mapping[str, str]:
        """Doc comments by name."""
        return MappingProxyType(dict(self.written_docs()))

    @property
    def warnings(self) -> list[Diagnostic]:
        """Warnings and notes about the model."""
        return self.remarks()

    def with_(self, values: Values | None = None, /, **names: Number | Floats) -> Model:
        """Returns a model with other values of parameters, constants or initial values. Values of earlier `with_` calls stay."""
        chosen: dict[str, float] = dict(self.values)
        for name, value in {**dict(values or {}), **names}.items():
            if not isinstance(name, str):
                raise UsageError(f"names are text, not {name!r}")
            given = value.values() if isinstance(value, Range) else np.asarray(value)
            if given.ndim == 0:
                # a value for a whole array takes the place of those of its elements
                for other in [other for other in chosen if re.sub(r"\[[^]]*\]", "", other) == name]:
                    del chosen[other]
                chosen[name] = real(name, value)
            else:
                for element, number in self.spread(name, numbers(name, given).ravel().tolist(), list(given.shape)):
                    chosen.pop(element, None)
                    chosen[element] = real(element, number)
        return Model(self.source_text, self.source_name, {}, list(chosen.items()), self)

    def run(
        self,
        t: tuple[float, float] | float | None = None,
        *,
        samples: Samples | None = None,
        method: str | None = None,
        rtol: float | None = None,
        atol: float | Mapping[str, float] | None = None,
        step: float | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        record: Record | None = None,
        sens: Sequence[str] | None = None,
        dense: bool = False,
        params: str | Values | None = None,
        run: str | None = None,
        linear: str | None = None,
        progress: Callable[[float], bool | None] | None = None,
    ) -> Solution:
        """Solves the model; options that are left out are as the run block says.

        `t` is the end, or start and end. `samples` is a number of rows after the first, "steps" for the end of each step, a list of
        times, or `odec.log`. `params` is the name of a set of parameters, or values as of `with_`. `progress` is called with the time
        now and then, and ends the run with a `RunError` if it returns False.
        """
        if progress is not None and not callable(progress):
            raise UsageError(f"`progress` is a function of the time, not {progress!r:.200}")
        model = self
        if isinstance(params, Mapping):
            model, params = self.with_(params), None
        settings = _settings(t, samples, method, rtol, atol, step, max_step, max_steps, record, sens, params, run, linear)
        if settings["sens"]:
            settings["sens"] = model.elements(settings["sens"])
        return model._run(settings, dense, progress)

    def _run(
        self, settings: dict[str, Any], dense: bool, progress: Callable[[float], bool | None] | None, judged: bool = True
    ) -> Solution:
        # only what a caller of the package asks for is judged and warned of
        return self._solved(self.run_rows(settings, progress, judged), settings, dense, judged)

    def _solved(self, made: Any, settings: dict[str, Any], dense: bool, judged: bool) -> Solution:
        """The solution from the values that `run_rows` returns."""
        columns, groups, rows, stats, warnings, events, end = made
        if events:
            names = self.event_names()
            events = [Event(t, names[k], tuple(at), tuple(changes)) for t, k, at, changes in events]
        if warnings:
            known = self.warnings
            warnings = [d for d in warnings if d not in known]
        by = tuple(settings["sens"])
        solution = Solution(self, columns, groups, rows, stats, warnings, events, by, dense, settings)
        if end is not None:
            time, error = end
            raise RunError("", error.diagnostics, time, solution)
        if judged:
            warn(warnings)
        return solution

    def sweep(
        self,
        over: Mapping[str, Range | Floats | Number] | Sequence[Mapping[str, Number]] | Any,
        *,
        t: tuple[float, float] | float | None = None,
        random: int | None = None,
        seed: int = 1,
        samples: Samples | None = None,
        record: Record | None = None,
        method: str | None = None,
        rtol: float | None = None,
        atol: float | Mapping[str, float] | None = None,
        step: float | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        params: str | None = None,
        run: str | None = None,
        linear: str | None = None,
        threads: int | None = None,
        executor: Executor | None = None,
        shards: int | None = None,
        out: str | PathLike[str] | None = None,
        errors: Literal["keep", "raise"] = "keep",
    ) -> Sweep:
        """Runs the model at many points on all cores, one row for each unless `samples` asks for more.

        `over` gives values by name: all combinations are run, the last name varying fastest. A list of mappings has a point in each of
        them, and a data frame in each row.
        With `random`, so many points are drawn from ranges. A run that fails is kept with NaN, or raised with `errors="raise"`.

        `executor` is any executor of `concurrent.futures`: its workers make `shards` parts, each on one thread. With `out`, parts are kept
        in this folder, and a sweep that is called again takes those that are there. The rows do not depend on any of these.
        """
        if errors not in ("keep", "raise"):
            raise UsageError(f'`errors` is "keep" or "raise", not {errors!r}')
        names, table = _points(over, random, seed)
        threads = _threads(threads)
        settings = _settings(t, samples, method, rtol, atol, step, max_step, max_steps, record, None, params, run, linear)
        # what only a sweep needs takes as long to import as the rest
        from pathlib import Path

        from ._parts import Parts, Swept, swept

        if executor is None and shards is None and out is None:
            found: Swept = swept(self, names, table, settings, threads)
        else:
            parts = Parts(self, names, table, settings, shards, None if out is None else Path(out))
            found = parts.made(executor, threads)
        columns, rows, counts, stats, warnings, bad, why = found
        if errors == "raise" and bad:
            raise why[bad[0]]
        points = {name: table[:, k] for k, name in enumerate(names)}
        known = self.warnings
        warnings = [d for d in warnings if d not in known]
        warn(warnings)
        return Sweep(self, points, columns, rows, counts, stats, warnings, bad, why, settings)

    def fit(
        self,
        data: Data | Sequence[Data] | Mapping[str, Any] | Any,
        params: Sequence[str] | Mapping[str, Range | Number | None],
        *,
        sigma: float | Mapping[str, Any] | None = None,
        starts: int = 1,
        seed: int = 1,
        threads: int | None = None,
        executor: Executor | None = None,
        t: tuple[float, float] | float | None = None,
        rtol: float | None = None,
        atol: float | Mapping[str, float] | None = None,
        method: str | None = None,
        max_steps: int | None = None,
        run: str | None = None,
    ) -> Fit:
        """Fits parameters and initial values to data by least squares with exact derivatives.

        `data` has the times and the measured quantities by name, as a mapping or a data frame; NaN is a value that is missing. Several
        sets are a list of `odec.Data`, each with values of its own. `params` says what is fitted: a list of names, or names with ranges:
        `odec.lin(0, 1)` bounds a parameter, `odec.geom(0.1, 10)` bounds it and fits its logarithm, a number is where to start. `sigma` is
        the standard deviation of the data, for all or by name. With `starts`, the fit begins at so many points: the values of the model,
        and others drawn from the ranges. Runs end at the last datum, and are solved with rtol 1e-8 or better unless `rtol` is given.
        """
        from ._fit import fit

        settings = _settings(t=t, rtol=rtol, atol=atol, method=method, max_steps=max_steps, run=run)
        return fit(self, data, params, sigma, starts, seed, _threads(threads), executor, settings)

    def grad(
        self,
        loss: Loss,
        by: str | Sequence[str] | None = None,
        *,
        t: tuple[float, float] | float | None = None,
        samples: Samples | None = None,
        record: Record | None = None,
        method: str | None = None,
        rtol: float | None = None,
        atol: float | Mapping[str, float] | None = None,
        step: float | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        params: str | None = None,
        run: str | None = None,
        linear: str | None = None,
    ) -> Gradient:
        """The gradient of a function of the rows by many parameters and initial values.

        `loss` is called with the `Solution`. It returns its value, and its derivatives by the rows: by name, each an array like `s[name]`, or
        one array like `s.y`. `by` names parameters, and states for their initial values; without it, all parameters. The other options are
        those of `run`. The adjoint equations are solved back from the last row, so that the cost does not grow with the number of names.
        """
        from ._grad import grad

        settings = _settings(t, samples, method, rtol, atol, step, max_step, max_steps, record, None, params, run, linear)
        return grad(self, loss, list(self.params) if by is None else _names("by", by), settings)

    def jac_sparse(self, t: float, y: Floats) -> Any:
        """df/dy as `scipy.sparse.csc_array`."""
        sparse = need("scipy.sparse", "jac_sparse")
        pointers, rows = self.jac_pattern()
        n = len(pointers) - 1
        return sparse.csc_array((self.jac_entries(t, y), rows, pointers), shape=(n, n))

    def dfdp(self, t: float, y: Floats, names: Sequence[str] | None = None) -> F64:
        """df/dp, with one row for each state and one column for each of `names`; without `names`, for each of `params`."""
        chosen = list(self.params) if names is None else [names] if isinstance(names, str) else list(names)
        return self.by_parameters(t, y, chosen)

    def cfunc(self, which: Literal["f", "jvp", "dfdt"] = "f") -> CFunc:
        """A kernel as a C function, for example for numba or ctypes."""
        return CFunc(self, which)

    def equations(self) -> str:
        """The equations, one per line."""
        return "\n".join(f"{left} = {right}" for left, right in self.equation_texts())

    def _repr_html_(self) -> str:
        from html import escape

        from ._mathml import equation

        lines = "".join(f"<div>{equation(left, right)}</div>" for left, right in self.equation_texts())
        return f"<p><b>{escape(self.name)}</b></p>{lines}"

    def __repr__(self) -> str:
        chosen = "".join(f", {name} = {value:g}" for name, value in self.values)
        return f"<odec.Model {self.name}: {len(self.states)} states{chosen}>"

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, _memo: Any) -> Model:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.sbml is not None:
            name, text = self.sbml
            return (Model, (text, name, {}, self.values, None, True))
        return (Model, (self.source_text, self.source_name, self.files, self.values))


class CFunc:
    """A kernel as a function of C: `void (double t, const double *y, const double *p, const double *w, double *out)`.

    `address` is where it begins, `parameters` is what it takes as `p`; `w` is the direction of `jvp`, else it is not looked at. The
    code lives as long as this object does, which keeps the model.
    """

    model: Model
    which: str
    address: int
    parameters: F64

    def __init__(self, model: Model, which: str) -> None:
        self.model, self.which = model, which
        self.address, self.parameters = model.address(which)

    def __reduce__(self) -> tuple[Any, ...]:
        # an address means nothing in another process: the function is made again there
        return (CFunc, (self.model, self.which))

    def ctypes(self) -> Any:
        """The function for `ctypes`. Its arguments are pointers to doubles."""
        import ctypes

        pointer = ctypes.POINTER(ctypes.c_double)
        function = ctypes.CFUNCTYPE(None, ctypes.c_double, pointer, pointer, pointer, pointer)(self.address)
        function.keeps = self  # type: ignore[attr-defined]
        return function

    def lowlevel(self) -> Any:
        """The function as `scipy.LowLevelCallable`."""
        return need("scipy", "lowlevel").LowLevelCallable(self.ctypes())


def _points(over: Any, random: int | None, seed: int) -> tuple[list[str], F64]:
    """The names, and one row of values for each point."""
    if hasattr(over, "columns") and not isinstance(over, Mapping):
        return _frame(over)
    if isinstance(over, (list, tuple)) and over and all(isinstance(point, Mapping) for point in over):
        return _list(over)
    if not isinstance(over, Mapping) or not over:
        raise UsageError('nothing is given to sweep over: for example `m.sweep({"k": odec.lin(0, 1, 11)})`')
    names = list(over)
    if random is not None:
        random, seed = whole("random", random), whole("seed", seed, 0)
        wrong = [name for name in names if not isinstance(over[name], Range)]
        if wrong:
            raise UsageError(f"`random` needs a range for `{wrong[0]}`: `odec.lin(0, 1)` or `odec.geom(0.1, 10)`")
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
        raise UsageError(f"all combinations are {count} runs; a sweep has at most {MAX_RUNS}")
    grid = np.meshgrid(*lists, indexing="ij")
    return names, np.column_stack([axis.ravel() for axis in grid])


def _list(points: Sequence[Mapping[str, Number]]) -> tuple[list[str], F64]:
    """The points of a list, each with its values by name."""
    names = list(points[0])
    for k, point in enumerate(points):
        if set(point) != set(names) or not names:
            raise UsageError(f"point {k} of the list has {', '.join(point) or 'no values'}, and point 0 has {', '.join(names) or 'none'}")
    return names, np.array([[real(name, point[name]) for name in names] for point in points])


def _frame(frame: Any) -> tuple[list[str], F64]:
    """The points of a data frame, one in each row."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names) or not names:
        raise UsageError(f"a data frame of points has a column for each name that varies; this one has {', '.join(names) or 'none'}")
    table = np.column_stack([numbers(name, frame[own]) for name, own in zip(names, frame.columns)])
    if not len(table):
        raise UsageError("the data frame of points has no rows")
    for name, values in zip(names, table.T):
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise UsageError(f"`{name}` takes finite numbers, and row {row} of the data frame has {values[row]}")
    return names, table


def compile(
    text: str,
    *,
    name: str = "<string>",
    files: Mapping[str, bytes | str] | None = None,
    base: str | PathLike[str] | None = None,
    allow_read: Sequence[str | PathLike[str]] = (),
) -> Model:
    """Compiles the text of a model. Files that it names are looked up in `files`, then in the folder `base`.

    A model reads files of this folder and of the folders below; `allow_read` names further folders.
    """
    if not isinstance(text, str):
        raise UsageError(f"`compile` takes the text of a model as a string, not {type(text).__name__}; `odec.load` reads a file")
    found = {key: value.encode() if isinstance(value, str) else bytes(value) for key, value in (files or {}).items()}
    if base is not None:
        # which takes longer to import than everything else here
        from pathlib import Path

        allowed = [Path(folder).resolve() for folder in (base, *allow_read)]
        # a part may use further parts, which are known once its file is there
        while any([_find(wanted, Path(base), allowed, found) for wanted in named_files(text, name, found)]):
            pass
    model = Model(text, name, found, [])
    warn(model.warnings)
    return model


def _find(wanted: str, base: Path, allowed: Sequence[Path], found: dict[str, bytes]) -> bool:
    """Reads a file that a model names, if it exists and the model may read it."""
    path = base / wanted
    real = path.resolve()
    if not any(real.is_relative_to(folder) for folder in allowed):
        raise UsageError(
            f"`{path}` is outside the model's folder, and a model may only read files in its own folder; "
            f"if you trust the model: `allow_read=[{str(real.parent)!r}]`"
        )
    if not real.is_file():
        return False
    found[wanted] = real.read_bytes()
    return True


def load(path: str | PathLike[str], *, allow_read: Sequence[str | PathLike[str]] = ()) -> Model:
    """Reads and compiles a model file, with the files that it names: `.ode`, or SBML as `.xml` or `.sbml`."""
    from pathlib import Path

    path = Path(path)
    if path.suffix not in (".ode", ".xml", ".sbml"):
        raise UsageError(f"`{path}`: the name of a model file must end in `.ode`, or in `.xml` or `.sbml` for SBML")
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{path}` is not UTF-8 text: byte {error.start}") from None
    name = fspath(path)
    if path.suffix != ".ode":
        warn(doubts(text, name))
        return Model(text, name, {}, [], None, True)
    return compile(text, name=name, base=path.parent, allow_read=allow_read)


def check(text: str, *, name: str = "<string>") -> list[Diagnostic]:
    """Returns the errors, warnings and notes for a model text. Does not read the files that it names."""
    return _check(text, name)
