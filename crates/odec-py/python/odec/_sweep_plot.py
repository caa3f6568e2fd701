"""Pictures of sweeps: `Sweep.plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError
from ._solution import F64, need, scale_of, scaled

if TYPE_CHECKING:
    from ._solution import Sweep


def _label(w: Sweep, name: str) -> str:
    unit = w.model._unit(name)
    # an initial value has the name of its state
    shown = f"{name}(0)" if name in w.points and name in w.columns else name
    return f"{shown} [{unit}]" if unit else shown


def _quantity(w: Sweep, name: str) -> F64:
    values = w[name]
    if values.ndim > 1:
        raise UsageError(f"`{name}` is an array; name its elements, such as `{next(c for c in w.columns if c.startswith(name))}`")
    return values


def plot(w: Sweep, names: tuple[str, ...], over: str | None, ax: Any, log: str) -> Any:
    varied = [name for name, values in w.points.items() if (values != values[0]).any()] or list(w.points)[:1]
    if over is not None and over not in w.points:
        raise UsageError(f"the sweep does not vary `{over}`; it varies {', '.join(w.points)}")
    chosen = names or tuple(w.columns)
    if not chosen:
        raise UsageError("the rows have no column to plot")
    for name in chosen:
        _quantity(w, name)
    scale_of(log)
    if not len(w):
        raise UsageError("the sweep has no rows to plot")
    if ax is None:
        ax = need("matplotlib.pyplot", "plot").gca()
    if len(w) > len(w.ok):
        return _curves(w, chosen[0], over or varied[0], ax, log)
    if over is None and len(varied) == 2:
        return _map(w, chosen[0], varied, ax, log)
    if over is None and len(varied) > 2:
        raise UsageError(f"the sweep varies {', '.join(varied)}: choose one of them with `over`")
    by = over or varied[0]
    order = np.argsort(w.points[by], kind="stable")
    # with more than one name that varies there is no curve, but points
    style = "-" if len(varied) == 1 else "."
    for name in chosen:
        values = np.where(w.ok, _quantity(w, name), np.nan)
        ax.plot(w.points[by][order], values[order], style, label=_own(w, name))
    ax.set_xlabel(_label(w, by))
    if len(chosen) == 1:
        ax.set_ylabel(_own(w, chosen[0]))
    else:
        ax.legend()
    scaled(ax, log)
    return ax


def _own(w: Sweep, name: str) -> str:
    """The label of a quantity of the rows."""
    unit = w.model._unit(name)
    return f"{name} [{unit}]" if unit else name


def _map(w: Sweep, name: str, varied: list[str], ax: Any, log: str) -> Any:
    """A colour map over two names; the runs may be in any order, and points without a run stay empty."""
    (x, at_x), (y, at_y) = (np.unique(w.points[by], return_inverse=True) for by in varied)
    if len(x) * len(y) > 4 * len(w.ok):
        # points that were drawn lie on no grid
        drawn = ax.scatter(w.points[varied[0]], w.points[varied[1]], c=np.where(w.ok, _quantity(w, name), np.nan), s=9)
    else:
        values = np.full((len(y), len(x)), np.nan)
        values[at_y, at_x] = np.where(w.ok, _quantity(w, name), np.nan)
        drawn = ax.pcolormesh(x, y, values, shading="nearest")
    ax.set_xlabel(_label(w, varied[0]))
    ax.set_ylabel(_label(w, varied[1]))
    ax.figure.colorbar(drawn, ax=ax, label=_own(w, name))
    scaled(ax, log)
    return ax


def _curves(w: Sweep, name: str, by: str, ax: Any, log: str) -> Any:
    """A curve over time for each run."""
    lines = need("matplotlib.collections", "plot").LineCollection
    values, ends = _quantity(w, name), np.flatnonzero(np.diff(w.point)) + 1
    parts = np.split(np.column_stack([w.t, values]), ends)
    runs = w.point[np.concatenate([[0], ends])]
    drawn = ax.add_collection(lines(parts, array=w.points[by][runs]))
    ax.autoscale_view()
    ax.set_xlabel(_own(w, next(iter(w))))
    ax.set_ylabel(_own(w, name))
    ax.figure.colorbar(drawn, ax=ax, label=_label(w, by))
    scaled(ax, log)
    return ax
