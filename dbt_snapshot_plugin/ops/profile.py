"""`profile`: the profile of local files, with no Spark and no store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from spark_profiler.model import Profile, ProfileOptions


def profile_path(
    path: str,
    *,
    volatile: tuple[str, ...] = (),
    progress: Callable[[int], None] | None = None,
) -> Profile:
    """Profiles a file or a directory of files; `progress` is told the rows read so far."""
    from spark_profiler.feeds.local import open_path
    from spark_profiler.profiler import profile_arrow

    schema, batches = open_path(path)
    read = batches if progress is None else _counted(batches, progress)
    return profile_arrow(read, schema, ProfileOptions(volatile=volatile))


def _counted(batches: Iterable[Any], progress: Callable[[int], None]) -> Iterator[Any]:
    rows = 0
    for batch in batches:
        yield batch
        rows += batch.num_rows
        progress(rows)
