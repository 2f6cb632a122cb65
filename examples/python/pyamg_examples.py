"""PyAMG's documented examples with vcycle as the preconditioner, beside PyAMG's own.

After the README and the examples of the PyAMG project: a Poisson problem by CG, anisotropic diffusion, linear
elasticity with rigid-body modes, a nonsymmetric matrix by GMRES. Needs PyAMG.

python pyamg_examples.py [POINTS ALONG AN AXIS]
"""

import sys

import numpy as np
import pyamg
import scipy.sparse.linalg as sla

import vcycle

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def counted(method, A, b, M):
    steps = []
    options = {"callback_type": "pr_norm"} if method is sla.gmres else {}
    x, info = method(A, b, M=M, rtol=1e-8, maxiter=300, callback=lambda _: steps.append(1), **options)
    assert info == 0 and np.linalg.norm(A @ x - b) < 1e-6 * np.linalg.norm(b)
    return len(steps)


def compare(name, method, A, b, theirs, ours):
    A = A.tocsr()
    counts = [counted(method, A, b, M) for M in (None, theirs.aspreconditioner(), ours.as_preconditioner())]
    print(f"{name}: {counts[0]} iterations alone, {counts[1]} with PyAMG, {counts[2]} with vcycle")
    assert counts[2] < counts[0]


A = pyamg.gallery.poisson((n, n), format="csr")
b = np.random.default_rng(0).random(A.shape[0])
compare("Poisson", sla.cg, A, b, pyamg.ruge_stuben_solver(A), vcycle.amg(A))

stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.01, theta=np.pi / 6, type="FE")
A = pyamg.gallery.stencil_grid(stencil, (n, n), format="csr")
compare("rotated anisotropy", sla.cg, A, b, pyamg.smoothed_aggregation_solver(A), vcycle.amg(A))

A, B = pyamg.gallery.linear_elasticity((n, n), format="bsr")
b = np.random.default_rng(0).random(A.shape[0])
theirs = pyamg.smoothed_aggregation_solver(A, B=B)
compare("linear elasticity", sla.cg, A, b, theirs, vcycle.amg(A, near_nullspace=B))

A = pyamg.gallery.load_example("recirc_flow")["A"].tocsr()
b = np.random.default_rng(0).random(A.shape[0])
theirs = pyamg.smoothed_aggregation_solver(A, symmetry="nonsymmetric")
compare("recirculating flow", sla.gmres, A, b, theirs, vcycle.amg(A))
