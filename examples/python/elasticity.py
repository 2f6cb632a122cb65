"""A clamped beam by multigrid that is told of rigid bodies, and that is not.

python elasticity.py [ELEMENTS ALONG THE BEAM]
"""

import sys

import vcycle

n = int(sys.argv[1]) if len(sys.argv) > 1 else 12
beam = vcycle.gallery.build(f"elasticity:{n}x{max(2, n // 3)}x{max(2, n // 3)}")
common = {"solver": "cg", "preconditioner": "amg", "return_outcome": True}

_, untold = vcycle.solve(beam.A, beam.b, **common)
_, blocks = vcycle.solve(beam.A, beam.b, block_size=3, **common)
u, told = vcycle.solve(beam.A, beam.b, coordinates=beam.coordinates, **common)
print(f"iterations: {untold.iterations} untold, {blocks.iterations} with three unknowns a node,")
print(f"  {told.iterations} with the coordinates of the nodes")
assert told.iterations < untold.iterations

# The modes themselves, for near_nullspace=: translations and rotations about the middle.
ml = vcycle.amg(beam.A, near_nullspace=beam.near_nullspace, block_size=3)
print(ml)
assert abs(ml.solve(beam.b) - u).max() < 1e-5 * abs(u).max()
