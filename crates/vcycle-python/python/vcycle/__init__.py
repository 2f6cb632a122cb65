"""Sparse linear systems, solved by multigrid in mixed precision.

>>> import vcycle
>>> problem = vcycle.gallery.build("poisson5:40")
>>> x = vcycle.solve(problem.A, problem.b)
>>> float(abs(problem.A @ x - problem.b).max()) < 1e-6
True

`solve` chooses solver and preconditioner by itself; `amg` makes a multigrid hierarchy to be kept;
`preconditioner` any other preconditioner as a SciPy `LinearOperator`. Every option of the
configuration files is a keyword, with underscores for dashes: see `options`.
"""

from pathlib import Path as _Path

from . import batch, distributed, gallery
from ._assembly import Assembly
from ._core import DeviceError, VcycleError, __version__, devices, use_kernels
from ._hierarchy import Hierarchy, Level, amg
from ._options import options
from ._outcome import AccuracyLimit, Column, Inconsistent, NotConverged, Outcome
from ._preconditioner import preconditioner
from ._solve import solve
from ._summary import LevelSummary

__all__ = [
    "AccuracyLimit",
    "Assembly",
    "Column",
    "DeviceError",
    "Hierarchy",
    "Inconsistent",
    "Level",
    "LevelSummary",
    "NotConverged",
    "Outcome",
    "VcycleError",
    "__version__",
    "amg",
    "batch",
    "devices",
    "distributed",
    "gallery",
    "options",
    "preconditioner",
    "solve",
    "use_kernels",
]

# A wheel may carry kernels of GPUs, compiled in advance (scripts/kernels-archive).
_archive = _Path(__file__).parent / "vcycle.kernels"
if _archive.exists():
    use_kernels(_archive)
