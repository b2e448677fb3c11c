"""Immutable, checkable records of every dbt model that is built on Spark.

dbt imports this module at every command, so importing it loads nothing: each public name brings
what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt_snapshot_plugin.ops.capture_project import capture
    from dbt_snapshot_plugin.ops.open_store import open_store

__version__ = "0.1.0"
__all__ = ["__version__", "capture", "open_store"]

_HOMES = {
    "capture": "dbt_snapshot_plugin.ops.capture_project",
    "open_store": "dbt_snapshot_plugin.ops.open_store",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used; `plugins` is what dbt asks for."""
    import importlib

    if name == "plugins":
        return _plugins()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def _plugins() -> list[Any]:
    """dbt's plugin classes; none where dbt can't be imported, so that a consumer needs no dbt."""
    try:
        from dbt_snapshot_plugin.plugin import plugins
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"dbt", "dbt_common", "dbt_adapters"}:
            return []
        raise
    return list(plugins)
