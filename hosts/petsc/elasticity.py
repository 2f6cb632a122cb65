"""A cantilever of dolfinx, solved with the plugin and with a direct solver; both must agree.

PETSC_OPTIONS="-dll_append PATH/libvcyclepetsc.so" python3 elasticity.py
"""

import time

import numpy as np
import ufl
from dolfinx import fem, la, mesh
from mpi4py import MPI
from petsc4py import PETSc

domain = mesh.create_box(MPI.COMM_WORLD, [np.zeros(3), np.array([4.0, 1.0, 1.0])], [48, 12, 12])
V = fem.VectorFunctionSpace(domain, ("CG", 1))
u, v = ufl.TrialFunction(V), ufl.TestFunction(V)


def stress(w):
    strain = ufl.sym(ufl.grad(w))
    return 1.25 * ufl.tr(strain) * ufl.Identity(3) + 2.0 * strain


a = fem.form(ufl.inner(stress(u), ufl.sym(ufl.grad(v))) * ufl.dx)
L = fem.form(ufl.inner(fem.Constant(domain, PETSc.ScalarType((0.0, 0.0, -1e-3))), v) * ufl.dx)
clamped = mesh.locate_entities_boundary(domain, 2, lambda x: np.isclose(x[0], 0.0))
zero = np.zeros(3, dtype=PETSc.ScalarType)
bc = fem.dirichletbc(zero, fem.locate_dofs_topological(V, 2, clamped), V)
A = fem.petsc.assemble_matrix(a, bcs=[bc])
A.assemble()
b = fem.petsc.assemble_vector(L)
fem.petsc.apply_lifting(b, [a], [[bc]])
b.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
fem.petsc.set_bc(b, [bc])

# Translations and rotations, of which multigrid wants to know.
x = V.tabulate_dof_coordinates()
size = V.dofmap.index_map.size_local
modes = []
for kind in range(6):
    w = np.zeros((size, 3))
    if kind < 3:
        w[:, kind] = 1.0
    else:
        i, j = ((0, 1), (1, 2), (2, 0))[kind - 3]
        w[:, i], w[:, j] = -x[:size, j], x[:size, i]
    modes.append(PETSc.Vec().createWithArray(w.flatten(), comm=MPI.COMM_WORLD))
# The vectors of a nullspace of PETSc are orthonormal.
for place, mode in enumerate(modes):
    for other in modes[:place]:
        mode.axpy(-mode.dot(other), other)
    mode.normalize()
A.setNearNullSpace(PETSc.NullSpace().create(vectors=modes))


def solve(pc):
    ksp = PETSc.KSP().create(MPI.COMM_WORLD)
    ksp.setOperators(A)
    ksp.setType("preonly" if pc == "lu" else "cg")
    ksp.getPC().setType(pc)
    ksp.setTolerances(rtol=1e-10)
    solution = b.duplicate()
    start = time.perf_counter()
    ksp.solve(b, solution)
    print(f"  dolfinx, {b.size} unknowns, {pc}: {ksp.getIterationNumber()} iterations, {time.perf_counter() - start:.2f} s")
    assert ksp.getConvergedReason() > 0
    return solution


direct, ours = solve("lu"), solve("vcycle")
solve("gamg")
ours.axpy(-1.0, direct)
assert ours.norm() < 1e-6 * direct.norm(), ours.norm() / direct.norm()
