"""`vcycle.Assembly`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from ._arrays import on_host
from ._device import contiguous, device_of, dtype_of, find_compiler, handed_over, library_of, shared, sparse_of


class Assembly:
    """Triplets with duplicates, sorted once: for new values a matrix needs only sums.

    >>> import numpy as np, vcycle
    >>> assembly = vcycle.Assembly((2, 2), rows=[1, 0, 1], columns=[1, 0, 1])
    >>> assembly.matrix([3.0, 2.0, 4.0]).toarray()
    array([[2., 0.],
           [0., 7.]])
    >>> assembly.matrix([1.0, 1.0, 1.0]).toarray()  # the same pattern, new values
    array([[1., 0.],
           [0., 2.]])

    Indices that are arrays of CuPy, PyTorch or JAX on a GPU are sorted on it, and matrices are sparse matrices of
    the same
    library on it. Sums are formed in the order of the triplets, so that they have the same bits on all devices.

    Parameters
    ----------
    shape : (rows, columns) of the matrix
    rows, columns : arrays of integers of one length
    device : str, optional
        Where it is done, such as ``cuda:0``: where the indices are unless given.
    threads : int, optional
        All cores unless given.
    """

    def __init__(
        self, shape: tuple[int, int], rows: Any, columns: Any, *, device: str | None = None, threads: int | None = None
    ) -> None:
        self.shape = _checked_shape(shape)
        places = {device_of(rows), device_of(columns)}
        if len(places) > 1:
            raise ValueError("rows and columns are in different places: move one of them")
        (place,) = places
        if place is not None and device is None:
            device = place if ":" in place else f"{place}:0"
        if device == "cpu":
            device = None
        if device is not None and device.startswith("cuda"):
            find_compiler()
        if place is not None and device is not None and _is_gpu(device) and not shared(place, device):
            raise ValueError(f"rows are on {place}, but {device} is to assemble: move one of them")
        self.device = device or "cpu"
        self._structure: tuple[Any, Any] | None = None
        if shared(place, self.device):
            lengths = [_length(rows, "rows"), _length(columns, "columns")]
            _check_lengths(*lengths)
            parts = (contiguous(rows), contiguous(columns))
            self._native = _core.Assembly.on_device(self.shape, *parts, self.device)
        else:
            parts = (_indices(rows, "rows"), _indices(columns, "columns"))
            lengths = [len(part) for part in parts]
            _check_lengths(*lengths)
            self._native = _core.Assembly(self.shape, *parts, device, threads)
        self._triplets = lengths[0]

    @property
    def nnz(self) -> int:
        """Number of entries of the matrices."""
        return self._native.nonzeros

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Assembly of {self._triplets} triplets to {self.nnz} entries of {rows} x {columns} on {self.device}"

    def matrix(self, values: Any) -> Any:
        """The matrix of triplets with these values: of SciPy, or on the GPU of the library of `values`.

        All matrices on a GPU share row offsets and columns: do not change them.
        """
        if shared(device_of(values), self.device):
            self._check_values(_length(values, "values"))
            return self._matrix_of_device(values)
        array = np.asarray(on_host(values))
        if array.dtype.kind not in "biufc":
            raise TypeError(f"values: expected numbers, found {array.dtype}")
        self._check_values(_length(array, "values"))
        if array.dtype.name not in ("float64", "float32", "complex128", "complex64"):
            array = array.astype(np.float64)
        offsets, columns, sums = self._native.sums(np.ascontiguousarray(array))
        sums = sums.astype(array.dtype, copy=False)
        return sp.csr_array((sums, columns, offsets), shape=self.shape)

    def _matrix_of_device(self, values: Any) -> Any:
        sums = self._native.sums_on_device(contiguous(values))
        if self._structure is None:
            offsets, columns = self._native.structure_on_device()
            self._structure = (handed_over(offsets, values), handed_over(columns, values))
        data = handed_over(sums.single() if dtype_of(values) == np.float32 else sums, values)
        return sparse_of(library_of(values), self.shape, *self._structure, data)

    def _check_values(self, found: int) -> None:
        if found != self._triplets:
            raise ValueError(f"values: expected {self._triplets} numbers, one a triplet, found {found}")


def _checked_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise ValueError(f"shape: expected (rows, columns), found {shape!r}")
    rows, columns = (int(size) for size in shape)
    if not (0 <= rows < 2**31 and 0 <= columns < 2**31):
        raise ValueError(f"shape: rows and columns must be from 0 to {2**31 - 1}, found {rows} x {columns}")
    return rows, columns


def _is_gpu(device: str) -> bool:
    return device.startswith(("cuda", "hip"))


def _length(array: Any, name: str) -> int:
    shape = tuple(array.shape) if hasattr(array, "shape") else tuple(array.__cuda_array_interface__["shape"])
    if len(shape) != 1:
        raise ValueError(f"{name}: expected one dimension, found {len(shape)}")
    return int(shape[0])


def _check_lengths(rows: int, columns: int) -> None:
    if rows != columns:
        raise ValueError(f"there are {rows} rows, but {columns} columns")


def _indices(array: Any, name: str) -> NDArray[Any]:
    found = np.asarray(on_host(array))
    _length(found, name)
    if found.dtype.kind not in "iu" and found.size > 0:
        raise TypeError(f"{name}: expected integers, found {found.dtype}")
    return np.ascontiguousarray(found, dtype=np.int32 if found.dtype == np.int32 else np.int64)
