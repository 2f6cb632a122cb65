"""A pressure solve as in incompressible flow: pure Neumann conditions, so that constants are annihilated.

python neumann.py [CELLS ALONG AN AXIS]
"""

import sys

import numpy as np
import scipy.sparse as sp

import vcycle

n = int(sys.argv[1]) if len(sys.argv) > 1 else 40
# Fluxes between neighbours only: every row and column sums to zero.
difference = sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(n - 1, n))
K = difference.T @ difference
A = (sp.kron(K, sp.eye_array(n)) + sp.kron(sp.eye_array(n), K)).tocsr()

# The divergence of a velocity field; a little of it is not consistent. Naming the null space solves for the rest.
x, y = np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(n) + 0.5) / n)
b = (np.cos(np.pi * x) * np.cos(np.pi * y)).ravel() + 1e-3

p, outcome = vcycle.solve(A, b, nullspace="constant", return_outcome=True)
print(*outcome.messages, outcome, sep="\n")
residual = np.linalg.norm(A @ p - (b - b.mean())) / np.linalg.norm(b)
print(f"left out {outcome.outside_range:.1e} of b; mean {p.mean():.1e}, residual of what has a solution {residual:.1e}")
assert residual < 1e-7 and abs(p.mean()) < 1e-9
