"""A script for PyAMG, ported line by line: the old line is the comment above the new one.

python from_pyamg.py [POINTS ALONG AN AXIS]
"""

import sys

import numpy as np

# import pyamg
import vcycle

n = int(sys.argv[1]) if len(sys.argv) > 1 else 40

# A = pyamg.gallery.poisson((n, n), format="csr")
A = vcycle.gallery.build(f"poisson5:{n}").A
b = np.random.default_rng(0).random(A.shape[0])

# ml = pyamg.smoothed_aggregation_solver(A, B=None, max_coarse=100)
ml = vcycle.amg(A, near_nullspace=None, coarsest_rows=100)
# ml = pyamg.ruge_stuben_solver(A) would be vcycle.amg(A, coarsening="rs", interpolation="classical")
print(ml)

# residuals = []
# x = ml.solve(b, tol=1e-10, accel="cg", residuals=residuals)
x, outcome = ml.solve(b, rtol=1e-10, solver="cg", return_outcome=True)
residuals = outcome.history
print(f"{len(residuals) - 1} iterations, residual {np.linalg.norm(b - A @ x):.1e}")

# M = ml.aspreconditioner(cycle="V")
M = ml.as_preconditioner()
# x, info = pyamg.krylov.cg(A, b, M=M, tol=1e-10)
x = vcycle.amg(A).solve(b, rtol=1e-10)

# print(ml.levels[0].P.shape, ml.operator_complexity())
print(ml.levels[0].P.shape, ml.operator_complexity)

# x = pyamg.solve(A, b)
x = vcycle.solve(A, b)
assert np.linalg.norm(b - A @ x) < 1e-7 * np.linalg.norm(b)
