"""Poisson's equation in NGSolve, solved by vcycle and by NGSolve's own direct solver."""

import numpy
import scipy.sparse
import vcycle
from netgen.geom2d import unit_square
from ngsolve import H1, BilinearForm, GridFunction, LinearForm, Mesh, dx, grad

space = H1(Mesh(unit_square.GenerateMesh(maxh=0.02)), order=2, dirichlet=".*")
u, v = space.TnT()
a = BilinearForm(grad(u) * grad(v) * dx).Assemble()
f = LinearForm(v * dx).Assemble()
solution = GridFunction(space)

free = numpy.flatnonzero(list(space.FreeDofs()))
values, columns, offsets = a.mat.CSR()
A = scipy.sparse.csr_matrix((values, columns, offsets))[free][:, free]
solution.vec.FV().NumPy()[free] = vcycle.solve(A, f.vec.FV().NumPy()[free], rtol=1e-10)

own = GridFunction(space)
own.vec.data = a.mat.Inverse(space.FreeDofs(), inverse="sparsecholesky") * f.vec
difference = numpy.abs(solution.vec.FV().NumPy() - own.vec.FV().NumPy()).max()
print(f"NGSolve: {len(free)} unknowns, largest difference {difference:.1e}")
assert difference < 1e-8
