"""Implicit time steps of the heat equation, (I + dt K) u_new = u_old: one hierarchy, updated.

python heat.py [POINTS ALONG AN AXIS]
"""

import sys

import numpy as np
import scipy.sparse as sp

import vcycle

n = int(sys.argv[1]) if len(sys.argv) > 1 else 40
K = vcycle.gallery.build(f"poisson5:{n}").A
identity = sp.eye_array(n * n, format="csr")
u = np.ones(n * n)
dt = 1.0
ml = vcycle.amg((identity + dt * K).tocsr())

for step in range(1, 6):
    ml.update((identity + dt * K).tocsr())  # the same places, other values
    u, outcome = ml.solve(u, x0=u, return_outcome=True)
    print(f"step {step}, dt = {dt:.1f}: {outcome.iterations} iterations, largest value {u.max():.4f}")
    dt *= 1.5
