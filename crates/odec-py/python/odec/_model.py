"""Models: compile them from text or a file, change their values, run and sweep them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from ._errors import Diagnostic, MissingFileError, RunError, UsageError
from ._numbers import numbers, real
from ._odec import Core, check as _check, doubts, named_files
from ._options import Number, Record, Samples, Step, Values, names_of, settings as _settings, threads_of
from ._points import Range, points
from ._solution import F64, Event, Floats, Solution, Sweep, need, warn, warn_of_runs

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

    from ._fit import Data, Fit
    from ._grad import Gradient, Loss

# a number with a unit, as the command takes it
_WITH_UNIT = re.compile(r"\s*([-+]?[\d.][\d._]*(?:[eE][-+]?\d+)?)\s*\[([^\]]*)\]\s*")


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
        """The units of all quantities that have one, as declared or as inferred from the equations."""
        return MappingProxyType(dict(self.written_units()))

    @property
    def docs(self) -> Mapping[str, str]:
        """Doc comments by name."""
        return MappingProxyType(dict(self.written_docs()))

    @property
    def warnings(self) -> list[Diagnostic]:
        """Warnings and notes about the model."""
        return self.remarks()

    def with_(self, values: Values | None = None, /, **names: Number | Floats | str) -> Model:
        """Returns a model with other values of parameters, constants or initial values. Values from earlier calls of `with_` stay.

        A value is a number, a string with a number and its unit ("3 [1/s]"), or an array with a value for each element.
        """
        try:
            given = {**dict(values or {}), **names}
        except (TypeError, ValueError):
            raise UsageError(f"`with_` takes values by name, not {values!r:.200}") from None
        single: dict[str, float] = {}
        arrays: dict[str, Any] = {}
        for name, value in given.items():
            if not isinstance(name, str):
                raise UsageError(f"names must be strings, not {name!r}")
            value = value.values() if isinstance(value, Range) else value
            if isinstance(value, str) or np.ndim(np.asarray(value, dtype=object)) == 0:
                single[name] = self._number(name, value)
            else:
                arrays[name] = value
        model = self._chosen(list(single.items())) if single or not arrays else self
        for name, value in arrays.items():
            array = numbers(name, value)
            # with the constants among the values, which may be sizes
            elements = model.spread(name, array.ravel().tolist(), list(array.shape))
            model = model._chosen([(element, real(element, number)) for element, number in elements])
        return model

    def _number(self, name: str, value: Any) -> float:
        """A number, or one with a unit as text: "3 [1/s]"."""
        if not isinstance(value, str):
            return real(name, value)
        found = _WITH_UNIT.fullmatch(value)
        try:
            number = float(found[1]) if found else None
        except ValueError:
            number = None
        if found is None or number is None:
            raise UsageError(f'`{name}` must be a number, or a string with a number and its unit, as in "3 [1/s]", not {value!r:.200}')
        return self.in_unit(name, real(name, number), found[2])

    def _chosen(self, values: list[tuple[str, float]]) -> Model:
        chosen: dict[str, float] = dict(self.values)
        for name, value in values:
            # a value for a whole array takes the place of those of its elements
            for other in [other for other in chosen if "[" in other and re.sub(r"\[[^]]*\]", "", other) == name]:
                del chosen[other]
            # the last value counts
            chosen.pop(name, None)
            chosen[name] = value
        return Model(self.source_text, self.source_name, {}, list(chosen.items()), self)

    def _unit(self, name: str) -> str | None:
        """The unit of a column: of a quantity, an element, or a derivative."""
        return self.units.get(re.sub(r"\[[^]]*\]", "", name)) or self.unit_of(name)

    def run(
        self,
        t: tuple[float, float] | float | None = None,
        *,
        samples: Samples | None = None,
        method: str | None = None,
        rtol: float | None = None,
        atol: float | Mapping[str, float] | None = None,
        step: Step | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        record: Record | None = None,
        sens: Sequence[str] | None = None,
        dense: bool = False,
        params: str | Values | None = None,
        run: str | None = None,
        linear: str | None = None,
        second_run: bool = True,
        progress: Callable[[float], bool | None] | None = None,
    ) -> Solution:
        """Solves the model. The run block of the model provides the defaults of the options.

        `t` is the end time, or a pair of start and end. `samples` is the number of rows after the first, "steps" for a row at the end of
        each step, a list of times, or `odec.log`. `step` is a constant step, or "auto" to let the error control choose the steps even if
        the run block has a constant one. `params` is the name of a parameter set, or a mapping of values as in `with_`. odec calls
        `progress` periodically with the current time; if it returns False, the run ends with a `RunError`. `second_run=False` leaves out the run with a
        smaller tolerance that odec makes where errors may grow, so the warning W0622 is never given; `stats["second_run"]` counts its steps.
        """
        if progress is not None and not callable(progress):
            raise UsageError(f"`progress` must be a function of the time, not {progress!r:.200}")
        model = self
        if isinstance(params, Mapping):
            model, params = self.with_(params), None
        settings = _settings(t, samples, method, rtol, atol, step, max_step, max_steps, record, sens, params, run, linear, second_run)
        if settings["sens"]:
            settings["sens"] = model.elements(settings["sens"])
        return model._run(settings, dense, progress)

    def _run(
        self, settings: dict[str, Any], dense: bool, progress: Callable[[float], bool | None] | None, compared: bool = True
    ) -> Solution:
        # only what a caller of the package asks for is compared and warned of
        return self._solved(self.run_rows(settings, progress, compared), settings, dense, compared)

    def _solved(self, made: Any, settings: dict[str, Any], dense: bool, compared: bool) -> Solution:
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
            solution._ended = time
            if isinstance(error, RunError):
                raise RunError("", error.diagnostics, time, solution)
            if error is not None:
                # such as KeyboardInterrupt: the rows up to then are not lost
                error.partial = solution
                raise error
        if compared:
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
        step: Step | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        params: str | None = None,
        run: str | None = None,
        linear: str | None = None,
        second_run: bool = True,
        threads: int | None = None,
        executor: Executor | None = None,
        shards: int | None = None,
        out: str | PathLike[str] | None = None,
        errors: Literal["keep", "raise"] = "keep",
    ) -> Sweep:
        """Runs the model at many points on all cores. Each run produces one row unless you pass `samples`.

        `over` maps names to values. odec runs all combinations, and the last name varies fastest. Instead, `over` can be a list of mappings
        or a data frame, with one point in each mapping or row. With `random=n`, odec draws n points from ranges. The row of a failed run
        contains NaN; with `errors="raise"`, odec raises the exception instead. `second_run=False` leaves out the warning W0622, as in `run`.

        `executor` is any executor of `concurrent.futures`. odec splits the sweep into `shards` parts, and its workers run one part at a
        time on one thread. With `out`, odec keeps the parts in this folder, and a repeated call reuses them. The rows depend on none of
        these.
        """
        if errors not in ("keep", "raise"):
            raise UsageError(f'`errors` must be "keep" or "raise", not {errors!r}')
        names, table = points(over, random, seed)
        threads = threads_of(threads)
        settings = _settings(t, samples, method, rtol, atol, step, max_step, max_steps, record, None, params, run, linear, second_run)
        # what only a sweep needs takes as long to import as the rest
        from pathlib import Path

        from ._parts import Parts, Swept, swept

        try:
            if executor is None and shards is None and out is None:
                found: Swept = swept(self, names, table, settings, threads)
            else:
                parts = Parts(self, names, table, settings, shards, None if out is None else Path(out))
                found = parts.made(executor, threads)
        except BaseException as error:
            rest = getattr(error, "partial", None)
            if isinstance(rest, tuple):
                # such as KeyboardInterrupt: the runs that came to their end are not lost
                error.partial = self._sweep(names, table, rest, settings)  # type: ignore[attr-defined]
            raise
        sweep = self._sweep(names, table, found, settings)
        if errors == "raise" and sweep.failed:
            raise next(iter(sweep.failed.values()))
        if executor is None and shards is None and out is None:
            # their headlines have the numbers of runs
            warn(sweep.warnings)
        else:
            warn_of_runs([(d, n) for d, n in zip(found[4], found[5]) if d in sweep.warnings], len(sweep.ok))
        return sweep

    def _sweep(self, names: list[str], table: F64, found: Any, settings: dict[str, Any]) -> Sweep:
        """The sweep of the first points of a table, from the values that `swept` returns."""
        from ._parts import with_rows

        columns, rows, counts, stats, warnings, _, bad, why = found
        given = {name: table[: len(counts), k] for k, name in enumerate(names)}
        with_rows(self, given, columns, rows, counts, why, settings)
        known = self.warnings
        warnings = [d for d in warnings if d not in known]
        return Sweep(self, given, columns, rows, counts, stats, warnings, bad, why, settings)

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
        step: Step | None = None,
        max_steps: int | None = None,
        run: str | None = None,
    ) -> Fit:
        """Fits parameters and initial values to data by least squares with exact derivatives.

        `data` is a mapping or a data frame with the times and the measured quantities by name; NaN marks a missing value. For several data
        sets, pass a list of `odec.Data`, each with its own values. `params` is a list of the names to fit, or a mapping from names to
        ranges: `odec.lin(0, 1)` bounds a parameter, `odec.geom(0.1, 10)` bounds it and fits its logarithm, and a number is a starting
        value. `sigma` is the standard deviation of the data, one for all or one for each name. With `starts=n`, the fit starts from the
        values of the model and from n - 1 points drawn from the ranges. Runs end at the last datum, and use rtol 1e-8 or less unless you
        pass `rtol`. The fit ignores a constant step in the run block, because the errors of these steps would distort the estimates; to
        use a constant step anyway, pass `step`.
        """
        from ._fit import fit

        settings = _settings(t=t, rtol=rtol, atol=atol, method=method, step=step, max_steps=max_steps, run=run)
        return fit(self, data, params, sigma, starts, seed, threads_of(threads), executor, settings)

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
        step: Step | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        params: str | None = None,
        run: str | None = None,
        linear: str | None = None,
    ) -> Gradient:
        """Computes the gradient of a function of the rows with respect to many parameters and initial values.

        `loss` takes the `Solution`. It returns its value and its derivatives with respect to the rows: a mapping from names to arrays like
        `s[name]`, or one array like `s.y`. `by` is a list of parameters, and of states for their initial values; the default is all
        parameters. The other options are those of `run`. odec solves the adjoint equations backward from the last row, so the cost hardly
        grows with the number of names.
        """
        from ._grad import grad

        settings = _settings(t, samples, method, rtol, atol, step, max_step, max_steps, record, None, params, run, linear)
        return grad(self, loss, list(self.params) if by is None else names_of("by", by), settings)

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
        """The equations, then the definitions and functions in them, one per line."""
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

    `address` is the address of the function. Pass `parameters` as `p`. `w` is the direction of `jvp`; the other functions ignore it. Keep
    this object as long as you call the function: it owns the code.
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
        """The function as a `scipy.LowLevelCallable`, for code that calls functions of this signature.

        SciPy's own functions take callbacks with other signatures, so they refuse this one.
        """
        return need("scipy", "lowlevel").LowLevelCallable(self.ctypes())


def compile(
    text: str,
    *,
    name: str = "<string>",
    files: Mapping[str, bytes | str] | None = None,
    base: str | PathLike[str] | None = None,
    allow_read: Sequence[str | PathLike[str]] = (),
) -> Model:
    """Compiles the text of a model. odec looks for files that the model names in `files`, then in the folder `base`.

    A model can read files in this folder and the folders below it; `allow_read` allows other folders.
    """
    if not isinstance(text, str):
        raise UsageError(f"`compile` takes the text of a model as a string, not {type(text).__name__}; `odec.load` reads a file")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the text of a model cannot contain {text[error.start]!r}, which is at position {error.start}") from None
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
    except FileNotFoundError:
        raise MissingFileError(f"there is no file `{path}`") from None
    name = fspath(path)
    if path.suffix != ".ode":
        warn(doubts(text, name))
        return Model(text, name, {}, [], None, True)
    return compile(text, name=name, base=path.parent, allow_read=allow_read)


def check(text: str, *, name: str = "<string>") -> list[Diagnostic]:
    """Returns the errors, warnings and notes for a model text. Does not read the files that it names."""
    return _check(text, name)
