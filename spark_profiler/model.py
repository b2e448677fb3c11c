"""What a profile is: plain records, strict when they are read back.

Only the profiler builds these. The kernel works without them, because executors have no msgspec.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

FORMAT_VERSION = "1.0"


class ProfilerError(Exception):
    """A table that can't be profiled. The text says what, where and what to do next."""


class Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of all records: what was not computed is absent, an unknown field is an error."""


class ProfileOptions(Record, frozen=True, kw_only=True):
    """How to profile.

    `volatile` columns (a load timestamp) are profiled, but are no part of data_sha and of the row
    sketches. A column is in `high_null_columns` when its null share is above `high_null`.
    """

    high_null: float = 0.5
    volatile: tuple[str, ...] = ()


class ColumnInfo(Record, frozen=True, kw_only=True):
    """One column of the schema."""

    name: str
    dtype: str
    spark_type: str
    kind: Literal["numeric", "string", "datetime", "boolean", "binary", "nested", "other"]
    nullable: bool


class ColumnStats(Record, frozen=True, kw_only=True, tag_field="kind"):
    """What every column has. `null_fraction` is absent when the table has no rows.

    `num_unique` counts distinct values that are not null; NaN is one value, -0.0 equals 0.0.
    """

    null_count: int
    null_fraction: float | None = None
    num_unique: int


class NumericStats(ColumnStats, frozen=True, kw_only=True, tag="numeric"):
    """Numbers, over finite values; absent when there are none.

    min, max and sum are JSON integers for integer columns (a decimal string outside int64),
    decimal strings for decimal columns and numbers for float and double columns. The sum of
    doubles is absent when it is out of their range. std is the sample's (divided by n - 1, as
    Spark's `stddev`): absent for fewer than two values, and when no double holds it.
    """

    mean: float | None = None
    std: float | None = None
    min: int | float | str | None = None
    max: int | float | str | None = None
    sum: int | float | str | None = None
    nan_count: int | None = None
    positive_inf_count: int | None = None
    negative_inf_count: int | None = None


class StringStats(ColumnStats, frozen=True, kw_only=True, tag="string"):
    """Strings; a character is every byte that is no UTF-8 continuation byte."""

    min_char_length: int | None = None
    max_char_length: int | None = None
    avg_char_length: float | None = None
    invalid_utf8_count: int | None = None


class DatetimeStats(ColumnStats, frozen=True, kw_only=True, tag="datetime"):
    """Dates and timestamps, ISO-8601; an instant (`timestamp`) ends in Z."""

    min: str | None = None
    max: str | None = None
    range_days: float | None = None


class BooleanStats(ColumnStats, frozen=True, kw_only=True, tag="boolean"):
    """Flags."""

    true_count: int
    false_count: int


class BinaryStats(ColumnStats, frozen=True, kw_only=True, tag="binary"):
    """Byte strings."""

    min_byte_length: int | None = None
    max_byte_length: int | None = None
    avg_byte_length: float | None = None


class NestedStats(ColumnStats, frozen=True, kw_only=True, tag="nested"):
    """Arrays, structs and maps."""


AnyStats = NumericStats | StringStats | DatetimeStats | BooleanStats | BinaryStats | NestedStats


class RowMinHash(Record, frozen=True, kw_only=True):
    """Loads as `datasketch.MinHash(hashvalues=…, seed=…, scheme=…)`."""

    scheme: str
    seed: int
    num_perm: int
    hashvalues: list[int]


class Estimate(Record, frozen=True, kw_only=True):
    """How a figure that is not exact was made; `error` is its relative standard error."""

    method: str
    error: float


class Profile(Record, frozen=True, kw_only=True):
    """The statistics, sketches and identity of one table. Field names are the ADR's."""

    format_version: str
    num_rows: int
    num_columns: int
    columns: list[ColumnInfo]
    schema_hash: str
    hash_algo: str
    data_sha: str | None = None
    depth: Literal["full", "schema"]
    volatile: list[str] = []
    column_stats: dict[str, AnyStats]
    constant_columns: list[str]
    high_null_columns: list[str]
    row_minhash: RowMinHash | None = None
    estimated: dict[str, Estimate]
    not_computed: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def to_json(self) -> bytes:
        """JSON bytes with sorted keys: equal profiles have equal bytes."""
        return msgspec.json.encode(self, order="sorted")

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Profile:
        """Read `to_dict` back, strictly."""
        return _checked(lambda: msgspec.convert(plain, cls))

    @classmethod
    def from_json(cls, raw: bytes | str) -> Profile:
        """Read `to_json` back, strictly."""
        return _checked(lambda: msgspec.json.decode(raw, type=cls))


def _checked(read: Any) -> Profile:
    try:
        profile: Profile = read()
    except msgspec.DecodeError as error:
        raise ProfilerError(
            f"this is no profile of format {FORMAT_VERSION}: {error}. Profile the table again."
        ) from error
    return profile
