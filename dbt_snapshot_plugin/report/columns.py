"""The table of a profile's columns."""

from __future__ import annotations

from typing import Any

from dbt_snapshot_plugin.report.style import Style
from dbt_snapshot_plugin.report.table import render_table


def render_columns(doc: dict[str, Any], style: Style) -> str:
    """Name, type and the figures that were computed; a figure that is not exact has a `~`."""
    stats = doc.get("column_stats", {})
    estimated = doc.get("estimated", {})
    cells = []
    for column in doc["columns"]:
        name = column["name"]
        figures = stats.get(name, {})
        about = "~" if f"column_stats.{name}.num_unique" in estimated else ""
        cells.append(
            [
                name,
                column["spark_type"],
                _share(figures.get("null_fraction")),
                about + f"{figures['num_unique']:,}" if "num_unique" in figures else "-",
                _figure(_first(figures, "min", "min_char_length", "min_byte_length")),
                _figure(_first(figures, "max", "max_char_length", "max_byte_length")),
                _about(figures),
            ]
        )
    header = ["column", "type", "null", "distinct", "min", "max", "about"]
    return "columns\n" + render_table(header, cells, style, right=(2, 3), indent="  ")


def _first(figures: dict[str, Any], *names: str) -> Any:
    return next((figures[name] for name in names if name in figures), None)


def _about(figures: dict[str, Any]) -> str:
    """The one figure that says most about a column of this kind."""
    if "mean" in figures:
        spread = f", std {_figure(figures['std'])}" if "std" in figures else ""
        return f"mean {_figure(figures['mean'])}{spread}"
    if "avg_char_length" in figures:
        return f"lengths, mean {_figure(figures['avg_char_length'])}"
    if "avg_byte_length" in figures:
        return f"bytes, mean {_figure(figures['avg_byte_length'])}"
    if "range_days" in figures:
        return f"{_figure(figures['range_days'])} days"
    if "true_count" in figures:
        return f"{figures['true_count']:,} true, {figures['false_count']:,} false"
    return ""


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    if 0 < value < 0.0005:
        return "<0.1%"
    return f"{value * 100:.1f}%"


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e15 or value == 0 else f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
