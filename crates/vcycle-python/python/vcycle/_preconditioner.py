"""`vcycle.preconditioner`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from . import _core
from ._arrays import like, native_matrix, vector_for
from ._device import device_matrix, dtype_of, library_of, settle
from ._options import as_json, configuration


def preconditioner(A: Any, name: str, **parameters: Any) -> LinearOperator:
    """Any preconditioner of the library as an operator of SciPy, or of CuPy if the matrix is one of CuPy.

    >>> import scipy.sparse.linalg, vcycle
    >>> problem = vcycle.gallery.build("poisson5:60")
    >>> M = vcycle.preconditioner(problem.A, "fsai", steps=3)
    >>> x, info = scipy.sparse.linalg.cg(problem.A, problem.b, M=M)
    >>> info
    0

    `name` and `parameters` are those of `vcycle.options()["preconditioners"]`; `device` and
    `threads` say where it runs.
    """
    config = configuration({"preconditioner": name, "solver": "gmres", **parameters})
    on_device = device_matrix(A)
    settle(config, parameters, on_device)
    matrix, shape, _ = native_matrix(A, on_device, config)
    native = _core.Operator(matrix, as_json(config))
    device = config["run"].get("device", "cpu")
    return operator_of(library_of(A), shape, lambda r: applied(native, r, shape[0], device))


def applied(native: _core.Operator | _core.Hierarchy, r: Any, rows: int, device: str) -> Any:
    """An operator applied to one or many columns, where they are."""
    vector = vector_for(r, rows, device, "r")
    if dtype_of(vector).kind == "c":
        raise TypeError("r is complex, the matrix is real: apply to its parts")
    x = native.apply(vector)
    if isinstance(x, _core.DeviceArray):
        return like(x.single() if dtype_of(r) == np.float32 else x, r)
    return like(x.reshape(vector.shape), r)


def operator_of(library: str, shape: tuple[int, int], apply: Callable[[Any], Any]) -> LinearOperator:
    """A function as an operator for the solvers of SciPy, or of CuPy."""
    if library == "cupy":
        from cupyx.scipy.sparse.linalg import LinearOperator as OfCupy

        return OfCupy(shape, matvec=apply, matmat=apply, dtype=np.dtype(np.float64))  # type: ignore[no-any-return]
    return LinearOperator(shape, matvec=apply, matmat=apply, dtype=np.dtype(np.float64))
