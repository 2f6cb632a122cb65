"""From arguments of users to the arrays of the native part."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from ._device import DeviceMatrix, contiguous, device_of, dtype_of, handed_over, library_of, shared

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
    check_square(A.shape)
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


def native_matrix(
    A: Any,
    on_device: DeviceMatrix | None,
    config: Mapping[str, Any],
    known: tuple[Any, Any, int | None] = (None, None, None),
    share: bool = False,
) -> tuple[_core.Matrix, tuple[int, int], np.dtype[Any]]:
    """The matrix of the native part, its shape and the type of its values. `known` has near-nullspace, coordinates
    and unknowns per node; arrays of the host may be used in place if they are to be shared."""
    near_nullspace, coordinates, block_size = known
    text = json.dumps(config)
    if on_device is not None and shared(on_device.device, config["run"]["device"]):
        shape = on_device.shape
        check_square(shape)
        modes, size = near_nullspace_of(near_nullspace, coordinates, shape[0], block_size)
        arrays = [contiguous(array) for array in on_device.arrays]
        return _core.Matrix.on_device(text, shape, arrays, modes, size), shape, dtype_of(arrays[2])
    of_host = matrix_arrays(A)
    shape = of_host.shape
    modes, size = near_nullspace_of(near_nullspace, coordinates, shape[0], block_size or of_host.block_size)
    matrix = _core.Matrix(text, *of_host[:5], modes, size, share)
    return matrix, shape, of_host.values.dtype


def check_square(shape: tuple[int, ...]) -> None:
    """Only square systems are solved."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"A is {' x '.join(map(str, shape))}; only square systems are solved")


def _is_sparse(A: Any) -> bool:
    return bool(sp.issparse(A))


def on_host(array: Any) -> Any:
    """Arrays and matrices of CuPy, PyTorch and JAX, copied to the host; everything else as it is."""
    library = library_of(array)
    if library == "torch":
        return _from_torch(array)
    if library == "jax":
        return _from_jax(array)
    return array.get() if library == "cupy" else array


def _from_torch(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    if str(tensor.layout) == "torch.strided":
        return tensor.numpy()
    tensor = tensor.to_sparse_csr()
    parts = (tensor.values(), tensor.col_indices(), tensor.crow_indices())
    return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(tensor.shape))


def _from_jax(array: Any) -> Any:
    if not hasattr(array, "indptr"):
        return np.asarray(array)
    parts = (array.data, array.indices, array.indptr)
    return sp.csr_array(tuple(np.asarray(part) for part in parts), shape=tuple(array.shape))


def like(x: Any, b: Any) -> Any:
    """The solution on the device of the right-hand side: an array of the same library."""
    if isinstance(x, _core.DeviceArray):
        return handed_over(x, b)
    library = library_of(b)
    if library == "torch":
        import torch

        return torch.from_numpy(x).to(b.device)
    if library == "cupy":
        import cupy

        return cupy.asarray(x)
    if library == "jax":
        import jax

        return jax.device_put(x, b.device)
    return x


def _not_sparse(A: Any) -> str:
    if isinstance(A, (np.ndarray, list, tuple)):
        return (
            "A is a dense array; vcycle solves sparse systems: "
            "pass scipy.sparse.csr_array(A), or use numpy.linalg.solve"
        )
    return f"A is a {type(A).__name__}; a sparse matrix or array of SciPy is needed"


def _block_size(A: Any) -> int | None:
    """The size of the blocks of a BSR matrix, which are the unknowns of a node."""
    if A.format != "bsr":
        return None
    rows, columns = A.blocksize
    return int(rows) if rows == columns and rows > 1 else None


def _indices(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype not in (np.int32, np.int64):
        array = array.astype(np.int64)
    return np.require(array, requirements=["C", "A"])


def _values(array: NDArray[Any]) -> NDArray[Any]:
    return np.require(_numbers(array, "the matrix"), requirements=["C", "A"])


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
    """The stack level of the caller of the package, for warnings."""
    import sys

    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("vcycle."):
        level, frame = level + 1, frame.f_back
    return level


def vector_for(b: Any, rows: int, device: str, what: str = "b") -> Any:
    """One or many columns of numbers, row after row: on the device if they are on it, else in double precision on
    the host."""
    if not shared(device_of(b), device):
        return right_hand_side(b, rows, what)
    shape = tuple(b.shape) if hasattr(b, "shape") else tuple(b.__cuda_array_interface__["shape"])
    _check_shape(shape, rows, what)
    return contiguous(b)


def right_hand_side(b: Any, rows: int, what: str = "b") -> NDArray[Any]:
    """One or many columns of numbers in double precision on the host, row after row."""
    b = on_host(b)
    if _is_sparse(b):
        raise TypeError(f"{what} is sparse; pass {what}.toarray()")
    array = _numbers(np.asarray(b), what)
    _check_shape(array.shape, rows, what)
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    return np.ascontiguousarray(array, dtype=wide)


def _check_shape(shape: tuple[int, ...], rows: int, what: str) -> None:
    if len(shape) not in (1, 2) or shape[0] != rows:
        raise ValueError(f"{what} has the shape {shape}; ({rows},) or ({rows}, k) is needed for {rows} rows")
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"{what} has no columns")


def near_nullspace_of(
    near_nullspace: Any, coordinates: Any, rows: int, block_size: int | None
) -> tuple[list[NDArray[Any]] | None, int | None]:
    """The vectors, and the unknowns per node."""
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
