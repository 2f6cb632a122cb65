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


def test_bad_input():
    matrices = banded()
    b = np.ones((SYSTEMS, ROWS))
    other = matrices[:1] + [scipy.sparse.eye_array(ROWS).tocsr()]
    for A, rhs, options, words in (
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
