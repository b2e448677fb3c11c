"""Aligned tables that fit the width they are given."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from dbt_snapshot_plugin.report.style import Style

GAP = "  "
_LEAST = 8


def render_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Style,
    *,
    right: Sequence[int] = (),
    indent: str = "",
) -> str:
    """Columns as wide as their widest cell; if that is too much the widest ones are cut."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(_width(row[i]) for row in [list(header), *cells]) for i in range(len(header))]
    widths = _fit(widths, style.width - len(indent) - len(GAP) * (len(header) - 1))
    lines = [_line(header, widths, right, Style(style.width))]
    lines += [_line(row, widths, right, style) for row in cells]
    return "\n".join((indent + line).rstrip() for line in lines)


def _fit(widths: list[int], room: int) -> list[int]:
    """Takes from the widest column until all fit or every one is at its least."""
    fitted = list(widths)
    while sum(fitted) > room and max(fitted) > _LEAST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[int], style: Style) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = shorten(cell, width)
        space = " " * (width - _width(text))
        shown = style.state(text)
        parts.append(space + shown if index in right else shown + space)
    return GAP.join(parts)


def shorten(text: str, width: int) -> str:
    """Cut to a width, with an ellipsis where something is missing."""
    if _width(text) <= width:
        return text
    kept = ""
    for char in text:
        if _width(kept + char) > width - 1:
            break
        kept += char
    return kept + "…"


def clean(text: str) -> str:
    """Names and values come from outside: no control character may reach the terminal."""
    return "".join(
        c if unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) > 0 for char in text)
    return len(text) + wide - marks
