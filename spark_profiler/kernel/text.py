"""Strings and binary: exact lengths, and how many strings are not valid UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_profiler.kernel.tally import Tally
    from spark_profiler.types import Column

    Positions = npt.NDArray[np.int64]
    Bytes = npt.NDArray[np.uint8]


def tally_text(column: Column) -> Tally:
    """Lengths in characters: a character starts at every byte but UTF-8 continuation bytes."""
    starts, ends, data = _present(column)
    if len(starts) == 0:
        return {}
    span = data[int(starts[0]) : int(ends[-1])]
    if len(span) == 0 or int(span.max()) < 0x80:
        return _tally_lengths(ends - starts)
    begins = np.zeros(len(span) + 1, np.int64)
    np.cumsum((span & 0xC0) != 0x80, out=begins[1:])
    tally = _tally_lengths(begins[ends - starts[0]] - begins[starts - starts[0]])
    tally["sum_invalid"] = _count_invalid(span, starts - starts[0], ends - starts[0])
    return tally


def tally_binary(column: Column) -> Tally:
    """Lengths in bytes."""
    starts, ends, _ = _present(column)
    return _tally_lengths(ends - starts) if len(starts) else {}


def _present(column: Column) -> tuple[Positions, Positions, Bytes]:
    """Bounds of the values that are not null, and the bytes that they point into."""
    assert column.offsets is not None
    assert column.data is not None
    starts, ends = column.offsets[:-1], column.offsets[1:]
    if column.nulls is not None:
        starts, ends = starts[~column.nulls], ends[~column.nulls]
    return starts, ends, column.data


def _tally_lengths(lengths: Positions) -> Tally:
    return {
        "sum_count": len(lengths),
        "sum_length": int(lengths.sum()),
        "min_length": int(lengths.min()),
        "max_length": int(lengths.max()),
    }


def _count_invalid(span: Bytes, starts: Positions, ends: Positions) -> int:
    """Values that are not valid UTF-8.

    The whole span is decoded at once; if it is valid and no value begins or ends inside a
    character, every value is valid. (Both edges count: a null's slot between two values may hold
    bytes that complete the first one.) Otherwise the values are tried singly.
    """
    raw = span.tobytes()
    edges = np.concatenate((starts, ends))
    inside = (span[edges[edges < len(span)]] & 0xC0) == 0x80
    if not inside.any() and _is_utf8(raw):
        return 0
    return sum(not _is_utf8(raw[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True))


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def length_figures(tally: Tally, unit: str) -> dict[str, object]:
    """min, max and mean of the lengths, named by their unit (`char` or `byte`)."""
    count = tally.get("sum_count", 0)
    if count == 0:
        return {}
    return {
        f"min_{unit}_length": tally["min_length"],
        f"max_{unit}_length": tally["max_length"],
        f"avg_{unit}_length": tally.get("sum_length", 0) / count,
    }


def text_figures(tally: Tally) -> dict[str, object]:
    """The statistics of a string column."""
    return {**length_figures(tally, "char"), "invalid_utf8_count": tally.get("sum_invalid", 0)}
