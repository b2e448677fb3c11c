"""The statistics of a column in plain Python: exact, slow, and sharing no code with the product.

Values are the plain ones of `tables.py`: decimals are unscaled ints, dates are days, timestamps
are microseconds, strings are bytes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from tests.spark_profiler.reference import split

WIDE = Context(prec=2500, Emin=-(10**6), Emax=10**6)
CYCLE = 146_097  # days in 400 years, after which the Gregorian calendar repeats
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def expected(type_text: str, values: Sequence[Any]) -> dict[str, Any]:
    """The `column_stats` entry of a column."""
    present = [value for value in values if value is not None]
    kind, figures = _kind(type_text)
    found = {
        "kind": kind,
        "null_count": len(values) - len(present),
        "num_unique": len({canonical(type_text, value) for value in present}),
        **figures(type_text, present),
    }
    if values:
        found["null_fraction"] = (len(values) - len(present)) / len(values)
    return {name: value for name, value in found.items() if value is not None}


def _kind(type_text: str) -> tuple[str, Callable[[str, list[Any]], dict[str, Any]]]:
    if type_text in ("float", "double"):
        return "numeric", _doubles
    if type_text in _WHOLE or type_text.startswith("decimal"):
        return "numeric", _exact_numbers
    others: dict[str, tuple[str, Callable[[str, list[Any]], dict[str, Any]]]] = {
        "boolean": ("boolean", _flags),
        "string": ("string", _strings),
        "binary": ("binary", _binaries),
        "date": ("datetime", _moments),
        "timestamp": ("datetime", _moments),
        "timestamp_ntz": ("datetime", _moments),
    }
    return others.get(type_text, ("nested", lambda _, __: {}))


def canonical(type_text: str, value: Any) -> Hashable:
    """Equal for equal values: one NaN, -0.0 is 0.0, a map has no order."""
    if value is None:
        return None
    if type_text in ("float", "double"):
        return "NaN" if math.isnan(value) else value + 0.0
    if "<" not in type_text:
        return value if isinstance(value, Hashable) else repr(value)
    name, inner = type_text[:-1].split("<", 1)
    if name == "array":
        return tuple(canonical(inner, item) for item in value)
    if name == "struct":
        types = [part.split(":", 1)[1] for part in split(inner)]
        return tuple(canonical(t, v) for t, v in zip(types, value, strict=True))
    key, item = split(inner)
    return frozenset(Counter((canonical(key, k), canonical(item, v)) for k, v in value).items())


def _moments_of(values: list[Fraction]) -> dict[str, Any]:
    """Mean and sample deviation, rounded once."""
    mean = sum(values, Fraction(0)) / len(values)
    found: dict[str, Any] = {"mean": float(mean)}
    if len(values) > 1:
        squares = sum(((value - mean) ** 2 for value in values), Fraction(0))
        found["std"] = _finite(root(squares / (len(values) - 1)))
    return found


def root(value: Fraction) -> Decimal:
    """The square root to some two thousand digits."""
    return WIDE.sqrt(WIDE.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _finite(value: Decimal | Fraction) -> float | None:
    try:
        made = float(value)
    except OverflowError:
        return None
    return made if math.isfinite(made) else None


def _exact_numbers(type_text: str, values: list[int]) -> dict[str, Any]:
    if not values:
        return {}
    scale = int(type_text[:-1].split(",")[1]) if type_text.startswith("decimal") else 0

    def shown(value: int) -> int | str:
        if type_text.startswith("decimal"):
            return format(Decimal(value).scaleb(-scale, WIDE), "f")
        return value if -(2**63) <= value < 2**63 else str(value)

    figures = {"min": shown(min(values)), "max": shown(max(values)), "sum": shown(sum(values))}
    return {**figures, **_moments_of([Fraction(value, 10**scale) for value in values])}


def _doubles(_: str, values: list[float]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "nan_count": sum(math.isnan(value) for value in values),
        "positive_inf_count": values.count(math.inf),
        "negative_inf_count": values.count(-math.inf),
    }
    finite = [Fraction(value) for value in values if math.isfinite(value)]
    if finite:
        found |= {
            "min": float(min(finite)),
            "max": float(max(finite)),
            "sum": _finite(sum(finite, Fraction(0))),
        }
        found |= _moments_of(finite)
    return found


def _flags(_: str, values: list[bool]) -> dict[str, Any]:
    return {"true_count": values.count(True), "false_count": values.count(False)}


def _lengths(lengths: list[int], unit: str) -> dict[str, Any]:
    if not lengths:
        return {}
    return {
        f"min_{unit}_length": min(lengths),
        f"max_{unit}_length": max(lengths),
        f"avg_{unit}_length": float(Fraction(sum(lengths), len(lengths))),
    }


def _strings(_: str, values: list[bytes]) -> dict[str, Any]:
    characters = [sum(not 0x80 <= byte < 0xC0 for byte in value) for value in values]
    return {
        **_lengths(characters, "char"),
        "invalid_utf8_count": sum("\ufffd" in _replaced(value) for value in values),
    }


def _replaced(value: bytes) -> str:
    """Decoded with U+FFFD for what is not valid; a true U+FFFD is made harmless first."""
    return value.replace("\ufffd".encode(), b"?").decode(errors="replace")


def _binaries(_: str, values: list[bytes]) -> dict[str, Any]:
    return _lengths([len(value) for value in values], "byte")


def _moments(type_text: str, values: list[int]) -> dict[str, Any]:
    if not values:
        return {}
    first, last = min(values), max(values)
    if type_text == "date":
        day = 1
        texts = [iso(value * 86_400_000_000).split("T")[0] for value in (first, last)]
    else:
        day = 86_400_000_000
        zone = "Z" if type_text == "timestamp" else ""
        texts = [iso(value) + zone for value in (first, last)]
    return {"min": texts[0], "max": texts[1], "range_days": float(Fraction(last - first, day))}


def iso(microseconds: int) -> str:
    """ISO 8601 by Python's datetime, moved by whole cycles of the calendar into its range."""
    days, rest = divmod(microseconds, 86_400_000_000)
    cycles, day = divmod(days, CYCLE)
    moment = datetime(1970, 1, 1) + timedelta(days=day, microseconds=rest)  # noqa: DTZ001
    year = moment.year + 400 * cycles
    sign = "" if 0 <= year <= 9999 else "-" if year < 0 else "+"
    return f"{sign}{abs(year):04d}" + moment.isoformat()[4:]
