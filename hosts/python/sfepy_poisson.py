"""Poisson's equation in SfePy, solved by vcycle and by SfePy's own direct solver."""

import numpy
import vcycle
from sfepy.base.base import IndexedStruct
from sfepy.discrete import (
    Equation,
    Equations,
    FieldVariable,
    Integral,
    Material,
    Problem,
)
from sfepy.discrete.conditions import Conditions, EssentialBC
from sfepy.discrete.fem import FEDomain, Field
from sfepy.mesh.mesh_generators import gen_block_mesh
from sfepy.solvers.ls import ScipyDirect
from sfepy.solvers.nls import Newton
from sfepy.terms import Term

domain = FEDomain("block", gen_block_mesh([1, 1, 1], [13, 13, 13], [0, 0, 0], verbose=False))
omega = domain.create_region("Omega", "all")
surface = domain.create_region("Gamma", "vertices of surface", "facet")
field = Field.from_args("temperature", numpy.float64, "scalar", omega, approx_order=1)
u = FieldVariable("u", "unknown", field)
v = FieldVariable("v", "test", field, primary_var_name="u")
integral, source = Integral("i", order=2), Material("source", value=-1.0)
laplace = Term.new("dw_laplace(v, u)", integral, omega, v=v, u=u)
load = Term.new("dw_volume_lvf(source.value, v)", integral, omega, source=source, v=v)
problem = Problem("poisson", equations=Equations([Equation("balance", laplace + load)]))
problem.set_bcs(ebcs=Conditions([EssentialBC("fixed", surface, {"u.all": 0.0})]))
problem.set_solver(Newton({}, lin_solver=ScipyDirect({}), status=IndexedStruct()))
own = problem.solve(verbose=False).get_state(reduced=True)

# The matrix and the residual at zero, as Newton's method takes them: A x = -r.
evaluator, start = problem.get_evaluator(), numpy.zeros_like(own)
right_hand_side = -evaluator.eval_residual(start)
matrix = evaluator.eval_tangent_matrix(start)
solution = vcycle.solve(matrix, right_hand_side, rtol=1e-10)

difference = numpy.abs(solution - own).max()
print(f"SfePy: {len(own)} unknowns, largest difference {difference:.1e}")
assert difference < 1e-8
