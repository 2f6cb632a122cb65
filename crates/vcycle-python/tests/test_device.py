"""Arrays of GPUs: what is refused and copied can be seen without one; sharing needs CuPy and a GPU (test_gpu.py)."""

import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import vcycle
from vcycle import _device

NO_GPU = not any(name.startswith(("cuda", "hip")) for name in vcycle.devices())
without_gpu = pytest.mark.skipif(not NO_GPU, reason="there is a GPU, which would look at addresses that are none")


class Array:
    """What arrays and matrices of CuPy look like from outside."""

    __module__ = "cupy"

    def __init__(self, array, device=0):
        self.array, self.device = array, device
        self.shape, self.dtype = array.shape, array.dtype

    def get(self):
        return self.array

    def __dlpack_device__(self):
        return (2, self.device)

    has_canonical_format = True
    format = "csr"
    tocsr = lambda self: self
    indptr = property(lambda self: Array(self.array.indptr, self.device))
    indices = property(lambda self: Array(self.array.indices, self.device))
    data = property(lambda self: Array(self.array.data, self.device))


class Interface:
    """An array that says where it is by `__cuda_array_interface__` alone."""

    def __init__(self, array):
        self.shape = array.shape
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": "<f8", "data": (4096, False), "version": 3}


@pytest.fixture
def cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(asarray=Array, ascontiguousarray=lambda a: a))
    of_scipy = types.SimpleNamespace(LinearOperator=lambda shape, matvec, matmat, dtype: matvec)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse.linalg", of_scipy)


def test_arrays_are_copied_where_the_host_is_to_solve(poisson, cupy):
    expected = vcycle.solve(poisson.A, poisson.b)
    x = vcycle.solve(Array(poisson.A), Array(poisson.b), x0=Array(0 * poisson.b), device="cpu")
    assert isinstance(x, Array) and np.array_equal(x.get(), expected)
    ml = vcycle.amg(Array(poisson.A), device="cpu")
    assert isinstance(ml.solve(Array(poisson.b)), Array) and isinstance(ml.solve(poisson.b), np.ndarray)
    assert isinstance(ml.as_preconditioner()(Array(poisson.b)), Array)
    assert ml.update(Array(2 * poisson.A)).device == "cpu"


@without_gpu
def test_the_device_of_the_arrays_is_chosen(poisson, cupy):
    for A, b in (
        (Array(poisson.A), poisson.b),
        (Array(poisson.A), Array(poisson.b)),
        (poisson.A, Array(poisson.b)),
        (poisson.A, Interface(poisson.b)),
    ):
        with pytest.raises(vcycle.DeviceError, match="cuda"):
            vcycle.solve(A, b)
    with pytest.raises(vcycle.DeviceError, match="cuda"):
        vcycle.amg(Array(poisson.A))
    with pytest.raises(vcycle.DeviceError, match="cuda"):
        vcycle.preconditioner(Array(poisson.A), "jacobi")
    with pytest.raises(vcycle.DeviceError, match="cuda"):
        vcycle.solve(Array(poisson.A), poisson.b, preset="paper-pgm")


@pytest.mark.parametrize(
    "of_A, of_b, options, sentence",
    [
        (1, 0, {"device": "cuda:0"}, "A is on cuda:1, but cuda:0 is to solve"),
        (0, 1, {"device": "cuda:0"}, "b is on cuda:1, but cuda:0 is to solve"),
        (0, 1, {}, "b is on cuda:1, but cuda:0 is to solve"),
        (0, 0, {"device": "hip:0"}, "A is on cuda:0, but hip:0 is to solve"),
    ],
)
def test_another_device_is_refused(poisson, cupy, of_A, of_b, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        vcycle.solve(Array(poisson.A, of_A), Array(poisson.b, of_b), **options)


class Numbers(Array):
    """An array of CuPy with what batches ask of it."""

    __module__ = "cupy"

    def __eq__(self, other):
        return Numbers(self.array == other.array, self.device)

    def __getitem__(self, place):
        return Numbers(self.array[place], self.device)

    def all(self, axis):
        return Numbers(self.array.all(axis), self.device)


@pytest.fixture
def stacks(cupy, monkeypatch):
    def stack(arrays):
        return Numbers(np.stack([one.array for one in arrays]), arrays[0].device)

    monkeypatch.setattr(sys.modules["cupy"], "stack", stack, raising=False)


def tridiagonal():
    return sp.diags_array([-1.0, 4.0, -2.0], offsets=[-1, 0, 1], shape=(5, 5)).tocsr()


def test_batches_are_copied_where_the_host_is_to_solve(stacks):
    matrix, b = tridiagonal(), np.ones((2, 5))
    expected = vcycle.batch.solve([matrix, 2 * matrix], b)
    dense = np.array([matrix.toarray(), 2 * matrix.toarray()])
    for A in (Array(dense), [Array(matrix), Array(2 * matrix)]):
        x = vcycle.batch.solve(A, Array(b), x0=Array(0 * b), device="cpu")
        assert isinstance(x, Array) and np.allclose(x.get(), expected)
        assert np.allclose(vcycle.batch.solve(A, b, device="cpu"), expected)


def test_batches_of_a_gpu_are_checked_before_it_is_asked(stacks):
    matrix, b = tridiagonal(), Array(np.ones((2, 5)))
    longer = matrix + sp.eye_array(5, k=2)
    moved = longer.copy()
    moved.indices[2] = 4
    for A, options, words in (
        ([Array(matrix), Array(longer)], {}, "matrix 1 has another pattern"),
        ([Array(longer), Array(moved)], {}, "matrix 1 has another pattern"),
        ([Array(matrix), Array(matrix, device=1)], {}, "matrix 1 is not on cuda:0"),
        ([Array(matrix), matrix], {}, "matrix 1 is not on cuda:0"),
        ([Array(matrix[:4])], {}, "matrix 0 is 4 x 5, not square"),
        (Array(np.ones((2, 3, 4))), {}, "systems x n x n"),
        (Array(np.ones((2, 4, 4))), {}, "b: expected an array of 2 x 4, found 2 x 5"),
        (Array(np.ones((2, 5, 5))), {"x0": np.ones((2, 5))}, "x0 is not on cuda:0"),
        (Array(np.ones((2, 5, 5)), device=1), {}, "b is on cuda:0, but cuda:1 is to solve"),
    ):
        with pytest.raises(ValueError, match=words):
            vcycle.batch.solve(A, b, **options)


@without_gpu
def test_batches_and_triplets_are_solved_where_they_are(stacks):
    matrix, b = tridiagonal(), Array(np.ones((2, 5)))
    for A in (Array(np.ones((2, 5, 5))), [Array(matrix), Array(matrix)]):
        with pytest.raises(vcycle.DeviceError, match="cuda"):
            vcycle.batch.solve(A, b)
    ones = Array(np.ones(3, dtype=np.int32))
    with pytest.raises(vcycle.DeviceError, match="cuda"):
        vcycle.Assembly((2, 2), ones, ones)


def test_triplets_of_a_gpu_for_the_host(cupy):
    rows, columns = Array(np.array([1, 0, 1])), Array(np.array([1, 0, 1]))
    assembly = vcycle.Assembly((2, 2), rows, columns, device="cpu")
    assert assembly.matrix(Array(np.array([3.0, 2.0, 4.0]))).toarray().tolist() == [[2.0, 0.0], [0.0, 7.0]]
    for other, words in ((np.array([1, 0, 1]), "in different places"), (Array(np.ones(2, dtype=int)), "3 rows, but 2 columns")):
        with pytest.raises(ValueError, match=words):
            vcycle.Assembly((2, 2), rows, other)
    with pytest.raises(ValueError, match="rows are on cuda:0, but cuda:1 is to assemble"):
        vcycle.Assembly((2, 2), rows, columns, device="cuda:1")


def test_a_compiler_among_the_packages_is_found(tmp_path, monkeypatch):
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("VCYCLE_NVRTC", "chosen")
    _device.settle({}, {"device": "cuda:0"}, None)
    assert os.environ["VCYCLE_NVRTC"] == "chosen"
    monkeypatch.delenv("VCYCLE_NVRTC")
    _device.settle({"run": {"device": "cuda:0"}}, {"device": "cuda:0"}, None)
    assert os.environ.pop("VCYCLE_NVRTC") == str(library)


class Tensor:
    """What tensors of PyTorch look like from outside."""

    __module__ = "torch"
    device = "cpu"

    def __init__(self, array):
        self.array, self.shape = array, array.shape
        self.dtype = f"torch.{array.dtype}"
        self.layout = "torch.strided" if isinstance(array, np.ndarray) else "torch.sparse_csr"

    def detach(self):
        return self

    cpu = to_sparse_csr = detach
    values = lambda self: Tensor(self.array.data)
    col_indices = lambda self: Tensor(self.array.indices)
    crow_indices = lambda self: Tensor(self.array.indptr)
    numpy = lambda self: self.array
    to = lambda self, device: self

    def __dlpack_device__(self):
        return (1, 0)


def test_tensors_of_the_host(poisson, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(from_numpy=Tensor))
    x = vcycle.solve(Tensor(poisson.A), Tensor(poisson.b))
    assert isinstance(x, Tensor) and np.array_equal(x.array, vcycle.solve(poisson.A, poisson.b))
    x = vcycle.solve(Tensor(poisson.A.astype(np.float32)), Tensor(poisson.b.astype(np.float32)), rtol=1e-3)
    assert x.dtype == "torch.float32"


def test_a_file_that_is_no_archive_of_kernels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.kernels"
    path.write_bytes(b"something else entirely")
    with pytest.raises(OSError, match="no archive of kernels"):
        vcycle.use_kernels(path)
    with pytest.raises(OSError, match="missing.kernels"):
        vcycle.use_kernels(tmp_path / "missing.kernels")
