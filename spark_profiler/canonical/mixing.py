"""The two lanes: independent strong mixers of 64-bit words, and the keys made with them.

Everything is arithmetic modulo 2^64. Two lanes with different constants make an accidental
collision need 128 equal bits; against a deliberate one only a cryptographic hash helps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    Words: TypeAlias = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
NULL = _MASK  # the hash of a null, in both lanes; larger than every hash that a sketch keeps


class Lane(NamedTuple):
    """Constants of one mixer: xor-shifts and odd multipliers after an added constant."""

    increment: int
    shifts: tuple[int, int, int]
    multipliers: tuple[int, int]


LANES = (
    Lane(0x9E3779B97F4A7C15, (30, 27, 31), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)),
    Lane(0xD1B54A32D192ED03, (31, 27, 33), (0x7FB5D329728EA185, 0x81DADEF4BC2DD44D)),
)

# What a key is for. A key of one use never equals a key of another by construction of its index.
COLUMN, WORD, BYTE_LENGTH, DECIMAL, ELEMENT, ARRAY_LENGTH, FIELD, ENTRY, MAP_LENGTH = range(1, 10)


def mix(words: Words, lane: Lane, added: int = 0) -> Words:
    """Mix every word (a fresh array); `added` is a key, summed before mixing."""
    mixed = words + np.uint64((lane.increment + added) & _MASK)
    first, second, third = (np.uint64(shift) for shift in lane.shifts)
    shifted = mixed >> first
    mixed ^= shifted
    mixed *= np.uint64(lane.multipliers[0])
    np.right_shift(mixed, second, out=shifted)
    mixed ^= shifted
    mixed *= np.uint64(lane.multipliers[1])
    np.right_shift(mixed, third, out=shifted)
    mixed ^= shifted
    return mixed


def mix_one(word: int, lane: Lane) -> int:
    """The same mixer for one Python integer."""
    first, second, third = lane.shifts
    mixed = (word + lane.increment) & _MASK
    mixed = (mixed ^ (mixed >> first)) * lane.multipliers[0] & _MASK
    mixed = (mixed ^ (mixed >> second)) * lane.multipliers[1] & _MASK
    return mixed ^ (mixed >> third)


def key(lane: Lane, use: int, index: int) -> int:
    """The key of position `index` for one use."""
    return mix_one((mix_one(use, lane) + index) & _MASK, lane)


def keys(lane: Lane, use: int, indexes: npt.NDArray[np.int64]) -> Words:
    """The keys of many positions."""
    return mix(indexes.view(np.uint64), lane, added=mix_one(use, lane))
