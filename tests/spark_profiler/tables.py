"""Random tables of every hashable type, as plain values and as Arrow arrays in varied layouts."""

from __future__ import annotations

import struct
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

CONTEXT = Context(prec=60)
I64 = st.integers(-(2**63), 2**63 - 1)
RAW = st.one_of(
    st.binary(max_size=40), st.text(max_size=12).map(lambda t: t.encode("utf-8", "surrogatepass"))
)
DOUBLES = st.one_of(
    st.floats(), st.sampled_from([-0.0, 0.0, float("nan"), float("inf"), -float("inf"), 5e-324])
)

LEAVES = {
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


def type_and_values(text, values, arrow):
    return text, values, arrow


def _nested(inner):
    text, values, arrow = inner
    nullable = st.none() | values
    return st.sampled_from(
        [
            (f"array<{text}>", st.lists(nullable, max_size=4), pa.list_(arrow)),
            (
                f"struct<a:{text},b c:int>",
                st.tuples(nullable, st.none() | LEAVES["int"][0]),
                pa.struct([("a", arrow), ("b c", pa.int32())]),
            ),
            (
                f"map<string,{text}>",
                st.lists(st.tuples(RAW, nullable), max_size=3),
                pa.map_(pa.string(), arrow),
            ),
        ]
    )


COLUMN_TYPES = st.recursive(
    st.sampled_from([(text, *parts) for text, parts in LEAVES.items()]),
    lambda inner: inner.flatmap(_nested),
    max_leaves=3,
)


@st.composite
def tables(draw, max_rows=12):
    """(columns, rows, arrow arrays): (name, type) pairs, tuples of plain values, Arrow columns."""
    types = draw(st.lists(COLUMN_TYPES, min_size=1, max_size=4))
    count = draw(st.integers(0, max_rows))
    data = [
        draw(st.lists(st.none() | values, min_size=count, max_size=count))
        for _, values, _ in types
    ]
    columns = [(f"k{i}", text) for i, (text, _, _) in enumerate(types)]
    arrays = [to_arrow(column, arrow) for column, (_, _, arrow) in zip(data, types, strict=True)]
    return columns, list(zip(*data, strict=True)) if count else [], arrays


def to_arrow(values, arrow):
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


def _entries(values, arrow):
    flat = [item for v in values if v is not None for item in v]
    offsets, at = [], 0
    for v in values:
        offsets.append(None if v is None else at)
        at += len(v or ())
    offsets = pa.array([*offsets, at], pa.int32())
    if pa.types.is_map(arrow):
        keys = to_arrow([k for k, _ in flat], arrow.key_type)
        items = to_arrow([v for _, v in flat], arrow.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items)
    return pa.ListArray.from_arrays(offsets, to_arrow(flat, arrow.value_type))


def reinterpret(array, arrow):
    """The same buffers under another type: the way to strings that are not valid UTF-8."""
    return pa.Array.from_buffers(
        arrow, len(array), array.buffers(), null_count=array.null_count, offset=array.offset
    )


def batch(columns, arrays):
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in columns])


def thue_morse(power):
    """The Thue-Morse byte string of length 2^power and its complement."""
    bits = np.array([bin(i).count("1") & 1 for i in range(1 << power)], np.uint8)
    return (bits + 97).tobytes(), (98 - bits).tobytes()


def float_from_bits(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]
