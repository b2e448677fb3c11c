"""Row hashes out of cell hashes, and exact sums of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spark_profiler.canonical.mixing import COLUMN, LANES, key, mix

if TYPE_CHECKING:
    from spark_profiler.canonical.mixing import Words


class RowHasher:
    """Collects the cells of one batch, column by column, into row lanes."""

    def __init__(self, rows: int) -> None:
        self._totals = (np.zeros(rows, np.uint64), np.zeros(rows, np.uint64))
        self._columns = 0

    def add(self, cells: tuple[Words, Words]) -> None:
        """Add the next column of the identity."""
        for lane, total, part in zip(LANES, self._totals, cells, strict=True):
            np.add(total, part * np.uint64(key(lane, COLUMN, self._columns) | 1), out=total)
        self._columns += 1

    def lanes(self) -> tuple[Words, Words]:
        """The finished row hashes: mixed per row, so that sums of rows say nothing of cells."""
        return mix(self._totals[0], LANES[0]), mix(self._totals[1], LANES[1])


def sum_words(words: Words) -> int:
    """The exact sum of unsigned words (fewer than 2^32 of them)."""
    low = int(np.sum(words & np.uint64(0xFFFFFFFF), dtype=np.uint64))
    high = int(np.sum(words >> np.uint64(32), dtype=np.uint64))
    return (high << 32) + low
