"""Checks numbers from callers: accepts real numbers, and refuses what NumPy would convert or truncate silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError

if TYPE_CHECKING:
    from ._solution import F64

# the largest whole number that the extension module takes
MOST = 2**63 - 1
_MASKED = "has masked elements, which have no value"


def real(what: str, value: Any) -> float:
    """A finite number. Refuses strings, which `float` would parse, and complex numbers, whose imaginary part would be lost."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    wrong = isinstance(value, (str, bytes)) or kind not in "buifO"
    try:
        number = None if wrong or np.ndim(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not np.isfinite(number):
        raise UsageError(f"`{what}` must be a finite number, not {value!r:.200}")
    return number


def whole(what: str, value: Any, least: int = 1) -> int:
    """A whole number, not below `least`."""
    given = value.item() if isinstance(value, np.generic) else value
    fits = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not (fits and given == given // 1 and abs(given) != np.inf and given >= least):
        raise UsageError(f"`{what}` must be a whole number, {least} or above, not {value!r:.200}")
    return int(given)


def seed_of(value: Any) -> int:
    """A seed of at most 64 bits, as the extension module needs it."""
    seed = whole("seed", value, 0)
    if seed >= 2**64:
        raise UsageError(f"`seed` must be a whole number below 2^64, not {value!r:.200}")
    return seed


def numbers(what: str, value: Any, missing: bool = False) -> F64:
    """Real numbers of any shape as an array of float64; with `missing`, None and masked elements become NaN."""
    if isinstance(getattr(value, "mask", None), (np.ndarray, np.bool_)) and np.any(value.mask):
        if not missing:
            raise UsageError(f"`{what}` {_MASKED}")
        value = value.astype(np.float64).filled(np.nan)
    try:
        array = np.asarray(value)
    except ValueError:
        raise UsageError(f"`{what}`: its rows have different lengths") from None
    if array.dtype == object:
        # Python's own numbers that no type of NumPy holds, and what is missing in columns of a data frame
        flat = [np.nan if missing and (of is None or type(of).__name__ in ("NAType", "NaTType")) else of for of in array.ravel()]
        if not any(isinstance(of, (str, bytes, np.ndarray, np.complexfloating)) for of in flat):
            try:
                return np.array([float(of) for of in flat], dtype=np.float64).reshape(array.shape)
            except (TypeError, ValueError, OverflowError):
                pass
    elif np.can_cast(array.dtype, np.float64, "same_kind"):
        return array.astype(np.float64)
    raise UsageError(f"`{what}` has elements of type {array.dtype}; it must contain real numbers")


def vector(what: str, value: Any, n: int) -> F64:
    """`n` numbers as a contiguous array of float64."""
    array = numbers(what, value)
    if array.shape != (n,):
        raise UsageError(f"`{what}` has shape {array.shape}; it must contain {n} numbers, one for each state")
    return np.ascontiguousarray(array)
