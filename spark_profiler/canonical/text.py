"""The hash of byte strings: 8-byte words, each mixed with the key of its position, and the length.

A polynomial over the bytes is not good enough: modulo 2^64 the two halves of a Thue-Morse string
collide under every odd base, so unequal values would silently share an identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spark_profiler.canonical.mixing import BYTE_LENGTH, LANES, WORD, key, keys, mix

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_profiler.canonical.mixing import Words

    Positions = npt.NDArray[np.int64]

_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
_FEW = 1024  # below this many live values, one numpy call per word position costs too much
_FLAT_WORDS = 1 << 18  # bounds the temporaries for very long values


def hash_bytes(offsets: Positions, data: npt.NDArray[np.uint8]) -> tuple[Words, Words]:
    """Both lanes of every value `data[offsets[i]:offsets[i + 1]]`."""
    lengths = np.diff(offsets)
    counts = (lengths + 7) >> 3
    longest = int(counts.max(initial=0))
    order = _longest_first(counts, longest)
    buffer = _padded(data[int(offsets[0]) : int(offsets[-1])])
    starts, ends = (offsets[:-1] - offsets[0])[order], (offsets[1:] - offsets[0])[order]
    totals = (np.zeros(len(lengths), np.uint64), np.zeros(len(lengths), np.uint64))
    live = len(lengths) - np.cumsum(np.bincount(counts, minlength=longest + 1))
    position = 0
    while position < longest and int(live[position]) >= _FEW:
        whole = int(live[position + 1])  # these have a further word, so this one is complete
        _add_position(totals, buffer, starts, ends, (position, int(live[position]), whole))
        position += 1
    if position < longest:
        _add_rest(totals, buffer, starts, ends, (position, int(live[position]), longest))
    return _finish(totals[0], 0, lengths, order), _finish(totals[1], 1, lengths, order)


def _longest_first(counts: Positions, longest: int) -> Positions:
    """Stable order by falling word count; short counts take numpy's radix sort."""
    remaining = longest - counts
    if longest < 1 << 16:
        return np.argsort(remaining.astype(np.uint16), kind="stable")
    return np.argsort(remaining, kind="stable")


def _padded(data: npt.NDArray[np.uint8]) -> Words:
    """Aligned words with room to read one past the end."""
    buffer = np.zeros(len(data) // 8 + 2, np.dtype("<u8"))
    buffer.view(np.uint8)[: len(data)] = data
    return buffer


def _load(buffer: Words, at: Positions) -> Words:
    """The 8 bytes from any byte position, little endian."""
    index = at >> 3
    shift = ((at & 7) << 3).view(np.uint64)
    low: Words = buffer.take(index, mode="clip") >> shift
    index += 1
    high = buffer.take(index, mode="clip") << np.uint64(1)
    low |= high << (np.uint64(63) - shift)
    return low


def _add_position(
    totals: tuple[Words, Words],
    buffer: Words,
    starts: Positions,
    ends: Positions,
    span: tuple[int, int, int],
) -> None:
    """Add word number `position` of the values that have it."""
    position, live, whole = span
    at = starts[:live] + 8 * position
    words = _load(buffer, at)
    words[whole:] &= _LOW_BYTES[np.minimum(ends[whole:live] - at[whole:], 8)]
    for lane, total in zip(LANES, totals, strict=True):
        total[:live] += mix(words, lane, added=key(lane, WORD, position))


def _add_rest(
    totals: tuple[Words, Words],
    buffer: Words,
    starts: Positions,
    ends: Positions,
    span: tuple[int, int, int],
) -> None:
    """Add all words from `position` on of the few values that are longer than the others."""
    position, live, longest = span
    step = max(1, _FLAT_WORDS // live)
    for first in range(position, longest, step):
        begin = starts[:live] + 8 * first
        counts = np.clip((ends[:live] - begin + 7) >> 3, 0, step)
        bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        number = np.arange(int(bounds[-1])) - np.repeat(bounds[:-1], counts)
        at = np.repeat(begin, counts) + 8 * number
        left = np.repeat(ends[:live], counts) - at
        words = _load(buffer, at) & _LOW_BYTES[np.minimum(left, 8)]
        for lane, total in zip(LANES, totals, strict=True):
            mixed = mix(words + keys(lane, WORD, number + first), lane)
            total[:live] += segment_sums(mixed, bounds)


def segment_sums(words: Words, bounds: Positions) -> Words:
    """Sums modulo 2^64 of `words[bounds[i]:bounds[i + 1]]`; empty segments give 0."""
    running = np.zeros(len(words) + 1, np.uint64)
    np.cumsum(words, out=running[1:])
    return running[bounds[1:]] - running[bounds[:-1]]


def _finish(total: Words, lane_number: int, lengths: Positions, order: Positions) -> Words:
    lane = LANES[lane_number]
    in_order = np.empty_like(total)
    in_order[order] = total
    return mix(in_order + keys(lane, BYTE_LENGTH, lengths), lane)
