"""Arrays of GPUs, which CuPy, PyTorch, JAX and others share with the native part instead of copying them."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import _core

# Of DLPack: memory of CUDA, managed memory of CUDA, memory of ROCm.
_CODES = {2: "cuda", 13: "cuda", 10: "hip"}


class CompressedRows(NamedTuple):
    """A sparse matrix on a GPU for libraries that have none of their own."""

    shape: tuple[int, int]
    indptr: Any
    indices: Any
    data: Any


class DeviceMatrix(NamedTuple):
    """A sparse matrix in compressed rows whose arrays are on a GPU."""

    shape: tuple[int, int]
    arrays: tuple[Any, Any, Any]
    """Row offsets, columns and values."""
    device: str


def library_of(array: Any) -> str:
    """The package that an array is of."""
    name = type(array).__module__.partition(".")[0]
    return {"cupyx": "cupy", "jaxlib": "jax"}.get(name, name)


def device_of(array: Any) -> str | None:
    """The device of an array as `device=` names it; none for the host. Without a number if its library does not
    have the number of the device."""
    if isinstance(array, np.ndarray) or sp.issparse(array):
        return None
    if hasattr(array, "__dlpack_device__"):
        code, number = array.__dlpack_device__()
        return f"{_CODES[int(code)]}:{int(number)}" if int(code) in _CODES else None
    return "cuda" if hasattr(array, "__cuda_array_interface__") else None


def device_matrix(A: Any) -> DeviceMatrix | None:
    """A sparse matrix of CuPy, PyTorch or JAX on a GPU; none for one of the host, or for something else."""
    arrays = _compressed_rows(A)
    device = None if arrays is None else device_of(arrays[2])
    if arrays is None or device is None:
        return None
    rows, columns = A.shape
    return DeviceMatrix((int(rows), int(columns)), arrays, device)


def _compressed_rows(A: Any) -> tuple[Any, Any, Any] | None:
    library = library_of(A)
    if sp.issparse(A) or not hasattr(A, "shape") or len(A.shape) != 2:
        return None
    if library == "torch":
        if str(A.layout) == "torch.strided":
            return None
        A = A.detach() if str(A.layout) == "torch.sparse_csr" else A.detach().to_sparse_csr()
        return A.crow_indices(), A.col_indices(), A.values()
    if library == "cupy" and hasattr(A, "tocsr"):
        A = A if A.format == "csr" else A.tocsr()
        if not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
    return (A.indptr, A.indices, A.data) if hasattr(A, "indptr") else None


def settle(config: dict[str, Any], options: Mapping[str, Any], matrix: DeviceMatrix | None, b: Any = None) -> None:
    """Chooses the device of the arrays, unless another one is given."""
    run = dict(config.get("run", {}))
    if run.get("device", "cpu") == "cpu" and "device" not in options:
        run.pop("device", None)
    for what, place in (("A", matrix.device if matrix else None), ("b", device_of(b))):
        if place is None:
            continue
        chosen = run.setdefault("device", place if ":" in place else f"{place}:0")
        if _is_gpu(chosen) and not shared(place, chosen):
            raise ValueError(f"{what} is on {place}, but {chosen} is to solve: move one of them")
    if run.get("device", "").startswith("cuda"):
        find_compiler()
    config["run"] = run


def find_compiler() -> None:
    """Sets VCYCLE_NVRTC to the NVRTC among the packages of Python, unless it is set."""
    packages = importlib.util.find_spec("nvidia")
    if "VCYCLE_NVRTC" in os.environ or packages is None:
        return
    for folder in packages.submodule_search_locations or ():
        for file in sorted(glob.glob(f"{folder}/*/lib/libnvrtc.so.[0-9]*")):
            os.environ["VCYCLE_NVRTC"] = file


def _is_gpu(device: str) -> bool:
    return device.startswith(("cuda:", "hip:"))


def shared(place: str | None, device: str) -> bool:
    """Whether an array on `place` can be used on `device` without a copy."""
    return place is not None and (place == device or device.startswith(f"{place}:"))


def contiguous(array: Any) -> Any:
    """Row after row: itself, or a copy made by its library."""
    library = library_of(array)
    if library == "torch":
        return array.detach().contiguous()
    if library == "cupy":
        import cupy

        return cupy.ascontiguousarray(array)
    return array


def dtype_of(array: Any) -> np.dtype[Any]:
    """The type of its values as NumPy's dtype; double precision for types that NumPy does not have."""
    try:
        return np.dtype(str(getattr(array, "dtype", "float64")).rpartition(".")[2])
    except TypeError:
        return np.dtype(np.float64)


def handed_over(x: _core.DeviceArray, b: Any) -> Any:
    """A device array as one of the library of `b`, without a copy; itself for a library that is not supported."""
    library = library_of(b)
    if library == "torch":
        import torch

        return torch.from_dlpack(x)
    if library == "cupy":
        import cupy

        return cupy.from_dlpack(x)
    if library == "jax":
        import jax.numpy

        return jax.numpy.from_dlpack(x)
    return x


def sparse_of(library: str, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
    """A sparse matrix of a library with arrays of its own that are on a GPU."""
    if library == "cupy":
        from cupyx.scipy.sparse import csr_matrix

        return csr_matrix((data, indices, indptr), shape=shape)
    if library == "torch":
        import torch

        return torch.sparse_csr_tensor(indptr, indices, data, size=shape)
    if library == "jax":
        from jax.experimental.sparse import BCSR

        return BCSR((data, indices, indptr), shape=shape)
    return CompressedRows(shape, indptr, indices, data)


def stacked(arrays: list[Any]) -> Any:
    """Arrays of one shape as the rows of one array, made by their library on their device."""
    library = library_of(arrays[0])
    if library == "torch":
        import torch

        return torch.stack(arrays)
    if library == "jax":
        import jax.numpy

        return jax.numpy.stack(arrays)
    if library == "cupy":
        import cupy

        return cupy.stack(arrays)
    raise TypeError(f"matrices with arrays of {library} are not known; those of CuPy, PyTorch and JAX are")
