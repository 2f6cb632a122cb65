"""`vcycle.solve`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import like, native_matrix, on_host, vector_for
from ._device import device_matrix, dtype_of, settle
from ._options import as_json, configuration
from ._outcome import AccuracyLimit, Inconsistent, NotConverged, Outcome, outcome_of

Callback = Callable[[int, float], object]


@overload
def solve(
    A: Any,
    b: Any,
    x0: Any = ...,
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
    x0: Any = ...,
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
    x0: Any = None,
    *,
    near_nullspace: Any = None,
    coordinates: Any = None,
    block_size: int | None = None,
    callback: Callback | None = None,
    check: bool = True,
    return_outcome: bool = False,
    **options: Any,
) -> Any:
    """Solves ``A x = b`` and returns ``x``.

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
        CSR and CSC are used directly, other formats are converted; duplicates are summed.
        Integers are converted to float64, with a warning. The blocks of a BSR matrix are used as
        the unknowns of a node. It is used in place where its arrays allow, so no other thread may
        change it meanwhile. Or a sparse matrix of CuPy, PyTorch or JAX on a GPU, which solves then.
    b : array, (n,) or (n, k)
        One or many right-hand sides; each stops on its own. An array of CuPy, PyTorch or JAX gives a solution of the
        same library, without a copy if a GPU solves.
    x0 : array of the shape of b, optional
        Initial guess; zero if not given.
    near_nullspace : array, (n, k), optional
        Vectors that A nearly annihilates, for multigrid.
    coordinates : array, (nodes, 2) or (nodes, 3), optional
        Coordinates of the nodes of an elasticity problem, for its rigid-body modes.
    block_size : int, optional
        Unknowns per node, which are neighbours in the numbering.
    callback : function of the iteration and the largest relative residual, optional
        Called after every iteration, and before the first. An exception it raises ends the solve.
    check : bool
        Whether a solve that does not converge raises `NotConverged`. A tolerance below the limit of accuracy
        causes the warning `AccuracyLimit` instead, a system that no `x` solves the warning `Inconsistent`
        (``warnings.simplefilter("error", vcycle.Inconsistent)`` makes it an exception).
    return_outcome : bool
        Whether ``(x, outcome)`` is returned.
    **options
        `solver`, `preconditioner`, `precision`, `format`, `nullspace`; `equilibrate`, `match`, `reorder`; `rtol`,
        `reduction`, `atol`, `max_iterations`, `time_limit` (`tol` and `maxiter` are accepted as well); `device`,
        `threads`; all parameters of multigrid
        (`coarsening`, `smoother`, `cycle`...); `config`, the name of a configuration file or its
        content as a dictionary; `preset`. See `vcycle.options`.

    Raises
    ------
    NotConverged
        With the `Outcome` as its attribute, unless `check` is false.
    TypeError, ValueError, numpy.linalg.LinAlgError, NotImplementedError, DeviceError, MemoryError
        For systems that cannot be solved; the message has the reason.
    """
    config = configuration(options)
    on_device = device_matrix(A)
    settle(config, options, on_device, b)
    known = (near_nullspace, coordinates, block_size)
    matrix, shape, dtype = native_matrix(A, on_device, config, known, share=True)
    rhs, guess = operands(b, x0, shape[0], "cpu" if matrix.is_complex else config["run"].get("device", "cpu"))
    of_complex = "c" in (kind(rhs), kind(guess))
    single = is_single(b, dtype)
    if of_complex and not matrix.is_complex:
        x, text = _in_parts(matrix, rhs, guess, as_json(config), callback, single)
    else:
        if matrix.is_complex:
            rhs = rhs.astype(np.complex128)
            guess = None if guess is None else guess.astype(np.complex128)
        x, text = _core.solve(matrix, rhs, guess, as_json(config), callback, single)
    return finished(returned(x, b, single), text, check, return_outcome, expected=limit_of(single, config))


def operands(b: Any, x0: Any, rows: int, device: str) -> tuple[Any, Any]:
    """Right-hand side and initial guess for the native part, which solves on `device`."""
    rhs = vector_for(b, rows, device)
    if x0 is None:
        return rhs, None
    guess = vector_for(x0, rows, device, "x0")
    if tuple(np.shape(x0)) != tuple(np.shape(b)):
        raise ValueError(f"x0 has the shape {tuple(np.shape(x0))}, b has {tuple(np.shape(b))}")
    return rhs, guess


def kind(array: Any) -> str:
    return "f" if array is None else dtype_of(array).kind


def _in_parts(
    matrix: _core.Matrix,
    b: NDArray[Any],
    x0: NDArray[Any] | None,
    config: str,
    callback: Callback | None,
    single: bool,
) -> tuple[NDArray[Any], str]:
    """A real matrix with a complex right-hand side or guess: solves for real and imaginary parts."""

    def parts(array: NDArray[Any]) -> NDArray[Any]:
        columns = np.asarray(on_host(array)).reshape(len(array), -1)
        return np.hstack([columns.real, columns.imag], dtype=np.float64)

    x, text = _core.solve(matrix, parts(b), None if x0 is None else parts(x0), config, callback, single)
    half = x.shape[1] // 2
    return (x[:, :half] + 1j * x[:, half:]).reshape(b.shape), text


def is_single(b: Any, dtype: np.dtype[Any]) -> bool:
    """Whether the solution for a matrix of this type is returned in single precision, as SciPy would."""
    of_b = dtype_of(b)
    return np.result_type(dtype, of_b if of_b.kind in "fc" else np.float64).name in ("float32", "complex64")


def returned(x: Any, b: Any, single: bool) -> Any:
    """The solution for the caller: of the library and shape of the right-hand side."""
    if isinstance(x, _core.DeviceArray):
        return like(x.single() if single else x, b)
    x = x.reshape(np.shape(b))
    return like(x.astype("c8" if np.iscomplexobj(x) else "f4") if single else x, b)


def limit_of(single: bool, config: dict[str, Any]) -> str | None:
    """The status that surprises nobody: rounding to single precision stays above the default tolerance."""
    named = {"rtol", "reduction", "atol"} & config.get("stop", {}).keys()
    return "accuracy-limit" if single and not named else None


def finished(solution: Any, text: str, check: bool, return_outcome: bool, expected: str | None = None) -> Any:
    """What a solve returns or raises; there is no warning of an expected status."""
    outcome = outcome_of(solution, text)
    warning = {"accuracy-limit": AccuracyLimit, "inconsistent": Inconsistent}.get(outcome.status)
    check = check and outcome.status != expected
    if check and warning is not None:
        # The level of the caller of `solve`.
        warnings.warn(str(outcome), warning, stacklevel=3)
    elif check and not outcome.converged:
        raise NotConverged(outcome)
    return (solution, outcome) if return_outcome else solution
