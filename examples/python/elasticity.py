"""A clamped beam by multigrid with and without rigid-body modes.

python elasticity.py [ELEMENTS ALONG THE BEAM]
"""

import sys

import vcycle

n = int(sys.argv[1]) if len(sys.argv) > 1 else 12
beam = vcycle.gallery.build(f"elasticity:{n}x{max(2, n // 3)}x{max(2, n // 3)}")
common = {"solver": "cg", "preconditioner": "amg", "return_outcome": True}

_, without = vcycle.solve(beam.A, beam.b, **common)
_, blocks = vcycle.solve(beam.A, beam.b, block_size=3, **common)
u, with_modes = vcycle.solve(beam.A, beam.b, coordinates=beam.coordinates, **common)
print(f"iterations: {without.iterations} without, {blocks.iterations} with three unknowns a node,")
print(f"  {with_modes.iterations} with the coordinates of the nodes")
assert with_modes.iterations < without.iterations

# The modes themselves, for near_nullspace=: translations and rotations about the middle.
ml = vcycle.amg(beam.A, near_nullspace=beam.near_nullspace, block_size=3)
print(ml)
assert abs(ml.solve(beam.b) - u).max() < 1e-5 * abs(u).max()
