"""One Arrow column as plain numpy arrays, whatever its layout was.

Dictionaries, views, large offsets, slices, time units and extension wrappers are undone here and
nowhere else, so the hash and the statistics see one form and no layout can change a figure.
Values are read from the buffers: `to_pylist` fails on years that Python's datetime does not have
and on strings that are not valid UTF-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_profiler.types.arrow import is_any, is_list_like

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_profiler.types.spark import SparkType

_TARGETS = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
}
_NUMPY = {
    "tinyint": np.int8,
    "smallint": np.int16,
    "int": np.int32,
    "bigint": np.int64,
    "float": np.float32,
    "double": np.float64,
    "date": np.int32,
}
_CANONICAL_NAN = np.uint64(0x7FF8000000000000)


class TypeMismatchError(ValueError):
    """The values that arrive are not of the declared type and can't be read as it."""


@dataclass(frozen=True)
class Column:
    """The values of one column in one batch; only the parts that its type has are set.

    Slots under a null hold arbitrary bits: whoever reads values applies `nulls` first.
    """

    type: SparkType
    length: int
    nulls: npt.NDArray[np.bool_] | None
    words: npt.NDArray[np.int64] | None = None  # one 64-bit word per value
    high: npt.NDArray[np.int64] | None = None  # the upper word of wide decimals
    doubles: npt.NDArray[np.float64] | None = None
    offsets: npt.NDArray[np.int64] | None = None  # of bytes, array elements or map entries
    data: npt.NDArray[np.uint8] | None = None
    children: tuple[Column, ...] = ()

    @property
    def null_count(self) -> int:
        """How many values are null."""
        return 0 if self.nulls is None else int(np.count_nonzero(self.nulls))


def read_column(array: pa.Array, spark_type: SparkType) -> Column:
    """View an Arrow array as the given Spark type, or raise TypeMismatchError."""
    try:
        plain = _undo_layout(array)
        return _read_plain(plain, spark_type)
    except (pa.ArrowException, OverflowError) as error:
        raise _mismatch(array.type, spark_type, str(error)) from error


def _mismatch(arrow: pa.DataType, spark_type: SparkType, why: str = "") -> TypeMismatchError:
    reason = f" ({why})" if why else ""
    return TypeMismatchError(f"Arrow {arrow} can't be read as {spark_type.text}{reason}")


def _undo_layout(array: pa.Array) -> pa.Array:
    """Plain arrays out of extensions, dictionaries, runs and views."""
    arrow = array.type
    if isinstance(arrow, pa.BaseExtensionType):
        return _undo_layout(array.storage)
    if pa.types.is_dictionary(arrow):
        return _undo_layout(array.dictionary_decode())
    if pa.types.is_run_end_encoded(arrow):
        return _undo_layout(pc.run_end_decode(array))
    if is_any(arrow, "string_view"):
        return array.cast(pa.large_string())
    if is_any(arrow, "binary_view", "fixed_size_binary"):
        return array.cast(pa.large_binary())
    if is_any(arrow, "fixed_size_list"):
        return array.cast(pa.large_list(arrow.value_type))
    return array


def _read_plain(array: pa.Array, spark_type: SparkType) -> Column:
    name = spark_type.name
    if pa.types.is_null(array.type) and spark_type.hashable:
        return _only_nulls(spark_type, len(array))
    if name in ("string", "binary"):
        return _read_bytes(array, spark_type)
    if name in ("array", "map"):
        return _read_entries(array, spark_type)
    if name == "struct":
        return _read_struct(array, spark_type)
    if name == "decimal":
        return _read_decimal(array, spark_type)
    if name in ("timestamp", "timestamp_ntz"):
        return _read_timestamp(array, spark_type)
    if name in _TARGETS:
        return _read_fixed(array, spark_type)
    raise _mismatch(array.type, spark_type, "no encoding for this type")


def _only_nulls(spark_type: SparkType, length: int) -> Column:
    """What an Arrow array without a type is under the declared one."""
    inner = 0 if spark_type.name in ("array", "map") else length
    words = np.zeros(length, np.int64)
    return Column(
        type=spark_type,
        length=length,
        nulls=np.ones(length, np.bool_),
        words=words,
        high=words if spark_type.is_wide else None,
        doubles=np.zeros(length) if spark_type.name in ("float", "double") else None,
        offsets=np.zeros(length + 1, np.int64),
        data=np.zeros(0, np.uint8),
        children=tuple(_only_nulls(child, inner) for child in spark_type.children),
    )


def _common(array: pa.Array, spark_type: SparkType) -> dict[str, Any]:
    return {"type": spark_type, "length": len(array), "nulls": _null_mask(array)}


def _bits(buffer: pa.Buffer | None, offset: int, length: int) -> npt.NDArray[np.bool_]:
    if buffer is None or length == 0:
        return np.zeros(length, np.bool_)
    first = offset // 8
    packed = np.frombuffer(buffer, np.uint8)[first : (offset + length + 7) // 8]
    bits = np.unpackbits(packed, bitorder="little")[offset - 8 * first :][:length]
    return bits.view(np.bool_)


def _null_mask(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    if array.null_count == 0:
        return None
    return ~_bits(array.buffers()[0], array.offset, len(array))


def _values(array: pa.Array, dtype: Any, width: int = 1) -> npt.NDArray[Any]:
    """The fixed-width value buffer of a possibly sliced array."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array) * width, dtype)
    first, last = array.offset * width, (array.offset + len(array)) * width
    return np.frombuffer(buffer, dtype, count=last)[first:]


def _same_family(arrow: pa.DataType, spark_type: SparkType) -> bool:
    name = spark_type.name
    if name == "boolean":
        return bool(pa.types.is_boolean(arrow))
    if name == "date":
        return bool(pa.types.is_date(arrow))
    if name == "float":  # Arrow would round a wider one without a word
        return is_any(arrow, "float16", "float32")
    if name == "double":
        return bool(pa.types.is_floating(arrow))
    return bool(pa.types.is_integer(arrow))


def _read_fixed(array: pa.Array, spark_type: SparkType) -> Column:
    name = spark_type.name
    if not _same_family(array.type, spark_type):
        raise _mismatch(array.type, spark_type)
    if array.type != _TARGETS[name]:
        array = array.cast(_TARGETS[name])
    common = _common(array, spark_type)
    if name == "boolean":
        bits = _bits(array.buffers()[1], array.offset, len(array))
        return Column(**common, words=bits.astype(np.int64))
    if name in ("float", "double"):
        with np.errstate(all="ignore"):  # null slots and signalling NaNs are no reason to warn
            doubles = _values(array, _NUMPY[name]).astype(np.float64) + 0.0  # -0.0 becomes 0.0
        bits64 = doubles.view(np.uint64)
        bits64[np.isnan(doubles)] = _CANONICAL_NAN
        return Column(**common, words=bits64.view(np.int64), doubles=doubles)
    return Column(**common, words=_values(array, _NUMPY[name]).astype(np.int64, copy=False))


def _read_timestamp(array: pa.Array, spark_type: SparkType) -> Column:
    """Microseconds since 1970-01-01; finer units are floored, as Spark keeps microseconds."""
    if not pa.types.is_timestamp(array.type):
        raise _mismatch(array.type, spark_type)
    common = _common(array, spark_type)
    if array.type.unit in ("s", "ms"):
        array = array.cast(pa.timestamp("us", array.type.tz))
    words = _values(array, np.int64)
    if array.type.unit == "ns":
        words = np.floor_divide(words, 1000)
    return Column(**common, words=words)


def _read_decimal(array: pa.Array, spark_type: SparkType) -> Column:
    target = pa.decimal128(spark_type.precision, spark_type.scale)
    arrow = array.type
    if not (pa.types.is_decimal(arrow) or pa.types.is_integer(arrow)):
        raise _mismatch(arrow, spark_type)
    as_is = (
        pa.types.is_decimal128(arrow)
        and arrow.scale == target.scale
        and arrow.precision <= target.precision
    )
    if not as_is:
        array = array.cast(target)
    pairs = _values(array, np.int64, width=2)
    common = _common(array, spark_type)
    words = np.ascontiguousarray(pairs[0::2])
    if spark_type.is_wide:
        return Column(**common, words=words, high=np.ascontiguousarray(pairs[1::2]))
    return Column(**common, words=words)


def _offsets(array: pa.Array, dtype: Any) -> npt.NDArray[np.int64]:
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array) + 1, np.int64)
    count = array.offset + len(array) + 1
    return np.frombuffer(buffer, dtype, count=count)[array.offset :].astype(np.int64)


def _read_bytes(array: pa.Array, spark_type: SparkType) -> Column:
    arrow = array.type
    is_large = pa.types.is_large_string(arrow) or pa.types.is_large_binary(arrow)
    if not (is_large or pa.types.is_string(arrow) or pa.types.is_binary(arrow)):
        raise _mismatch(arrow, spark_type)
    offsets = _offsets(array, np.int64 if is_large else np.int32)
    buffer = array.buffers()[2]
    data = np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
    return Column(**_common(array, spark_type), offsets=offsets, data=data)


def _read_entries(array: pa.Array, spark_type: SparkType) -> Column:
    """Lists and maps: the children cover exactly the entries of this slice."""
    arrow = array.type
    is_map = pa.types.is_map(arrow)
    if is_map != (spark_type.name == "map") or not (is_map or is_list_like(arrow)):
        raise _mismatch(arrow, spark_type)
    if is_any(arrow, "list_view", "large_list_view"):
        return _read_list_view(array, spark_type)
    offsets = _offsets(array, np.int64 if pa.types.is_large_list(arrow) else np.int32)
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    parts = (array.keys, array.items) if is_map else (array.values,)
    children = tuple(
        read_column(part.slice(first, count), child)
        for part, child in zip(parts, spark_type.children, strict=True)
    )
    return Column(**_common(array, spark_type), offsets=offsets - first, children=children)


def _read_list_view(array: pa.Array, spark_type: SparkType) -> Column:
    """Lists in any order and overlapping: laid out anew. (pyarrow 26 casts a slice wrongly.)"""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
    children = (read_column(array.flatten(), spark_type.children[0]),)
    return Column(**_common(array, spark_type), offsets=offsets, children=children)


def _read_struct(array: pa.Array, spark_type: SparkType) -> Column:
    arrow = array.type
    if not pa.types.is_struct(arrow):
        raise _mismatch(arrow, spark_type)
    names = spark_type.field_names
    if len(names) != arrow.num_fields or (
        len(set(names)) == len(names)  # Spark's Arrow writer renames fields that share a name
        and names != tuple(field.name for field in arrow)
    ):
        raise _mismatch(arrow, spark_type, "the fields have other names or another order")
    children = tuple(
        read_column(array.field(i), child) for i, child in enumerate(spark_type.children)
    )
    return Column(**_common(array, spark_type), children=children)
