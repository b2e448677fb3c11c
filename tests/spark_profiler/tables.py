"""Random tables of every hashable type, as plain values and as Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.spark_profiler.reference import split

Column = tuple[str, str]
Row = Sequence[Any]
Values = st.SearchStrategy[Any]

# The machine may be slow and shared: a slow draw says nothing about the code.
QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

CONTEXT = Context(prec=60)
I64 = st.integers(-(2**63), 2**63 - 1)
RAW = st.one_of(
    st.binary(max_size=40), st.text(max_size=12).map(lambda t: t.encode("utf-8", "surrogatepass"))
)
DOUBLES = st.one_of(
    st.floats(), st.sampled_from([-0.0, 0.0, float("nan"), float("inf"), -float("inf"), 5e-324])
)

LEAVES: dict[str, tuple[Values, pa.DataType]] = {
    "boolean": (st.booleans(), pa.bool_()),
    "tinyint": (st.integers(-128, 127), pa.int8()),
    "smallint": (st.integers(-(2**15), 2**15 - 1), pa.int16()),
    "int": (st.integers(-(2**31), 2**31 - 1), pa.int32()),
    "bigint": (I64, pa.int64()),
    "float": (st.floats(width=32), pa.float32()),
    "double": (DOUBLES, pa.float64()),
    "decimal(9,2)": (st.integers(-(10**9) + 1, 10**9 - 1), pa.decimal128(9, 2)),
    "decimal(18,0)": (st.integers(-(10**18) + 1, 10**18 - 1), pa.decimal128(18, 0)),
    "decimal(19,4)": (st.integers(-(10**19) + 1, 10**19 - 1), pa.decimal128(19, 4)),
    "decimal(38,10)": (st.integers(-(10**38) + 1, 10**38 - 1), pa.decimal128(38, 10)),
    "string": (RAW, pa.string()),
    "binary": (RAW, pa.binary()),
    "date": (st.integers(-(2**31), 2**31 - 1), pa.date32()),
    "timestamp": (I64, pa.timestamp("us", "UTC")),
    "timestamp_ntz": (I64, pa.timestamp("us")),
}


class Kind(NamedTuple):
    """A type: its Spark text, its plain values and its Arrow type."""

    text: str
    values: Values
    arrow: pa.DataType


class Table(NamedTuple):
    """The same table twice: plain values by row, and one Arrow array per column."""

    columns: list[Column]
    rows: list[Row]
    arrays: list[pa.Array]

    def values(self, place: int) -> list[Any]:
        """The plain values of one column."""
        return [row[place] for row in self.rows]


def _nested(inner: Kind) -> st.SearchStrategy[Kind]:
    nullable = st.none() | inner.values
    return st.sampled_from(
        [
            Kind(f"array<{inner.text}>", st.lists(nullable, max_size=4), pa.list_(inner.arrow)),
            Kind(
                f"struct<a:{inner.text},b c:int>",
                st.tuples(nullable, st.none() | LEAVES["int"][0]),
                pa.struct([("a", inner.arrow), ("b c", pa.int32())]),
            ),
            Kind(
                f"map<string,{inner.text}>",
                st.lists(st.tuples(RAW, nullable), max_size=3),
                pa.map_(pa.string(), inner.arrow),
            ),
        ]
    )


KINDS: st.SearchStrategy[Kind] = st.recursive(
    st.sampled_from([Kind(text, *parts) for text, parts in LEAVES.items()]),
    lambda inner: inner.flatmap(_nested),
    max_leaves=3,
)


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 12, kinds: st.SearchStrategy[Kind] = KINDS) -> Table:
    """A random table; its columns are k0, k1, …"""
    types = draw(st.lists(kinds, min_size=1, max_size=4))
    count = draw(st.integers(0, max_rows))
    data = [
        draw(st.lists(st.none() | kind.values, min_size=count, max_size=count)) for kind in types
    ]
    columns = [(f"k{i}", kind.text) for i, kind in enumerate(types)]
    arrays = [to_arrow(column, kind.arrow) for column, kind in zip(data, types, strict=True)]
    return Table(columns, list(zip(*data, strict=True)) if count else [], arrays)


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type of a Spark type text."""
    if text in LEAVES:
        return LEAVES[text][1]
    if text.startswith("decimal("):
        precision, scale = text[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    name, inner = text[:-1].split("<", 1)
    if name == "array":
        return pa.list_(arrow_type(inner))
    if name == "map":
        key, value = split(inner)
        return pa.map_(arrow_type(key), arrow_type(value))
    fields = [part.split(":", 1) for part in split(inner)]
    return pa.struct([(field, arrow_type(part)) for field, part in fields])


def to_arrow(values: Sequence[Any], arrow: pa.DataType) -> pa.Array:
    """An Arrow array from plain values, by buffers where Python values would not do."""
    if pa.types.is_string(arrow):
        return reinterpret(pa.array(values, pa.binary()), pa.string())
    if pa.types.is_decimal(arrow):
        scaled = [None if v is None else Decimal(v).scaleb(-arrow.scale, CONTEXT) for v in values]
        return pa.array(scaled, arrow)
    if pa.types.is_timestamp(arrow):
        return pa.array(values, pa.int64()).view(arrow)
    if pa.types.is_date(arrow):
        return pa.array(values, pa.int32()).view(arrow)
    mask = pa.array([v is None for v in values], pa.bool_())
    if pa.types.is_struct(arrow):
        parts = [
            to_arrow([None if v is None else v[i] for v in values], arrow.field(i).type)
            for i in range(arrow.num_fields)
        ]
        fields = [arrow.field(i) for i in range(arrow.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if pa.types.is_map(arrow) or pa.types.is_list(arrow):
        return _entries(values, arrow)
    return pa.array(values, arrow)


def _entries(values: Sequence[Any], arrow: pa.DataType) -> pa.Array:
    flat = [item for v in values if v is not None for item in v]
    places: list[int | None] = []
    at = 0
    for v in values:
        places.append(None if v is None else at)
        at += len(v or ())
    offsets = pa.array([*places, at], pa.int32())
    if pa.types.is_map(arrow):
        keys = to_arrow([k for k, _ in flat], arrow.key_type)
        items = to_arrow([v for _, v in flat], arrow.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items)
    return pa.ListArray.from_arrays(offsets, to_arrow(flat, arrow.value_type))


def reinterpret(array: pa.Array, arrow: pa.DataType) -> pa.Array:
    """The same buffers under another type: the way to strings that are not valid UTF-8."""
    return pa.Array.from_buffers(
        arrow, len(array), array.buffers(), null_count=array.null_count, offset=array.offset
    )


def batch(columns: Sequence[Column], arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """A record batch of the arrays."""
    return pa.RecordBatch.from_arrays(list(arrays), names=[name for name, _ in columns])


def thue_morse(power: int) -> tuple[bytes, bytes]:
    """The Thue-Morse byte string of length 2^power and its complement."""
    bits = np.array([bin(i).count("1") & 1 for i in range(1 << power)], np.uint8)
    return (bits + 97).tobytes(), (98 - bits).tobytes()
