"""Neither data_sha nor any other byte of a Profile depends on how the rows arrive."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_profiler import profile_arrow
from spark_profiler.kernel import table as table_module
from spark_profiler.types import TypeMismatchError, parse, read_column
from tests.spark_profiler.layouts import every_layout
from tests.spark_profiler.tables import (
    QUICK,
    Column,
    Table,
    arrow_type,
    batch,
    reinterpret,
    tables,
    to_arrow,
)

SECOND = 1_000_000
VALUES: dict[str, list[Any]] = {
    "boolean": [True, None, False, False, None, True, True, None, True],
    "tinyint": [0, None, 7, 127, 0],
    "smallint": [-5, None, 300],
    "int": [2**31 - 1, None, 0, 5],
    "bigint": [2**40, None, 1, 1],
    "float": [0.5, None, -0.0, 0.0, float("nan"), float("inf")],
    "double": [0.1, None, -0.0, float("nan"), -float("inf"), 1e300],
    "decimal(9,2)": [123, None, -1, 0],
    "decimal(18,0)": [10**17, None, -1],
    "decimal(19,4)": [10**18, None, -(10**18), 2**63],
    "decimal(38,10)": [10**37, None, -(10**37), 2**64, -1],
    "string": [b"", None, "größe".encode(), b"a longer one than a view holds", b"\xff\xfe", b"x"],
    "binary": [b"", None, b"\0", b"\xff" * 40],
    "date": [0, None, -1, 19_000],
    "timestamp": [0, None, -SECOND, 1_700_000_000 * SECOND],
    "timestamp_ntz": [0, None, 1_700_000_000 * SECOND],
    "array<string>": [[b"a", None], None, [], [b"b"], [b"a long one, out of line"]],
    "array<decimal(9,2)>": [[1, None], None, [], [2]],
    "array<array<int>>": [[[1], [], None], None, [], [[2, 3]]],
    "struct<a:string,b:int>": [(b"x", 1), None, (None, None), (b"", None)],
    "map<string,timestamp>": [[(b"k", 1), (b"l", None)], None, [], [(b"l", None), (b"m", 1)]],
    "map<int,map<int,int>>": [[(1, [(1, 2), (3, 4)])], None, [], [(2, None), (1, [])]],
}


def whole(columns: list[Column], batches: Any) -> bytes:
    return profile_arrow(batches, columns).to_json()


@pytest.mark.parametrize("text", VALUES)
def test_the_arrow_layout_of_a_column_does_not_show(text: str) -> None:
    array = to_arrow(VALUES[text], arrow_type(text))
    columns: list[Column] = [("a", text)]
    first = whole(columns, batch(columns, [array]))
    layouts = every_layout(array)
    assert len(layouts) >= 4
    for name, layout in layouts.items():
        assert whole(columns, batch(columns, [layout])) == first, name


@pytest.mark.parametrize("text", VALUES)
def test_only_nulls_look_alike_in_every_layout(text: str) -> None:
    columns: list[Column] = [("a", text)]
    layouts = every_layout(to_arrow([None] * 5, arrow_type(text)))
    assert "null" in layouts
    assert len({whole(columns, batch(columns, [layout])) for layout in layouts.values()}) == 1


@QUICK
@given(tables(), st.integers(0, 2**32).map(random.Random))
def test_order_batches_and_layouts_do_not_show(table: Table, chance: random.Random) -> None:
    first = whole(table.columns, batch(table.columns, table.arrays))
    order = list(range(len(table.rows)))
    chance.shuffle(order)
    shuffled = [array.take(pa.array(order, pa.int64())) for array in table.arrays]
    assert whole(table.columns, _cut(table.columns, shuffled, chance)) == first


def _cut(
    columns: list[Column], arrays: list[pa.Array], chance: random.Random
) -> Iterator[pa.RecordBatch]:
    """Batches of random sizes (also empty ones), each column of each in some layout."""
    start, rows = 0, len(arrays[0])
    while start < rows or chance.random() < 0.3:
        size = chance.randrange(0, rows + 1)
        parts = []
        for array in arrays:
            # Laid out anew, so that the layouts start from an array without an offset.
            part = pa.concat_arrays([array.slice(start, size)])
            parts.append(chance.choice([part, *_some(part, chance)]))
        yield batch(columns, parts)
        start += size


def _some(array: pa.Array, chance: random.Random) -> list[pa.Array]:
    if array.offset or len(array) == 0:
        return []
    try:
        return list(every_layout(array).values())
    except pa.ArrowInvalid:  # a slice of a nested array that can't be taken apart again
        return []


def test_rows_are_cut_into_blocks_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: list[Column] = [("a", "bigint"), ("b", "string"), ("c", "array<int>")]
    numbers = list(range(100))
    arrays = [
        pa.array(numbers),
        pa.array([str(n % 7) if n % 3 else None for n in numbers]),
        pa.array([[n, None] if n % 5 else None for n in numbers], pa.list_(pa.int32())),
    ]
    first = whole(columns, batch(columns, arrays))
    for block in (1, 7, 99, 100):
        monkeypatch.setattr(table_module, "_BLOCK", block)
        assert whole(columns, batch(columns, arrays)) == first


def test_rows_of_many_blocks_count_once() -> None:
    """More rows than one block has, at its real size, as one batch and as many."""
    size = 150_001
    numbers = np.arange(size, dtype=np.int64) * 7919 % 100_003
    texts = pa.array(np.char.mod("%d", numbers % 5000))
    columns: list[Column] = [("n", "bigint"), ("d", "double"), ("s", "string")]
    made = batch(columns, [pa.array(numbers), pa.array(numbers / 3), texts])
    first = profile_arrow(made, columns)
    backwards = made.take(pa.array(np.arange(size)[::-1]))
    cut = [backwards.slice(start, 9_973) for start in range(0, size, 9_973)]
    assert profile_arrow(cut, columns).to_json() == first.to_json()
    assert first.num_rows == size


def test_a_timestamp_finer_than_microseconds_is_floored() -> None:
    columns: list[Column] = [("t", "timestamp_ntz")]
    fine = pa.array([-1, 999, 1_000, None], pa.int64()).view(pa.timestamp("ns"))
    coarse = pa.array([-1, 0, 1, None], pa.int64()).view(pa.timestamp("us"))
    assert whole(columns, batch(columns, [fine])) == whole(columns, batch(columns, [coarse]))


NARROWER: list[tuple[str, pa.Array, list[Any]]] = [
    ("double", pa.array([0.5, None], pa.float32()), [0.5, None]),
    ("float", pa.array([np.float16(0.5), None], pa.float16()), [0.5, None]),
    ("decimal(20,0)", pa.array([2**64 - 1, None], pa.uint64()), [2**64 - 1, None]),
    ("decimal(9,2)", pa.array([5, None], pa.int8()), [500, None]),
]


@pytest.mark.parametrize(("text", "narrow", "values"), NARROWER)
def test_numbers_come_in_narrower_types(text: str, narrow: pa.Array, values: list[Any]) -> None:
    columns: list[Column] = [("a", text)]
    first = whole(columns, batch(columns, [to_arrow(values, arrow_type(text))]))
    assert whole(columns, batch(columns, [narrow])) == first


def test_fixed_sizes_are_like_any() -> None:
    pairs = [[9, 9], [1, 2], None, [3, None], [4, 5]]
    for start in (0, 1):
        fixed = pa.array(pairs, pa.list_(pa.int32(), 2)).slice(start)
        columns: list[Column] = [("a", "array<int>")]
        plain = pa.array(pairs[start:], pa.list_(pa.int32()))
        assert whole(columns, batch(columns, [fixed])) == whole(columns, batch(columns, [plain]))
        blobs = [b"zzz", b"abc", None, b"\0\0\0"]
        columns = [("a", "binary")]
        sized = batch(columns, [pa.array(blobs, pa.binary(3)).slice(start)])
        assert whole(columns, sized) == whole(columns, batch(columns, [pa.array(blobs[start:])]))


REFUSED = [
    (pa.array([2**40]), "int"),
    (pa.array([1.5]), "float"),  # a double that float would round
    (pa.array([1.5]), "bigint"),
    (pa.array([1]), "double"),
    (pa.array([1]), "boolean"),
    (pa.array([1]), "date"),
    (pa.array([True]), "tinyint"),
    (pa.array([1]), "string"),
    (pa.array(["1"]), "bigint"),
    (pa.array(["1"]), "decimal(9,2)"),
    (pa.array([1]), "timestamp"),
    (pa.array([2**62], pa.timestamp("s")), "timestamp_ntz"),
    (pa.array([1], pa.int64()).view(pa.date64()), "date"),  # not a whole day
    (pa.array([10**9]).cast(pa.decimal128(20, 0)), "decimal(9,2)"),
    (pa.array([Decimal("12345678.90")], pa.decimal128(20, 2)), "decimal(9,2)"),
    (pa.array([1]).cast(pa.decimal256(40, 3)), "bigint"),
    (pa.array([[1]]), "bigint"),
    (pa.array([1]), "array<bigint>"),
    (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "array<struct<key:string>>"),
    (pa.array([[1]]), "map<bigint,bigint>"),
    (pa.array([{"a": 1}]), "struct<a:bigint,b:bigint>"),
    (pa.array([{"a": 1, "b": 2}]), "struct<b:bigint,a:bigint>"),
    (pa.array([{"a": 1}]), "struct<A:bigint>"),
    (pa.array([1]), "struct<a:bigint>"),
    (pa.array([{"a": 1}]), "bigint"),
    (pa.array([1]), "interval day"),
    (pa.nulls(1), "void"),
]


@pytest.mark.parametrize(
    ("array", "text"), REFUSED, ids=[f"{array.type} as {text}" for array, text in REFUSED]
)
def test_values_that_are_not_of_the_declared_type_are_refused(array: pa.Array, text: str) -> None:
    with pytest.raises(TypeMismatchError, match="can't be read as"):
        read_column(array, parse(text))


def test_fields_that_share_a_name_go_by_their_place() -> None:
    """Spark renames them on the way to Arrow."""
    arrow = pa.array([{"a_0": 1, "a_1": 2}])
    column = read_column(arrow, parse("struct<a:bigint,a:bigint>"))
    assert [child.type.name for child in column.children] == ["bigint", "bigint"]


def test_invalid_utf8_is_read_under_every_string_type() -> None:
    raw = pa.array([b"\xff" * 20, b"\xc3", None])
    for arrow in (pa.large_string(), pa.string_view()):
        array = reinterpret(raw, pa.string()).cast(arrow)
        columns: list[Column] = [("a", "string")]
        assert whole(columns, batch(columns, [array])) == whole(columns, batch(columns, [raw]))
