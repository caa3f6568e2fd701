"""f and runs as jax functions, with exact derivatives: `odec.jax.rhs` and `odec.jax.solution`.

jax calls odec on the CPU (`jax.pure_callback`). Forward and reverse mode use the same exact matrices of derivatives, so `jax.jvp`,
`jax.vjp`, `jax.grad`, `jax.jacobian`, `jax.jit` and `jax.vmap` work. Second derivatives are not available: jax raises an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import UsageError
from ._model import Model
from ._solution import need

_RUNS = "sequential"


def _jax() -> Any:
    jax = need("jax", "odec.jax")
    if not jax.config.jax_enable_x64:
        raise UsageError(
            "jax has single precision, in which tolerances of odec have no meaning; "
            'switch it to double precision first: jax.config.update("jax_enable_x64", True)'
        )
    return jax


class _At:
    """The model with other values of `names`; the last one is kept, because derivatives are asked for at the same values."""

    def __init__(self, model: Model, names: tuple[str, ...]) -> None:
        self.model, self.names = model, names
        self._last: tuple[bytes, Model] = (b"", model)

    def __call__(self, values: Any) -> Model:
        values = np.asarray(values, dtype=np.float64)
        key, found = values.tobytes(), self._last
        if found[0] != key:
            model = self.model.with_(dict(zip(self.names, values.tolist()))) if self.names else self.model
            found = self._last = (key, model)
        return found[1]


def _names(model: Model, params: str | Sequence[str]) -> tuple[str, ...]:
    names = (params,) if isinstance(params, str) else tuple(params)
    if len(set(names)) < len(names):
        raise UsageError(f"`params` contains a name twice: {', '.join(names)}")
    return names


def rhs(model: Model, params: str | Sequence[str] = ()) -> Callable[..., Any]:
    """f as a jax function: `f(t, y)`, or `f(t, y, p)` with the values of the parameters `params` as the vector p.

    The elements of y are in the order of `Model.states`, and those of p in the order of `params`. Each parameter is a single number.
    """
    jax = _jax()
    jnp = jax.numpy
    names = _names(model, params)
    n, at = len(model.states), _At(model, names)
    # refused here and not in a callback: a model without f, and names that are no single parameters
    model.f(0.0, np.zeros(n))
    if model.dfdp(0.0, np.zeros(n), names).shape[1] != len(names):
        raise UsageError("a name in `params` stands for an array; name its elements, such as `k[1]`")
    vector = jax.ShapeDtypeStruct((n,), np.float64)
    matrices = (jax.ShapeDtypeStruct((n, n), np.float64), vector, jax.ShapeDtypeStruct((n, len(names)), np.float64))

    def value(t: Any, y: Any, p: Any) -> Any:
        return at(p).f(float(t), np.asarray(y))

    def derivatives(t: Any, y: Any, p: Any) -> Any:
        m, t, y = at(p), float(t), np.asarray(y)
        return m.jac(t, y), m.dfdt(t, y), m.dfdp(t, y, names)

    @jax.custom_jvp
    def call(t: Any, y: Any, p: Any) -> Any:
        return jax.pure_callback(value, vector, t, y, p, vmap_method=_RUNS)

    @call.defjvp
    def _(at_: Any, along: Any) -> Any:
        (t, y, p), (dt, dy, dp) = at_, along
        by_y, by_t, by_p = jax.pure_callback(derivatives, matrices, t, y, p, vmap_method=_RUNS)
        return call(t, y, p), by_y @ dy + by_t * dt + by_p @ dp

    def f(t: Any, y: Any, p: Any = ()) -> Any:
        t, y, p = (jnp.asarray(of, dtype=np.float64) for of in (t, y, p))
        if t.shape != () or y.shape != (n,) or p.shape != (len(names),):
            raise UsageError(
                f"f takes a time, {n} states and {len(names)} parameters, but received the shapes {t.shape}, {y.shape} and {p.shape}"
            )
        return call(t, y, p)

    return f


def solution(model: Model, params: str | Sequence[str], **options: Any) -> Callable[..., Any]:
    """The rows of a run as a jax function of the values of `params`: parameters, and states for their initial values.

    The function takes a vector in the order of `params`, and returns a matrix with a row for each time and the columns that `Model.run`
    returns with these options. `samples` should be a list of times. The derivatives are sensitivities, which odec solves together with the
    model, at the tolerances of the run.
    """
    jax = _jax()
    names = _names(model, params)
    if not names:
        raise UsageError("name at least one parameter or state in `params`")
    if isinstance(options.get("samples"), str) or {"sens", "dense", "progress"} & set(options):
        raise UsageError('the rows must have the same times for all values: leave out `samples="steps"`, `sens`, `dense` and `progress`')
    at = _At(model, names)
    # the shape, and what is refused, before jax is on the way
    tried = model.run(**options, sens=names)
    if tried._ended is not None:
        raise UsageError(f"a `stop` of the model ends the run at {model.time} = {tried._ended:g}, which depends on its values")
    columns = [name for name in tried.columns if not name.startswith("d(")]
    arrays = [name for name in names if (columns[0], name) not in tried.sens or tried.sens[columns[0], name].ndim > 1]
    if arrays:
        raise UsageError(f"`{arrays[0]}` stands for an array; name its elements, such as `k[1]`")
    rows = jax.ShapeDtypeStruct((len(tried), len(columns)), np.float64)
    matrix = jax.ShapeDtypeStruct((*rows.shape, len(names)), np.float64)

    def same(s: Any) -> Any:
        if s._ended is not None or not np.array_equal(s.t, tried.t):
            raise UsageError(f"with these values, the run has rows at other times than with those of the model, up to {s.t[-1:]}")
        return s

    def value(p: Any) -> Any:
        return np.ascontiguousarray(same(at(p).run(**options)).y)

    def derivatives(p: Any) -> Any:
        s = same(at(p).run(**options, sens=names))
        by = np.stack([np.column_stack([s.sens[column, name] for column in columns]) for name in names], axis=-1)
        return np.column_stack([s[column] for column in columns]), by

    @jax.custom_jvp
    def call(p: Any) -> Any:
        return jax.pure_callback(value, rows, p, vmap_method=_RUNS)

    @call.defjvp
    def _(at_: Any, along: Any) -> Any:
        (p,), (dp,) = at_, along
        found, by = jax.pure_callback(derivatives, (rows, matrix), p, vmap_method=_RUNS)
        return found, by @ dp

    def solve(p: Any) -> Any:
        p = jax.numpy.asarray(p, dtype=np.float64)
        if p.shape != (len(names),):
            raise UsageError(f"the values of {', '.join(names)} must be a vector of {len(names)} numbers, not an array of shape {p.shape}")
        return call(p)

    solve.columns = columns  # type: ignore[attr-defined]
    return solve
