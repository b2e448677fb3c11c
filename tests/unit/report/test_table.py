"""Tables: aligned, cut to the width, and safe for a terminal."""

from __future__ import annotations

import pytest

from dbt_snapshot_plugin.report.style import PLAIN, Style
from dbt_snapshot_plugin.report.table import clean, render_table, shorten

HEADER = ["name", "rows"]


def test_columns_are_aligned() -> None:
    rows = [["a", "1"], ["longer", "1,000"]]
    assert render_table(HEADER, rows, PLAIN, right=(1,), indent="  ").splitlines() == [
        "  name     rows",
        "  a           1",
        "  longer  1,000",
    ]


def test_no_rows_leave_the_header() -> None:
    assert render_table(HEADER, [], PLAIN) == "name  rows"


def test_the_widest_column_is_cut() -> None:
    shown = render_table(HEADER, [["x" * 50, "12"]], Style(width=20)).splitlines()
    assert all(len(line) <= 20 for line in shown)
    assert shown[1] == "x" * 13 + "…  12"


def test_a_column_keeps_its_least_width() -> None:
    shown = render_table(["a", "b"], [["x" * 20, "y" * 20]], Style(width=5))
    assert shown.splitlines()[1] == "xxxxxxx…  yyyyyyy…"


def test_wide_characters_count_twice_and_marks_not() -> None:
    rows = [["日本", "1"], ["e\u0301", "2"], ["abcd", "3"]]
    assert render_table(["n", "v"], rows, PLAIN).splitlines() == [
        "n     v",
        "日本  1",
        "e\u0301     2",
        "abcd  3",
    ]


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("日本語", 4, "日…"), ("", 3, "")],
)
def test_shortening(text: str, width: int, cut: str) -> None:
    assert shorten(text, width) == cut


@pytest.mark.parametrize("char", ["\x1b", "\n", "\t", "\0", "\x7f", "\u202e", "\ud800", "\ue000"])
def test_no_control_character_is_left(char: str) -> None:
    assert clean(f"a{char}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_colours_do_not_move_the_columns() -> None:
    rows = [["PASS", "x"], ["UNKNOWN", "y"]]
    coloured = render_table(["qa", "n"], rows, Style(colour=True))
    plain = render_table(["qa", "n"], rows, PLAIN)
    assert "\x1b[32mPASS\x1b[0m" in coloured
    for code in ("\x1b[32m", "\x1b[33m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_the_header_has_no_colour() -> None:
    assert "\x1b" not in render_table(["PASS"], [], Style(colour=True))
