"""The state of one column: a tally of exact integers and a sketch of its distinct values."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from spark_profiler.kernel.boolean import flag_figures, tally_flags
from spark_profiler.kernel.numeric import numeric_figures, tally_numbers
from spark_profiler.kernel.tally import combine
from spark_profiler.kernel.temporal import moment_figures, tally_moments
from spark_profiler.kernel.text import length_figures, tally_binary, tally_text, text_figures
from spark_profiler.sketches import BottomK

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_profiler.kernel.tally import Tally
    from spark_profiler.types import Column, SparkType


class ColumnState:
    """Everything kept of one column. `merge` is associative and commutative to the bit."""

    def __init__(self, tally: Tally | None = None, distinct: BottomK | None = None) -> None:
        self.tally: Tally = {} if tally is None else tally
        self.distinct = BottomK() if distinct is None else distinct

    def update(self, column: Column, hashes: npt.NDArray[np.uint64]) -> None:
        """Take in the column's values of one batch with their cell hashes."""
        self.tally = combine(self.tally, {**tally_column(column), "sum_nulls": column.null_count})
        self.distinct.update(hashes)

    def merge(self, other: ColumnState) -> ColumnState:
        """Both states as one."""
        return ColumnState(combine(self.tally, other.tally), self.distinct.merge(other.distinct))

    def dump(self) -> dict[str, Any]:
        """A JSON-able form."""
        return {"tally": self.tally, "distinct": encode_array(self.distinct.hashes, "<u8")}

    @classmethod
    def load(cls, plain: dict[str, Any]) -> ColumnState:
        """The state that `dump` wrote."""
        hashes = decode_array(plain["distinct"], "<u8")
        return cls(dict(plain["tally"]), BottomK(hashes.astype(np.uint64)))


def tally_column(column: Column) -> Tally:
    """The tally of one batch, by the kind of the column."""
    kind = column.type.kind
    if kind == "numeric":
        return tally_numbers(column)
    if kind == "string":
        return tally_text(column)
    if kind == "datetime":
        return tally_moments(column)
    if kind == "boolean":
        return tally_flags(column)
    if kind == "binary":
        return tally_binary(column)
    return {}


def column_figures(state: ColumnState, spark_type: SparkType) -> dict[str, object]:
    """The statistics that a column's kind has, besides nulls and distinct values."""
    kind = spark_type.kind
    if kind == "numeric":
        return numeric_figures(state.tally, spark_type)
    if kind == "string":
        return text_figures(state.tally)
    if kind == "datetime":
        return moment_figures(state.tally, spark_type)
    if kind == "boolean":
        return flag_figures(state.tally)
    if kind == "binary":
        return length_figures(state.tally, "byte")
    return {}


def encode_array(array: npt.NDArray[Any], dtype: str) -> str:
    """Base64 of the little-endian values."""
    return base64.b64encode(array.astype(dtype).tobytes()).decode("ascii")


def decode_array(text: str, dtype: str) -> npt.NDArray[Any]:
    """The array that `encode_array` wrote."""
    return np.frombuffer(base64.b64decode(text, validate=True), dtype)
