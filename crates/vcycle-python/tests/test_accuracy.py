"""Ill-conditioned systems: the answer is as accurate as double precision allows, and says so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import vcycle


def line(n: int) -> Any:
    return sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))


def laplacian(n: int) -> Any:
    return sp.csr_array(sp.kronsum(line(n), line(n)))


def convection(n: int, speed: float) -> Any:
    upwind = sp.diags_array([-1.0, 1.0], offsets=[-1, 0], shape=(n, n))
    return laplacian(n) + speed * sp.kron(sp.eye_array(n), upwind)


def diagonal(n: int, decades: float, seed: int) -> Any:
    powers = np.random.default_rng(seed).uniform(-decades / 2, decades / 2, n)
    return sp.diags_array(10.0**powers)


def scaled(a: Any, left: float, right: float) -> Any:
    n = a.shape[0]
    return diagonal(n, left, 1) @ a @ diagonal(n, right, 2)


def symmetric(a: Any, decades: float) -> Any:
    d = diagonal(a.shape[0], decades, 3)
    return d @ a @ d


def neumann(n: int, shift: float) -> Any:
    ends = line(n).tolil()
    ends[0, 0] = ends[n - 1, n - 1] = 1.0
    return sp.kronsum(ends, ends) + shift * sp.eye_array(n * n)


def beam(n: int) -> Any:
    """Stiff against stretching, soft against bending."""
    weak = 1e-3 * sp.eye_array(n)
    return sp.block_array([[1e4 * line(n), weak], [weak, line(n) @ line(n)]])


# Condition numbers are between 1e8 and 1e14; the last six are not symmetric.
MATRICES = {
    "plate": lambda: symmetric(laplacian(80) @ laplacian(80), 2),
    "sixth order": lambda: laplacian(40) @ laplacian(40) @ laplacian(40),
    "beam": lambda: beam(1500),
    "scaled by 1e4": lambda: symmetric(laplacian(40), 4),
    "scaled by 1e5, larger": lambda: symmetric(laplacian(100), 5),
    "nearly singular": lambda: neumann(60, 1e-9),
    "more nearly singular": lambda: neumann(60, 1e-12),
    "convection, rows": lambda: scaled(convection(50, 5.0), 6, 0),
    "convection, columns": lambda: scaled(convection(50, 5.0), 0, 8),
    "convection, both": lambda: scaled(convection(50, 5.0), 6, 6),
    "convection of a plate": lambda: convection(50, 3.0) @ convection(50, 1.0) @ laplacian(50),
    "graded": lambda: sp.diags_array(np.logspace(0, -10, 3000)) @ convection(60, 1.0)[:3000, :3000],
    "large terms that cancel": lambda: scaled(convection(30, 1.0), 8, 4),
}


def backward_errors(a: Any, b: Any, x: Any) -> tuple[float, float]:
    """Normwise and componentwise, independently of vcycle."""
    r = b - a @ x
    terms = abs(a) @ abs(x) + abs(b)
    norm = abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    return float(np.abs(r).max() / norm), float(np.max(np.abs(r) / terms))


@pytest.mark.parametrize("name", MATRICES)
def test_every_row_of_an_ill_conditioned_system_is_solved(name: str) -> None:
    a = sp.csr_array(MATRICES[name]())
    n = a.shape[0]
    for b in (np.ones(n), a @ np.ones(n), np.random.default_rng(0).standard_normal(n)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", vcycle.AccuracyLimit)
            x, outcome = vcycle.solve(a, b, return_outcome=True)
        assert outcome.status in ("converged", "accuracy-limit"), outcome
        normwise, componentwise = backward_errors(a, b, x)
        assert normwise < 1e-14, outcome
        assert componentwise < 1e-13, outcome
        assert outcome.backward_error < 1e-14, outcome


def test_the_limit_is_a_warning_that_can_be_an_exception() -> None:
    a = sp.csr_array(laplacian(60) @ laplacian(60))
    with pytest.warns(vcycle.AccuracyLimit, match="condition number at least"):
        x, outcome = vcycle.solve(a, np.ones(3600), rtol=1e-15, return_outcome=True)
    assert outcome.status == "accuracy-limit"
    assert np.isfinite(x).all()
    assert outcome.condition > 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("error", vcycle.AccuracyLimit)
        with pytest.raises(vcycle.AccuracyLimit):
            vcycle.solve(a, np.ones(3600), rtol=1e-15)
