"""The levels of a hierarchy in numbers: data for pages and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LevelSummary:
    """One level of a hierarchy, in numbers."""

    rows: int
    nonzeros: int
    precision: str
    format: str
    smoother: str
    bytes: int
    setup_seconds: float


def levels_of(report: dict[str, Any]) -> tuple[LevelSummary, ...]:
    """The levels of a report in JSON."""
    return tuple(LevelSummary(**level) for level in report["levels"])
