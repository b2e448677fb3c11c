"""The state of a table: rows, row hash sums, the row MinHash and one state per column."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spark_profiler.canonical import RowHasher, cell_lanes, sum_words
from spark_profiler.kernel.state import ColumnState, decode_array, encode_array
from spark_profiler.sketches import MinHash128
from spark_profiler.types import TypeMismatchError, read_column

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_profiler.types import SparkType

_STATE_FORMAT = 1
_BLOCK = 1 << 16  # rows per step: bounds the temporaries and keeps them in the cache


@dataclass(frozen=True)
class TableSchema:
    """The columns that are read, in order, and which of them make up the identity."""

    names: tuple[str, ...]
    types: tuple[SparkType, ...]
    in_identity: tuple[bool, ...]


class TableState:
    """A commutative monoid: `zero` is its unit, `merge` its operation, exact to the bit."""

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.rows = 0
        self.lane_sums = (0, 0)
        self.minhash = MinHash128()
        self.columns = [ColumnState() for _ in schema.types]

    @classmethod
    def zero(cls, schema: TableSchema) -> TableState:
        """The state of no rows."""
        return cls(schema)

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in a batch whose columns stand in the order of the schema."""
        for start in range(0, batch.num_rows, _BLOCK):
            self._update_block(batch.slice(start, _BLOCK))

    def _update_block(self, batch: pa.RecordBatch) -> None:
        rows = RowHasher(batch.num_rows)
        for index, spark_type in enumerate(self.schema.types):
            try:
                column = read_column(batch.column(index), spark_type)
            except TypeMismatchError as error:
                raise TypeMismatchError(f"column {self.schema.names[index]!r}: {error}") from error
            cells = cell_lanes(column)
            self.columns[index].update(column, cells[0])
            if self.schema.in_identity[index]:
                rows.add(cells)
        first, second = rows.lanes()
        self.rows += batch.num_rows
        self.lane_sums = (
            self.lane_sums[0] + sum_words(first),
            self.lane_sums[1] + sum_words(second),
        )
        self.minhash.update(first)

    def merge(self, other: TableState) -> TableState:
        """Both states as one; neither is changed."""
        merged = TableState(self.schema)
        merged.rows = self.rows + other.rows
        merged.lane_sums = (
            self.lane_sums[0] + other.lane_sums[0],
            self.lane_sums[1] + other.lane_sums[1],
        )
        merged.minhash = self.minhash.merge(other.minhash)
        merged.columns = [
            mine.merge(theirs) for mine, theirs in zip(self.columns, other.columns, strict=True)
        ]
        return merged

    def to_bytes(self) -> bytes:
        """Canonical JSON: equal states have equal bytes."""
        plain = {
            "format": _STATE_FORMAT,
            "rows": self.rows,
            "lane_sums": list(self.lane_sums),
            "minhash": encode_array(self.minhash.values, "<u4"),
            "columns": [column.dump() for column in self.columns],
        }
        return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode("ascii")

    @classmethod
    def from_bytes(cls, schema: TableSchema, raw: bytes) -> TableState:
        """The state that `to_bytes` wrote, for the same schema."""
        plain = json.loads(raw)
        if plain["format"] != _STATE_FORMAT or len(plain["columns"]) != len(schema.types):
            raise ValueError("this kernel state was written for another format or schema")
        state = cls(schema)
        state.rows = plain["rows"]
        state.lane_sums = (plain["lane_sums"][0], plain["lane_sums"][1])
        state.minhash = MinHash128(decode_array(plain["minhash"], "<u4").astype(np.uint32))
        state.columns = [ColumnState.load(column) for column in plain["columns"]]
        return state
