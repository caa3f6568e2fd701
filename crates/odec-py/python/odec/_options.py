"""Checks the options of runs, and converts them for the extension module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

import numpy as np

from ._errors import UsageError
from ._numbers import MOST, numbers, real, whole
from ._points import Log
from ._solution import Floats

Number = Union[float, int, np.floating[Any], np.integer[Any]]
Values = Mapping[str, Union[Number, Floats, str]]
Samples = Union[int, Literal["steps"], Floats, Log]
Record = Union[str, Sequence[str]]
Step = Union[float, Literal["auto"]]

_OPTIONS: dict[str, Any] = dict.fromkeys(
    "run params t0 t_end method step rtol atol samples_word samples_count samples_times samples_log record_word record "
    "max_step max_steps first_step linear step_word".split()
)
_WORDS = ("all", "states", "outputs")


def names_of(what: str, given: Any) -> list[str]:
    try:
        names = [given] if isinstance(given, str) else list(given)
    except TypeError:
        raise UsageError(f"`{what}` takes names, not {given!r:.200}") from None
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise UsageError(f"`{what}` takes names, not {wrong[0]!r:.200}")
    return names


def threads_of(threads: Any) -> int | None:
    return None if threads is None else min(whole("threads", threads), MOST)


def settings(
    t: tuple[float, float] | float | None = None,
    samples: Samples | None = None,
    method: str | None = None,
    rtol: float | None = None,
    atol: float | Mapping[str, float] | None = None,
    step: Step | None = None,
    max_step: float | None = None,
    max_steps: int | None = None,
    record: Record | None = None,
    sens: Sequence[str] | None = None,
    params: str | None = None,
    run: str | None = None,
    linear: str | None = None,
    second_run: bool = True,
    first_step: float | None = None,
) -> dict[str, Any]:
    s = dict(_OPTIONS, atol_for=[], sens=[], open=[], method=method, run=run, params=params, linear=linear)
    s["start_given"] = s["only_f"] = False
    s["second_run"] = bool(second_run)
    if isinstance(step, str):
        s["step_word"], step = step, None
    for name in ("method", "run", "params", "linear"):
        if s[name] is not None and not isinstance(s[name], str):
            raise UsageError(f"`{name}` must be a name, not {s[name]!r:.200}")
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
        s["max_steps"] = min(whole("max_steps", max_steps), MOST)
    if samples is None:
        pass
    elif isinstance(samples, str):
        s["samples_word"] = samples
    elif isinstance(samples, Log):
        s["samples_log"] = (samples.n, samples.first)
    elif isinstance(samples, (int, np.integer)) and not isinstance(samples, bool):
        # more are refused by what they take of memory
        s["samples_count"] = min(whole("samples", samples), MOST)
    else:
        times = numbers("samples", samples)
        if times.ndim != 1:
            raise UsageError('`samples` must be a number of rows, "steps", a list of times, or `odec.log(n, first)`')
        s["samples_times"] = times.tolist()
    if isinstance(record, str) and record in _WORDS:
        s["record_word"] = record
    elif record is not None:
        s["record"] = names_of("record", record)
    if sens is not None:
        s["sens"] = names_of("sens", sens)
    return s
