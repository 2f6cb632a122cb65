"""What users hand in, and the arrays the native part takes."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_WIDE = ("float64", "complex128")
_TYPES = (*_WIDE, "float32", "complex64")


class Arrays(NamedTuple):
    """A matrix row after row, or column after column."""

    shape: tuple[int, int]
    offsets: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    by_columns: bool
    block_size: int | None


def matrix_arrays(A: Any) -> Arrays:
    """The arrays of a sparse matrix, shared where they can be."""
    A = on_host(A)
    if not _is_sparse(A):
        raise TypeError(_not_sparse(A))
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        shape = " x ".join(map(str, A.shape))
        raise ValueError(f"A is {shape}; only square systems are solved")
    block_size = _block_size(A)
    if A.format not in ("csr", "csc"):
        A = A.tocsr()
    values = _values(A.data)
    return Arrays(
        shape=(int(A.shape[0]), int(A.shape[1])),
        offsets=_indices(A.indptr),
        indices=_indices(A.indices),
        values=values,
        by_columns=A.format == "csc",
        block_size=block_size,
    )


def _is_sparse(A: Any) -> bool:
    return bool(sp.issparse(A))


def on_host(array: Any) -> Any:
    """Arrays and matrices of CuPy and PyTorch, copied to the host; everything else as it is."""
    library = _library(array)
    if library == "torch":
        return _from_torch(array)
    return array.get() if library in ("cupy", "cupyx") else array


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _from_torch(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    if str(tensor.layout) == "torch.strided":
        return tensor.numpy()
    tensor = tensor.to_sparse_csr()
    parts = (tensor.values(), tensor.col_indices(), tensor.crow_indices())
    return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(tensor.shape))


def like(x: NDArray[Any], b: Any) -> Any:
    """The solution where the right-hand side is: for arrays of CuPy and PyTorch one of theirs."""
    library = _library(b)
    if library == "torch":
        import torch

        return torch.from_numpy(x).to(b.device)
    if library == "cupy":
        import cupy

        return cupy.asarray(x)
    return x


def _not_sparse(A: Any) -> str:
    if isinstance(A, (np.ndarray, list, tuple)):
        return (
            "A is a dense array; vcycle solves sparse systems: "
            "pass scipy.sparse.csr_array(A), or use numpy.linalg.solve"
        )
    return f"A is a {type(A).__name__}; a sparse matrix or array of SciPy is needed"


def _block_size(A: Any) -> int | None:
    """Blocks of a BSR matrix are the unknowns of a node."""
    if A.format != "bsr":
        return None
    rows, columns = A.blocksize
    return int(rows) if rows == columns and rows > 1 else None


def _indices(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype not in (np.int32, np.int64):
        array = array.astype(np.int64)
    return np.ascontiguousarray(array)


def _values(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(_numbers(array, "the matrix"))


def _numbers(array: NDArray[Any], what: str) -> NDArray[Any]:
    """In a type of floating-point numbers; integers are converted, with a warning for matrices."""
    kind = array.dtype.kind
    if kind in "biu":
        if what == "the matrix":
            warnings.warn(
                f"{what} holds {array.dtype} values, which are converted to float64",
                UserWarning,
                stacklevel=_outside(),
            )
        return array.astype(np.float64)
    if kind not in "fc":
        raise TypeError(f"{what} holds {array.dtype} values; real or complex numbers are needed")
    if array.dtype.name in _TYPES and array.dtype.isnative:
        return array
    return array.astype(np.complex128 if kind == "c" else np.float64)


def _outside() -> int:
    """How far up the caller of the package is, for warnings."""
    import sys

    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("vcycle."):
        level, frame = level + 1, frame.f_back
    return level


def right_hand_side(b: Any, rows: int, what: str = "b") -> NDArray[Any]:
    """One or many columns of numbers in double precision, row after row."""
    b = on_host(b)
    if _is_sparse(b):
        raise TypeError(f"{what} is sparse; pass {what}.toarray()")
    array = _numbers(np.asarray(b), what)
    if array.ndim not in (1, 2) or array.shape[0] != rows:
        raise ValueError(
            f"{what} has the shape {array.shape}; ({rows},) or ({rows}, k) is needed for {rows} rows"
        )
    if array.ndim == 2 and array.shape[1] == 0:
        raise ValueError(f"{what} has no columns")
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    return np.ascontiguousarray(array, dtype=wide)


def near_nullspace_of(
    near_nullspace: Any, coordinates: Any, rows: int, block_size: int | None
) -> tuple[list[NDArray[Any]] | None, int | None]:
    """The vectors, and the unknowns of a node."""
    if near_nullspace is not None and coordinates is not None:
        raise TypeError("give `near_nullspace` or `coordinates`, not both")
    if coordinates is not None:
        modes = rigid_body_modes(coordinates)
        dimension = 2 if modes.shape[1] == 3 else 3
        if block_size not in (None, dimension):
            raise ValueError(f"a node with {dimension} coordinates has {dimension} unknowns")
        near_nullspace, block_size = modes, dimension
    if near_nullspace is None:
        return None, block_size
    vectors = np.asarray(on_host(near_nullspace), dtype=np.float64)
    if vectors.ndim == 1:
        vectors = vectors[:, np.newaxis]
    if vectors.ndim != 2 or vectors.shape[0] != rows:
        raise ValueError(
            f"near_nullspace has the shape {vectors.shape}; ({rows}, k) is needed for {rows} rows"
        )
    return [np.ascontiguousarray(column) for column in vectors.T], block_size


def rigid_body_modes(coordinates: Any) -> NDArray[np.float64]:
    """Translations and rotations of a body, one column each, for unknowns numbered node by node."""
    points = np.asarray(on_host(coordinates), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ValueError(f"coordinates have the shape {points.shape}; (nodes, 2) or (nodes, 3)")
    nodes, dimension = points.shape
    points = points - points.mean(axis=0)
    planes = [(0, 1)] if dimension == 2 else [(1, 2), (2, 0), (0, 1)]
    modes = np.zeros((nodes, dimension, dimension + len(planes)))
    for axis in range(dimension):
        modes[:, axis, axis] = 1.0
    for number, (first, second) in enumerate(planes, start=dimension):
        modes[:, second, number] = points[:, first]
        modes[:, first, number] = -points[:, second]
    return modes.reshape(nodes * dimension, -1)
