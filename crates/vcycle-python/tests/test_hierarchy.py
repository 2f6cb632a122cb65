"""`vcycle.amg`, `vcycle.preconditioner` and pictures."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import vcycle


@pytest.fixture(scope="module")
def ml():
    return vcycle.amg(vcycle.gallery.build("poisson5:50").A, coarsest_rows=30)


def test_levels_are_galerkin_products(poisson, ml):
    assert len(ml.levels) >= 3 and ml.levels[-1].P is None and ml.levels[-1].R is None
    assert (ml.levels[0].A != poisson.A).nnz == 0
    for fine, coarse in zip(ml.levels, ml.levels[1:]):
        assert fine.P.shape == (fine.A.shape[0], coarse.A.shape[0])
        assert abs(fine.R @ fine.A @ fine.P - coarse.A).max() < 1e-12
        assert coarse.summary.rows == coarse.A.shape[0] and coarse.summary.nonzeros == coarse.A.nnz


def test_solves_from_a_guess(poisson, ml, residual):
    x, outcome = ml.solve(poisson.b, return_outcome=True)
    assert residual(poisson.A, x, poisson.b) < 1e-8
    _, again = ml.solve(poisson.b, x0=x, return_outcome=True)
    assert again.iterations == 0
    assert ml.solve(poisson.b, solver="gmres", rtol=1e-3, return_outcome=True)[1].iterations < outcome.iterations
    assert outcome.config["solver"]["name"] == "cg"


def test_many_right_hand_sides(poisson, ml, residual):
    b = np.random.default_rng(1).random((2500, 3))
    x = ml.solve(b)
    assert x.shape == b.shape and residual(poisson.A, x, b) < 1e-8


def test_criteria_of_the_set_up_hold_and_can_be_overridden(poisson):
    ml = vcycle.amg(poisson.A, rtol=1e-3, max_iterations=9, solver="fcg")
    _, outcome = ml.solve(poisson.b, return_outcome=True)
    assert outcome.config["stop"]["rtol"] == 1e-3 and outcome.config["solver"]["name"] == "fcg"
    with pytest.raises(vcycle.NotConverged):
        ml.solve(poisson.b, rtol=1e-12, max_iterations=2)


def test_updates(poisson, residual):
    ml = vcycle.amg(poisson.A)
    shifted = poisson.A + sp.eye_array(2500)
    rows = ml.summary
    assert ml.update(shifted) is ml
    assert residual(shifted, ml.solve(poisson.b), poisson.b) < 1e-8
    assert [level.rows for level in ml.summary] == [level.rows for level in rows]
    assert abs(ml.levels[0].A - shifted).max() == 0
    with pytest.raises(ValueError, match="row 0 has not the pattern"):
        ml.update(vcycle.gallery.build("poisson9:50").A)
    with pytest.raises(ValueError, match="shape"):
        ml.update(sp.eye_array(3).tocsr())


@pytest.mark.parametrize("method", [sla.cg, sla.bicgstab, sla.minres])
def test_preconditions_scipy(poisson, ml, method):
    steps = []
    x, info = method(poisson.A, poisson.b, M=ml.as_preconditioner(), callback=lambda _: steps.append(1))
    assert info == 0 and len(steps) < 30


def test_is_a_fixed_linear_operator(ml):
    r = np.random.default_rng(2).random((2500, 2))
    M = ml.as_preconditioner()
    assert np.allclose(M @ r, np.column_stack([ml.cycle(r[:, 0]), ml.cycle(r[:, 1])]), rtol=1e-4)
    assert M.shape == (2500, 2500) and M.dtype == np.float64


@pytest.mark.parametrize("name", ["jacobi", "ssor", "ic0", "ilu0", "fsai", "isai", "amg"])
def test_other_preconditioners(poisson, name):
    x, info = sla.cg(poisson.A, poisson.b, M=vcycle.preconditioner(poisson.A, name))
    assert info == 0


def test_prints_and_displays(ml):
    assert "operator complexity" in str(ml) and str(ml).startswith("level")
    assert repr(ml).startswith(f"<vcycle.Hierarchy: {len(ml.levels)} levels, 2,500 to")
    page = ml._repr_html_()
    assert page.count("<tr>") == len(ml.levels) + 1 and "2,500" in page
    _, outcome = ml.solve(np.ones(2500), return_outcome=True)
    assert "<svg" in outcome._repr_html_() and "converged" in outcome._repr_html_()
    assert ml.operator_complexity > 1 and ml.grid_complexity > 1


def test_plots(ml, poisson):
    pytest.importorskip("matplotlib")
    _, outcome = ml.solve(poisson.b, return_outcome=True)
    assert outcome.plot().get_ylabel() == "relative residual"
    assert len(ml.plot().patches) == 2 * len(ml.levels)
    assert len(ml.plot_spy().axes) == len(ml.levels)
    y, x = np.divmod(np.arange(2500), 50)
    for coarsening in ("sa", "pmis"):
        chosen = vcycle.amg(poisson.A, coarsening=coarsening)
        assert chosen.plot_coarsening(np.column_stack([x, y])).collections
    with pytest.raises(ValueError, match=r"\(2500, 2\)"):
        ml.plot_coarsening(np.zeros((3, 2)))


def test_a_system_of_several_unknowns(elasticity, residual):
    ml = vcycle.amg(elasticity.A, elasticity.near_nullspace, block_size=3, coarsest_rows=50)
    assert ml.levels[1].A.shape[0] % 6 == 0
    assert residual(elasticity.A, ml.solve(elasticity.b), elasticity.b) < 1e-8
