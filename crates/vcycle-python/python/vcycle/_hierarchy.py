"""`vcycle.amg`: a multigrid hierarchy to keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from . import _core, _html, _plots
from ._arrays import matrix_arrays, native_matrix
from ._device import DeviceMatrix, contiguous, device_matrix, library_of, settle, shared
from ._options import _STOP, as_json, configuration, renamed, unknown
from ._outcome import Outcome
from ._preconditioner import applied, operator_of
from ._solve import Callback, finished, is_single, kind, limit_of, operands, returned
from ._summary import LevelSummary, levels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Level:
    """The matrices of one level, in double precision, and its numbers."""

    A: sp.csr_array = field(repr=False)
    """The matrix."""
    R: sp.csr_array | None = field(repr=False)
    """The restriction to the next level; none on the coarsest."""
    P: sp.csr_array | None = field(repr=False)
    """The prolongation from the next level; none on the coarsest."""
    summary: LevelSummary


def amg(
    A: Any,
    near_nullspace: Any = None,
    *,
    coordinates: Any = None,
    block_size: int | None = None,
    **options: Any,
) -> Hierarchy:
    """Sets up algebraic multigrid for a real matrix; with ``preconditioner="struct-mg"`` multigrid on its grid.

    >>> import vcycle
    >>> problem = vcycle.gallery.build("poisson5:60")
    >>> ml = vcycle.amg(problem.A, smoother="chebyshev:3", precision="dp-sp")
    >>> x = ml.solve(problem.b)
    >>> len(ml.levels), ml.levels[0].P.shape[0]
    (3, 3600)

    Parameters are those of `vcycle.solve` for the matrix; `options` are the parameters of
    multigrid, `solver` and the stopping criteria that `Hierarchy.solve` uses, `device`, `threads`.
    `precision` is that of the levels, the finest first: ``"dp-sp/dp-sp-hp"``.

    The hierarchy has its own copy of a matrix of the host. It uses the arrays of a matrix on a GPU without a copy:
    do not change them in place while it is used.
    """
    config = configuration(options, multigrid=True)
    on_device = device_matrix(A)
    settle(config, options, on_device)
    return Hierarchy(A, on_device, (near_nullspace, coordinates, block_size), config)


class Hierarchy:
    """All levels of a multigrid method for a matrix; made by `vcycle.amg`."""

    def __init__(
        self,
        A: Any,
        on_device: DeviceMatrix | None,
        known: tuple[Any, Any, int | None],
        config: dict[str, Any],
    ) -> None:
        self._config = config
        self._matrix, self.shape, self._type = native_matrix(A, on_device, config, known)
        self.dtype = np.dtype(np.float64)
        self.device: str = config["run"].get("device", "cpu")
        self._library = library_of(A)
        self._native = _core.Hierarchy(self._matrix, as_json(config))
        self._levels: tuple[Level, ...] | None = None

    @overload
    def solve(
        self,
        b: Any,
        x0: Any = ...,
        *,
        callback: Callback | None = ...,
        check: bool = ...,
        return_outcome: Literal[False] = ...,
        **options: Any,
    ) -> NDArray[Any]: ...
    @overload
    def solve(
        self,
        b: Any,
        x0: Any = ...,
        *,
        callback: Callback | None = ...,
        check: bool = ...,
        return_outcome: Literal[True],
        **options: Any,
    ) -> tuple[NDArray[Any], Outcome]: ...
    def solve(
        self,
        b: Any,
        x0: Any = None,
        *,
        callback: Callback | None = None,
        check: bool = True,
        return_outcome: bool = False,
        **options: Any,
    ) -> Any:
        """Solves ``A x = b`` for one or many right-hand sides, preconditioned by a cycle.

        Starts from `x0`, or zero. `options` are `solver` and the stopping criteria (`rtol`,
        `max_iterations`...); they override those given to `vcycle.amg`.

        >>> import numpy as np, vcycle
        >>> problem = vcycle.gallery.build("poisson5:60")
        >>> ml = vcycle.amg(problem.A)
        >>> x, outcome = ml.solve(np.ones((3600, 2)), rtol=1e-6, return_outcome=True)
        >>> x.shape, len(outcome.columns)
        ((3600, 2), 2)
        """
        options = renamed(options)
        for keyword in options:
            if keyword.replace("_", "-") not in ("solver", *_STOP):
                raise unknown(keyword, also=("x0", "check", "return_outcome"))
        config = {"stop": dict(self._config.get("stop", {}))}
        changes = configuration(options)
        config["stop"].update(changes.pop("stop", {}))
        config.update(changes)
        rhs, guess = operands(b, x0, self.shape[0], self.device)
        for what, array in (("b", rhs), ("x0", guess)):
            _check_real(array, what)
        single = is_single(b, self._type)
        x, text = self._native.solve(rhs, guess, as_json(config), callback, single)
        return finished(returned(x, b, single), text, check, return_outcome, expected=limit_of(single, config))

    def update(self, A: Any) -> Hierarchy:
        """Sets up for new values in the same pattern; keeps the transfer operators, or the grids of `struct-mg`.
        Returns itself.

        >>> import vcycle
        >>> problem = vcycle.gallery.build("poisson5:60")
        >>> ml = vcycle.amg(problem.A)
        >>> x = ml.update(2 * problem.A).solve(problem.b)
        """
        on_device = device_matrix(A)
        if on_device is not None and shared(on_device.device, self.device):
            self._check_shape(on_device.shape)
            matrix = self._matrix.with_arrays_on_device([contiguous(array) for array in on_device.arrays])
        else:
            arrays = matrix_arrays(A)
            self._check_shape(arrays.shape)
            matrix = self._matrix.with_arrays(*arrays[1:5])
        self._native = self._native.update(matrix)
        self._matrix, self._levels = matrix, None
        return self

    def _check_shape(self, shape: tuple[int, int]) -> None:
        if shape != self.shape:
            raise ValueError(f"A has the shape {shape}, the hierarchy {self.shape}")

    def cycle(self, r: Any) -> Any:
        """One cycle from a zero guess: an approximation of ``A^-1 r``.

        The result for an array of CuPy, PyTorch or JAX is one of the same library, without copies if the array is on
        the
        device of the hierarchy.
        """
        return applied(self._native, r, self.shape[0], self.device)

    def as_preconditioner(self) -> LinearOperator:
        """One cycle as an operator of SciPy, or of CuPy if the matrix was one of CuPy.

        >>> import scipy.sparse.linalg, vcycle
        >>> problem = vcycle.gallery.build("poisson5:60")
        >>> M = vcycle.amg(problem.A).as_preconditioner()
        >>> x, info = scipy.sparse.linalg.cg(problem.A, problem.b, M=M)
        >>> info
        0
        """
        return operator_of(self._library, self.shape, self.cycle)

    # The name PyAMG has for it.
    aspreconditioner = as_preconditioner

    @property
    def levels(self) -> Sequence[Level]:
        """Every level with its matrices, computed at the first use."""
        if self._levels is None:
            summaries = self.summary
            made = self._native.matrices()
            self._levels = tuple(_level(arrays, s) for arrays, s in zip(made, summaries))
        return self._levels

    @property
    def summary(self) -> tuple[LevelSummary, ...]:
        """Every level in numbers."""
        return levels_of(self.report)

    @property
    def report(self) -> dict[str, Any]:
        """Levels, complexities, bytes and set-up time."""
        return dict(json.loads(self._native.report()))

    @property
    def operator_complexity(self) -> float:
        """Entries of all matrices divided by those of the finest."""
        return float(self.report["operator_complexity"])

    @property
    def grid_complexity(self) -> float:
        """Unknowns of all levels divided by those of the finest."""
        return float(self.report["grid_complexity"])

    @property
    def config(self) -> dict[str, Any]:
        """The configuration with every `auto` decided."""
        return dict(json.loads(self._native.config()))

    def __str__(self) -> str:
        return str(self.report["text"])

    def __repr__(self) -> str:
        levels = self.summary
        rows = f"{levels[0].rows:,} to {levels[-1].rows:,} rows"
        return f"<vcycle.Hierarchy: {len(levels)} levels, {rows}>"

    def _repr_html_(self) -> str:
        return _html.hierarchy_page(self.report, self.summary)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The rows and nonzeros of every level, with matplotlib."""
        return _plots.levels(self.summary, self.operator_complexity, ax)

    def plot_spy(self) -> Any:
        """The pattern of every level's matrix, with matplotlib; returns the figure."""
        return _plots.spy([level.A for level in self.levels])

    def plot_coarsening(self, coordinates: Any, ax: Axes | None = None) -> Axes:
        """The coarsest level of each unknown, at `coordinates` in the plane."""
        grouped, _ = self._native.coarsening()
        return _plots.coarsening(self.coarse_maps(), grouped, self.shape[0], coordinates, ax)

    def coarse_maps(self) -> list[NDArray[np.int64]]:
        """For every level except the coarsest: the number of each unknown (or node), or of its group, on the next
        level;
        -1 if it has none."""
        return [np.array(numbers, dtype=np.int64) for numbers in self._native.coarsening()[1]]


def _check_real(array: Any, what: str) -> None:
    if kind(array) == "c":
        raise TypeError(f"{what} is complex, the matrix is real: solve for its parts")


def _level(arrays: Sequence[Any], summary: LevelSummary) -> Level:
    def csr(parts: Any) -> sp.csr_array:
        (offsets, columns, values), shape = parts
        return sp.csr_array((values, columns, offsets), shape=shape)

    matrices: list[Any] = [csr(parts) for parts in arrays]
    A, R, P = matrices + [None] * (3 - len(matrices))
    return Level(A=A, R=R, P=P, summary=summary)
