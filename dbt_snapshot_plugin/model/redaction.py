"""Redaction: what a profile may say of a column that holds personal data."""

from __future__ import annotations

from typing import Any

# An allow-list, so that a figure added to the profiler later is hidden until someone decides.
KEPT = frozenset(
    [
        "kind",
        "null_count",
        "null_fraction",
        "num_unique",
        "nan_count",
        "true_count",
        "false_count",
        "invalid_utf8_count",
    ]
)
REASON = "redacted: the column is marked as personal data"


def redact_profile(profile: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """The profile without any value or bound of the given columns."""
    if not columns:
        return profile
    hidden = set(columns)
    stats = {
        name: {k: v for k, v in figures.items() if k in KEPT} if name in hidden else figures
        for name, figures in profile["column_stats"].items()
    }
    notes = {f"column_stats.{name}": REASON for name in columns if name in stats}
    constant = [c for c in profile.get("constant_columns", []) if c not in hidden]
    return {
        **profile,
        "column_stats": stats,
        "constant_columns": constant,
        "not_computed": {**profile.get("not_computed", {}), **notes},
    }
