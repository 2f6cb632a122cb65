"""Model problems.

>>> import vcycle
>>> problem = vcycle.gallery.build("poisson7:4x3x2")
>>> problem.A.shape
(24, 24)
>>> [entry.name for entry in vcycle.gallery.problems()][:2]
['poisson5', 'poisson9']
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core

__all__ = ["Entry", "Problem", "build", "problems"]


@dataclass(frozen=True)
class Problem:
    """A linear system, with its grid, coordinates and near-nullspace."""

    name: str
    A: sp.csr_array = field(repr=False)
    b: NDArray[np.float64] | NDArray[np.complex128] = field(repr=False)
    coordinates: NDArray[np.float64] | None = field(repr=False)
    """Coordinates of the nodes, for problems without `grid`."""
    near_nullspace: NDArray[np.float64] | None = field(repr=False)
    """Vectors that the matrix nearly annihilates, one per column, if they are more than the constant."""
    block_size: int
    """Unknowns per node."""
    grid: tuple[int, int, int] | None
    """Points along x, y and z of a stencil problem; x varies fastest."""


@dataclass(frozen=True)
class Entry:
    """A line of the catalogue."""

    name: str
    usage: str
    description: str
    example: str


def build(specification: str) -> Problem:
    """The problem ``name:size[,parameter...]``.

    >>> import vcycle
    >>> vcycle.gallery.build("elasticity:6x3x3").near_nullspace.shape[1]
    6
    """
    parts: dict[str, Any] = dict(_core.build(specification))
    modes = parts["near_nullspace"]
    return Problem(
        name=parts["name"],
        A=sp.csr_array((parts["values"], parts["columns"], parts["offsets"]), shape=parts["shape"]),
        b=parts["b"],
        coordinates=parts["coordinates"],
        near_nullspace=None if modes is None else np.ascontiguousarray(modes.T),
        block_size=parts["block_size"],
        grid=None if parts["grid"] is None else tuple(parts["grid"]),
    )


def problems() -> list[Entry]:
    """All problems, with the form of a specification and a small example."""
    return [Entry(**entry) for entry in json.loads(_core.problems())]
