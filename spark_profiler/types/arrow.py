"""Arrow types as Spark types, the way Spark itself reads them from parquet."""

from __future__ import annotations

import pyarrow as pa

from spark_profiler.types.spark import SparkType

_LEAVES = {
    pa.bool_(): SparkType("boolean"),
    pa.int8(): SparkType("tinyint"),
    pa.int16(): SparkType("smallint"),
    pa.int32(): SparkType("int"),
    pa.int64(): SparkType("bigint"),
    pa.uint8(): SparkType("smallint"),
    pa.uint16(): SparkType("int"),
    pa.uint32(): SparkType("bigint"),
    pa.uint64(): SparkType("decimal", 20, 0),
    pa.float16(): SparkType("float"),
    pa.float32(): SparkType("float"),
    pa.float64(): SparkType("double"),
    pa.date32(): SparkType("date"),
    pa.date64(): SparkType("date"),
    pa.null(): SparkType("void"),
}
_STRINGS = ("string", "large_string", "string_view")
_BINARIES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
_LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")


def is_any(arrow: pa.DataType, *names: str) -> bool:
    """Whether it is one of these Arrow types; an old pyarrow does not know all of them."""
    checks = (getattr(pa.types, f"is_{name}", None) for name in names)
    return any(check(arrow) for check in checks if check is not None)


def from_arrow(arrow: pa.DataType) -> SparkType:
    """The Spark type of an Arrow type; one that Spark has no match for keeps its Arrow name."""
    is_type = pa.types
    if isinstance(arrow, pa.BaseExtensionType):
        return from_arrow(arrow.storage_type)
    if is_type.is_dictionary(arrow) or is_type.is_run_end_encoded(arrow):
        return from_arrow(arrow.value_type)
    if arrow in _LEAVES:
        return _LEAVES[arrow]
    if is_any(arrow, *_STRINGS):
        return SparkType("string")
    if is_any(arrow, *_BINARIES):
        return SparkType("binary")
    if is_type.is_timestamp(arrow):
        return SparkType("timestamp" if arrow.tz else "timestamp_ntz")
    if is_type.is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:
        return SparkType("decimal", arrow.precision, arrow.scale)
    return _from_arrow_nested(arrow)


def _from_arrow_nested(arrow: pa.DataType) -> SparkType:
    if pa.types.is_map(arrow):
        return SparkType("map", children=(from_arrow(arrow.key_type), from_arrow(arrow.item_type)))
    if is_list_like(arrow):
        return SparkType("array", children=(from_arrow(arrow.value_type),))
    if pa.types.is_struct(arrow):
        fields = [arrow.field(i) for i in range(arrow.num_fields)]
        return SparkType(
            "struct",
            children=tuple(from_arrow(field.type) for field in fields),
            field_names=tuple(field.name for field in fields),
        )
    return SparkType(str(arrow))


def is_list_like(arrow: pa.DataType) -> bool:
    """Every layout of a list, maps apart."""
    return is_any(arrow, *_LISTS)
