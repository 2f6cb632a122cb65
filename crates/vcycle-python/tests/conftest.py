"""What the tests share."""

import os

import numpy as np
import pytest

import vcycle

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def poisson():
    return vcycle.gallery.build("poisson5:50")


@pytest.fixture(scope="session")
def elasticity():
    return vcycle.gallery.build("elasticity:6x3x3")


@pytest.fixture
def residual():
    """The relative residual of the worst column."""

    def of(A, x, b):
        r = np.atleast_2d((A @ x - b).T)
        return float((np.linalg.norm(r, axis=1) / np.linalg.norm(np.atleast_2d(b.T), axis=1)).max())

    return of
