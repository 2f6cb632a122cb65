"""The lowest modes of a membrane by LOBPCG, preconditioned by a multigrid cycle.

python eigenmodes.py [POINTS ALONG AN AXIS]
"""

import sys

import numpy as np
from scipy.sparse.linalg import lobpcg

import vcycle

n = int(sys.argv[1]) if len(sys.argv) > 1 else 40
A = vcycle.gallery.build(f"poisson5:{n}").A
M = vcycle.amg(A, precision="dp").as_preconditioner()
guess = np.random.default_rng(0).random((n * n, 6))
values, modes = lobpcg(A, guess, M=M, tol=1e-6, maxiter=60, largest=False)

along = 4 * np.sin(np.arange(1, n) * np.pi / (2 * (n + 1))) ** 2
exact = np.sort(np.add.outer(along, along).ravel())[:6]
print("found", *(f"{value:.6f}" for value in np.sort(values)))
print("exact", *(f"{value:.6f}" for value in exact))
assert np.allclose(np.sort(values)[:5], exact[:5], rtol=1e-5)
