"""`vcycle.preconditioner`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from . import _core
from ._arrays import matrix_arrays, near_nullspace_of, right_hand_side
from ._options import as_json, configuration


def preconditioner(A: Any, name: str, **parameters: Any) -> LinearOperator:
    """Any preconditioner of the library as an operator of SciPy.

    >>> import scipy.sparse.linalg, vcycle
    >>> problem = vcycle.gallery.build("poisson5:60")
    >>> M = vcycle.preconditioner(problem.A, "fsai", steps=3)
    >>> x, info = scipy.sparse.linalg.cg(problem.A, problem.b, M=M)
    >>> info
    0

    `name` and `parameters` are those of `vcycle.options()["preconditioners"]`; `device` and
    `threads` say where it runs.
    """
    config = as_json(configuration({"preconditioner": name, "solver": "gmres", **parameters}))
    arrays = matrix_arrays(A)
    modes, size = near_nullspace_of(None, None, arrays.shape[0], None)
    native = _core.Operator(_core.Matrix(config, *arrays[:5], modes, size), config)

    def apply(r: Any) -> Any:
        r = right_hand_side(r, arrays.shape[0], "r")
        return native.apply(r).reshape(r.shape)

    return LinearOperator(arrays.shape, matvec=apply, matmat=apply, dtype=np.dtype(np.float64))
