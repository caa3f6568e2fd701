"""Sweeps in parts: run by the workers of an executor, and kept in a folder until all parts are complete."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._errors import Diagnostic, OdecError, RunError, UsageError
from ._numbers import whole
from ._solution import F64, Solution

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from ._model import Model

# columns, rows, rows of each run, counts, warnings, the number of runs with each, numbers of failed runs, and why the first of
# them failed
Swept = tuple[tuple[str, ...], F64, npt.NDArray[np.int64], dict[str, Any], list[Diagnostic], list[int], list[int], dict[int, RunError]]

# parts that an executor gets unless it is said: few enough to join quickly, many enough to keep workers busy
_PARTS = 64


def swept(
    model: Model,
    names: Sequence[str],
    table: F64,
    settings: dict[str, Any],
    threads: int | None,
    whole: tuple[int, list[tuple[float, float]]] | None = None,
) -> Swept:
    """Runs all points of a table; `whole` identifies the sweep that they belong to."""
    *found, raised = model.sweep_rows(list(names), table.ravel().tolist(), settings, threads, whole)
    if raised is not None:
        # such as KeyboardInterrupt, with the runs that came to their end
        raised.partial = tuple(found)  # type: ignore[attr-defined]
        raise raised
    return tuple(found)  # type: ignore[return-value]


def with_rows(
    model: Model,
    points: Mapping[str, F64],
    columns: tuple[str, ...],
    rows: F64,
    counts: npt.NDArray[np.int64],
    why: Mapping[int, RunError],
    settings: dict[str, Any],
) -> None:
    """Gives the exceptions of failed runs the time that they reached, and their rows."""
    if not why:
        return
    ends = np.cumsum(counts)
    groups = _groups(model, columns)
    for k, error in why.items():
        # the last row of a failed run has the time that it reached
        error.t = float(rows[ends[k] - 1, 0])
        own = rows[ends[k] - counts[k] : ends[k] - 1]
        try:
            there = model.with_({name: float(values[k]) for name, values in points.items()})
        except OdecError:
            # values outside of their bounds: there was no run
            continue
        error.partial = Solution(there, columns, groups, own, {}, [], [], settings=settings)
        error.partial._ended = error.t


def _groups(model: Model, columns: tuple[str, ...]) -> dict[str, tuple[int, list[int], list[tuple[str, int]]]]:
    """The quantities of which all elements are columns, with their first one."""
    found = {}
    stems = [re.sub(r"\[[^]]*\]", "", column) for column in columns]
    for name, shape, axes in model.quantities():
        first = stems.index(name) if name in stems else 0
        if first > 0 and stems[first : first + math.prod(shape)] == [name] * math.prod(shape):
            found[name] = (first, list(shape), list(axes))
    return found


def workers_of(executor: Any) -> None:
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise UsageError(f"`executor` must be an executor of `concurrent.futures`, not {executor!r:.200}; `threads` sets a number of threads")


class Parts:
    """A sweep in parts. Part k of n contains the points from k*N/n up to (k+1)*N/n."""

    def __init__(
        self, model: Model, names: Sequence[str], table: F64, settings: dict[str, Any], shards: int | None, out: Path | None
    ) -> None:
        shards = _PARTS if shards is None else whole("shards", shards)
        self.model, self.names, self.table, self.settings, self.out = model, list(names), table, settings, out
        points = len(table)
        self.count = max(1, min(points, shards))
        self.borders = [k * points // self.count for k in range(self.count + 1)]
        self.whole = (points, [(float(column.min()), float(column.max())) for column in table.T] if points else [])
        self.digest = self._digest() if out is not None else ""

    def _digest(self) -> str:
        """A digest of everything that determines the rows."""
        from ._odec import __version__

        m = self.model
        files = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(m.files.items())}
        said = json.dumps([__version__, m.source_text, m.values, files, self.names, self.settings, self.count], default=str)
        return hashlib.sha256(said.encode() + np.ascontiguousarray(self.table).tobytes()).hexdigest()

    def path(self, k: int) -> Path:
        assert self.out is not None
        return self.out / f"part-{k}-of-{self.count}.npz"

    def made(self, executor: Executor | None, threads: int | None) -> Swept:
        """All parts: existing ones from the folder, the others from the workers."""
        workers_of(executor)
        there: dict[int, Swept] = {}
        if self.out is not None:
            try:
                self.out.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                raise UsageError(f"`out` must be a folder for the parts, but `{self.out}` is a file") from None
            there = {k: part for k in range(self.count) if (part := self._kept(k)) is not None}
        missing = [k for k in range(self.count) if k not in there]

        def arguments(k: int) -> tuple[Any, ...]:
            return (self.model, self.names, self.table[self.borders[k] : self.borders[k + 1]], self.settings)

        if executor is None:
            for k in missing:
                try:
                    there[k] = swept(*arguments(k), threads, self.whole)
                except BaseException as error:
                    rest = getattr(error, "partial", None)
                    if isinstance(rest, tuple):
                        error.partial = self._joined([*(there[j] for j in range(k)), rest])  # type: ignore[attr-defined]
                    raise
                self._keep(k, there[k])
        else:
            from concurrent.futures import as_completed

            futures: dict[Future[Swept], int] = {}
            try:
                for k in missing:
                    futures[executor.submit(swept, *arguments(k), 1, self.whole)] = k
                for future in as_completed(futures):
                    k = futures[future]
                    there[k] = future.result()
                    self._keep(k, there[k])
            except OdecError:
                raise
            except KeyboardInterrupt as error:
                first = next((k for k in range(self.count) if k not in there), self.count)
                if first > 0:
                    error.partial = self._joined([there[k] for k in range(first)])  # type: ignore[attr-defined]
                raise
            except Exception as error:
                raise self._lost(there, error) from error
            finally:
                for future in futures:
                    future.cancel()
        return self._joined([there[k] for k in range(self.count)])

    def _lost(self, there: dict[int, Swept], error: Exception) -> OdecError:
        have = f"{len(there)} of {self.count} parts are complete"
        if self.out is None:
            then = "they are lost; use `out=` to keep them in a folder"
        else:
            then = f"they are in `{self.out}`: call the sweep again to run the others"
        return OdecError(f"a worker ended before it completed its part ({type(error).__name__}: {error}); {have}, and {then}")

    def _keep(self, k: int, part: Swept) -> None:
        """Writes a part under a temporary name and renames it, so that no partial file exists."""
        if self.out is None:
            return
        columns, rows, counts, stats, warnings, numbers, bad, why = part
        causes = {str(at): [error.t, [asdict(d) for d in error.diagnostics]] for at, error in why.items()}
        said = json.dumps([self.digest, columns, stats, [asdict(d) for d in warnings], numbers, bad, causes])
        path = self.path(k)
        hidden = path.with_name(f".{path.name}.{os.getpid()}-{id(part)}.part")
        try:
            with open(hidden, "wb") as file:
                np.savez(file, rows=rows, counts=counts, said=np.frombuffer(said.encode(), dtype=np.uint8))
                file.flush()
                os.fsync(file.fileno())
            os.replace(hidden, path)
        finally:
            hidden.unlink(missing_ok=True)

    def _kept(self, k: int) -> Swept | None:
        """Reads an existing part. Refuses a part of another sweep."""
        path = self.path(k)
        others = next((other for other in path.parent.glob("part-*-of-*.npz") if not other.stem.endswith(f"-of-{self.count}")), None)
        if others is not None:
            raise UsageError(f"`{others}` belongs to another sweep: it does not have {self.count} parts; choose another folder")
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                rows, counts, said = file["rows"], file["counts"], json.loads(file["said"].tobytes())
            digest, columns, stats, warnings, seen, bad, causes = said
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise UsageError(f"`{path}` is damaged ({error}); remove it and call the sweep again") from None
        if digest != self.digest:
            raise UsageError(
                f"`{path}` belongs to another sweep: its model, values, points, options or version differ; choose another folder"
            )
        why = {int(at): RunError("", [_diagnostic(d) for d in list_], t) for at, (t, list_) in causes.items()}
        rows.setflags(write=False)
        return tuple(columns), rows, counts, stats, [_diagnostic(d) for d in warnings], seen, bad, why

    def _joined(self, parts: list[Swept]) -> Swept:
        columns = parts[0][0]
        rows = np.concatenate([part[1] for part in parts])
        rows.setflags(write=False)
        stats: dict[str, Any] = {}
        warnings: dict[str, Diagnostic] = {}
        seen: dict[str, int] = {}
        bad: list[int] = []
        why: dict[int, RunError] = {}
        for first, part in zip(self.borders, parts):
            for name, count in part[3].items():
                stats[name] = stats.get(name, 0) + count
            # of each kind the first one, as in a sweep at once
            for d, n in zip(part[4], part[5]):
                warnings.setdefault(d.code, d)
                seen[d.code] = seen.get(d.code, 0) + n
            bad += [first + k for k in part[6]]
            why |= {first + k: error for k, error in part[7].items()}
        counts = np.concatenate([part[2] for part in parts])
        return columns, rows, counts, stats, list(warnings.values()), list(seen.values()), bad, why


def _diagnostic(fields: dict[str, Any]) -> Diagnostic:
    return Diagnostic(**{**fields, "span": tuple(fields["span"])})
