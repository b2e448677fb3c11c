"""Arrow batches in, a mergeable state out; numpy and pyarrow only."""

from __future__ import annotations

from spark_profiler.kernel.table import TableSchema, TableState

__all__ = ["TableSchema", "TableState"]
