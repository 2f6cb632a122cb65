"""Arrays of CuPy, PyTorch and JAX on a GPU, shared with vcycle. scripts/python-gpu-test runs this where one is."""

import gc
import inspect
import os
import types

import numpy as np
import pytest
import scipy.sparse as sp

import vcycle
from vcycle import _core

cupy = pytest.importorskip("cupy", reason="sharing arrays of a GPU is tested with CuPy")
try:
    PLACE = f"cuda:{cupy.cuda.runtime.getDevice()}"
except cupy.cuda.runtime.CUDARuntimeError as error:
    pytest.skip(f"CuPy has no GPU: {error}", allow_module_level=True)

import cupyx.scipy.sparse as csp  # noqa: E402
import cupyx.scipy.sparse.linalg as csla  # noqa: E402

# Few kernels to compile, for what is not about multigrid.
QUICK = {"solver": "cg", "preconditioner": "jacobi"}
RTOL = "rtol" if "rtol" in inspect.signature(csla.cg).parameters else "tol"


@pytest.fixture(scope="module")
def large():
    return vcycle.gallery.build("poisson7:40")


@pytest.fixture(scope="module")
def A(large):
    return csp.csr_matrix(large.A)


@pytest.fixture(scope="module")
def b(large):
    return cupy.asarray(large.b)


def residual(A, x, b):
    return float(cupy.linalg.norm(b - A @ x) / cupy.linalg.norm(b))


def moved(work):
    """Bytes that travel to the device and back meanwhile."""
    before = _core.traffic(PLACE)
    result = work()
    return [after - begin for after, begin in zip(_core.traffic(PLACE), before)], result


def test_solves_in_place(A, b):
    x, outcome = vcycle.solve(A, b, return_outcome=True)
    assert isinstance(x, cupy.ndarray) and x.dtype == cupy.float64 and x.shape == b.shape
    assert outcome.config["run"]["device"] == PLACE and residual(A, x, b) < 1e-8


def of_the_host(levels):
    """Bytes of the levels that are set up by the host, of up to 512 rows; dense factors of the last one come back."""
    small = [level for level in levels if level.rows <= 512]
    return sum(12 * level.nonzeros + 8 * (level.rows + 1) for level in small), sum(8 * level.rows**2 for level in small)


def of_first_rows(A, rows=4096):
    """Bytes of the first rows, by which the host recognises a grid."""
    return 12 * int(A.indptr[rows]) + 8 * (rows + 1)


def test_nothing_travels(A, b):
    """Besides the first rows and coarse levels there are numbers, not arrays: fewer bytes than those of a vector."""
    vcycle.solve(A, b)
    (up, down), (_, outcome) = moved(lambda: vcycle.solve(A, b, return_outcome=True))
    to_host, to_device = of_the_host(outcome.levels)
    print(f"{up:,} bytes up, {down:,} down; coarse levels have {to_host:,}, first rows {of_first_rows(A):,}")
    assert down < of_first_rows(A) + to_host + 16_000 and up < to_host + to_device + 16_000, (up, down)
    ml = vcycle.amg(A)
    (up, down), _ = moved(lambda: ml.solve(b))
    assert up < b.nbytes / 8 and down < b.nbytes / 8, (up, down)


def test_what_is_shared_stays_as_it_was(A, b):
    copies = [part.copy() for part in (A.data, A.indices, A.indptr, b)]
    guess = cupy.ones_like(b)
    vcycle.solve(A, b, x0=guess, **QUICK)
    assert all(bool((a == c).all()) for a, c in zip((A.data, A.indices, A.indptr, b), copies))
    assert bool((guess == 1).all())


def test_hierarchies(A, b):
    ml = vcycle.amg(A)
    assert ml.device == PLACE
    x, outcome = ml.solve(b, return_outcome=True)
    assert residual(A, x, b) < 1e-8
    assert ml.solve(b, x0=x, return_outcome=True)[1].iterations == 0
    assert isinstance(ml.solve(b.get()), np.ndarray)
    y = ml.update(2 * A).solve(b)
    assert residual(2 * A, y, b) < 1e-8
    B = cupy.random.default_rng(1).random((A.shape[0], 3))
    X = ml.solve(B)
    assert X.shape == B.shape and residual(2 * A, X, B) < 1e-7


def test_preconditions_solvers_of_cupy(A, b):
    steps = []
    M = vcycle.amg(A).as_preconditioner()
    x, info = csla.cg(A, b, M=M, callback=lambda _: steps.append(1), **{RTOL: 1e-8})
    assert info == 0 and len(steps) < 40 and residual(A, x, b) < 1e-6
    x, info = csla.cg(A, b, **{RTOL: 1e-8}, M=vcycle.preconditioner(A, "jacobi"))
    assert info == 0


@pytest.mark.parametrize("of_A, of_b, of_x", [("f4", "f4", "f4"), ("f8", "f4", "f8"), ("f4", "f8", "f8")])
def test_precisions(A, b, of_A, of_b, of_x):
    x = vcycle.solve(A.astype(of_A), b.astype(of_b), **QUICK)
    assert x.dtype == of_x and residual(A, x.astype("f8"), b) < 1e-3


def test_wide_indices_are_narrowed(A, b):
    wide = types.SimpleNamespace(shape=A.shape, data=A.data, indices=A.indices.astype("i8"), indptr=A.indptr.astype("i8"))
    assert residual(A, vcycle.solve(wide, b, **QUICK), b) < 1e-8


def test_other_formats_and_duplicates(A, b):
    assert residual(A, vcycle.solve(A.tocsc(), b, **QUICK), b) < 1e-8
    coo = A.tocoo()
    twice = [cupy.concatenate([part, part]) for part in (coo.row, coo.col)]
    doubled = csp.coo_matrix((cupy.concatenate([coo.data, coo.data]), tuple(twice)), shape=A.shape)
    assert residual(2 * A, vcycle.solve(doubled, b, **QUICK), b) < 1e-8


def test_what_is_not_contiguous_or_aligned_is_copied(A, b):
    wide = cupy.zeros((len(b), 2))
    wide[:, 0] = b
    assert residual(A, vcycle.solve(A, wide[:, 0], **QUICK), b) < 1e-8
    shifted = cupy.concatenate([cupy.zeros(1), b])[1:]
    assert residual(A, vcycle.solve(A, shifted, **QUICK), b) < 1e-8
    columns = cupy.asfortranarray(cupy.stack([b, 2 * b], axis=1))
    assert residual(A, vcycle.solve(A, columns, **QUICK), columns) < 1e-8


def test_the_callers_stream_is_waited_for(A, b):
    expected = vcycle.solve(A, b, **QUICK)
    stream = cupy.cuda.Stream(non_blocking=True)
    big = cupy.random.default_rng(0).random((3000, 3000))
    cupy.cuda.Device().synchronize()
    with stream:
        late = cupy.zeros_like(b)
        for _ in range(20):
            big = big @ big / 3000
        late += b  # queued behind what takes long
        x = vcycle.solve(A, late, **QUICK)
        y = 2 * x
    stream.synchronize()
    assert bool((y == 2 * expected).all())
    ml = vcycle.amg(A)
    with stream:
        late = cupy.zeros_like(b)
        for _ in range(20):
            big = big @ big / 3000
        late += b
        z = ml.cycle(late) + 0
    stream.synchronize()
    assert bool((z == ml.cycle(b)).all())


def test_solutions_outlive_everything_and_their_memory_is_used_again(A, b):
    ml = vcycle.amg(A)
    x = ml.solve(b)
    del ml
    gc.collect()
    held = x.copy()
    for _ in range(5):
        vcycle.solve(A, 3 * b, **QUICK)
    assert bool((x == held).all())


def test_the_matrix_is_kept_alive(large, b):
    ml = vcycle.amg(csp.csr_matrix(large.A))
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    rubbish = [cupy.full(len(large.A.data), cupy.nan) for _ in range(4)]
    x = ml.solve(b)
    assert residual(csp.csr_matrix(large.A), x, b) < 1e-8
    del rubbish


class Interface:
    """Only `__cuda_array_interface__`."""

    def __init__(self, array, **changed):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changed}


def test_the_interface_of_cuda_is_enough(A, b):
    x = vcycle.solve(A, Interface(b), **QUICK)
    assert residual(A, cupy.asarray(x), b) < 1e-8
    older = {key: value for key, value in b.__cuda_array_interface__.items() if key != "stream"}
    array = Interface(b)
    array.__cuda_array_interface__ = older
    assert residual(A, cupy.asarray(vcycle.solve(A, array, **QUICK)), b) < 1e-8


def test_bad_arrays_are_refused(A, b):
    host = np.ones(A.shape[0])
    with pytest.raises(ValueError, match="is not of cuda"):
        vcycle.solve(A, Interface(b, data=(host.ctypes.data, False)), **QUICK)
    for strides in (16,), (-8,), (12,):
        with pytest.raises(ValueError, match="not contiguous"):
            vcycle.solve(A, Interface(b, strides=strides), **QUICK)
    for changed in {"strides": (8, 8)}, {"shape": (-len(b),)}, {"typestr": "f"}, {"typestr": ">f8"}:
        with pytest.raises(ValueError, match="shape|of type"):
            vcycle.solve(A, Interface(b, **changed), **QUICK)
    with pytest.raises(ValueError, match="b has the shape"):
        vcycle.solve(A, b[:-1], **QUICK)
    with pytest.raises(TypeError, match="float32 or float64 is needed"):
        vcycle.solve(A, b.astype("i4"), **QUICK)
    with pytest.raises(TypeError, match="c16.*float32 or float64 is needed"):
        vcycle.solve(A.astype("c16"), b, **QUICK)
    with pytest.raises(ValueError, match="finite"):
        vcycle.solve(A, cupy.where(cupy.arange(len(b)) == 7, cupy.nan, b), **QUICK)
    broken = A.copy()
    broken.data[5] = cupy.inf
    with pytest.raises(ValueError, match="not finite"):
        vcycle.solve(broken, b, **QUICK)
    broken = A.copy()
    broken.indices[8] = 10**6  # the last one of row 1
    with pytest.raises(ValueError, match="row 1 do not increase, or are out of range"):
        vcycle.solve(broken, b, **QUICK)
    with pytest.raises(ValueError, match="only square"):
        vcycle.solve(A[:-1], b[:-1], **QUICK)
    with pytest.raises(TypeError, match="dense|ndarray"):
        vcycle.solve(cupy.eye(4), cupy.ones(4), **QUICK)


def systems(count=50, rows=40):
    rng = np.random.default_rng(2)
    values = rng.uniform(-1, 1, (count, 5, rows))
    values[:, 2] = 5.0
    offsets = [-3, -1, 0, 1, 3]
    return [sp.dia_array((one, offsets), shape=(rows, rows)).tocsr() for one in values]


@pytest.mark.parametrize("options", [{}, {"preconditioner": "ilu0"}, {"method": "gmres", "preconditioner": "isai"}, {"method": "direct"}])
def test_batches_in_place(options):
    host = systems()
    b = cupy.random.default_rng(3).random((len(host), 40))
    dense = cupy.asarray(np.array([one.toarray() for one in host]))
    for A in (dense, [csp.csr_matrix(one) for one in host]):
        if A is dense and options.get("preconditioner") == "isai":
            continue  # its inverse
        (up, down), x = moved(lambda: vcycle.batch.solve(A, b, **options))
        assert isinstance(x, cupy.ndarray) and x.shape == b.shape
        assert float(cupy.linalg.norm(cupy.einsum("sij,sj->si", dense, x) - b) / cupy.linalg.norm(b)) < 1e-7
        assert up < dense.nbytes / 8 and down < dense.nbytes / 8, (up, down)
    x = vcycle.batch.solve(dense.astype("f4"), b.astype("f4"), x0=x.astype("f4"), rtol=1e-5)
    assert x.dtype == cupy.float32


def test_a_singular_system_of_a_gpu_is_named():
    dense = cupy.asarray(np.array([one.toarray() for one in systems()]))
    dense[7, 4] = 0.0
    b = cupy.ones((50, 40))
    with pytest.raises(vcycle.batch.NotAllConverged, match=r"1 of 50 systems .*: 7 \(breakdown, row") as told:
        vcycle.batch.solve(dense, b, method="direct")
    assert bool(cupy.allclose(dense[8] @ told.value.x[8], 1.0))
    x, outcomes = vcycle.batch.solve(dense[:0], b[:0], return_outcomes=True)
    assert x.shape == (0, 40) and outcomes == []
    with pytest.raises(TypeError, match="i4.*float32 or float64 is needed"):
        vcycle.batch.solve(dense, b.astype("i4"))


@pytest.mark.parametrize("method", ["bicgstab", "direct"])
def test_complex_batches_in_place(method):
    dense = cupy.asarray(np.array([one.toarray() for one in systems()])) * (1 + 0.5j)
    b = cupy.random.default_rng(3).random(dense.shape[:2])
    for A, right in ((dense, b), (dense, b * 1j), (dense.real.copy(), b * 1j), ([csp.csr_matrix(one) for one in dense], b)):
        x = vcycle.batch.solve(A, right, method=method, rtol=1e-10)
        product = cupy.stack([one @ own for one, own in zip(A, x)])
        assert x.dtype == cupy.complex128 and bool(cupy.allclose(product, right))
    x = vcycle.batch.solve(dense.astype("c8"), b.astype("c8"), x0=x.astype("c8"), method=method, rtol=1e-5)
    assert x.dtype == cupy.complex64


@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_triplets_are_assembled_in_place(large, b, kind):
    coo = large.A.tocoo()
    half = 0.5 * coo.data
    rows, columns, values = (np.concatenate([part, part]) for part in (coo.row.astype(kind), coo.col.astype(kind), half))
    rows, columns, values = map(cupy.asarray, (rows, columns, values))
    (up, down), assembly = moved(lambda: vcycle.Assembly(large.A.shape, rows, columns))
    assert up < 10**5 and down < 10**5, (up, down)
    for factor in (1.0, 2.0):
        (up, down), A = moved(lambda: assembly.matrix(factor * values))
        assert up < 10**5 and down < 10**5, (up, down)
        assert isinstance(A, csp.csr_matrix)
        assert abs(A.get() - factor * large.A).max() < 1e-12
        assert residual(A, vcycle.solve(A, b, **QUICK), b) < 1e-8
    with pytest.raises(ValueError, match="outside of 0..10"):
        vcycle.Assembly((10, 10), rows, columns)
    with pytest.raises(TypeError, match="int32 or int64 is needed"):
        vcycle.Assembly(large.A.shape, rows.astype("f8"), columns)
    with pytest.raises(ValueError, match="one a triplet"):
        assembly.matrix(values[:-1])


def test_pytorch(large):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    parts = [torch.as_tensor(part, device="cuda") for part in (large.A.indptr, large.A.indices, large.A.data)]
    A = torch.sparse_csr_tensor(*parts, size=large.A.shape)
    b = torch.as_tensor(large.b, device="cuda")
    x = vcycle.solve(A, b, **QUICK)
    assert isinstance(x, torch.Tensor) and x.device == b.device
    assert float(torch.linalg.norm(b - A @ x) / torch.linalg.norm(b)) < 1e-8


def test_jax(large):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no GPU")
    from jax.experimental import sparse

    parts = [jax.numpy.asarray(part) for part in (large.A.data.astype("f4"), large.A.indices, large.A.indptr)]
    A, b = sparse.BCSR(tuple(parts), shape=large.A.shape), jax.numpy.asarray(large.b, dtype="f4")
    x = vcycle.solve(A, b, rtol=1e-6, **QUICK)
    assert isinstance(x, jax.Array) and float(abs(A @ x - b).max()) < 1e-2
