"""`vcycle.solve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import like, matrix_arrays, near_nullspace_of, right_hand_side
from ._options import as_json, configuration
from ._outcome import NotConverged, Outcome, outcome_of

Callback = Callable[[int, float], object]


@overload
def solve(
    A: Any,
    b: Any,
    *,
    near_nullspace: Any = ...,
    coordinates: Any = ...,
    block_size: int | None = ...,
    callback: Callback | None = ...,
    check: bool = ...,
    return_outcome: Literal[False] = ...,
    **options: Any,
) -> NDArray[Any]: ...
@overload
def solve(
    A: Any,
    b: Any,
    *,
    near_nullspace: Any = ...,
    coordinates: Any = ...,
    block_size: int | None = ...,
    callback: Callback | None = ...,
    check: bool = ...,
    return_outcome: Literal[True],
    **options: Any,
) -> tuple[NDArray[Any], Outcome]: ...
def solve(
    A: Any,
    b: Any,
    *,
    near_nullspace: Any = None,
    coordinates: Any = None,
    block_size: int | None = None,
    callback: Callback | None = None,
    check: bool = True,
    return_outcome: bool = False,
    **options: Any,
) -> Any:
    """Solves ``A x = b`` from a zero guess, and returns ``x``.

    >>> import vcycle
    >>> problem = vcycle.gallery.build("poisson5:60")
    >>> x = vcycle.solve(problem.A, problem.b, rtol=1e-10)
    >>> x, outcome = vcycle.solve(problem.A, problem.b, solver="gmres:50", preconditioner="ilu0",
    ...                           return_outcome=True)
    >>> outcome.config["solver"]["restart"]
    50

    Parameters
    ----------
    A : sparse matrix or array of SciPy, square
        CSR and CSC are taken as they are, other formats are converted; duplicates are summed.
        Integers are converted to float64, with a warning. The blocks of a BSR matrix are taken for
        the unknowns of a node.
    b : array, (n,) or (n, k)
        One or many right-hand sides; each stops on its own.
    near_nullspace : array, (n, k), optional
        Vectors that A nearly annihilates; multigrid wants to know them.
    coordinates : array, (nodes, 2) or (nodes, 3), optional
        Where the nodes of an elasticity problem lie, for its rigid-body modes.
    block_size : int, optional
        Unknowns of a node, which are neighbours in the numbering.
    callback : function of the iteration and the largest relative residual, optional
        Called after every iteration, and before the first. An exception it raises ends the solve.
    check : bool
        Whether not converging is an exception, `NotConverged`.
    return_outcome : bool
        Whether ``(x, outcome)`` is returned.
    **options
        `solver`, `preconditioner`, `precision`, `format`, `nullspace`; `rtol`, `reduction`, `atol`,
        `max_iterations`, `time_limit`; `device`, `threads`; all parameters of multigrid
        (`coarsening`, `smoother`, `cycle`...); `config`, the name of a configuration file or its
        content as a dictionary; `preset`. See `vcycle.options`.

    Raises
    ------
    NotConverged
        With the `Outcome` as its attribute, unless `check` is false.
    TypeError, ValueError, numpy.linalg.LinAlgError, NotImplementedError, DeviceError, MemoryError
        For what cannot be solved; the sentence says why.
    """
    config = as_json(configuration(options))
    arrays = matrix_arrays(A)
    rows = arrays.shape[0]
    rhs = right_hand_side(b, rows)
    modes, size = near_nullspace_of(
        near_nullspace, coordinates, rows, block_size or arrays.block_size
    )
    matrix = _core.Matrix(config, *arrays[:5], modes, size)
    if rhs.dtype.kind == "c" and not matrix.is_complex:
        x, text = _in_parts(matrix, rhs, config, callback)
    else:
        rhs = rhs.astype(np.complex128) if matrix.is_complex else rhs
        x, text = _core.solve(matrix, rhs, config, callback)
    x = shaped(x, rhs.shape, arrays.values.dtype, b)
    return finished(x, text, b, check, return_outcome)


def _in_parts(
    matrix: _core.Matrix, b: NDArray[Any], config: str, callback: Callback | None
) -> tuple[NDArray[Any], str]:
    """A real matrix and a complex right-hand side: its parts are two of them."""
    columns = b.reshape(len(b), -1)
    x, text = _core.solve(matrix, np.hstack([columns.real, columns.imag]), config, callback)
    half = columns.shape[1]
    return x[:, :half] + 1j * x[:, half:], text


def shaped(x: NDArray[Any], shape: tuple[int, ...], dtype: Any, b: Any) -> NDArray[Any]:
    """The solution in the shape of the right-hand side and in the type SciPy would return."""
    x = x.reshape(shape)
    of_b = getattr(b, "dtype", np.float64)
    of_b = of_b if isinstance(of_b, np.dtype) else np.dtype(np.float64)
    # Solved in double precision; single was asked for by handing in single.
    wanted = np.result_type(dtype, of_b if of_b.kind in "fc" else np.float64)
    return x.astype(wanted, copy=False) if wanted.name in ("float32", "complex64") else x


def finished(x: NDArray[Any], text: str, b: Any, check: bool, return_outcome: bool) -> Any:
    """What a solve returns or raises."""
    solution = like(x, b)
    outcome = outcome_of(solution, text)
    if check and not outcome.converged:
        raise NotConverged(outcome)
    return (solution, outcome) if return_outcome else solution
