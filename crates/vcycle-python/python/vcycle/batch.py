"""Many small systems at once, with one pattern and one method, and an outcome for each.

>>> import numpy as np, vcycle
>>> A = np.array([[[2.0, 1.0], [1.0, 2.0]], [[4.0, 0.0], [1.0, 2.0]]])
>>> x = vcycle.batch.solve(A, np.array([[3.0, 3.0], [4.0, 3.0]]))
>>> np.allclose(x, 1.0)
True

A system that is singular or does not converge does not affect the others:

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
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from . import _core
from ._arrays import like, on_host
from ._device import DeviceMatrix, contiguous, device_matrix, device_of, dtype_of, settle, shared, stacked
from ._solve import is_single, returned

__all__ = ["NotAllConverged", "SystemOutcome", "solve"]

# The largest number of systems that an exception names.
_NAMED = 5


@dataclass(frozen=True)
class SystemOutcome:
    """How one system of a batch ended."""

    status: str
    iterations: int
    relative_residual: float
    row: int | None
    """The row without a pivot, if there is one."""

    @property
    def converged(self) -> bool:
        return self.status == "converged"


class NotAllConverged(_core.VcycleError):
    """Some systems of a batch were not solved; `x` and `outcomes` are for all systems."""

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
    A : sequence of sparse matrices that share one pattern, or array (systems, n, n)
        Of SciPy and NumPy, or of CuPy, PyTorch or JAX. If they and `b` are on a GPU, they are solved on it without
        copies
        to the host.
    b : array, (systems, n)
        The solution is an array of the same library.
    x0 : array, (systems, n), optional
        Initial guess, zero unless given.
    check : bool
        Whether to raise `NotAllConverged` if a system is not solved.
    return_outcomes : bool
        Whether ``(x, outcomes)`` is returned, with a `SystemOutcome` for each.
    threads : int, optional
        All cores unless given.
    device : str, optional
        A device such as ``cuda:0``, for systems of up to 512 rows. Where the arrays are unless given.
    **options
        `method` (`cg`, `bicgstab`, `gmres`, `direct`), `preconditioner` (`none`, `jacobi`, `block-jacobi`, `ilu0`,
        `isai`), `block_size`, `restart`, `rtol`, `atol`, `max_iterations`.
    """
    of_matrices = _place_of(A)
    place = _settled(of_matrices, b, device)
    given = json.dumps({key.replace("_", "-"): value for key, value in options.items()})
    if all(shared(one, place) for one in (of_matrices, device_of(b))) and _shape(b)[:1] != (0,):
        x, text = _solve_there(_on_device(A), b, x0, given, place)
    else:
        x, text = _solve_from_host(A, b, x0, given, threads, None if place == "cpu" else place)
    outcomes = [
        SystemOutcome(status, iterations, math.nan if residual is None else residual, row)
        for status, iterations, residual, row in json.loads(text)
    ]
    if check and not all(outcome.converged for outcome in outcomes):
        raise NotAllConverged(x, outcomes)
    return (x, outcomes) if return_outcomes else x


class _Batch(NamedTuple):
    """Matrices that are on a GPU; without row offsets and columns they are dense."""

    systems: int
    rows: int
    structure: tuple[list[int], list[int]] | None
    values: Any


def _place_of(A: Any) -> str | None:
    """The device of the first matrix; none for the host."""
    if not isinstance(A, (list, tuple)):
        return device_of(A)
    first = device_matrix(A[0]) if A else None
    return None if first is None else first.device


def _settled(place: str | None, b: Any, device: str | None) -> str:
    """The device of the solve: that of the arrays, unless another one is given."""
    run: dict[str, Any] = {"run": {} if device is None else {"device": device}}
    matrix = None if place is None else DeviceMatrix((0, 0), (None, None, None), place)
    settle(run, {} if device is None else {"device": device}, matrix, b)
    return str(run["run"].get("device", "cpu"))


def _solve_there(there: _Batch, b: Any, x0: Any, options: str, place: str) -> tuple[Any, str]:
    expected = (there.systems, there.rows)
    guess = None
    _check_shape(_shape(b), expected, "b")
    if x0 is not None:
        _check_shape(_shape(x0), expected, "x0")
        if not shared(device_of(x0), place):
            raise ValueError(f"x0 is not on {place}, where A and b are: move it")
        guess = contiguous(x0)
    values, right = contiguous(there.values), contiguous(b)
    x, text = _core.batch_solve_on_device(there.rows, there.structure, values, right, guess, options, place)
    return returned(x, b, is_single(b, dtype_of(values))), text


def _solve_from_host(
    A: Any, b: Any, x0: Any, options: str, threads: int | None, device: str | None
) -> tuple[Any, str]:
    rows, structure, values = _entries(A)
    systems = values.shape[0]
    right = np.asarray(on_host(b))
    _check_shape(right.shape, (systems, rows), "b")
    guess = np.zeros_like(right) if x0 is None else np.asarray(on_host(x0))
    _check_shape(guess.shape, (systems, rows), "x0")
    arrays = (values, right, guess)
    for name, array in zip(("A", "b", "x0"), arrays):
        if array.dtype.kind not in "biufc":
            raise TypeError(f"{name}: expected numbers, found {array.dtype}")
    kind = np.complex128 if any(np.iscomplexobj(array) for array in arrays) else np.float64
    flat = [np.ascontiguousarray(array, dtype=kind).ravel() for array in arrays]
    x, text = _core.batch_solve(rows, structure, flat[0], flat[1], flat[2], options, threads, device)
    return like(x.reshape(systems, rows), b), text


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(array.shape) if hasattr(array, "shape") else tuple(array.__cuda_array_interface__["shape"])


def _check_shape(found: tuple[int, ...], expected: tuple[int, int], name: str) -> None:
    if tuple(found) != expected:
        systems, rows = expected
        raise ValueError(f"{name}: expected an array of {systems} x {rows}, found {' x '.join(map(str, found))}")


def _check_cubic(shape: tuple[int, ...]) -> None:
    if len(shape) != 3 or shape[1] != shape[2] or shape[1] == 0:
        raise ValueError(f"A: expected an array of systems x n x n, found {' x '.join(map(str, shape))}")


def _on_device(A: Any) -> _Batch:
    """Matrices of CuPy, PyTorch or JAX on a GPU."""
    if isinstance(A, (list, tuple)):
        return _stacked([device_matrix(one) for one in A])
    shape = _shape(A)
    _check_cubic(shape)
    return _Batch(shape[0], shape[1], None, A)


def _stacked(matrices: list[DeviceMatrix | None]) -> _Batch:
    first, parts = matrices[0], []
    assert first is not None
    if first.shape[0] != first.shape[1]:
        raise ValueError(f"A: matrix 0 is {first.shape[0]} x {first.shape[1]}, not square")
    for number, matrix in enumerate(matrices):
        if matrix is None or matrix.device != first.device:
            raise ValueError(f"A: matrix {number} is not on {first.device}, where matrix 0 is")
        if matrix.shape != first.shape or matrix.arrays[1].shape != first.arrays[1].shape:
            raise ValueError(_other_pattern(number))
        parts.append(matrix.arrays)
    offsets, columns, values = (stacked(list(part)) for part in zip(*parts))
    for indices in (offsets, columns):
        same = on_host((indices == indices[0]).all(1))
        if not same.all():
            raise ValueError(_other_pattern(int(np.argmin(same))))
    structure = [np.asarray(on_host(indices[0])).tolist() for indices in (offsets, columns)]
    return _Batch(len(parts), first.shape[0], (structure[0], structure[1]), values)


def _other_pattern(number: int) -> str:
    return f"A: matrix {number} has another pattern than matrix 0; store zeros where entries are missing"


def _entries(A: Any) -> tuple[int, tuple[list[int], list[int]] | None, NDArray[Any]]:
    """Rows of a system, row offsets and columns of the pattern, and the values of all matrices."""
    if not isinstance(A, (list, tuple)):
        A = on_host(A)
    if isinstance(A, np.ndarray):
        _check_cubic(A.shape)
        return A.shape[1], None, A.reshape(A.shape[0], A.shape[1] ** 2)
    if scipy.sparse.issparse(A) or not isinstance(A, Sequence) or isinstance(A, str) or len(A) == 0:
        raise ValueError("A: expected a sequence of sparse matrices, at least one, or an array of systems x n x n")
    A = [on_host(one) for one in A]
    for number, one in enumerate(A):
        if not scipy.sparse.issparse(one):
            raise TypeError(f"A: matrix {number} is a {type(one).__name__}, not sparse; stack dense ones by numpy.stack")
    first = _canonical(A[0], 0)
    values = np.empty((len(A), first.nnz), dtype=np.result_type(*(one.dtype for one in A)))
    for number, one in enumerate(A):
        matrix = first if number == 0 else _canonical(one, number)
        same = matrix.shape == first.shape and np.array_equal(matrix.indptr, first.indptr)
        if not same or not np.array_equal(matrix.indices, first.indices):
            raise ValueError(_other_pattern(number))
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
