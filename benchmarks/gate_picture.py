"""Draws the gate's sweep as a picture. matplotlib is asked for only here, by those who draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw(sweep: dict[str, Any], path: Path) -> None:
    """Writes two panels, the threshold and the minimum keep, as a PNG of 1200 by 450 pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), dpi=150, layout="constrained")
    panels = figure.subplots(1, 2)
    parts = (
        ("threshold", "posterior threshold", "same-topic pair-F1"),
        ("minimum_keep", "minimum keep", "F1 of related links"),
    )
    for panel, (part, below, beside) in zip(panels, parts, strict=True):
        table = sweep[part]
        places = [float(value) for value in table]
        for name in next(iter(table.values())):
            heights = [row[name] for row in table.values()]
            width = 2.5 if name == "mean" else 1.2
            panel.plot(places, heights, marker="o", linewidth=width, label=name)
        panel.set_xlabel(below)
        panel.set_ylabel(beside)
        panel.set_xticks(places)
        panel.set_ylim(bottom=0)
    panels[0].legend()
    FigureCanvasAgg(figure)
    figure.savefig(path, format="png")
