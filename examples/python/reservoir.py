"""Steady flow through a layer of the SPE10 reservoir, whose permeability jumps by many orders of magnitude.

python reservoir.py [FOLDER WITH THE GRIDS]; without the data, beside the checkout as shared/grids, it skips.
"""

import lzma
import pathlib
import sys

import numpy as np
import scipy.sparse as sp

import vcycle

default = pathlib.Path(__file__).resolve().parents[3] / "shared" / "grids"
folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
nx, ny = 60, 220
if not (folder / "spe10_layers84_85_permx.geos.xz").exists():
    print(f"skipped: no grids in {folder}")
    sys.exit()


def layer(name):
    text = lzma.open(folder / f"spe10_layers84_85_perm{name}.geos.xz", "rt").read()
    return np.array(text.split(), dtype=float)[: nx * ny].reshape(ny, nx)


def faces(k):
    """Harmonic means of neighbours along the last axis."""
    return 2 / (1 / k[..., 1:] + 1 / k[..., :-1])


kx, ky = layer("x"), layer("y")
number = np.arange(nx * ny).reshape(ny, nx)
# Cells of 20 by 10 feet.
left, right, tx = number[:, :-1].ravel(), number[:, 1:].ravel(), (faces(kx) * 10 / 20).ravel()
below, above, ty = number[:-1].ravel(), number[1:].ravel(), (faces(ky.T).T * 20 / 10).ravel()
i, j, t = np.r_[left, below], np.r_[right, above], np.r_[tx, ty]
A = sp.coo_array((np.r_[-t, -t, t, t], (np.r_[i, j, i, j], np.r_[j, i, i, j])), shape=(nx * ny,) * 2).tocsr()
# A well injects in a corner; the pressure at the opposite side is given.
A = (A + sp.diags_array(np.where(np.arange(nx * ny) >= nx * (ny - 1), 2 * ky.ravel(), 0))).tocsr()
b = np.zeros(nx * ny)
b[0] = 1.0

print(f"permeability from {kx.min():.1e} to {kx.max():.1e} mD")
for options in ({}, {"coarsening": "pmis"}, {"solver": "cg", "preconditioner": "ic0"}):
    p, outcome = vcycle.solve(A, b, return_outcome=True, **options)
    chosen = outcome.config["preconditioner"]["name"]
    print(f"{options or 'default'}: {chosen}, {outcome.iterations} iterations, {outcome.status}")
    assert outcome.converged
