"""Arrays that say where they are by `__cuda_array_interface__` alone: batches and triplets of a GPU without CuPy."""

import ctypes

import numpy as np
import pytest

import vcycle

if "cuda:0" not in vcycle.devices():
    pytest.skip("there is no GPU of NVIDIA", allow_module_level=True)

driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, f"{name}: {status}"


class Array:
    """A copy of an array in the memory of the GPU."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)
        context, self.pointer = ctypes.c_void_p(), ctypes.c_uint64()
        call("cuInit", 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        call("cuCtxSetCurrent", context)
        call("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(max(self.array.nbytes, 1)))
        source = ctypes.c_void_p(self.array.ctypes.data)
        call("cuMemcpyHtoD_v2", self.pointer, source, ctypes.c_size_t(self.array.nbytes))

    @property
    def __cuda_array_interface__(self):
        kind, data = self.array.dtype.str, (self.pointer.value, False)
        return {"shape": self.array.shape, "typestr": kind, "data": data, "version": 3, "stream": None}

    def __del__(self):
        driver.cuMemFree_v2(self.pointer)


def on_host(array):
    facts = array.__cuda_array_interface__
    found = np.empty(facts["shape"], dtype=facts["typestr"])
    call("cuCtxSynchronize")
    target = ctypes.c_void_p(found.ctypes.data)
    call("cuMemcpyDtoH_v2", target, ctypes.c_uint64(facts["data"][0]), ctypes.c_size_t(found.nbytes))
    return found


def systems():
    rng = np.random.default_rng(4)
    return rng.standard_normal((30, 50, 50)) + 40 * np.eye(50), rng.standard_normal((30, 50))


@pytest.mark.parametrize("options", [{}, {"preconditioner": "ilu0"}, {"method": "gmres", "preconditioner": "block-jacobi"}, {"method": "direct"}])
def test_batches(options):
    dense, b = systems()
    x, outcomes = vcycle.batch.solve(Array(dense), Array(b), rtol=1e-12, return_outcomes=True, **options)
    assert x.shape == (30, 50) and len(outcomes) == 30
    assert np.allclose(on_host(x), np.linalg.solve(dense, b[:, :, None])[:, :, 0], rtol=1e-8, atol=1e-10)
    again, outcomes = vcycle.batch.solve(Array(dense), Array(b), x0=x, return_outcomes=True, **options)
    assert all(outcome.iterations == 0 for outcome in outcomes)


def test_complex_batches():
    dense, b = systems()
    dense = dense * (1 + 0.5j)
    x = vcycle.batch.solve(Array(dense), Array(b), method="direct")
    assert np.allclose(on_host(x), np.linalg.solve(dense, b[:, :, None])[:, :, 0])


def test_singular_systems_and_bad_arrays():
    dense, b = systems()
    dense[3] = 0.0
    with pytest.raises(vcycle.batch.NotAllConverged, match=r"1 of 30 .*: 3 \(breakdown, row 0 has no pivot"):
        vcycle.batch.solve(Array(dense), Array(b), method="direct")
    with pytest.raises(ValueError, match="b: expected an array of 30 x 50, found 29 x 50"):
        vcycle.batch.solve(Array(dense), Array(b[1:]))
    with pytest.raises(TypeError, match="b holds values of type `i8`"):
        vcycle.batch.solve(Array(dense), Array(b.astype("i8")))


@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_triplets(poisson, kind):
    coo = poisson.A.tocoo()
    parts = (coo.row.astype(kind), coo.col.astype(kind), 0.5 * coo.data)
    rows, columns, values = (np.concatenate([part, part]) for part in parts)
    assembly = vcycle.Assembly(poisson.A.shape, Array(rows), Array(columns))
    assert assembly.nnz == poisson.A.nnz and assembly.device == "cuda:0"
    for factor in (1.0, 3.0):
        A = assembly.matrix(Array(factor * values))
        assert np.array_equal(on_host(A.indptr), poisson.A.indptr)
        assert np.array_equal(on_host(A.indices), poisson.A.indices)
        assert np.allclose(on_host(A.data), factor * poisson.A.data)
        x = on_host(vcycle.solve(A, Array(poisson.b), solver="cg", preconditioner="jacobi"))
        assert np.linalg.norm(factor * (poisson.A @ x) - poisson.b) < 1e-7 * np.linalg.norm(poisson.b)
    with pytest.raises(ValueError, match=r"rows\[\d+\] is outside of 0..10"):
        vcycle.Assembly((10, 10), Array(rows), Array(columns))
    with pytest.raises(ValueError, match="one a triplet"):
        assembly.matrix(Array(values[1:]))
