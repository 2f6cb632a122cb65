"""What notebooks show."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._hierarchy import Hierarchy
    from ._outcome import LevelSummary, Outcome

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "padding:2px 10px;text-align:{}"
_GOOD, _BAD = "#1a7f37", "#b42318"


def hierarchy_page(ml: Hierarchy) -> str:
    """The levels as a table, with bars for their sizes."""
    report = ml.report
    facts = (
        f"operator complexity {report['operator_complexity']:.2f}, "
        f"grid complexity {report['grid_complexity']:.2f}, "
        f"{report['bytes'] * 1e-6:.1f} MB, set-up {report['setup_seconds'] * 1e3:.1f} ms"
    )
    notes = [report["stalled"], *report["notes"]]
    below = "".join(f"<div>{escape(note)}</div>" for note in notes if note)
    title = f"<b>vcycle hierarchy</b>, {len(ml.summary)} levels<br>"
    return f"<div>{title}{_levels(ml.summary)}<div>{escape(facts)}</div>{below}</div>"


def _levels(levels: tuple[LevelSummary, ...]) -> str:
    head = _row(["level", "rows", "nonzeros", "per row", "precision", "smoother", ""], "th")
    largest = max(level.nonzeros for level in levels)
    body = "".join(
        _row(
            [
                str(number),
                f"{level.rows:,}",
                f"{level.nonzeros:,}",
                f"{level.nonzeros / max(level.rows, 1):.1f}",
                escape(level.precision),
                escape(level.smoother),
                _bar(level.nonzeros / max(largest, 1)),
            ]
        )
        for number, level in enumerate(levels)
    )
    return f'<table style="{_TABLE}">{head}{body}</table>'


def _row(cells: Iterable[str], tag: str = "td") -> str:
    texts = enumerate(cells)
    styled = (
        f'<{tag} style="{_CELL.format("left" if place >= 4 else "right")}">{text}</{tag}>'
        for place, text in texts
    )
    return f"<tr>{''.join(styled)}</tr>"


def _bar(share: float) -> str:
    width = max(1, round(120 * share))
    return f'<div style="background:#4c78a8;height:10px;width:{width}px"></div>'


def outcome_page(outcome: Outcome) -> str:
    """The verdict and the residual curve."""
    colour = _GOOD if outcome.converged else _BAD
    facts = (
        f"{outcome.iterations} iterations, true relative residual "
        f"{outcome.relative_residual:.2e}, set-up {outcome.setup_seconds:.3f} s, "
        f"solve {outcome.solve_seconds:.3f} s"
    )
    advice = "" if outcome.converged else f"<div>{escape(outcome.explanation)}</div>"
    notes = "".join(f"<div>{escape(message)}</div>" for message in outcome.messages)
    verdict = f'<b style="color:{colour}">{escape(outcome.status)}</b>: {escape(facts)}'
    return f"<div>{verdict}{advice}{_curve(outcome)}{notes}</div>"


def _curve(outcome: Outcome, width: int = 360, height: int = 120) -> str:
    """The logarithm of the residuals as a line."""
    values = outcome.history[np.isfinite(outcome.history) & (outcome.history > 0)]
    if len(values) < 2:
        return ""
    logs = np.log10(values)
    low, high = float(logs.min()), float(logs.max())
    x = 40 + (width - 50) * np.arange(len(logs)) / (len(logs) - 1)
    y = 8 + (height - 24) * (high - logs) / max(high - low, 1e-12)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    text = 'font-size="10" fill="currentColor"'
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="residuals">'
        f'<polyline points="{points}" fill="none" stroke="#4c78a8" stroke-width="1.5"/>'
        f'<text x="2" y="14" {text}>{10**high:.0e}</text>'
        f'<text x="2" y="{height - 14}" {text}>{10**low:.0e}</text>'
        f'<text x="{width - 8}" y="{height - 2}" text-anchor="end" {text}>'
        f"{len(logs) - 1} iterations</text></svg>"
    )
