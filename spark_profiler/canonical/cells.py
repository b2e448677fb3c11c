"""The hash of one cell, for every type that has an encoding; nested values by recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spark_profiler.canonical.mixing import (
    ARRAY_LENGTH,
    DECIMAL,
    ELEMENT,
    ENTRY,
    FIELD,
    LANES,
    MAP_LENGTH,
    NULL,
    key,
    keys,
    mix,
)
from spark_profiler.canonical.text import hash_bytes, segment_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_profiler.canonical.mixing import Words
    from spark_profiler.types import Column

    Lanes = tuple[Words, Words]


def cell_lanes(column: Column) -> Lanes:
    """Both lanes of every cell of a column; a null is NULL in both."""
    first, second = _value_lanes(column)
    if column.nulls is not None:
        first[column.nulls] = np.uint64(NULL)
        second[column.nulls] = np.uint64(NULL)
    return first, second


def _value_lanes(column: Column) -> Lanes:
    name = column.type.name
    if name in ("string", "binary"):
        assert column.offsets is not None
        assert column.data is not None
        return hash_bytes(column.offsets, column.data)
    if name == "array":
        return _array_lanes(column)
    if name == "map":
        return _map_lanes(column)
    if name == "struct":
        children = [cell_lanes(child) for child in column.children]
        return _keyed(children, FIELD, 0, column.length), _keyed(children, FIELD, 1, column.length)
    assert column.words is not None
    words = column.words.view(np.uint64)
    if column.high is not None:
        high = column.high.view(np.uint64)
        parts = [(words, words), (high, high)]
        return _keyed(parts, DECIMAL, 0, column.length), _keyed(parts, DECIMAL, 1, column.length)
    return mix(words, LANES[0]), mix(words, LANES[1])


def _keyed(parts: Sequence[Lanes], use: int, lane_number: int, length: int) -> Words:
    """A fixed sequence of parts: each mixed with the key of its place, summed, mixed again."""
    lane = LANES[lane_number]
    total = np.zeros(length, np.uint64)
    for place, part in enumerate(parts):
        total += mix(part[lane_number], lane, added=key(lane, use, place))
    return mix(total, lane)


def _array_lanes(column: Column) -> Lanes:
    assert column.offsets is not None
    offsets = column.offsets
    lengths = np.diff(offsets)
    place = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], lengths)
    elements = cell_lanes(column.children[0])
    first, second = (
        _collected(mix(part + keys(lane, ELEMENT, place), lane), column, number, ARRAY_LENGTH)
        for number, (lane, part) in enumerate(zip(LANES, elements, strict=True))
    )
    return first, second


def _map_lanes(column: Column) -> Lanes:
    """Entries are summed without their place: a map has no order."""
    entries = [cell_lanes(child) for child in column.children]
    count = column.children[0].length
    first, second = (
        _collected(_keyed(entries, ENTRY, number, count), column, number, MAP_LENGTH)
        for number in (0, 1)
    )
    return first, second


def _collected(parts: Words, column: Column, lane_number: int, length_use: int) -> Words:
    """The parts of each array or map, summed with the key of their count, mixed again."""
    assert column.offsets is not None
    lane = LANES[lane_number]
    total = segment_sums(parts, column.offsets)
    total += keys(lane, length_use, np.diff(column.offsets))
    return mix(total, lane)
