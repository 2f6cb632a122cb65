"""scikit-fem's examples of Poisson's equation (ex01) and linear elasticity (ex11), solved by vcycle. Needs scikit-fem.

python skfem_poisson.py [REFINEMENTS]
"""

import sys

import numpy as np
from skfem import Basis, BilinearForm, ElementHex1, ElementTriP1, ElementVector, LinearForm
from skfem import MeshHex, MeshTri, asm, condense, solve
from skfem.helpers import dot, grad
from skfem.models.elasticity import lame_parameters, linear_elasticity

import vcycle

refinements = int(sys.argv[1]) if len(sys.argv) > 1 else 4


@BilinearForm
def laplace(u, v, _):
    return dot(grad(u), grad(v))


@LinearForm
def load(v, _):
    return 1.0 * v


basis = Basis(MeshTri().refined(refinements), ElementTriP1())
A, b = asm(laplace, basis), asm(load, basis)
system = condense(A, b, D=basis.get_dofs())
x = solve(*system)  # scikit-fem's own
y = solve(*system, solver=lambda A, b: vcycle.solve(A, b, rtol=1e-12))
print(f"Poisson: {len(x)} unknowns, largest value {y.max():.6f}, differs by {abs(x - y).max():.1e}")
assert np.allclose(x, y)

mesh = MeshHex().refined(max(1, refinements - 2)).with_defaults()
basis = Basis(mesh, ElementVector(ElementHex1()))
K = asm(linear_elasticity(*lame_parameters(1e3, 0.3)), basis)
fixed = basis.get_dofs("left").all()
moved = basis.get_dofs("right")
u = basis.zeros()
u[moved.nodal["u^1"]] = 0.3
held = np.union1d(fixed, moved.all())
A, b, x, free = condense(K, x=u, D=held)
# Every third unknown belongs to the same node: where it lies is known.
coordinates = basis.doflocs[:, free].T[::3]
ours = vcycle.solve(A, b, coordinates=coordinates, rtol=1e-10)
theirs = solve(*condense(K, x=u, D=held))
print(f"elasticity: {len(ours)} unknowns, differs by {abs(theirs[free] - ours).max():.1e}")
assert np.allclose(theirs[free], ours, atol=1e-7)
