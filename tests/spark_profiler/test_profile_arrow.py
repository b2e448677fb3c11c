"""The door without Spark: what it takes, what it says, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from spark_profiler import Profile, ProfileOptions, ProfilerError, profile_arrow
from spark_profiler.canonical import schema_hash
from spark_profiler.model import FORMAT_VERSION

TABLE = pa.table({"n": [1, 2, None], "s": ["a", "", None]})
PAIRS = [("n", "bigint"), ("s", "string")]
FORMS: list[tuple[str, Callable[[], Any]]] = [
    ("table", lambda: TABLE),
    ("chunked table", lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)])),
    ("record batch", lambda: TABLE.to_batches()[0]),
    ("list of batches", lambda: TABLE.to_batches(max_chunksize=2)),
    ("iterator of batches", lambda: iter(TABLE.to_batches(max_chunksize=1))),
    ("reader", TABLE.to_reader),
    ("list of tables", lambda: [TABLE.slice(0, 2), TABLE.slice(2)]),
    ("columns in another order", lambda: TABLE.select(["s", "n"])),
]


@pytest.mark.parametrize("form", [form for _, form in FORMS], ids=[name for name, _ in FORMS])
@pytest.mark.parametrize("schema", [PAIRS, TABLE.schema], ids=["pairs", "arrow"])
def test_every_form_of_input_gives_the_same_profile(
    form: Callable[[], Any], schema: pa.Schema | list[tuple[str, str]]
) -> None:
    assert profile_arrow(form(), schema).to_json() == profile_arrow(TABLE, PAIRS).to_json()


def test_a_profile_has_all_its_fields() -> None:
    found = profile_arrow(TABLE, PAIRS).to_dict()
    assert {name: found[name] for name in ("format_version", "num_rows", "num_columns")} == {
        "format_version": FORMAT_VERSION,
        "num_rows": 3,
        "num_columns": 2,
    }
    assert found["columns"] == [
        {
            "name": "n",
            "dtype": "int64",
            "spark_type": "bigint",
            "kind": "numeric",
            "nullable": True,
        },
        {
            "name": "s",
            "dtype": "string",
            "spark_type": "string",
            "kind": "string",
            "nullable": True,
        },
    ]
    assert found["schema_hash"] == schema_hash(PAIRS)
    assert found["depth"] == "full"
    assert len(found["data_sha"]) == 64
    assert len(found["row_minhash"]["hashvalues"]) == found["row_minhash"]["num_perm"] == 128
    assert list(found["column_stats"]) == ["n", "s"]
    assert "volatile" not in found
    assert "percentiles" in found["not_computed"]
    assert "data_sha" not in found["not_computed"]


def test_a_table_without_rows_has_no_shares() -> None:
    found = profile_arrow([], [*PAIRS, ("b", "boolean"), ("l", "array<int>")])
    assert found.num_rows == 0
    assert found.data_sha is not None
    assert found.depth == "full"
    assert msgspec.to_builtins(found.column_stats["n"]) == {
        "kind": "numeric",
        "null_count": 0,
        "num_unique": 0,
    }
    empty = TABLE.slice(0, 0)
    assert profile_arrow(empty, PAIRS).to_json() == profile_arrow([], PAIRS).to_json()
    assert profile_arrow([], PAIRS).data_sha != profile_arrow([], PAIRS[:1]).data_sha


def test_nullability_comes_from_the_arrow_schema_and_is_no_identity() -> None:
    fields = [pa.field("n", pa.int64(), nullable=False)]
    rows = pa.table({"n": [1]})
    strict, loose = profile_arrow(rows, pa.schema(fields)), profile_arrow(rows, rows.schema)
    assert [strict.columns[0].nullable, loose.columns[0].nullable] == [False, True]
    assert strict.data_sha == loose.data_sha
    assert strict.schema_hash == loose.schema_hash


def test_columns_without_an_encoding_make_it_a_schema_profile() -> None:
    """All of them are named at once; the others keep their statistics."""
    pairs = [("a", "interval day"), ("n", "bigint"), ("b c", "array<variant>")]
    rows = pa.table({"a": pa.nulls(2), "n": [1, None], "b c": pa.nulls(2)})
    found = profile_arrow(rows, pairs)
    assert found.depth == "schema"
    assert found.data_sha is None
    assert found.row_minhash is None
    assert found.num_rows == 2
    assert found.schema_hash == schema_hash(pairs)
    assert list(found.column_stats) == ["n"]
    why = "these columns have a type that has no hash of its values: a (interval day), "
    why += "b c (array<variant>)"
    assert found.not_computed["data_sha"] == found.not_computed["row_minhash"] == why
    assert found.not_computed["column_stats.a"] == "no statistics for type interval day"
    assert found.not_computed["column_stats.b c"] == "no statistics for type array<variant>"
    assert "data_sha" not in found.to_dict()


def test_only_columns_without_an_encoding_still_count_rows() -> None:
    rows = pa.table({"a": pa.array([1, 2], pa.duration("s"))})
    found = profile_arrow(rows, rows.schema)
    assert found.num_rows == 2
    assert found.depth == "schema"
    assert found.column_stats == {}
    assert found.columns[0].spark_type == "duration[s]"


def test_a_volatile_column_may_have_any_type() -> None:
    rows = pa.table({"n": [1, 2], "v": pa.array([1, 2], pa.duration("s"))})
    found = profile_arrow(rows, rows.schema, ProfileOptions(volatile=("v",)))
    alone = profile_arrow(rows.select(["n"]), rows.select(["n"]).schema)
    assert found.depth == "full"
    assert found.data_sha == alone.data_sha
    assert found.row_minhash == alone.row_minhash
    assert list(found.column_stats) == ["n"]
    assert "data_sha" not in found.not_computed
    assert found.not_computed["column_stats.v"] == "no statistics for type duration[s]"


ODD = ["a.b", "A.B", "x`y", " ", "", "😀", "a,b<c>:d", '"', "ключ"]


def test_odd_names_are_kept_as_they_are() -> None:
    rows = pa.Table.from_arrays([pa.array([place]) for place in range(len(ODD))], names=ODD)
    found = profile_arrow(rows, rows.schema)
    assert [column.name for column in found.columns] == ODD
    assert list(found.column_stats) == ODD
    assert Profile.from_json(found.to_json()) == found


def test_fields_with_odd_names_are_read_by_a_simple_string() -> None:
    arrow = pa.struct([("x:y", pa.int64()), ("a,b", pa.int64()), ("é .", pa.int64())])
    rows = pa.table({"s": pa.array([{"x:y": 1, "a,b": 2, "é .": None}], arrow)})
    by_text = profile_arrow(rows, [("s", "struct<x:y:bigint,a,b:bigint,é .:bigint>")])
    assert by_text.to_json() == profile_arrow(rows, rows.schema).to_json()


def refusal(batches: Any, schema: Any, **options: Any) -> str:
    with pytest.raises(ProfilerError) as caught:
        profile_arrow(batches, schema, ProfileOptions(**options))
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_a_table_without_columns_is_refused() -> None:
    assert "no columns" in refusal([], [])


def test_equal_names_are_refused_all_at_once() -> None:
    pairs = [("b", "int"), ("a", "int"), ("b", "int"), ("a", "int"), ("c", "int")]
    assert "several columns named 'a', 'b'" in refusal([], pairs)
    twins = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "several columns named 'a'" in refusal(twins, twins.schema)


def test_a_volatile_column_that_is_not_there_is_refused() -> None:
    text = refusal(TABLE, PAIRS, volatile=("s", "x", "y"))
    assert "'x', 'y'" in text
    assert "n, s" in text


def test_a_type_that_is_none_is_refused_with_its_column() -> None:
    text = refusal(TABLE, [("n", "array<bigint"), ("s", "string")])
    assert text.startswith("column 'n': 'array<bigint' is no Spark type")


def test_values_of_another_type_are_refused_with_their_column() -> None:
    text = refusal(TABLE, [("n", "string"), ("s", "string")])
    assert text.startswith("column 'n': Arrow int64 can't be read as string")
    assert "Declare the column" in text


def test_other_columns_than_declared_are_refused() -> None:
    text = refusal(TABLE, [("n", "bigint"), ("t", "string")])
    assert "missing: ['t']" in text
    assert "not declared: ['s']" in text
    twins = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    assert "does not have the declared columns" in refusal(twins, [("n", "bigint")])


def test_what_is_no_arrow_data_is_refused() -> None:
    assert "got a dict" in refusal([{"n": 1}], PAIRS)


def test_the_null_share_that_is_high_is_an_option() -> None:
    rows = pa.table({"a": [1, None], "b": [None, None]}, pa.schema({"a": "int8", "b": "int8"}))
    assert profile_arrow(rows, rows.schema).high_null_columns == ["b"]
    low = ProfileOptions(high_null=0.4)
    assert profile_arrow(rows, rows.schema, low).high_null_columns == ["a", "b"]
