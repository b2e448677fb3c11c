"""Distinct values by the k smallest hashes: exact while fewer than k, then an estimate.

Which hashes are kept depends on the set of values alone, so merging is exact and the estimate has
the same bits for every partitioning. (HyperLogLog registers would be smaller, but never exact.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

K = 2048
_NONE = np.uint64((1 << 64) - 1)  # the hash of null: never kept
_SEEN_BITS = np.uint64(4095)


class BottomK:
    """The at most K smallest distinct hashes, sorted."""

    method = f"bottom-k of 64-bit value hashes, k={K}"
    error = round(1 / math.sqrt(K - 2), 4)  # relative standard error of the estimate

    def __init__(self, hashes: Words | None = None) -> None:
        self.hashes: Words = np.zeros(0, np.uint64) if hashes is None else hashes
        # Most values of a batch were seen before: a direct-mapped table drops them without a sort.
        # It is a cache only and no part of the state.
        self._seen: Words | None = None

    def update(self, hashes: Words) -> None:
        """Take in the cell hashes of one batch (nulls are skipped by their value)."""
        limit = self.hashes[-1] if len(self.hashes) == K else _NONE
        fresh = hashes[hashes < limit]
        if self._seen is None:
            self._seen = np.full(int(_SEEN_BITS) + 1, _NONE, np.uint64)
        fresh = fresh[self._seen[fresh & _SEEN_BITS] != fresh]
        if len(fresh):
            self._seen[fresh & _SEEN_BITS] = fresh
            self.hashes = _smallest(self.hashes, fresh)

    def merge(self, other: BottomK) -> BottomK:
        """The sketch of both sets together."""
        return BottomK(_smallest(self.hashes, other.hashes))

    @property
    def is_exact(self) -> bool:
        """Whether `count` is the true number of distinct values."""
        return len(self.hashes) < K

    @property
    def count(self) -> int:
        """The number of distinct values, in integer arithmetic so that every host agrees."""
        if self.is_exact:
            return len(self.hashes)
        return ((K - 1) << 64) // (int(self.hashes[-1]) + 1)


def _smallest(kept: Words, fresh: Words) -> Words:
    return np.unique(np.concatenate((kept, fresh)))[:K]
