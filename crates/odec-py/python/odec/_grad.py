"""Gradients of functions of a solution with respect to many parameters: `Model.grad`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._errors import UsageError
from ._numbers import numbers, real
from ._solution import F64, Solution

if TYPE_CHECKING:
    from ._model import Model

Derivatives = Union[Mapping[str, Any], Any]
Loss = Callable[[Solution], tuple[Any, Derivatives]]

_RETURNS = (
    "`loss` must return its value and its derivatives with respect to the rows: `value, {name: array}` with arrays like "
    "`s[name]`, or `value, array` with an array like `s.y`"
)


class Gradient(Mapping[str, Union[float, F64]]):
    """A gradient by name: `g["k"]`. The gradient with respect to an array has the shape of the array.

    `value` is the value of the loss, and `solution` the solution that it received. `stats` counts the additional work ("forward" for the
    polynomials of the solution, "backward" for the adjoint equations, "integrand" for evaluations of df/dp, and "parts", the number of
    parts of the run; all but the last were solved again to save memory). `solution.stats` counts the work of the run itself.
    """

    value: float
    solution: Solution
    stats: dict[str, Any]

    def __init__(self, value: float, by: dict[str, float | F64], solution: Solution, stats: dict[str, Any]) -> None:
        self.value, self.solution, self.stats = value, solution, stats
        self._by = by

    def __getitem__(self, name: str) -> float | F64:
        try:
            return self._by[name]
        except KeyError:
            raise UsageError(f"the gradient has no `{name}`; it has {', '.join(self._by) or 'no names'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by)

    def __len__(self) -> int:
        return len(self._by)

    def __contains__(self, name: object) -> bool:
        return name in self._by

    def to_numpy(self) -> F64:
        """All derivatives as one vector, in the order of the names."""
        return np.concatenate([np.ravel(value) for value in self._by.values()]) if self._by else np.empty(0)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {of:.6g}" if isinstance(of, float) else f"{name}: {of!r}" for name, of in self._by.items())
        return f"<odec.Gradient of {self.value:.6g} by {{{shown}}}>"


def _add(weights: F64, s: Solution, name: str, given: Any) -> None:
    like = s[name]
    array = numbers(f"the derivative by {name}", given)
    try:
        array = np.broadcast_to(array, like.shape)
    except ValueError:
        raise UsageError(f"the derivative with respect to `{name}` has shape {array.shape}; `s[{name!r}]` has {like.shape}") from None
    group = s._groups.get(name)
    start, count = (group[0], int(np.prod(group[1]))) if group is not None else (s._places[name], 1)
    if start == 0:
        raise UsageError(f"`{name}` is the time, which does not depend on parameters")
    weights[:, start - 1 : start - 1 + count] += array.reshape(len(s), count)


def _weights(s: Solution, given: Derivatives) -> F64:
    weights = np.zeros(s.y.shape)
    if isinstance(given, Mapping):
        for name, array in given.items():
            _add(weights, s, name, array)
    else:
        array = numbers("the derivative by the rows", given)
        if array.shape != s.y.shape:
            raise UsageError(f"the derivative with respect to the rows has shape {array.shape}, but `s.y` has {s.y.shape}. {_RETURNS}")
        weights += array
    if not np.isfinite(weights).all():
        row, column = np.argwhere(~np.isfinite(weights))[0]
        raise UsageError(f"the derivative with respect to `{s.columns[column]}` is not finite in row {row}")
    return weights


def grad(model: Model, loss: Loss, names: list[str], settings: dict[str, Any]) -> Gradient:
    if not callable(loss):
        raise UsageError(f"`loss` must be a function of the solution, not {loss!r:.200}")
    if settings["samples_word"] == "steps":
        raise UsageError('`grad` needs rows at fixed times: with `samples="steps"`, the times depend on the values')
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise UsageError(f"`by` contains `{twice}` twice")
    made, recorded = model.record_run(settings, names)
    solution = model._solved(made, settings, False, True)
    returned = loss(solution)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise UsageError(f"{_RETURNS}; it returned {returned!r:.100}")
    value = real("the value of loss", returned[0])
    weights = _weights(solution, returned[1])
    shapes, values, stats = recorded.gradient(np.ascontiguousarray(solution.t), weights)
    by: dict[str, float | F64]
    if shapes is None:
        by = dict(zip(names, values.tolist()))
        return Gradient(value, by, solution, stats)
    by, k = {}, 0
    for name, shape in zip(names, shapes):
        count = math.prod(shape)
        part = values[k : k + count]
        by[name] = part.reshape(shape).copy() if shape else float(part[0])
        k += count
    return Gradient(value, by, solution, stats)
