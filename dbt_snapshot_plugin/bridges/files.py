"""Fingerprint of a table's files, for locations that can be listed without Spark."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.manifest import SourceFiles

_HIDDEN = ("_", ".")


def listing_fingerprint(location: str | None) -> SourceFiles | None:
    """Path, size and mtime of every data file under a local location; None if it can't be listed.

    Names that start with '_' or '.' are markers, logs and leftovers of a write, not data: Spark
    does not read them either.
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
    if not location:
        return None
    parts = urlsplit(location)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
        path = Path(unquote(parts.path))
    elif not parts.scheme:
        path = Path(location)
    else:
        return None
    return path if path.is_absolute() and path.exists() else None


def _entries(root: Path) -> list[tuple[str, int, int]]:
    if root.is_file():
        facts = root.stat()
        return [(root.name, facts.st_size, facts.st_mtime_ns)]
    found = []
    for directory, names, files in os.walk(root, onerror=_stop):
        names[:] = [n for n in names if not n.startswith(_HIDDEN)]
        for name in files:
            if not name.startswith(_HIDDEN):
                path = Path(directory, name)
                facts = path.stat()
                entry = (path.relative_to(root).as_posix(), facts.st_size, facts.st_mtime_ns)
                found.append(entry)
    return sorted(found)


def _stop(error: OSError) -> None:
    """A directory that can't be read makes the listing unknown, not shorter."""
    raise error
