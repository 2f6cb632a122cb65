"""Many small systems at once: one pattern, one method, an outcome for each.

>>> import numpy as np, vcycle
>>> A = np.array([[[2.0, 1.0], [1.0, 2.0]], [[4.0, 0.0], [1.0, 2.0]]])
>>> x = vcycle.batch.solve(A, np.array([[3.0, 3.0], [4.0, 3.0]]))
>>> np.allclose(x, 1.0)
True

A system that is singular or does not converge fails alone:

>>> A[1] = 0.0
>>> x, outcomes = vcycle.batch.solve(A, np.ones((2, 2)), check=False, return_outcomes=True)
>>> [outcome.status for outcome in outcomes]
['converged', 'breakdown']
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from . import _core

__all__ = ["NotAllConverged", "SystemOutcome", "solve"]

# Systems that an exception names at most.
_NAMED = 5


@dataclass(frozen=True)
class SystemOutcome:
    """How one system of a batch ended."""

    status: str
    iterations: int
    relative_residual: float
    row: int | None
    """The row that has no pivot, where one was found."""

    @property
    def converged(self) -> bool:
        return self.status == "converged"


class NotAllConverged(_core.VcycleError):
    """Some systems of a batch were not solved; `x` and `outcomes` are those of all."""

    def __init__(self, x: NDArray[Any], outcomes: list[SystemOutcome]) -> None:
        failed = [number for number, outcome in enumerate(outcomes) if not outcome.converged]
        named = ", ".join(f"{number} ({_words(outcomes[number])})" for number in failed[:_NAMED])
        more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        super().__init__(f"{len(failed)} of {len(outcomes)} systems were not solved: {named}{more}")
        self.x, self.outcomes = x, outcomes


def _words(outcome: SystemOutcome) -> str:
    return outcome.status if outcome.row is None else f"{outcome.status}, row {outcome.row} has no pivot"


def solve(
    A: Sequence[Any] | NDArray[Any],
    b: Any,
    *,
    x0: Any = None,
    check: bool = True,
    return_outcomes: bool = False,
    threads: int | None = None,
    device: str | None = None,
    **options: Any,
) -> Any:
    """Solves `A[i] x[i] = b[i]` for every system `i`.

    Parameters
    ----------
    A : sequence of sparse matrices of SciPy that share one pattern, or array (systems, n, n)
    b : array, (systems, n)
    x0 : array, (systems, n), optional
        Where iterations start, zero unless given.
    check : bool
        Whether `NotAllConverged` is raised where a system is not solved.
    return_outcomes : bool
        Whether ``(x, outcomes)`` is returned, with a `SystemOutcome` for each.
    threads : int, optional
        All cores unless given.
    device : str, optional
        A device such as ``cuda:0``, for real systems of up to 512 rows; the processor unless given.
    **options
        `method` (`cg`, `bicgstab`, `gmres`, `direct`), `preconditioner` (`none`, `jacobi`, `block-jacobi`, `ilu0`,
        `isai`), `block_size`, `restart`, `rtol`, `atol`, `max_iterations`.
    """
    rows, structure, values = _entries(A)
    systems = values.shape[0]
    b = np.asarray(b)
    if b.shape != (systems, rows):
        raise ValueError(f"b: expected an array of {systems} x {rows}, found {' x '.join(map(str, b.shape))}")
    guess = np.zeros_like(b) if x0 is None else np.asarray(x0)
    if guess.shape != b.shape:
        raise ValueError(f"x0: expected an array of {systems} x {rows}, found {' x '.join(map(str, guess.shape))}")
    is_complex = any(np.iscomplexobj(array) for array in (values, b, guess))
    kind = np.complex128 if is_complex else np.float64
    values, right, start = (np.ascontiguousarray(array, dtype=kind).ravel() for array in (values, b, guess))
    given = json.dumps({key.replace("_", "-"): value for key, value in options.items()})
    x, told = _core.batch_solve(rows, structure, values, right, start, given, threads, device)
    x = x.reshape(systems, rows)
    outcomes = [
        SystemOutcome(status, iterations, math.nan if residual is None else residual, row)
        for status, iterations, residual, row in json.loads(told)
    ]
    if check and not all(outcome.converged for outcome in outcomes):
        raise NotAllConverged(x, outcomes)
    return (x, outcomes) if return_outcomes else x


def _entries(A: Any) -> tuple[int, tuple[list[int], list[int]] | None, NDArray[Any]]:
    """Rows of a system, row offsets and columns of the pattern, and the values of all matrices."""
    if isinstance(A, np.ndarray):
        if A.ndim != 3 or A.shape[1] != A.shape[2]:
            raise ValueError(f"A: expected an array of systems x n x n, found {' x '.join(map(str, A.shape))}")
        return A.shape[1], None, A.reshape(A.shape[0], -1)
    if scipy.sparse.issparse(A) or len(A) == 0:
        raise ValueError("A: expected a sequence of sparse matrices, at least one")
    first = _canonical(A[0], 0)
    values = np.empty((len(A), first.nnz), dtype=np.result_type(*(one.dtype for one in A)))
    for number, one in enumerate(A):
        matrix = first if number == 0 else _canonical(one, number)
        same = matrix.shape == first.shape and np.array_equal(matrix.indptr, first.indptr)
        if not same or not np.array_equal(matrix.indices, first.indices):
            raise ValueError(f"A: matrix {number} has another pattern than matrix 0; store zeros where entries are missing")
        values[number] = matrix.data
    return first.shape[0], (first.indptr.tolist(), first.indices.tolist()), values


def _canonical(one: Any, number: int) -> Any:
    matrix = scipy.sparse.csr_array(one)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A: matrix {number} is {matrix.shape[0]} x {matrix.shape[1]}, not square")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix
