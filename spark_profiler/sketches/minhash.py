"""Row MinHash, bit-compatible with datasketch 2 (scheme affine32).

Written out here because executors have numpy and pyarrow only. The permutations are the ones that
`datasketch.MinHash(num_perm=128, seed=1)` draws; a row enters as the upper 32 bits of lane 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]
    Halves = npt.NDArray[np.uint32]

SCHEME = "affine32"
SEED = 1
NUM_PERM = 128
_BLOCK = 8192  # rows per pass: the permuted block stays in the cache


def _permutations() -> tuple[Halves, Halves]:
    generator = np.random.RandomState(SEED)
    half = generator.randint(0, 1 << 31, NUM_PERM, dtype=np.uint32)
    added = generator.randint(0, 1 << 32, NUM_PERM, dtype=np.uint32)
    return half * np.uint32(2) + np.uint32(1), added


_MULTIPLIERS, _ADDED = _permutations()


def _premix(values: Halves) -> Halves:
    """MurmurHash3's 32-bit finaliser, which datasketch applies once to every input hash."""
    mixed = values ^ (values >> np.uint32(16))
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed


class MinHash128:
    """The smallest permuted value per permutation."""

    def __init__(self, values: Halves | None = None) -> None:
        empty = np.full(NUM_PERM, 0xFFFFFFFF, np.uint32)
        self.values: Halves = empty if values is None else values

    def update(self, row_hashes: Words) -> None:
        """Take in the rows of one batch."""
        inputs = _premix((row_hashes >> np.uint64(32)).astype(np.uint32))
        permuted = np.empty(min(_BLOCK, len(inputs)), np.uint32)
        for start in range(0, len(inputs), _BLOCK):
            block = inputs[start : start + _BLOCK]
            out = permuted[: len(block)]
            for number in range(NUM_PERM):
                np.multiply(block, _MULTIPLIERS[number], out=out)
                np.add(out, _ADDED[number], out=out)
                self.values[number] = min(self.values[number], out.min())

    def merge(self, other: MinHash128) -> MinHash128:
        """The signature of both row sets together."""
        return MinHash128(np.minimum(self.values, other.values))
