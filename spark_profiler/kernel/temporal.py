"""Dates and timestamps: bounds, and their ISO-8601 text for every year that Spark has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_profiler.kernel.tally import Tally
    from spark_profiler.types import Column, SparkType

_DAY = 86_400_000_000  # microseconds


def tally_moments(column: Column) -> Tally:
    """The bounds, in days (date) or microseconds."""
    assert column.words is not None
    words = column.words if column.nulls is None else column.words[~column.nulls]
    if len(words) == 0:
        return {}
    return {"min_value": int(words.min()), "max_value": int(words.max())}


def moment_figures(tally: Tally, spark_type: SparkType) -> dict[str, object]:
    """The statistics of a date or timestamp column."""
    if "min_value" not in tally:
        return {}
    first, last = tally["min_value"], tally["max_value"]
    if spark_type.name == "date":
        bounds, days = (iso_date(first), iso_date(last)), float(last - first)
    else:
        zone = "Z" if spark_type.name == "timestamp" else ""
        bounds = (iso_moment(first) + zone, iso_moment(last) + zone)
        days = (last - first) / _DAY
    return {"min": bounds[0], "max": bounds[1], "range_days": days}


def iso_date(days: int) -> str:
    """Days since 1970-01-01 as a proleptic Gregorian date.

    Python's datetime ends at the years 1 and 9999 and Spark does not; outside of them the year
    has a sign, as ISO 8601 wants it.
    """
    # Count from 0000-03-01, so that the leap day is the last one of its year (Hinnant).
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + 400 * era + (month <= 2)
    if 0 <= year <= 9999:
        return f"{year:04d}-{month:02d}-{day:02d}"
    return f"{'-' if year < 0 else '+'}{abs(year):04d}-{month:02d}-{day:02d}"


def iso_moment(microseconds: int) -> str:
    """Microseconds since the epoch as ISO-8601, the fraction only where there is one."""
    days, rest = divmod(microseconds, _DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{iso_date(days)}T{clock}" + (f".{fraction:06d}" if fraction else "")
