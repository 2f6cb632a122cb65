"""HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._summary import LevelSummary

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "padding:2px 10px;text-align:{}"
_NOTES = "margin:2px 0;padding-left:18px;opacity:0.8"
_GOOD, _BAD, _BLUE = "#2f9e44", "#e03131", "#4c78a8"
_FAINT = 'stroke="currentColor" stroke-opacity="0.15"'
_DASHED = 'stroke="currentColor" stroke-opacity="0.6" stroke-dasharray="4 3"'


class _Ended(Protocol):
    """The page of a solve."""

    @property
    def status(self) -> str: ...
    @property
    def converged(self) -> bool: ...
    @property
    def explanation(self) -> str: ...
    @property
    def iterations(self) -> int: ...
    @property
    def relative_residual(self) -> float: ...
    @property
    def history(self) -> NDArray[np.float64]: ...
    @property
    def messages(self) -> tuple[str, ...]: ...
    @property
    def setup_seconds(self) -> float: ...
    @property
    def solve_seconds(self) -> float: ...
    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def levels(self) -> tuple[LevelSummary, ...]: ...


def hierarchy_page(report: dict[str, Any], levels: tuple[LevelSummary, ...]) -> str:
    """The levels as a table, with bars for their sizes."""
    facts = (
        f"operator complexity {report['operator_complexity']:.2f}, "
        f"grid complexity {report['grid_complexity']:.2f}, "
        f"{report['bytes'] * 1e-6:.1f} MB, set-up {_time(report['setup_seconds'])}"
    )
    notes = [report["stalled"], *report["notes"]]
    below = "".join(f"<div>{escape(note)}</div>" for note in notes if note)
    title = f"<div><b>vcycle hierarchy</b>, {len(levels)} levels</div>"
    return f"<div>{title}{_levels(levels)}<div>{escape(facts)}</div>{below}</div>"


def _levels(levels: tuple[LevelSummary, ...]) -> str:
    head = _row(["level", "rows", "nonzeros", "per row", "precision", "format", "smoother", "share of entries"], "th")
    largest = max(level.nonzeros for level in levels)
    body = "".join(
        _row(
            [
                str(number),
                f"{level.rows:,}",
                f"{level.nonzeros:,}",
                f"{level.nonzeros / max(level.rows, 1):.1f}",
                escape(level.precision),
                escape(level.format),
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
    return f'<div style="background:{_BLUE};height:10px;width:{width}px"></div>'


def outcome_page(outcome: _Ended) -> str:
    """The status, the residual curve, what was chosen and, folded up, the levels."""
    colour = _GOOD if outcome.converged else _BAD
    facts = [f"{outcome.iterations} iterations", f"true relative residual {outcome.relative_residual:.2e}"]
    if outcome.setup_seconds:
        facts.append(f"set-up {_time(outcome.setup_seconds)}")
    facts.append(f"solve {_time(outcome.solve_seconds)}")
    verdict = f'<b style="color:{colour}">{escape(outcome.status)}</b>: {escape(", ".join(facts))}'
    advice = "" if outcome.converged else f"<div>{escape(outcome.explanation)}</div>"
    notes = "".join(f"<li>{escape(message)}</li>" for message in outcome.messages)
    notes = f'<ul style="{_NOTES}">{notes}</ul>' if notes else ""
    levels = outcome.levels
    folded = f"<details><summary>{len(levels)} levels</summary>{_levels(levels)}</details>" if levels else ""
    return f"<div><div>{verdict}</div>{advice}{_curve(outcome)}{notes}{folded}</div>"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def _curve(outcome: _Ended, width: int = 440, height: int = 170) -> str:
    """The residuals over the iterations, with a line at every few decades and at the tolerance."""
    numbers = np.arange(len(outcome.history))
    shown = np.isfinite(outcome.history) & (outcome.history > 0)
    if shown.sum() < 2:
        return ""
    logs, numbers = np.log10(outcome.history[shown]), numbers[shown]
    tolerance = outcome.config["stop"]["rtol"] or 0.0
    reached = [float(np.log10(tolerance))] if tolerance > 0 else []
    low = int(np.floor(min([float(logs.min()), *reached])))
    high = max(int(np.ceil(logs.max())), low + 1)
    left, right, top, bottom = 44, width - 12, 8, height - 24

    def across(number: float) -> float:
        return left + (right - left) * number / max(int(numbers[-1]), 1)

    def down(log: float) -> float:
        return top + (bottom - top) * (high - log) / (high - low)

    def line(log: float, style: str) -> str:
        return f'<line x1="{left}" x2="{right}" y1="{down(log):.1f}" y2="{down(log):.1f}" {style}/>'

    def text(x: float, y: float, anchor: str, words: str) -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="10" fill="currentColor">{words}</text>'

    step = -(-(high - low) // 5)
    parts = []
    for log in range(high, low - 1, -step):
        parts += [line(log, _FAINT), text(left - 5, down(log) + 3, "end", f"1e{log:+03d}")]
    parts += [line(log, _DASHED) for log in reached]
    points = " ".join(f"{across(int(number)):.1f},{down(log):.1f}" for number, log in zip(numbers, logs))
    parts.append(f'<polyline points="{points}" fill="none" stroke="{_BLUE}" stroke-width="1.8"/>')
    parts += [text(left, height - 8, "middle", "0"), text(right, height - 8, "end", f"{numbers[-1]} iterations")]
    return f'<svg width="{width}" height="{height}" role="img" aria-label="residuals">{"".join(parts)}</svg>'
