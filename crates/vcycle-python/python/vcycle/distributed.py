"""Systems whose rows are distributed over several processes, with mpi4py.

Every process has consecutive rows, in the order of the processes, as a sparse matrix of SciPy with as many columns as
the whole matrix has, and its own rows of vectors::

    from mpi4py import MPI
    x = vcycle.distributed.solve(MPI.COMM_WORLD, rows, b)     # own rows of A, b and x

The processes call everything together, with the same options. vcycle uses the library of MPI that mpi4py has loaded. If it
is not found by its usual name, set ``VCYCLE_MPI`` to the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from ._arrays import _is_sparse, near_nullspace_of, on_host
from ._options import as_json, configuration
from ._solve import Callback, finished

__all__ = ["Solver", "solve"]


def solve(
    comm: Any,
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    near_nullspace: Any = None,
    block_size: int | None = None,
    callback: Callback | None = None,
    check: bool = True,
    return_outcome: bool = False,
    **options: Any,
) -> Any:
    """Solves a system once: `Solver` and its `solve`, with the parameters of both."""
    solver = Solver(comm, A, near_nullspace=near_nullspace, block_size=block_size, **options)
    return solver.solve(b, x0, callback=callback, check=check, return_outcome=return_outcome)


class Solver:
    """A system of several processes that is set up once and solved for many right-hand sides.

    Parameters
    ----------
    comm : communicator of mpi4py
        The processes; rows are in the order of their ranks.
    A : sparse matrix or array of SciPy, (own rows, all rows)
        The rows of this process; it may have none. Duplicates are summed. If the numbers of one process are complex,
        all are treated as complex.
    near_nullspace : array, (own rows, k), optional
        Own rows of vectors that A nearly annihilates.
    block_size : int, optional
        Unknowns per node, which are neighbours in the numbering and belong to one process.
    **options
        As those of `vcycle.solve`. `threads` are those of each process; by default the cores of a machine are
        divided among
        its processes.
    """

    def __init__(
        self, comm: Any, A: Any, *, near_nullspace: Any = None, block_size: int | None = None, **options: Any
    ) -> None:
        self._comm = comm

        def prepared() -> tuple[Any, ...]:
            rows = _rows(A)
            modes, size = near_nullspace_of(near_nullspace, None, rows.shape[0], block_size)
            return rows, modes, size, as_json(configuration(options))

        rows, modes, size, config = _together(comm, prepared)
        self._dtype = _common_type(comm, rows.dtype)
        rows = rows.astype(self._dtype)
        total = comm.allreduce(rows.shape[0])
        _together(comm, lambda: _check_columns(rows, total))
        self._shape = rows.shape
        self._pattern = (rows.indptr, rows.indices)
        arrays = (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)
        self._native = _core.DistributedSystem(config, comm.py2f(), *arrays, modes, size)

    def solve(
        self,
        b: Any,
        x0: Any = None,
        *,
        callback: Callback | None = None,
        check: bool = True,
        return_outcome: bool = False,
    ) -> Any:
        """Own rows of the solution for own rows of one or many right-hand sides; see `vcycle.solve`."""

        def operands() -> tuple[Any, Any]:
            rows, dtype = self._shape[0], self._dtype
            return _vector(b, rows, dtype, "b"), None if x0 is None else _vector(x0, rows, dtype, "x0")

        rhs, guess = _together(self._comm, operands)
        x, text = self._native.solve(rhs, guess, callback)
        return finished(x.reshape(rhs.shape), text, check, return_outcome)

    def update(self, A: Any) -> None:
        """Sets new values in the same pattern: levels of multigrid are updated, not set up again."""

        def values() -> Any:
            rows = _rows(A)
            offsets, columns = self._pattern
            if not (np.array_equal(rows.indptr, offsets) and np.array_equal(rows.indices, columns)):
                raise ValueError("the rows have entries in other places than those that were set up")
            if rows.dtype.kind == "c" and self._dtype == np.float64:
                raise TypeError("the rows are complex, those that were set up are real")
            return rows.data.astype(self._dtype)

        self._native.update(_together(self._comm, values))


def _rows(A: Any) -> Any:
    """Own rows in CSR, each column once and in order."""
    A = on_host(A)
    if not _is_sparse(A):
        raise TypeError(f"A is a {type(A).__name__}; own rows as a sparse matrix or array of SciPy are needed")
    rows: Any = sp.csr_array(A)
    rows = rows.astype(np.complex128 if rows.dtype.kind == "c" else np.float64, copy=True)
    rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        raise ValueError("A has entries that are not finite")
    return rows


def _check_columns(rows: Any, total: int) -> None:
    if rows.shape[1] != total:
        raise ValueError(f"own rows have {rows.shape[1]} columns, the processes have {total} rows")


def _common_type(comm: Any, own: Any) -> Any:
    """The type that the numbers of all processes fit in."""
    return np.complex128 if "c" in comm.allgather(own.kind) else np.float64


def _vector(values: Any, rows: int, dtype: Any, name: str) -> NDArray[Any]:
    array = np.asarray(on_host(values))
    if array.dtype.kind == "c" and dtype == np.float64:
        raise TypeError(f"{name} is complex, the matrix is real")
    array = np.ascontiguousarray(array, dtype=dtype)
    if array.ndim not in (1, 2) or array.shape[0] != rows:
        raise ValueError(f"{name} has the shape {array.shape}, this process has {rows} rows")
    return array


def _together(comm: Any, work: Any) -> Any:
    """What `work` returns; an exception of one process is raised on all, so that none waits for ever."""
    error: Exception | None = None
    result = None
    try:
        result = work()
    except Exception as raised:
        error = raised
    texts = comm.allgather(None if error is None else str(error))
    if error is not None:
        raise error
    for rank, text in enumerate(texts):
        if text is not None:
            raise RuntimeError(f"rank {rank}: {text}")
    return result
