"""The profiler's two doors: a DataFrame or Arrow batches in, a Profile out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from spark_profiler.canonical import HASH_ALGO, data_sha, schema_hash
from spark_profiler.kernel import TableSchema, TableState
from spark_profiler.kernel.state import ColumnState, column_figures
from spark_profiler.model import (
    FORMAT_VERSION,
    AnyStats,
    BinaryStats,
    BooleanStats,
    ColumnInfo,
    DatetimeStats,
    Estimate,
    NestedStats,
    NumericStats,
    Profile,
    ProfileOptions,
    ProfilerError,
    RowMinHash,
    StringStats,
)
from spark_profiler.sketches import NUM_PERM, SCHEME, SEED, BottomK
from spark_profiler.types import (
    SparkType,
    TypeMismatchError,
    UnknownTypeError,
    from_arrow,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_STATS: dict[str, Any] = {
    "numeric": NumericStats,
    "string": StringStats,
    "datetime": DatetimeStats,
    "boolean": BooleanStats,
    "binary": BinaryStats,
    "nested": NestedStats,
}
_LATER = "this version of the profiler does not compute it yet; a later one does"
_LATER_FIELDS = (
    "percentiles",
    "histogram",
    "top_values",
    "top_values_coverage",
    "avg_token_count",
    "min_token_count",
    "max_token_count",
    "detected_languages",
    "duplicate_row_fraction",
    "near_duplicate_estimate",
    "row_hyperloglog",
)


class Field(NamedTuple):
    """One column as it was declared."""

    name: str
    type: SparkType
    nullable: bool


def profile(df: Any, options: ProfileOptions | None = None) -> Profile:
    """Profile any Spark DataFrame (classic or Connect) in one pass over its rows."""
    from spark_profiler.feeds.dataframe import count_rows, dataframe_fields, profile_dataframe

    options = options or ProfileOptions()
    fields = [Field(*field) for field in dataframe_fields(df)]
    positions, schema = _plan(fields, options)
    if positions:
        state = profile_dataframe(df, schema, positions)
    else:
        state = TableState.zero(schema)
        state.rows = count_rows(df)
    return _finish(fields, state, options)


def profile_schema(df: Any) -> Profile:
    """The schema of a DataFrame in a profile's shape.

    No row is read, so it has no identity and no figures; num_rows, which every profile has, is 0.
    """
    from spark_profiler.feeds.dataframe import dataframe_fields

    fields = [Field(*field) for field in dataframe_fields(df)]
    _, schema = _plan(fields, ProfileOptions())
    empty = _finish(fields, TableState.zero(schema), ProfileOptions())
    unread = ("num_rows", "data_sha", "row_minhash", "column_stats")
    return msgspec.structs.replace(
        empty,
        depth="schema",
        data_sha=None,
        row_minhash=None,
        column_stats={},
        not_computed={**empty.not_computed, **dict.fromkeys(unread, "no rows were read")},
    )


def profile_arrow(
    batches: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch | pa.Table],
    schema: pa.Schema | Sequence[tuple[str, str]],
    options: ProfileOptions | None = None,
) -> Profile:
    """Profile Arrow batches with no Spark.

    `schema` says what the columns are: an Arrow schema, or (name, Spark type) pairs as Spark's
    simpleString writes types. It decides, not the batches: they may come in any order of columns
    and any layout that holds the declared values without loss; anything else is an error.
    """
    options = options or ProfileOptions()
    fields = _declared(schema)
    positions, table = _plan(fields, options)
    state = TableState.zero(table)
    names = [field.name for field in fields]
    for batch in _as_batches(batches):
        aligned = _aligned(batch, names)
        if not positions:  # nothing to read; what a batch of no columns has for rows is unsure
            state.rows += batch.num_rows
            continue
        try:
            state.update(aligned.select(positions))
        except TypeMismatchError as error:
            raise ProfilerError(
                f"{error}. Declare the column with the type that its values have."
            ) from error
    return _finish(fields, state, options)


def _declared(schema: pa.Schema | Sequence[tuple[str, str]]) -> list[Field]:
    if isinstance(schema, pa.Schema):
        return [Field(field.name, from_arrow(field.type), field.nullable) for field in schema]
    return [Field(name, _parsed(name, text), True) for name, text in schema]


def _parsed(name: str, text: str) -> SparkType:
    try:
        return parse(text)
    except UnknownTypeError as error:
        raise ProfilerError(
            f"column {name!r}: {error}. Give its Spark type, such as bigint or array<string>."
        ) from error


def _as_batches(batches: Any) -> Iterator[pa.RecordBatch]:
    for part in [batches] if isinstance(batches, (pa.RecordBatch, pa.Table)) else batches:
        if isinstance(part, pa.RecordBatch):
            yield part
        elif isinstance(part, pa.Table):
            yield from part.to_batches()
        else:
            raise ProfilerError(
                f"profile_arrow got a {type(part).__name__} where it takes Arrow data. "
                "Give a pyarrow Table, a RecordBatch, or several of them."
            )


def _aligned(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """The batch with its columns in the declared order."""
    found = batch.schema.names
    if found == names:
        return batch
    if sorted(found) != sorted(names):
        missing = sorted(set(names) - set(found))
        extra = sorted(set(found) - set(names))
        raise ProfilerError(
            f"a batch does not have the declared columns (missing: {missing}, not declared: "
            f"{extra}). Declare exactly the columns that the batches have."
        )
    return batch.select([found.index(name) for name in names])


def _plan(fields: list[Field], options: ProfileOptions) -> tuple[list[int], TableSchema]:
    """Which columns are read, and which of them are identity."""
    _check(fields, options)
    positions = [i for i, field in enumerate(fields) if field.type.hashable]
    chosen = [fields[i] for i in positions]
    return positions, TableSchema(
        names=tuple(field.name for field in chosen),
        types=tuple(field.type for field in chosen),
        in_identity=tuple(field.name not in options.volatile for field in chosen),
    )


def _check(fields: list[Field], options: ProfileOptions) -> None:
    names = [field.name for field in fields]
    if not names:
        raise ProfilerError("the table has no columns. Profile a table with at least one column.")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ProfilerError(
            f"the table has several columns named {', '.join(map(repr, twice))}. "
            "Rename them, so that every name is there once."
        )
    unknown = sorted(set(options.volatile) - set(names))
    if unknown:
        raise ProfilerError(
            f"volatile names columns that the table does not have: {', '.join(map(repr, unknown))}"
            f". Its columns are: {', '.join(names[:20])}."
        )


def _finish(fields: list[Field], state: TableState, options: ProfileOptions) -> Profile:
    """The figures of a finished state."""
    pairs = [(field.name, field.type.text) for field in fields]
    columns = dict(zip(state.schema.names, state.columns, strict=True))
    types = {field.name: field.type for field in fields}
    stats = {name: _stats(column, types[name], state.rows) for name, column in columns.items()}
    unread = [field for field in fields if not field.type.hashable]
    refused = [field for field in unread if field.name not in options.volatile]
    return Profile(
        format_version=FORMAT_VERSION,
        num_rows=state.rows,
        num_columns=len(fields),
        columns=[_describe(field) for field in fields],
        schema_hash=schema_hash(pairs),
        hash_algo=HASH_ALGO,
        data_sha=None if refused else _identity(state),
        depth="schema" if refused else "full",
        volatile=[field.name for field in fields if field.name in options.volatile],
        column_stats=stats,
        constant_columns=[n for n, s in stats.items() if state.rows and s.num_unique <= 1],
        high_null_columns=[
            n for n, s in stats.items() if (s.null_fraction or 0) > options.high_null
        ],
        row_minhash=None if refused else _minhash(state),
        estimated={
            f"column_stats.{name}.num_unique": Estimate(method=BottomK.method, error=BottomK.error)
            for name, column in columns.items()
            if not column.distinct.is_exact
        },
        not_computed=_not_computed(unread, refused),
    )


def _describe(field: Field) -> ColumnInfo:
    return ColumnInfo(
        name=field.name,
        dtype=field.type.dtype,
        spark_type=field.type.text,
        kind=field.type.kind,  # type: ignore[arg-type]
        nullable=field.nullable,
    )


def _stats(column: ColumnState, spark_type: SparkType, rows: int) -> AnyStats:
    nulls = column.tally.get("sum_nulls", 0)
    stats: AnyStats = _STATS[spark_type.kind](
        null_count=nulls,
        null_fraction=nulls / rows if rows else None,
        num_unique=min(column.distinct.count, rows - nulls),  # an estimate can be above it
        **column_figures(column, spark_type),
    )
    return stats


def _identity(state: TableState) -> str:
    """data_sha over the columns that are not volatile."""
    schema = state.schema
    columns = zip(schema.names, schema.types, schema.in_identity, strict=True)
    hashed = [(name, spark_type.text) for name, spark_type, inside in columns if inside]
    return data_sha(hashed, state.rows, state.lane_sums)


def _minhash(state: TableState) -> RowMinHash:
    return RowMinHash(
        scheme=SCHEME, seed=SEED, num_perm=NUM_PERM, hashvalues=state.minhash.values.tolist()
    )


def _not_computed(unread: list[Field], refused: list[Field]) -> dict[str, str]:
    """The reason of every field that is absent; all the columns at fault at once."""
    reasons = dict.fromkeys(_LATER_FIELDS, _LATER)
    if refused:
        listing = ", ".join(f"{field.name} ({field.type.text})" for field in refused)
        why = f"these columns have a type that has no hash of its values: {listing}"
        reasons["data_sha"] = why
        reasons["row_minhash"] = why
    for field in unread:
        reasons[f"column_stats.{field.name}"] = f"no statistics for type {field.type.text}"
    return reasons
