"""`vcycle.solve`: formats, types, right-hand sides, options, outcomes."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import vcycle


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "lil", "dia"])
def test_every_format_is_solved(poisson, residual, format):
    A = poisson.A.asformat(format)
    assert residual(poisson.A, vcycle.solve(A, poisson.b), poisson.b) < 1e-8


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
def test_matrices_and_arrays_are_alike(poisson, residual, kind):
    assert residual(poisson.A, vcycle.solve(kind(poisson.A), poisson.b), poisson.b) < 1e-8


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64, np.complex64, np.complex128, np.longdouble])
def test_every_type_is_solved(poisson, residual, index, value):
    A = poisson.A.astype(value)
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    x = vcycle.solve(A, poisson.b.astype(value), rtol=1e-3 if value in (np.float32, np.complex64) else 1e-8)
    assert x.dtype == (np.float64 if value is np.longdouble else value)
    assert residual(poisson.A, x, poisson.b) < (1e-3 if value in (np.float32, np.complex64) else 1e-8)


def test_any_tolerance_ends_the_solve(poisson, residual):
    def reached(**tolerances):
        x = vcycle.solve(poisson.A, poisson.b, solver="cg", preconditioner="jacobi", **tolerances)
        return residual(poisson.A, x, poisson.b)

    norm = np.linalg.norm(poisson.b)
    assert 1e-8 < reached(rtol=0, atol=1e-3 * norm) <= 1e-3
    assert 1e-8 < reached(rtol=0, reduction=1e-3) <= 1e-3
    assert 1e-8 < reached(rtol=1e-3, atol=1e-12, reduction=1e-12) <= 1e-3
    assert reached(atol=1e-12) <= 1e-8


def test_starts_from_a_guess(poisson, residual):
    options = {"solver": "cg", "preconditioner": "amg", "return_outcome": True}
    x, outcome = vcycle.solve(poisson.A, poisson.b, **options)
    again, none = vcycle.solve(poisson.A, poisson.b, x, **options)
    assert outcome.iterations > 3 and none.iterations == 0 and np.array_equal(again, x)
    _, some = vcycle.solve(poisson.A, poisson.b, x0=x, rtol=1e-12, **options)
    assert 0 < some.iterations < vcycle.solve(poisson.A, poisson.b, rtol=1e-12, **options)[1].iterations
    with pytest.raises(ValueError, match=r"x0 has the shape \(2500, 2\), b has \(2500,\)"):
        vcycle.solve(poisson.A, poisson.b, x0=np.ones((2500, 2)))


@pytest.mark.parametrize("of_A, of_b", [(complex, complex), (complex, float), (float, complex)])
def test_complex_guesses(poisson, residual, of_A, of_b):
    A, b = poisson.A.astype(of_A), poisson.b.astype(of_b)
    x = vcycle.solve(A, b, rtol=1e-12)
    y, outcome = vcycle.solve(A, b, x0=x.astype(complex), return_outcome=True)
    assert outcome.iterations == 0 and np.allclose(x, y)


def test_names_of_scipy_and_pyamg_are_understood(poisson):
    _, outcome = vcycle.solve(poisson.A, poisson.b, tol=1e-3, maxiter=77, return_outcome=True)
    assert outcome.config["stop"]["rtol"] == 1e-3 and outcome.config["stop"]["max-iterations"] == 77
    _, outcome = vcycle.amg(poisson.A).solve(poisson.b, tol=1e-2, return_outcome=True)
    assert outcome.config["stop"]["rtol"] == 1e-2


def test_the_matrix_is_left_alone(poisson):
    before = [part.copy() for part in (poisson.A.data, poisson.A.indices, poisson.A.indptr)]
    vcycle.solve(poisson.A, poisson.b, solver="cg", preconditioner="ic0")
    after = (poisson.A.data, poisson.A.indices, poisson.A.indptr)
    assert all(np.array_equal(a, b) for a, b in zip(before, after))


def test_a_hierarchy_does_not_see_later_changes(poisson, residual):
    A = poisson.A.copy()
    ml = vcycle.amg(A)
    A.data[:] = 0
    assert residual(poisson.A, ml.solve(poisson.b), poisson.b) < 1e-8


def test_a_matrix_that_is_not_symmetric_is_not_transposed():
    A = vcycle.gallery.build("convdiff7:8,20").A
    b = np.arange(1.0, 513.0)
    expected = sp.linalg.spsolve(A.tocsc(), b)
    for same in (A, A.tocsc(), A.tocoo()):
        assert np.allclose(vcycle.solve(same, b, rtol=1e-12), expected)


def test_unsorted_indices_and_duplicates_are_understood_as_by_scipy():
    A = sp.csr_array((np.array([1.0, 2.0, -1.0, 1.0, 4.0]), [1, 0, 1, 0, 1], [0, 3, 5]), shape=(2, 2))
    assert not A.has_canonical_format
    x = vcycle.solve(A, np.array([2.0, 5.0]))
    assert np.allclose(x, [1.0, 1.0])
    assert A.nnz == 5, "the caller's matrix is left alone"


def test_many_right_hand_sides_stop_on_their_own(poisson, residual):
    b = np.column_stack([poisson.b, np.arange(2500.0), np.zeros(2500)])
    x, outcome = vcycle.solve(poisson.A, b, return_outcome=True, solver="cg", preconditioner="amg")
    assert x.shape == b.shape and np.all(x[:, 2] == 0)
    assert residual(poisson.A, x[:, :2], b[:, :2]) < 1e-8
    assert [c.status for c in outcome.columns] == ["converged"] * 3
    assert outcome.columns[2].iterations == 0
    assert np.array_equal(vcycle.solve(poisson.A, np.asfortranarray(b), solver="cg", preconditioner="amg"), x)
    assert vcycle.solve(poisson.A, poisson.b[:, np.newaxis]).shape == (2500, 1)


def test_a_complex_right_hand_side_of_a_real_matrix(poisson, residual):
    b = poisson.b * (1 + 2j)
    x = vcycle.solve(poisson.A, b)
    assert x.dtype == np.complex128 and residual(poisson.A, x, b) < 1e-8
    assert vcycle.solve(poisson.A, b[:, np.newaxis]).shape == (2500, 1)


def test_a_complex_matrix(residual):
    A = vcycle.gallery.build("poisson5:30").A.astype(complex) + 0.1j * sp.eye_array(900)
    b = np.ones(900)
    for options in [{}, {"preconditioner": "amg", "coarsest_rows": 50}]:
        x = vcycle.solve(A.tocsr(), b, **options)
        assert x.dtype == np.complex128 and residual(A, x, b) < 1e-8


def test_a_complex_problem_of_the_gallery(residual):
    waves = vcycle.gallery.build("helmholtz:40,10,0.5")
    assert waves.A.dtype == np.complex128 and waves.grid == (40, 40, 1)
    x = vcycle.solve(waves.A, waves.b, preconditioner="amg")
    assert residual(waves.A, x, waves.b) < 1e-8


def test_keywords_mean_what_they_mean_in_files(poisson, tmp_path):
    _, outcome = vcycle.solve(
        poisson.A,
        poisson.b,
        solver={"name": "gmres", "restart": 7},
        coarsening="pmis",
        truncation={"max_elements": 3},
        pre_sweeps=2,
        max_iterations=np.int64(77),
        threads=1,
        return_outcome=True,
    )
    config = outcome.config
    assert config["solver"] == {"name": "gmres", "restart": 7, "basis": "working"}
    assert config["preconditioner"]["coarsening"] == "pmis"
    assert config["preconditioner"]["truncation"]["max-elements"] == 3
    assert config["preconditioner"]["pre-sweeps"] == 2
    assert config["stop"]["max-iterations"] == 77 and config["run"]["threads"] == 1

    file = tmp_path / "mine.toml"
    file.write_text('solver = "cg"\npreconditioner = "ssor"\n[stop]\nrtol = 1e-3\n')
    _, outcome = vcycle.solve(poisson.A, poisson.b, config=file, rtol=1e-4, return_outcome=True)
    assert outcome.config["preconditioner"]["name"] == "ssor"
    assert outcome.config["stop"]["rtol"] == 1e-4
    _, outcome = vcycle.solve(poisson.A, poisson.b, preset="paper-pgm", cycle="w", return_outcome=True)
    assert outcome.config["preconditioner"]["cycle"] == "w"


def test_parameters_of_what_is_chosen_are_keywords(poisson, residual):
    _, outcome = vcycle.solve(poisson.A, poisson.b, solver="gmres", restart=9, preconditioner="ssor",
                              omega=1.2, return_outcome=True)
    assert outcome.config["solver"]["restart"] == 9 and outcome.config["preconditioner"]["omega"] == 1.2
    x, outcome = vcycle.solve(poisson.A, poisson.b, preconditioner="struct-mg", pre_sweeps=2,
                              precision="K64P32D32", return_outcome=True)
    assert outcome.config["preconditioner"]["pre-sweeps"] == 2 and residual(poisson.A, x, poisson.b) < 1e-8
    assert outcome.config["preconditioner"]["precision"] == "sp"


def test_structured_multigrid_is_updated(poisson, residual):
    ml = vcycle.amg(poisson.A, preconditioner="struct-mg", precision="dp/hp", levels=[{"from": 1, "pre_sweeps": 1}])
    assert residual(poisson.A, ml.solve(poisson.b), poisson.b) < 1e-8
    twice = 2e8 * poisson.A
    assert residual(twice, ml.update(twice).solve(poisson.b), poisson.b) < 1e-8


@pytest.mark.parametrize("precision", ["dp", "sp", "dp/sp", "dp-sp", "dp-sp/dp-hp"])
def test_precisions(poisson, residual, precision):
    assert residual(poisson.A, vcycle.solve(poisson.A, poisson.b, precision=precision), poisson.b) < 1e-8


@pytest.mark.parametrize("solver", [name for name in vcycle.options()["solvers"] if name != "auto"])
def test_every_solver(poisson, residual, solver):
    small = vcycle.gallery.build("poisson5:12")
    options = {} if solver == "direct" else {"preconditioner": "ssor"}
    x = vcycle.solve(small.A, small.b, solver=solver, **options)
    assert residual(small.A, x, small.b) < 1e-8


def test_an_outcome_tells_all(poisson):
    x, outcome = vcycle.solve(poisson.A, poisson.b, solver="cg", preconditioner="amg", return_outcome=True)
    assert outcome.converged and outcome.x is x and "converged after" in str(outcome)
    assert outcome.history[0] == 1.0 and outcome.history[-1] <= 1e-8
    assert outcome.levels[0].rows == 2500 and outcome.setup_seconds > 0 and outcome.bytes > 0
    assert "Outcome(status='converged'" in repr(outcome)


def test_not_converging_is_an_exception_that_knows_the_outcome(poisson):
    options = {"solver": "cg", "preconditioner": "jacobi", "max_iterations": 3}
    with pytest.raises(vcycle.NotConverged, match="iteration-limit after 3") as caught:
        vcycle.solve(poisson.A, poisson.b, **options)
    outcome = caught.value.outcome
    assert outcome.iterations == 3 and len(outcome.history) == 4 and np.any(outcome.x != 0)
    assert pickle.loads(pickle.dumps(caught.value)).outcome.status == "iteration-limit"
    x, again = vcycle.solve(poisson.A, poisson.b, check=False, return_outcome=True, **options)
    assert not again.converged and np.array_equal(x, outcome.x)


def test_a_singular_system_is_solved_up_to_constants(residual):
    n = 40
    K = sp.diags_array([-np.ones(n - 1), np.r_[1, 2 * np.ones(n - 2), 1], -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = (sp.kron(K, sp.eye_array(n)) + sp.kron(sp.eye_array(n), K)).tocsr()
    b = np.sin(np.arange(n * n))
    b -= b.mean()
    x = vcycle.solve(A, b)
    assert residual(A, x, b) < 1e-7 and abs(x.mean()) < 1e-10
    ml = vcycle.amg(A)
    assert residual(A, ml.solve(b), b) < 1e-7
    with pytest.warns(vcycle.Inconsistent):
        ml.solve(b + 1)


@pytest.mark.parametrize("A, b, outside", [
    ([[1, -1], [-1, 1]], [1, 1], 1.0),
    ([[1, 1], [1, 1]], [1, 0], np.sqrt(0.5)),
    ([[0]], [2], 1.0),
])
def test_what_no_x_solves_is_inconsistent(A, b, outside):
    A, b = sp.csr_array(np.array(A, dtype=float)), np.array(b, dtype=float)
    with pytest.warns(vcycle.Inconsistent, match="outside the range"):
        x, outcome = vcycle.solve(A, b, return_outcome=True)
    assert outcome.status == "inconsistent" and not outcome.converged
    assert outcome.outside_range == pytest.approx(outside) == outcome.relative_residual
    assert np.allclose(x, np.linalg.pinv(A.toarray()) @ b)
    with warnings.catch_warnings():
        warnings.simplefilter("error", vcycle.Inconsistent)
        with pytest.raises(vcycle.Inconsistent):
            vcycle.solve(A, b)


def test_a_null_space_that_is_named_is_left_out():
    A = sp.csr_array([[1.0, -1.0], [-1.0, 1.0]])
    x, outcome = vcycle.solve(A, np.array([3.0, 1.0]), nullspace="constant", return_outcome=True)
    assert outcome.converged and outcome.outside_range == pytest.approx(np.sqrt(0.8)) and np.allclose(x, [0.5, -0.5])


@pytest.mark.parametrize("value", [np.float32, np.complex64])
def test_the_outcome_is_that_of_the_rounded_solution(poisson, residual, value):
    A, b = poisson.A.astype(value), poisson.b.astype(value)
    # A tolerance that was not given is no reason for a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error", vcycle.AccuracyLimit)
        x, outcome = vcycle.solve(A, b, return_outcome=True)
        if value is np.float32:
            vcycle.amg(A).solve(b)
    assert outcome.status == "accuracy-limit"
    with pytest.warns(vcycle.AccuracyLimit):
        vcycle.solve(A, b, rtol=1e-8)
    wide = [array.astype(np.complex128) for array in (A, x, b)]
    assert x.dtype == value and residual(*wide) > 1e-8
    assert outcome.relative_residual == pytest.approx(residual(*wide), rel=1e-6)
    assert vcycle.solve(A, b, rtol=1e-3, return_outcome=True)[1].converged


def test_elasticity_knows_its_rigid_bodies(elasticity, residual):
    A, b = elasticity.A, elasticity.b
    for known in (
        {"near_nullspace": elasticity.near_nullspace, "block_size": 3},
        {"coordinates": elasticity.coordinates},
    ):
        _, outcome = vcycle.solve(A, b, preconditioner="amg", solver="cg", coarsest_rows=50,
                                  return_outcome=True, **known)
        assert outcome.converged and outcome.levels[1].rows % 6 == 0
    _, outcome = vcycle.solve(A.tobsr((3, 3)), b, preconditioner="amg", solver="cg",
                              coarsest_rows=50, return_outcome=True)
    assert outcome.levels[1].rows % 3 == 0


def test_threads_do_not_change_a_bit(poisson):
    options = {"solver": "cg", "preconditioner": "amg"}
    one, two = (vcycle.solve(poisson.A, poisson.b, threads=n, **options) for n in (1, 2))
    assert np.array_equal(one, two)


def test_devices_are_listed():
    assert vcycle.devices()[:2] == ["cpu", "reference"]


@pytest.mark.parametrize("device", vcycle.devices()[2:])
def test_devices_that_are_there_solve(device, residual):
    small = vcycle.gallery.build("poisson5:30")
    ml = vcycle.amg(small.A, device=device)
    x, outcome = ml.solve(small.b, return_outcome=True)
    assert outcome.config["run"]["device"] == device and residual(small.A, x, small.b) < 1e-8
    assert (ml.levels[0].A != small.A).nnz == 0
