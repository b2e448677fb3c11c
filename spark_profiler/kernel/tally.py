"""A tally: named exact integers, each combined by the rule that its name begins with.

Every statistic is a handful of integers under `sum_`, `min_` or `max_`. Sums and bounds of
integers are associative and commutative to the bit, so a state built out of tallies is too,
and one merge function serves all kinds of column.
"""

from __future__ import annotations

from collections.abc import Callable

Tally = dict[str, int]

_RULES: dict[str, Callable[[int, int], int]] = {
    "sum": lambda a, b: a + b,
    "min": min,
    "max": max,
}


def combine(first: Tally, second: Tally) -> Tally:
    """Both tallies as one. A sum of zero is left out, so equal tallies are equal in bytes."""
    combined = dict(first)
    for name, value in second.items():
        rule = _RULES[name[:3]]
        combined[name] = rule(combined[name], value) if name in combined else value
    return {
        name: value for name, value in combined.items() if value or not name.startswith("sum_")
    }
