"""Many small systems at once."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import vcycle

SYSTEMS, ROWS = 40, 30


def banded(seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(SYSTEMS):
        off = rng.uniform(-1, 1, (4, ROWS))
        diagonals = [off[0], off[1], np.full(ROWS, 5.0), off[2], off[3]]
        made.append(scipy.sparse.dia_array((np.array(diagonals), [-3, -1, 0, 1, 3]), shape=(ROWS, ROWS)).tocsr())
    return made


@pytest.mark.parametrize("method", ["bicgstab", "gmres", "direct"])
@pytest.mark.parametrize("preconditioner", ["none", "jacobi", "block-jacobi", "ilu0", "isai"])
def test_solutions_are_those_of_lapack(method, preconditioner):
    matrices = banded()
    dense = np.array([one.toarray() for one in matrices])
    b = np.random.default_rng(1).standard_normal((SYSTEMS, ROWS))
    expected = np.linalg.solve(dense, b[:, :, None])[:, :, 0]
    # Of dense matrices isai is the inverse, which takes long.
    for A in (matrices,) if preconditioner == "isai" else (matrices, dense):
        x = vcycle.batch.solve(A, b, method=method, preconditioner=preconditioner, rtol=1e-12)
        assert np.allclose(x, expected, rtol=1e-9, atol=1e-10)


def test_complex_and_symmetric_systems():
    matrices = banded()
    b = np.ones((SYSTEMS, ROWS))
    complex_ones = [one + 1j * scipy.sparse.eye_array(ROWS) for one in matrices]
    x = vcycle.batch.solve(complex_ones, b, method="gmres", threads=2)
    assert np.iscomplexobj(x)
    assert np.allclose([one @ y for one, y in zip(complex_ones, x)], b)
    symmetric = [one + one.T for one in matrices]
    x, outcomes = vcycle.batch.solve(symmetric, b, method="cg", return_outcomes=True)
    assert all(outcome.converged and outcome.iterations < 30 for outcome in outcomes)
    again, outcomes = vcycle.batch.solve(symmetric, b, x0=x, method="cg", return_outcomes=True)
    assert all(outcome.iterations == 0 for outcome in outcomes)


def test_one_bad_system_is_named_and_the_others_are_solved():
    dense = np.array([one.toarray() for one in banded()])
    dense[7, 4] = 0.0
    b = np.ones((SYSTEMS, ROWS))
    with pytest.raises(vcycle.batch.NotAllConverged, match=r"1 of 40 systems .*: 7 \(breakdown, row") as told:
        vcycle.batch.solve(dense, b, method="direct")
    assert [outcome.converged for outcome in told.value.outcomes].count(False) == 1
    assert np.allclose(dense[8] @ told.value.x[8], 1.0)


DEVICES = [name for name in vcycle.devices() if ":" in name]


@pytest.mark.skipif(not DEVICES, reason="there is no device (scripts/opencl-cpu makes one)")
@pytest.mark.parametrize("options", [{"method": "direct"}, {"preconditioner": "ilu0"}, {"preconditioner": "isai"}])
def test_devices_solve_as_the_processor_does(options):
    matrices, b = banded(), np.ones((SYSTEMS, ROWS))
    expected = vcycle.batch.solve(matrices, b, **options)
    x = vcycle.batch.solve(matrices, b, device=DEVICES[0], **options)
    assert np.allclose(x, expected, rtol=1e-6, atol=1e-7)
    matrices[3] = 0.0 * matrices[3]
    with pytest.raises(vcycle.batch.NotAllConverged, match=r"1 of 40 systems .*: 3 \(breakdown, row 0 has no pivot"):
        vcycle.batch.solve(matrices, b, device=DEVICES[0], **options)


def test_empty_batches_and_values_that_are_not_finite():
    x, outcomes = vcycle.batch.solve(np.zeros((0, 4, 4)), np.zeros((0, 4)), return_outcomes=True)
    assert x.shape == (0, 4) and outcomes == []
    dense = np.array([one.toarray() for one in banded()[:3]])
    b = np.ones((3, ROWS))
    dense[1, 2, 2] = np.nan
    b[2, 5] = np.inf
    for method in ("bicgstab", "direct"):
        _, outcomes = vcycle.batch.solve(dense, b, method=method, check=False, return_outcomes=True)
        assert [outcome.status for outcome in outcomes] == ["converged", "non-finite", "non-finite"]


def test_bad_input():
    matrices = banded()
    b = np.ones((SYSTEMS, ROWS))
    other = matrices[:1] + [scipy.sparse.eye_array(ROWS).tocsr()]
    for A, rhs, words in (
        ([one.toarray() for one in matrices], b, "matrix 0 is a ndarray, not sparse"),
        (np.full((2, 3, 3), "x"), np.ones((2, 3)), "A: expected numbers"),
    ):
        with pytest.raises(TypeError, match=words):
            vcycle.batch.solve(A, rhs)
    for A, rhs, options, words in (
        ([], b, {}, "at least one"),
        ("abc", b, {}, "at least one"),
        (matrices[0], b, {}, "at least one"),
        (np.zeros((2, 0, 0)), np.zeros((2, 0)), {}, "systems x n x n"),
        (matrices, b, {"method": "cg", "preconditioner": "isai"}, "isai is not symmetric"),
        (matrices, b[1:], {}, "b: expected an array of 40 x 30"),
        (other, b[:2], {}, "matrix 1 has another pattern"),
        (matrices, b, {"method": "cgs"}, "unknown method `cgs`"),
        (matrices, b, {"tolerance": 1.0}, "unknown field"),
        (matrices, b, {"restart": 0}, "restart"),
        (np.ones((2, 3, 4)), b, {}, "systems x n x n"),
        (matrices, b, {"x0": b[1:]}, "x0: expected"),
    ):
        with pytest.raises(ValueError, match=words):
            vcycle.batch.solve(A, rhs, **options)
