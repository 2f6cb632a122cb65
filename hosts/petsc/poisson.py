"""The plugin in petsc4py: PETSC_OPTIONS="-dll_append PATH/libvcyclepetsc.so" python3 poisson.py"""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

side = 200
rows = side * side
A = PETSc.Mat().createAIJ([rows, rows], nnz=5)
for row in range(*A.getOwnershipRange()):
    i, j = row % side, row // side
    A[row, row] = 4.0
    for there, column in ((i > 0, row - 1), (i + 1 < side, row + 1), (j > 0, row - side), (j + 1 < side, row + side)):
        if there:
            A[row, column] = -1.0
A.assemble()
x, b = A.createVecs()
b.set(1.0)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("cg")
ksp.getPC().setType("vcycle")
ksp.setTolerances(rtol=1e-10)
for scale in (1.0, 2.0):
    A.scale(scale)  # the levels are updated
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0 and ksp.getIterationNumber() < 30
r = b.duplicate()
A.mult(x, r)
r.axpy(-1.0, b)
assert r.norm() < 1e-6 * b.norm()
print(f"petsc4py: {ksp.getIterationNumber()} iterations")
