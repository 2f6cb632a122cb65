"""How a solve ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _html, _plots
from ._summary import LevelSummary, levels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Column:
    """How one right-hand side ended."""

    status: str
    iterations: int
    relative_residual: float
    backward_error: float = float("nan")
    outside_range: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How a solve ended, what was chosen, and how long it took.

    >>> import vcycle
    >>> problem = vcycle.gallery.build("poisson5:60")
    >>> x, outcome = vcycle.solve(problem.A, problem.b, return_outcome=True)
    >>> outcome.converged, outcome.status
    (True, 'converged')
    >>> len(outcome.history) == outcome.iterations + 1
    True
    """

    x: NDArray[Any] = field(repr=False)
    """The solution, or the best guess if it did not converge."""
    status: str
    """`converged`, `accuracy-limit`, `inconsistent`, `iteration-limit`, `time-limit`, `stagnated`, `diverged`,
    `non-finite`, `indefinite` or `breakdown`."""
    explanation: str = field(repr=False)
    """The status in a sentence, with what to try."""
    iterations: int
    relative_residual: float
    """The true relative residual, the largest of all right-hand sides."""
    recurrence_residual: float = field(repr=False)
    """The residual of the recurrence of the method."""
    backward_error: float = field(repr=False)
    """At most: the relative change of matrix and right-hand side for which `x` would be exact."""
    condition: float = field(repr=False)
    """A lower bound of the condition number."""
    outside_range: float = field(repr=False)
    """The norm of the component of `b` that is known to be outside the range of the matrix, relative to that of `b`."""
    history: NDArray[np.float64] = field(repr=False)
    """Largest relative residual after 0, 1, 2... iterations."""
    columns: tuple[Column, ...] = field(repr=False)
    """The outcome of each right-hand side."""
    messages: tuple[str, ...] = field(repr=False)
    """What was chosen and why, and which methods failed."""
    setup_seconds: float
    solve_seconds: float
    bytes: int = field(repr=False)
    """Bytes of the stored matrix and the preconditioner."""
    config: dict[str, Any] = field(repr=False)
    """The configuration with every `auto` decided."""
    levels: tuple[LevelSummary, ...] = field(repr=False)
    """The levels, if the preconditioner is multigrid."""
    text: str = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether every right-hand side converged."""
        return self.status == "converged"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _html.outcome_page(self)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Axes:
        """The residual after every iteration, with matplotlib."""
        return _plots.residuals(self.history, self.config["stop"]["rtol"], self.status, ax, **kwargs)


class AccuracyLimit(UserWarning):
    """The tolerance is below what rounding allows: `x` is as good as this precision gets.

    >>> import warnings, vcycle
    >>> problem = vcycle.gallery.build("poisson5:60")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     x, outcome = vcycle.solve(problem.A, problem.b, rtol=1e-17, return_outcome=True)
    >>> outcome.status, outcome.backward_error < 1e-14, caught[0].category.__name__
    ('accuracy-limit', True, 'AccuracyLimit')
    """


class Inconsistent(UserWarning):
    """No `x` solves the system: a component of `b` is outside the range of the matrix. `x` is a least-squares solution.

    >>> import numpy as np, scipy.sparse, vcycle, warnings
    >>> A = scipy.sparse.csr_array([[1.0, -1.0], [-1.0, 1.0]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     x, outcome = vcycle.solve(A, np.array([3.0, 1.0]), return_outcome=True)
    >>> outcome.status, round(outcome.outside_range, 3), caught[0].category.__name__
    ('inconsistent', 0.894, 'Inconsistent')
    >>> x = vcycle.solve(A, np.array([3.0, 1.0]), nullspace="constant")  # without that component: no warning
    """


class NotConverged(RuntimeError):
    """A solve that did not converge; `outcome` says how it ended and has the best guess.

    >>> import vcycle
    >>> problem = vcycle.gallery.build("poisson5:60")
    >>> try:
    ...     vcycle.solve(problem.A, problem.b, max_iterations=2, solver="cg", preconditioner="jacobi")
    ... except vcycle.NotConverged as failure:
    ...     print(failure.outcome.status, failure.outcome.x.shape)
    iteration-limit (3600,)
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("\n".join([str(outcome), *outcome.messages]))
        self.outcome = outcome

    def __reduce__(self) -> tuple[Any, ...]:
        return (NotConverged, (self.outcome,))


def number(value: float | None) -> float:
    """JSON has no NaN."""
    return float("nan") if value is None else value


def outcome_of(x: NDArray[Any], text: str) -> Outcome:
    """The outcome from the text of the native part."""
    data: dict[str, Any] = json.loads(text)
    hierarchy = data["hierarchy"]
    return Outcome(
        x=x,
        status=data["status"],
        explanation=data["explanation"],
        iterations=data["iterations"],
        relative_residual=number(data["relative_residual"]),
        recurrence_residual=number(data["recurrence_residual"]),
        backward_error=number(data["backward_error"]),
        condition=number(data["condition"]),
        outside_range=number(data["outside_range"]),
        history=np.array([number(value) for value in data["history"]]),
        columns=tuple(
            Column(
                c["status"],
                c["iterations"],
                number(c["relative_residual"]),
                number(c["backward_error"]),
                number(c["outside_range"]),
            )
            for c in data["columns"]
        ),
        messages=tuple(data["messages"]),
        setup_seconds=data["setup_seconds"],
        solve_seconds=data["solve_seconds"],
        bytes=data["bytes"],
        config=data["config"],
        levels=() if hierarchy is None else levels_of(hierarchy),
        text=data["text"],
    )
