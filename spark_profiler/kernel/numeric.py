"""Numbers: sums, squares and bounds as exact integers, and the figures made of them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from spark_profiler.canonical import sum_words
from spark_profiler.kernel.exact import (
    DOUBLE_SCALE,
    as_double,
    double_sums,
    sample_deviation,
    sum_signed,
    sum_squares,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_profiler.kernel.tally import Tally
    from spark_profiler.types import Column, SparkType


def tally_numbers(column: Column) -> Tally:
    """The tally of a numeric column in one batch."""
    if column.doubles is not None:
        return _tally_doubles(_present(column, column.doubles))
    assert column.words is not None
    words = _present(column, column.words)
    if len(words) == 0:
        return {}
    if column.high is not None:
        return _tally_wide(words.view(np.uint64), _present(column, column.high))
    return {
        "sum_count": len(words),
        "sum_values": sum_signed(words),
        "sum_squares": sum_squares(np.abs(words).view(np.uint64)),  # |-2^63| is 2^63 as unsigned
        "min_value": int(words.min()),
        "max_value": int(words.max()),
    }


def _present(column: Column, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values if column.nulls is None else values[~column.nulls]


def _tally_wide(low: npt.NDArray[np.uint64], high: npt.NDArray[np.int64]) -> Tally:
    negative = high < 0
    flip = np.where(negative, np.uint64((1 << 64) - 1), np.uint64(0))
    magnitude_low = (low ^ flip) + negative
    carry = negative & (magnitude_low == 0)
    magnitude_high = (high.view(np.uint64) ^ flip) + carry
    bottom, top = high.min(), high.max()
    return {
        "sum_count": len(low),
        "sum_values": (sum_signed(high) << 64) + sum_words(low),
        "sum_squares": sum_squares(magnitude_low, magnitude_high),
        "min_value": (int(bottom) << 64) + int(low[high == bottom].min()),
        "max_value": (int(top) << 64) + int(low[high == top].max()),
    }


def _tally_doubles(values: npt.NDArray[np.float64]) -> Tally:
    """Bounds are kept as multiples of 2^-1074, so that they are integers like everything else."""
    finite = values[np.isfinite(values)]
    tally = {
        "sum_count": len(finite),
        "sum_nan": int(np.count_nonzero(np.isnan(values))),
        "sum_positive_inf": int(np.count_nonzero(values == np.inf)),
        "sum_negative_inf": int(np.count_nonzero(values == -np.inf)),
    }
    if len(finite):
        tally["sum_values"], tally["sum_squares"] = double_sums(finite)
        tally["min_value"] = _scaled(float(finite.min()))
        tally["max_value"] = _scaled(float(finite.max()))
    return tally


def _scaled(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return (numerator << DOUBLE_SCALE) // denominator


def numeric_figures(tally: Tally, spark_type: SparkType) -> dict[str, object]:
    """The statistics of a numeric column; what the values don't have is left out."""
    is_double = spark_type.name in ("float", "double")
    figures: dict[str, object] = {}
    if is_double:
        figures = {
            "nan_count": tally.get("sum_nan", 0),
            "positive_inf_count": tally.get("sum_positive_inf", 0),
            "negative_inf_count": tally.get("sum_negative_inf", 0),
        }
    count = tally.get("sum_count", 0)
    if count == 0:
        return figures
    unit = _unit(spark_type)
    total = tally.get("sum_values", 0) * unit
    squares = tally.get("sum_squares", 0) * unit * unit
    figures |= {
        "mean": as_double(total / count),
        "std": sample_deviation(count, total, squares),
        "min": _shown(tally["min_value"], spark_type),
        "max": _shown(tally["max_value"], spark_type),
        "sum": _shown(tally.get("sum_values", 0), spark_type),
    }
    return {name: figure for name, figure in figures.items() if figure is not None}


def _unit(spark_type: SparkType) -> Fraction:
    """What one step of the tallied integers is worth."""
    if spark_type.name in ("float", "double"):
        return Fraction(1, 1 << DOUBLE_SCALE)
    return Fraction(1, 10**spark_type.scale)


def _shown(value: int, spark_type: SparkType) -> int | float | str | None:
    """A double as a number (None when it overflows), a decimal as text, an int as fits JSON."""
    if spark_type.name in ("float", "double"):
        return as_double(Fraction(value, 1 << DOUBLE_SCALE))
    if spark_type.name == "decimal":
        return _decimal_text(value, spark_type.scale)
    return value if -(1 << 63) <= value < 1 << 63 else str(value)


def _decimal_text(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    sign = "-" if unscaled < 0 else ""
    whole = digits[: len(digits) - scale]
    return f"{sign}{whole}.{digits[len(digits) - scale :]}" if scale else sign + whole
