"""data_sha: the golden vectors, the reference implementation, and what must change it."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spark_profiler import Profile, ProfileOptions, profile_arrow
from spark_profiler.canonical import (
    HASH_ALGO,
    NULL,
    cell_lanes,
    data_sha,
    schema_hash,
    sum_words,
)
from spark_profiler.canonical import text as byte_strings
from spark_profiler.types import parse, read_column
from tests.spark_profiler import reference
from tests.spark_profiler.make_golden import GOLDEN, plain, render
from tests.spark_profiler.tables import (
    QUICK,
    RAW,
    Column,
    Row,
    Table,
    arrow_type,
    batch,
    tables,
    thue_morse,
    to_arrow,
)

DOCUMENT = json.loads(GOLDEN.read_text(encoding="ascii"))
VECTORS = DOCUMENT["vectors"]


def profiled(columns: list[Column], rows: list[Row], **options: Any) -> Profile:
    """The profile of plain values."""
    arrays = [
        to_arrow([row[i] for row in rows], arrow_type(text)) for i, (_, text) in enumerate(columns)
    ]
    return profile_arrow(batch(columns, arrays), columns, ProfileOptions(**options))


def sha(columns: list[Column], rows: list[Row], **options: Any) -> str:
    """The data_sha of plain values."""
    found = profiled(columns, rows, **options).data_sha
    assert found is not None
    return found


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_a_golden_vector_is_reproduced_twice(vector: dict[str, Any]) -> None:
    columns = [(name, text) for name, text in vector["columns"]]
    rows = plain(vector["rows"])
    assert sha(columns, rows) == vector["data_sha"]
    assert reference.data_sha(HASH_ALGO, columns, rows) == vector["data_sha"]


def test_the_golden_file_is_what_the_reference_writes() -> None:
    assert render() == GOLDEN.read_text(encoding="ascii")
    assert DOCUMENT["hash_algo"] == HASH_ALGO
    assert len({vector["data_sha"] for vector in VECTORS}) == len(VECTORS)


@QUICK
@given(tables())
def test_the_product_agrees_with_the_reference(table: Table) -> None:
    found = profile_arrow(batch(table.columns, table.arrays), table.columns)
    assert found.data_sha == reference.data_sha(HASH_ALGO, table.columns, table.rows)


@pytest.mark.parametrize(("few", "flat"), [(1, 1 << 18), (3, 2), (1024, 1), (1024, 1 << 18)])
def test_every_path_of_the_string_hash_agrees_with_the_reference(
    few: int, flat: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two loops and their limits are chosen by speed; none may show in a hash."""
    monkeypatch.setattr(byte_strings, "_FEW", few)
    monkeypatch.setattr(byte_strings, "_FLAT_WORDS", flat)
    chance = random.Random(few * flat)
    values = [chance.randbytes(length) for length in [*range(70), 0, 0, 8, 16, 200, 7, 9]]
    chance.shuffle(values)
    offsets = np.cumsum([3, *(len(value) for value in values)])
    data = np.frombuffer(b"xyz" + b"".join(values) + b"tail", np.uint8)
    for lane, words in enumerate(byte_strings.hash_bytes(offsets, data)):
        assert words.tolist() == [reference.bytes_cell(lane, value) for value in values]


def test_long_strings_among_short_ones_agree_with_the_reference() -> None:
    """Longer than the blocks of the flat path, and than the short sort's 2^16 words."""
    chance = random.Random(5)
    values: list[bytes | None] = [chance.randbytes(chance.randrange(12)) for _ in range(1100)]
    values[3], values[700], values[4] = chance.randbytes(530_001), b"\0" * 70_000, None
    column = read_column(to_arrow(values, pa.binary()), parse("binary"))
    for lane, words in enumerate(cell_lanes(column)):
        assert words.tolist() == [reference.cell(lane, "binary", value) for value in values]


@given(RAW)
def test_zero_bytes_at_the_end_are_not_padding(raw: bytes) -> None:
    rows: list[Row] = [(raw,), (raw + b"\0",), (raw + b"\0" * 8,)]
    assert len({sha([("s", "binary")], [row]) for row in rows}) == 3


@pytest.mark.parametrize("power", range(6, 13))
def test_the_halves_of_a_thue_morse_string_differ_in_both_lanes(power: int) -> None:
    column = read_column(pa.array(thue_morse(power)), parse("binary"))
    for words in cell_lanes(column):
        assert words[0] != words[1]


def test_swapped_and_moved_words_of_a_string_differ() -> None:
    parts = (b"aaaaaaaa", b"bbbbbbbb", b"\0\0\0\0\0\0\0\0")
    values = [b"".join(order) for order in itertools.product(parts, repeat=3)]
    column = read_column(pa.array(values), parse("string"))
    for words in cell_lanes(column):
        assert len(set(words.tolist())) == 27


@QUICK
@given(tables(max_rows=5))
def test_a_changed_value_changes_it(table: Table) -> None:
    """Every cell in turn becomes null (or, if it was null, an empty or zero value)."""
    before = sha(table.columns, table.rows)
    for at, row in enumerate(table.rows):
        for place, (_, text) in enumerate(table.columns):
            changed = [*row]
            changed[place] = None if row[place] is not None else empty(text)
            rows = [*table.rows[:at], changed, *table.rows[at + 1 :]]
            assert sha(table.columns, rows) != before


def empty(text: str) -> Any:
    """The emptiest value of a type that is not null."""
    if text in ("string", "binary"):
        return b""
    if text.startswith("struct"):
        return (None, None)
    if "<" in text:
        return []
    return text != "boolean" and 0


ONE: list[Column] = [("a", "string"), ("b", "string")]
DIFFERENT: list[tuple[str, list[Column], list[Row]]] = [
    ("base", ONE, [(b"x", b""), (None, b"y")]),
    ("null for empty", ONE, [(b"x", None), (None, b"y")]),
    ("empty for null", ONE, [(b"x", b""), (b"", b"y")]),
    ("the text null", ONE, [(b"x", b""), (b"null", b"y")]),
    ("cells swapped in a row", ONE, [(b"", b"x"), (None, b"y")]),
    ("a column's values swapped between rows", ONE, [(None, b""), (b"x", b"y")]),
    ("a row more", ONE, [(b"x", b""), (None, b"y"), (None, None)]),
    ("a row twice", ONE, [(b"x", b""), (b"x", b""), (None, b"y")]),
    ("the other row twice", ONE, [(b"x", b""), (None, b"y"), (None, b"y")]),
    ("a row thrice", ONE, [(b"x", b""), (b"x", b""), (b"x", b""), (None, b"y")]),
    ("both rows twice", ONE, [(b"x", b""), (b"x", b""), (None, b"y"), (None, b"y")]),
    ("a row less", ONE, [(b"x", b"")]),
    ("no rows", ONE, []),
    ("renamed", [("a", "string"), ("c", "string")], [(b"x", b""), (None, b"y")]),
    ("columns swapped", ONE[::-1], [(b"", b"x"), (b"y", None)]),
    ("names swapped", ONE[::-1], [(b"x", b""), (None, b"y")]),
    ("retyped", [("a", "string"), ("b", "binary")], [(b"x", b""), (None, b"y")]),
    ("a column less", ONE[:1], [(b"x",), (None,)]),
    ("a null column more", [*ONE, ("c", "string")], [(b"x", b"", None), (None, b"y", None)]),
]


def test_everything_that_must_differ_differs() -> None:
    shas = {name: sha(columns, rows) for name, columns, rows in DIFFERENT}
    assert len(set(shas.values())) == len(shas) == len(DIFFERENT)


def test_no_part_of_the_digest_can_pass_for_another() -> None:
    """Names, types, the number of rows and the sums have lengths or fixed widths."""
    parts: list[tuple[list[tuple[str, str]], int, tuple[int, int]]] = [
        ([("a", "string")], 1, (0, 0)),
        ([("as", "tring")], 1, (0, 0)),
        ([("", "astring")], 1, (0, 0)),
        ([("a", "string"), ("", "")], 1, (0, 0)),
        ([("a", "string")], 0, (1, 0)),
        ([("a", "string")], 1, (1, 0)),
        ([("a", "string")], 1, (0, 1)),
        ([("a", "string")], 1, (1 << 64, 0)),
        ([("a", "string")], 1, (0, 1 << 64)),
        ([("a", "string")], 1 << 40, (0, 0)),
    ]
    assert len({data_sha(*part) for part in parts}) == len(parts)
    assert data_sha([], 1, (1 << 128, 5)) == data_sha([], 1, (0, 5))


TYPED: list[list[tuple[str, Any]]] = [
    [("tinyint", 1), ("smallint", 1), ("int", 1), ("bigint", 1), ("boolean", True)],
    [("date", 1), ("timestamp", 1), ("timestamp_ntz", 1)],
    [("decimal(9,2)", 100), ("decimal(9,3)", 100), ("decimal(10,2)", 100)],
    [("decimal(38,2)", 100), ("decimal(38,3)", 100), ("decimal(20,2)", 100)],
    [("float", 0.5), ("double", 0.5)],
    [("array<int>", [1]), ("array<bigint>", [1])],
    [("struct<x:int>", (1,)), ("struct<y:int>", (1,)), ("struct<x:int,y:int>", (1, None))],
]


@pytest.mark.parametrize("cases", TYPED, ids=lambda cases: cases[0][0])
def test_the_type_is_part_of_it(cases: list[tuple[str, Any]]) -> None:
    assert len({sha([("a", text)], [(value,)]) for text, value in cases}) == len(cases)


NESTED: list[tuple[str, list[Any]]] = [
    ("array<string>", [[], None, [None], [b""], [b"", b""], [b"a", b"b"], [b"b", b"a"], [b"ab"]]),
    ("array<array<int>>", [[], [[]], [None], [[1], []], [[], [1]], [[1, 2]], [[1], [2]]]),
    ("struct<x:int,y:int>", [None, (None, None), (1, None), (None, 1), (1, 2), (2, 1)]),
    ("map<string,string>", [None, [], [(b"a", None)], [(b"a", b"")], [(b"a", b"b")]]),
    ("map<string,string>", [[(b"b", b"a")], [(b"a", b"b"), (b"c", b"d")]]),
    ("map<string,string>", [[(b"a", b"d"), (b"c", b"b")], [(b"a", b"b"), (b"a", b"b")]]),
]


@pytest.mark.parametrize(("text", "values"), NESTED)
def test_nested_values_that_differ_have_different_hashes(text: str, values: list[Any]) -> None:
    assert len({sha([("a", text)], [(value,)]) for value in values}) == len(values)


@example(0.0, -0.0)
@given(st.floats(), st.floats())
def test_doubles_are_equal_as_spark_groups_them(first: float, second: float) -> None:
    equal = first == second or (math.isnan(first) and math.isnan(second))
    columns = [("a", "double")]
    assert (sha(columns, [(first,)]) == sha(columns, [(second,)])) is equal


def test_every_nan_is_one() -> None:
    bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF]
    nans = pa.array(np.array(bits, np.uint64).view(np.float64))
    singles = pa.array(np.array([0x7FC00000, 0xFFC00000, 0x7F800001], np.uint32).view(np.float32))
    for array, text in ((nans, "double"), (singles, "float")):
        words = cell_lanes(read_column(array, parse(text)))
        assert len(set(words[0].tolist())) == len(set(words[1].tolist())) == 1
        assert words[0][0] == reference.cell(0, text, float("nan"))


def test_null_is_the_largest_word_at_every_depth() -> None:
    for text in ("int", "array<int>", "map<int,int>", "struct<x:int>", "decimal(38,0)", "string"):
        for words in cell_lanes(read_column(to_arrow([None], arrow_type(text)), parse(text))):
            assert words.tolist() == [NULL]


def test_volatile_columns_are_out_of_it_but_profiled() -> None:
    columns: list[Column] = [("at", "timestamp"), ("a", "int"), ("b", "int")]
    rows: list[list[Row]] = [[(time, 1, 2), (time + 1, 3, 4)] for time in (10, 20)]
    first, second = (profiled(columns, made, volatile=("at",)) for made in rows)
    assert first.data_sha == second.data_sha == sha(columns[1:], [(1, 2), (3, 4)])
    assert first.row_minhash == second.row_minhash
    assert first.column_stats["at"] != second.column_stats["at"]
    assert first.volatile == ["at"]
    assert first.schema_hash == schema_hash(columns)
    assert sha(columns, rows[0]) != first.data_sha


def test_all_columns_may_be_volatile() -> None:
    columns: list[Column] = [("a", "int")]
    made = [profiled(columns, [(1,)] * rows, volatile=("a",)).data_sha for rows in (1, 2)]
    assert None not in made
    assert made[0] != made[1]


def test_the_schema_hash_is_the_documented_one() -> None:
    import hashlib

    text = '[["größe","array<struct<a b:int>>"],["\\"","string"]]'
    pairs = [("größe", "array<struct<a b:int>>"), ('"', "string")]
    assert schema_hash(pairs) == hashlib.sha256(text.encode()).hexdigest()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=50))
def test_words_are_summed_without_loss(words: list[int]) -> None:
    assert sum_words(np.array(words, np.uint64)) == sum(words)
