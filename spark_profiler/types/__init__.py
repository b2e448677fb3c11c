"""What a column is: its Spark type, and its Arrow values as plain numpy arrays."""

from __future__ import annotations

from spark_profiler.types.arrow import from_arrow
from spark_profiler.types.columns import Column, TypeMismatchError, read_column
from spark_profiler.types.spark import SparkType, UnknownTypeError, from_spark_json, parse

__all__ = [
    "Column",
    "SparkType",
    "TypeMismatchError",
    "UnknownTypeError",
    "from_arrow",
    "from_spark_json",
    "parse",
    "read_column",
]
