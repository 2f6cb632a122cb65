"""Plots, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._summary import LevelSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return pyplot


def _axes(ax: Axes | None) -> Any:
    return _pyplot().subplots()[1] if ax is None else ax


def residuals(
    history: NDArray[np.float64], tolerance: float | None, title: str, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """The residual after every iteration."""
    axes = _axes(ax)
    axes.semilogy(history, **{"marker": ".", **kwargs})
    if tolerance is not None:
        axes.axhline(tolerance, color="grey", linewidth=0.8, linestyle="--")
    axes.set(xlabel="iteration", ylabel="relative residual", title=title)
    return axes  # type: ignore[no-any-return]


def levels(summary: Sequence[LevelSummary], operator_complexity: float, ax: Axes | None = None) -> Axes:
    """Rows and nonzeros of every level."""
    axes = _axes(ax)
    numbers = np.arange(len(summary))
    axes.bar(numbers - 0.2, [level.rows for level in summary], 0.4, label="rows")
    axes.bar(numbers + 0.2, [level.nonzeros for level in summary], 0.4, label="nonzeros")
    axes.set_yscale("log")
    axes.set_xticks(numbers)
    axes.set(xlabel="level", title=f"operator complexity {operator_complexity:.2f}")
    axes.legend()
    return axes  # type: ignore[no-any-return]


def spy(matrices: Sequence[sp.csr_array]) -> Any:
    """The pattern of every level's matrix."""
    count = len(matrices)
    figure, axes = _pyplot().subplots(1, count, figsize=(3 * count, 3), squeeze=False)
    for number, (axis, matrix) in enumerate(zip(axes[0], matrices)):
        rows = matrix.shape[0]
        axis.spy(matrix, markersize=max(0.2, 60 / rows**0.5 / 4))
        axis.set_title(f"level {number}: {rows:,} rows", fontsize=9)
    return figure


def coarsening(
    maps: Sequence[NDArray[np.int64]], grouped: bool, unknowns: int, coordinates: Any, ax: Axes | None = None
) -> Axes:
    """Every unknown at its coordinates: coloured by its group, or larger the coarser its last level."""
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2 or not maps or len(points) != len(maps[0]):
        rows = len(maps[0]) if maps else unknowns
        raise ValueError(f"coordinates have the shape {points.shape}; ({rows}, 2) is needed")
    axes = _axes(ax)
    depth, number = np.zeros(len(points), dtype=int), np.arange(len(points))
    for level, numbers in enumerate(maps, start=1):
        number = np.where(number >= 0, numbers[number], -1)
        depth[number >= 0] = level
    if grouped:
        groups = (maps[0] * 7919) % 20
        axes.scatter(points[:, 0], points[:, 1], c=groups, cmap="tab20", s=12)
    else:
        axes.scatter(points[:, 0], points[:, 1], c=depth, s=6 * 2.0**depth)
    axes.set_aspect("equal")
    return axes  # type: ignore[no-any-return]
