"""What all generators share: their list, and how a system is written."""

import os

import numpy as np
from scipy import io, sparse

SYSTEMS = {}


def system(generator):
    """Adds a generator to the list, under its name with hyphens. It is called with `quick` and returns A and b."""
    SYSTEMS[generator.__name__.replace("_", "-")] = generator
    return generator


def is_symmetric(matrix):
    """Whether a matrix equals its transpose to the last bit."""
    return (matrix != matrix.T).nnz == 0


def write(folder, name, matrix, rhs):
    """Writes NAME.mtx and NAME_b.mtx; a crash leaves no partial file under these names."""
    matrix = sparse.coo_array(sparse.csr_array(matrix))
    symmetry = "symmetric" if is_symmetric(matrix.tocsr()) else "general"
    rhs = np.asarray(rhs).reshape(-1, 1)
    if matrix.shape[0] != matrix.shape[1] or len(rhs) != matrix.shape[0] or not np.all(np.isfinite(rhs)) or not np.any(rhs):
        raise ValueError(f"{name}: no square system with a finite, nonzero right-hand side")
    for file, what, storage in [(name + "_b", rhs, "general"), (name, matrix, symmetry)]:
        path = os.path.join(folder, file)
        io.mmwrite(path + ".part.mtx", what, symmetry=storage)
        os.replace(path + ".part.mtx", path + ".mtx")
    return matrix, symmetry
