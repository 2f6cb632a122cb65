"""FiPy's diffusion example with vcycle as its linear solver. Needs FiPy, with its solvers of SciPy.

python fipy_diffusion.py [CELLS ALONG AN AXIS]
"""

import os
import sys

os.environ.setdefault("FIPY_SOLVERS", "scipy")

import numpy as np
from fipy import CellVariable, DiffusionTerm, Grid2D
from fipy.solvers.scipy.scipySolver import ScipySolver

import vcycle


class VcycleSolver(ScipySolver):
    """Whatever FiPy assembles, solved by vcycle."""

    def _solve_(self, L, x, b):
        solution, self.outcome = vcycle.solve(L, b, rtol=1e-10, return_outcome=True)
        return solution


n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
mesh = Grid2D(nx=n, ny=n, dx=1.0, dy=1.0)
phi = CellVariable(name="solution", mesh=mesh, value=0.0)
phi.constrain(0.0, mesh.facesLeft)
phi.constrain(1.0, mesh.facesRight)
solver = VcycleSolver()
DiffusionTerm(coeff=1.0).solve(var=phi, solver=solver)
expected = mesh.cellCenters[0].value / n
print(solver.outcome)
print(f"differs from the exact solution by {np.abs(phi.value - expected).max():.1e}")
assert np.allclose(phi.value, expected, atol=1e-7)
