"""The identity of the values: cell and row hashes, and data_sha. Specified in docs/data_sha.md."""

from __future__ import annotations

from spark_profiler.canonical.cells import cell_lanes
from spark_profiler.canonical.digest import HASH_ALGO, data_sha, schema_hash
from spark_profiler.canonical.mixing import NULL
from spark_profiler.canonical.rows import RowHasher, sum_words

__all__ = [
    "HASH_ALGO",
    "NULL",
    "RowHasher",
    "cell_lanes",
    "data_sha",
    "schema_hash",
    "sum_words",
]
