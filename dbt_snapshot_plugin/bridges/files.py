"""Fingerprint of a table's files, for locations that can be listed without Spark."""

from __future__ import annotations

import os
from pathlib import Path

from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.manifest import SourceFiles


def listing_fingerprint(location: str | None) -> SourceFiles | None:
    """Path, size and mtime of every data file under a local location; None if it can't be listed.

    Hidden names are markers, logs and leftovers of a write, not data: Spark skips them too.
    """
    root = _local_path(location)
    if root is None:
        return None
    try:
        entries = _entries(root)
    except OSError:
        return None
    return SourceFiles(
        count=len(entries),
        bytes=sum(size for _, size, _ in entries),
        fingerprint=sha256_hex(canonical_json([list(entry) for entry in entries])),
    )


def _local_path(location: str | None) -> Path | None:
    """Hadoop writes a local path as `file:/a b` or `file:///a b`, with nothing escaped."""
    text = location or ""
    if text.startswith("file:"):
        text = "/" + text.removeprefix("file:").lstrip("/")
    path = Path(text)
    return path if path.is_absolute() and path.exists() else None


def _entries(root: Path) -> list[tuple[str, int, int]]:
    if root.is_file():
        facts = root.stat()
        return [(root.name, facts.st_size, facts.st_mtime_ns)]
    found = []
    for directory, names, files in os.walk(root, onerror=_stop):
        names[:] = [name for name in names if not _is_hidden(name)]
        for name in files:
            if not _is_hidden(name):
                path = Path(directory, name)
                facts = path.stat()
                entry = (path.relative_to(root).as_posix(), facts.st_size, facts.st_mtime_ns)
                found.append(entry)
    return sorted(found)


def _is_hidden(name: str) -> bool:
    """Spark's own rule: the directory of a partition column may begin with an underscore."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _stop(error: OSError) -> None:
    """A directory that can't be read makes the listing unknown, not shorter."""
    raise error
