"""Spark types: their texts, Spark's JSON, and what Arrow's types are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_profiler.types import SparkType, UnknownTypeError, from_arrow, from_spark_json, parse

LEAF_TEXTS = [
    "boolean",
    "tinyint",
    "bigint",
    "double",
    "date",
    "timestamp",
    "timestamp_ntz",
    "decimal(38,18)",
    "string",
    "interval day to second",
    "variant",
]
NAMES = st.text(max_size=8).filter(lambda name: "\0" not in name)
LEAVES = st.sampled_from([parse(text) for text in LEAF_TEXTS])


def _inside(inner: st.SearchStrategy[SparkType]) -> st.SearchStrategy[SparkType]:
    arrays = inner.map(lambda child: SparkType("array", children=(child,)))
    maps = st.builds(lambda k, v: SparkType("map", children=(k, v)), inner, inner)
    structs = st.lists(st.tuples(NAMES, inner), max_size=3).map(struct)
    return arrays | maps | structs


def struct(fields: list[tuple[str, SparkType]]) -> SparkType:
    return SparkType(
        "struct",
        children=tuple(child for _, child in fields),
        field_names=tuple(name for name, _ in fields),
    )


TYPES = st.recursive(LEAVES, _inside, max_leaves=6)


@given(TYPES)
def test_a_quoted_text_is_read_back(spark_type: SparkType) -> None:
    assert parse(spark_type.quoted_text) == spark_type


def as_json(spark_type: SparkType) -> Any:
    """Spark's JSON of a type."""
    children = [as_json(child) for child in spark_type.children]
    if spark_type.name == "array":
        return {"type": "array", "elementType": children[0], "containsNull": True}
    if spark_type.name == "map":
        return {"type": "map", "keyType": children[0], "valueType": children[1]}
    if spark_type.name == "struct":
        fields = zip(spark_type.field_names, children, strict=True)
        return {"type": "struct", "fields": [{"name": n, "type": t} for n, t in fields]}
    return {"bigint": "long", "tinyint": "byte"}.get(spark_type.name, spark_type.text)


@given(TYPES)
def test_sparks_json_is_read_without_loss(spark_type: SparkType) -> None:
    assert from_spark_json(as_json(spark_type)) == spark_type


PLAIN = [
    ("bigint", "bigint"),
    (" BigInt ", "bigint"),
    ("long", "bigint"),
    ("decimal", "decimal(10,0)"),
    ("decimal(5)", "decimal(5,0)"),
    ("decimal(10, 2)", "decimal(10,2)"),
    ("char(3)", "string"),
    ("VARCHAR(20)", "string"),
    ("string collate UTF8_LCASE", "string"),
    ("timestamp_ltz", "timestamp"),
    ("ARRAY<INT>", "array<int>"),
    ("map<string, array<double>>", "map<string,array<double>>"),
    ("struct<>", "struct<>"),
    ("array<interval year to month>", "array<interval year to month>"),
    ("time(6)", "time(6)"),
    ("decimal(5,-2)", "decimal(5,-2)"),  # legacy Spark; no encoding
]


@pytest.mark.parametrize(("text", "wanted"), PLAIN)
def test_type_texts(text: str, wanted: str) -> None:
    assert parse(text).text == wanted


ODD_NAMES = [
    ("struct<a b:int,é.x:string,x(y):int>", ("a b", "é.x", "x(y)")),
    ("struct<a`b:int>", ("a`b",)),
    ("struct<`a:int>", ("`a",)),
    ("struct<:int>", ("",)),
    ("struct<x:y:int>", ("x:y",)),
    ("struct<a,b:int>", ("a,b",)),
    ("struct<a:1:2:int,e:string>", ("a:1:2", "e")),
    ("struct<`a``b`:int,`x:y`:int>", ("a`b", "x:y")),
    ("struct<`a<b>`:struct<`:`:int>>", ("a<b>",)),
    ("struct<a:struct<x:y:int>,b:int>", ("a", "b")),
    ("struct<x:array<int>>", ("x",)),
    ("struct<Größe 📏:int>", ("Größe 📏",)),
]


@pytest.mark.parametrize(("text", "names"), ODD_NAMES)
def test_field_names_with_odd_characters(text: str, names: tuple[str, ...]) -> None:
    found = parse(text)
    assert found.field_names == names
    assert found.hashable
    assert parse(found.quoted_text) == found


NOT_TYPES = [
    "",
    " ",
    "array",
    "map",
    "struct",
    "array<>",
    "array<int",
    "array<int>>",
    "int>",
    "map<int>",
    "map<int,int,int>",
    "int<int>",
    "struct<a>",
    "struct<a:int,>",
    "struct<a<b:int>",
    "struct<a:array<int,b:int>",
    "array<array>",
    "decimal(39,0)",
    "decimal(0,0)",
    "decimal(5,6)",
]


@pytest.mark.parametrize("text", NOT_TYPES)
def test_texts_that_are_no_types(text: str) -> None:
    with pytest.raises(UnknownTypeError):
        parse(text)


def test_the_error_says_where_and_how() -> None:
    with pytest.raises(UnknownTypeError, match=r"struct<a<b:int>.* backticks at 7"):
        parse("struct<a<b:int>")


def test_json_that_is_no_type_is_an_error() -> None:
    with pytest.raises(UnknownTypeError, match="elementType"):
        from_spark_json({"type": "array", "elementType": 5})


@pytest.mark.parametrize(
    ("text", "dtype", "kind", "hashable"),
    [
        ("boolean", "bool", "boolean", True),
        ("tinyint", "int8", "numeric", True),
        ("int", "int32", "numeric", True),
        ("bigint", "int64", "numeric", True),
        ("float", "float32", "numeric", True),
        ("decimal(9,2)", "decimal", "numeric", True),
        ("string", "string", "string", True),
        ("binary", "bytes", "binary", True),
        ("date", "date", "datetime", True),
        ("timestamp", "datetime64", "datetime", True),
        ("timestamp_ntz", "datetime64", "datetime", True),
        ("array<int>", "list", "nested", True),
        ("map<int,int>", "map", "nested", True),
        ("struct<a:int>", "struct", "nested", True),
        ("struct<a:array<variant>>", "struct", "nested", False),
        ("map<int,void>", "map", "nested", False),
        ("interval day", "other", "other", False),
        ("void", "other", "other", False),
        ("udt", "other", "other", False),
    ],
)
def test_what_a_type_has(text: str, dtype: str, kind: str, hashable: bool) -> None:
    found = parse(text)
    assert (found.dtype, found.kind, found.hashable) == (dtype, kind, hashable)


@pytest.mark.parametrize(("digits", "wide"), [(18, False), (19, True)])
def test_wide_decimals_begin_at_nineteen_digits(digits: int, wide: bool) -> None:
    assert parse(f"decimal({digits},0)").is_wide is wide


ARROW: list[tuple[pa.DataType, str]] = [
    (pa.uint8(), "smallint"),
    (pa.uint16(), "int"),
    (pa.uint32(), "bigint"),
    (pa.uint64(), "decimal(20,0)"),
    (pa.float16(), "float"),
    (pa.decimal32(9, 2), "decimal(9,2)"),
    (pa.decimal256(38, 2), "decimal(38,2)"),
    (pa.decimal256(39, 2), "decimal256(39, 2)"),
    (pa.decimal128(5, -1), "decimal128(5, -1)"),
    (pa.date64(), "date"),
    (pa.timestamp("ns"), "timestamp_ntz"),
    (pa.timestamp("s", "+01:00"), "timestamp"),
    (pa.time64("us"), "time64[us]"),
    (pa.duration("s"), "duration[s]"),
    (pa.null(), "void"),
    (pa.string_view(), "string"),
    (pa.binary(4), "binary"),
    (pa.binary_view(), "binary"),
    (pa.dictionary(pa.int8(), pa.large_string()), "string"),
    (pa.run_end_encoded(pa.int32(), pa.int8()), "tinyint"),
    (pa.uuid(), "binary"),
    (pa.list_(pa.dictionary(pa.int8(), pa.string())), "array<string>"),
    (pa.list_(pa.int8(), 3), "array<tinyint>"),
    (pa.large_list_view(pa.int8()), "array<tinyint>"),
    (pa.map_(pa.string(), pa.list_(pa.date32())), "map<string,array<date>>"),
    (pa.struct([("a b", pa.bool_()), ("c", pa.struct([]))]), "struct<a b:boolean,c:struct<>>"),
    (pa.sparse_union([pa.field("a", pa.int8())]), "sparse_union<a: int8=0>"),
]


@pytest.mark.parametrize(("arrow", "text"), ARROW, ids=[str(arrow) for arrow, _ in ARROW])
def test_arrow_types(arrow: pa.DataType, text: str) -> None:
    found = from_arrow(arrow)
    assert found.text == text
    assert found.hashable is (text not in (str(arrow), "void"))
