"""Every figure against plain Python: exact sums, rounded once."""

from __future__ import annotations

import math
import statistics
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spark_profiler import profile_arrow
from spark_profiler.kernel.exact import double_sums, square_root, sum_signed, sum_squares
from spark_profiler.kernel.temporal import iso_date, iso_moment
from tests.spark_profiler.layouts import under_nulls
from tests.spark_profiler.oracles import CYCLE, expected, iso, root
from tests.spark_profiler.tables import QUICK, Table, arrow_type, batch, tables, to_arrow

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def figures(type_text: str, values: list[Any]) -> dict[str, Any]:
    """The `column_stats` entry of a column of plain values."""
    return figures_of(type_text, to_arrow(values, arrow_type(type_text)))


def figures_of(type_text: str, array: pa.Array) -> dict[str, Any]:
    rows = pa.RecordBatch.from_arrays([array], names=["a"])
    found = profile_arrow(rows, [("a", type_text)]).column_stats["a"]
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain


@QUICK
@given(tables())
def test_all_figures_of_random_tables(table: Table) -> None:
    found = profile_arrow(batch(table.columns, table.arrays), table.columns).to_dict()
    for place, (name, text) in enumerate(table.columns):
        wanted = expected(text, table.values(place))
        assert found["column_stats"][name] == wanted
    assert found["estimated"] == {}


HUGE = 2**63 - 1
SERIES: list[tuple[str, list[Any]]] = [
    ("bigint", [2**53, 2**53 + 1, None, 2**53 + 3]),
    ("bigint", [HUGE] * 5 + [-HUGE - 1] * 4),
    ("bigint", [-HUGE - 1]),
    ("bigint", [0, 0, 0]),
    ("bigint", []),
    ("bigint", [None, None]),
    ("tinyint", [-128, 127, None]),
    ("decimal(38,0)", [10**38 - 1, 10**38 - 1, -(10**38) + 1]),
    ("decimal(38,38)", [1, -1, 0, None, 10**38 - 1]),
    ("decimal(20,2)", [2**64 - 1, 2**64, -(2**64), -(2**64) - 1, -1, 1]),
    ("decimal(19,0)", [-1, -(2**63), -(2**63) - 1, 2**63]),
    ("decimal(18,18)", [10**18 - 1, -1, 5, None]),
    ("decimal(9,2)", [-5, -100, -99, 0]),
    ("double", [1e16, 1.0, -1e16]),
    ("double", [1e308, 1e308, -1e308, 1e-300]),
    ("double", [1e308] * 3),  # the sum is no double
    ("double", [-1.7976931348623157e308, 1.7976931348623157e308]),  # neither is the deviation
    ("double", [5e-324, 5e-324, 1e-320, -5e-324]),
    ("double", [5e-324]),
    ("double", [0.1] * 10),
    ("double", [1e9 + 0.1, 1e9 + 0.2, 1e9 + 0.3]),
    ("double", [-0.0, 0.0, -0.0]),
    ("double", [-0.0]),
    ("double", [math.nan, math.inf, -math.inf, None, math.nan]),
    ("double", [math.nan, 2.5, math.inf]),
    ("float", [0.10000000149011612, 3.4028234663852886e38, 1.401298464324817e-45, None]),
    ("boolean", [True, True, None, False]),
    ("boolean", []),
    ("boolean", [None]),
    ("string", [b"", None]),
    ("string", ["größe".encode(), "📏".encode(), "a\u0301".encode(), b""]),
    ("string", [b"\xff", b"ok", b"\xc3", b"\xa9", b"\xed\xa0\x80", b"\xf0\x9f\x93"]),
    ("string", [b"\x80", b"a"]),
    ("string", [b"\xc3", b"\xa9"]),  # together they would be one character
    ("string", [b"ok", "ü".encode(), None, "�".encode()]),
    ("string", [None]),
    ("binary", [b"\xff\xfe", b"", None]),
    ("binary", []),
    ("date", [-719_162, 2_932_896]),
    ("date", [-719_528, -719_529, 2_932_897]),
    ("date", [2**31 - 1, -(2**31), None]),
    ("timestamp", [0, 1, -1, 10**15 + 500_000]),
    ("timestamp", [2**63 - 1, -(2**63)]),
    ("timestamp_ntz", [-62_135_596_800_000_000, 253_402_300_799_999_999]),
    ("array<double>", [[math.nan], [math.nan], [0.0], [-0.0], None, []]),
    ("map<int,int>", [[(1, 2), (3, 4)], [(3, 4), (1, 2)], [(1, 4), (3, 2)], []]),
    ("struct<a:string>", [(b"",), (None,), None]),
]


@pytest.mark.parametrize(("text", "values"), SERIES)
def test_figures_at_the_edges(text: str, values: list[Any]) -> None:
    wanted = expected(text, values)
    assert figures(text, values) == wanted
    array = to_arrow(values, arrow_type(text))
    if 0 < array.null_count < len(array):
        assert figures_of(text, under_nulls(array)) == wanted


def test_the_oracle_is_right_where_anyone_can_see_it() -> None:
    assert figures("int", [1, 2, 3, 4, None]) == {
        "kind": "numeric",
        "null_count": 1,
        "null_fraction": 0.2,
        "num_unique": 4,
        "mean": 2.5,
        "std": 1.2909944487358056,
        "min": 1,
        "max": 4,
        "sum": 10,
    }
    assert figures("decimal(9,2)", [100, 5])["sum"] == "1.05"
    assert figures("double", [2.5])["mean"] == 2.5
    assert "std" not in figures("double", [2.5])
    assert figures("double", [2.5, 2.5])["std"] == 0.0
    assert figures("date", [0, 1, 31])["range_days"] == 31.0
    assert figures("timestamp", [0, 43_200_000_000]) == {
        "kind": "datetime",
        "null_count": 0,
        "null_fraction": 0.0,
        "num_unique": 2,
        "min": "1970-01-01T00:00:00Z",
        "max": "1970-01-01T12:00:00Z",
        "range_days": 0.5,
    }
    assert figures("string", ["éa".encode(), b""])["avg_char_length"] == 1.0
    assert figures("bigint", [HUGE, 1])["sum"] == "9223372036854775808"
    assert figures("bigint", [-HUGE, -1])["sum"] == -HUGE - 1


def test_bytes_under_a_null_do_not_complete_a_character() -> None:
    """The null's slot holds the rest of the first value's character."""
    data = pa.py_buffer("é".encode() + b"a")
    offsets = pa.py_buffer(np.array([0, 1, 2, 3], np.int32).tobytes())
    bitmap = pa.array([True, False, True]).buffers()[1]
    array = pa.Array.from_buffers(pa.string(), 3, [bitmap, offsets, data])
    assert figures_of("string", array)["invalid_utf8_count"] == 1


@QUICK
@given(st.lists(FINITE, min_size=2, max_size=30))
def test_doubles_agree_with_the_statistics_module(values: list[float]) -> None:
    found = figures("double", values)
    fractions = [Fraction(value) for value in values]
    assert found["mean"] == float(statistics.mean(fractions))
    assert found.get("std", math.inf) == pytest.approx(
        float(root(statistics.variance(fractions))), rel=1e-15, abs=0
    )


@pytest.mark.parametrize("value", [HUGE, -HUGE - 1, 2**24 - 1, -(2**48), 0])
def test_sums_of_many_extreme_integers_do_not_overflow(value: int) -> None:
    words = np.full(70_001, value, np.int64)
    assert sum_signed(words) == 70_001 * value
    assert sum_squares(np.abs(words).view(np.uint64)) == 70_001 * value**2


@given(st.lists(st.integers(0, 127).map(lambda bit: 2**bit) | st.integers(0, 2**127)))
def test_squares_of_wide_integers_are_exact(values: list[int]) -> None:
    low = np.array([value % 2**64 for value in values], np.uint64)
    high = np.array([value >> 64 for value in values], np.uint64)
    assert sum_squares(low, high) == sum(value**2 for value in values)


def test_every_bit_of_a_wide_integer_counts() -> None:
    for bit in range(128):
        low, high = np.array([[2**bit % 2**64], [2**bit >> 64]], np.uint64)
        assert sum_squares(low, high) == 2 ** (2 * bit)


@pytest.mark.parametrize("value", [2**127, 2**64 - 1, 2**104 + 2**56 + 1, 10**38])
def test_squares_of_many_wide_integers_do_not_overflow(value: int) -> None:
    low = np.full(40_000, value % 2**64, np.uint64)
    high = np.full(40_000, value >> 64, np.uint64)
    assert sum_squares(low, high) == 40_000 * value**2


@pytest.mark.parametrize("value", [1.7976931348623157e308, (2**53 - 1) / 2**53, -5e-324, 0.1])
def test_sums_of_many_doubles_do_not_round(value: float) -> None:
    exact = Fraction(value)
    total, squares = double_sums(np.full(70_001, value))
    assert total == 70_001 * exact * 2**1074
    assert squares == 70_001 * exact**2 * 2**2148


@given(st.lists(FINITE, max_size=20))
def test_double_sums_are_exact(values: list[float]) -> None:
    fractions = [Fraction(value) for value in values]
    total, squares = double_sums(np.array(values, np.float64))
    assert total == sum(fractions) * 2**1074
    assert squares == sum(value**2 for value in fractions) * 2**2148


@example(2**53 + 1, 2**53)
@example((2**53 + 1) ** 2, 1)  # halfway between two doubles: to even
@example((2**53 + 3) ** 2, 1)
@example((2**53 + 1) ** 2 + 1, 1)  # a hair above halfway
@example((2**53 + 1) ** 2 * 2**40 + 1, 2**40)  # less than a hair
@example((2**53 + 3) ** 2 - 1, 1)
@example(1, 2**2148)
@example(1, 2**2150)
@example(3, 2**2151)
@example(10**616, 1)
@given(st.integers(0, 2**600), st.integers(1, 2**600))
def test_square_roots_are_rounded_once(numerator: int, denominator: int) -> None:
    value = Fraction(numerator, denominator)
    assert square_root(value) == float(root(value))


def test_a_root_beyond_the_doubles_is_none() -> None:
    assert square_root(Fraction(10**620)) is None


@given(st.integers(-(2**63), 2**63 - 1))
def test_moments_have_iso_8601_texts(microseconds: int) -> None:
    assert iso_moment(microseconds) == iso(microseconds)


@given(st.integers(-(2**31), 2**31 - 1))
def test_dates_have_iso_8601_texts(days: int) -> None:
    assert iso_date(days) == iso(days * 86_400_000_000).split("T")[0]


def test_every_day_of_the_calendar_s_cycle() -> None:
    first = date(1600, 3, 1)
    epoch = date(1970, 1, 1).toordinal()
    days = (date.fromordinal(first.toordinal() + place) for place in range(CYCLE + 1))
    assert all(iso_date(day.toordinal() - epoch) == day.isoformat() for day in days)


def test_years_outside_of_four_digits_have_a_sign() -> None:
    assert iso_date(-719_162) == "0001-01-01"
    assert iso_date(-719_528) == "0000-01-01"
    assert iso_date(-719_529) == "-0001-12-31"
    assert iso_date(2_932_896) == "9999-12-31"
    assert iso_date(2_932_897) == "+10000-01-01"
    assert iso_date(19_782) == "2024-02-29"
    assert iso_moment(1) == "1970-01-01T00:00:00.000001"


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_decimals_are_shown_with_all_digits_of_their_scale(unscaled: int, scale: int) -> None:
    text = figures(f"decimal(38,{scale})", [unscaled])["max"]
    assert Decimal(text) == Decimal(f"{unscaled}e-{scale}")
    assert len(text.partition(".")[2]) == scale
    assert not text.startswith((".", "-."))


def test_a_column_of_nulls_or_of_one_value_is_constant() -> None:
    rows = pa.table({"n": pa.nulls(2, pa.int8()), "one": [1, 1], "two": [1, 2], "gap": [1, None]})
    found = profile_arrow(rows, rows.schema)
    assert found.constant_columns == ["n", "one", "gap"]
    assert found.high_null_columns == ["n"]
    nothing = profile_arrow(rows.slice(0, 0), rows.schema)
    assert nothing.constant_columns == nothing.high_null_columns == []
