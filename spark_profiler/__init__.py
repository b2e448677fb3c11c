"""Profile a table on Spark, or Arrow batches without it; the same bits for any layout.

Importing this package imports nothing heavy: the names below load what they need on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_profiler.model import Profile, ProfileOptions, ProfilerError
    from spark_profiler.profiler import profile, profile_arrow, profile_schema

__all__ = [
    "Profile",
    "ProfileOptions",
    "ProfilerError",
    "profile",
    "profile_arrow",
    "profile_schema",
]

_HOMES = {
    "Profile": "spark_profiler.model",
    "ProfileOptions": "spark_profiler.model",
    "ProfilerError": "spark_profiler.model",
    "profile": "spark_profiler.profiler",
    "profile_arrow": "spark_profiler.profiler",
    "profile_schema": "spark_profiler.profiler",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
