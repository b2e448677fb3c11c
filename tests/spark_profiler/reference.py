"""data_sha in plain Python, written from docs/data_sha.md alone.

It shares no code with the product and takes plain values: ints, floats, Decimals' unscaled ints,
bytes, lists, tuples (structs) and lists of pairs (maps); dates and timestamps are ints.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Any

M64 = 2**64
LANE: list[dict[str, Any]] = [
    {
        "I": 0x9E3779B97F4A7C15,
        "s": (30, 27, 31),
        "A": 0xBF58476D1CE4E5B9,
        "B": 0x94D049BB133111EB,
    },
    {
        "I": 0xD1B54A32D192ED03,
        "s": (31, 27, 33),
        "A": 0x7FB5D329728EA185,
        "B": 0x81DADEF4BC2DD44D,
    },
]


def mix(lane: int, x: int) -> int:
    constants = LANE[lane]
    s1, s2, s3 = constants["s"]
    x = (x + constants["I"]) % M64
    x = ((x ^ (x >> s1)) * constants["A"]) % M64
    x = ((x ^ (x >> s2)) * constants["B"]) % M64
    return int(x ^ (x >> s3))


def key(lane: int, use: int, index: int) -> int:
    return mix(lane, mix(lane, use) + index)


def double_bits(value: float) -> int:
    if math.isnan(value):
        return 0x7FF8000000000000
    if value == 0:
        return 0
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def split(inner: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
    parts, depth, start = [], 0, 0
    for i, mark in enumerate(inner):
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and depth == 0:
            parts.append(inner[start:i])
            start = i + 1
    return [*parts, inner[start:]] if inner else []


def bytes_cell(lane: int, raw: bytes) -> int:
    padded = raw + b"\0" * (-len(raw) % 8)
    words = struct.unpack(f"<{len(padded) // 8}Q", padded)
    total = sum(mix(lane, word + key(lane, 2, k)) for k, word in enumerate(words))
    return mix(lane, total + key(lane, 3, len(raw)))


def decimal_cell(lane: int, type_text: str, unscaled: int) -> int:
    precision = int(type_text[len("decimal(") :].split(",", maxsplit=1)[0])
    if precision <= 18:
        return mix(lane, unscaled % M64)
    both = unscaled % 2**128
    words = (both % M64, both // M64)
    return mix(lane, sum(mix(lane, w + key(lane, 4, k)) for k, w in enumerate(words)))


def nested_cell(lane: int, type_text: str, value: Any) -> int:
    name, inner = type_text[:-1].split("<", 1)
    if name == "array":
        cells = [cell(lane, inner, item) for item in value]
        total = sum(mix(lane, e + key(lane, 5, k)) for k, e in enumerate(cells))
        return mix(lane, total + key(lane, 6, len(value)))
    if name == "struct":
        types = [part.split(":", 1)[1] for part in split(inner)]
        cells = [cell(lane, t, v) for t, v in zip(types, value, strict=True)]
        return mix(lane, sum(mix(lane, f + key(lane, 7, k)) for k, f in enumerate(cells)))
    assert name == "map"
    key_type, value_type = split(inner)
    total = 0
    for k, v in value:
        first = mix(lane, cell(lane, key_type, k) + key(lane, 8, 0))
        second = mix(lane, cell(lane, value_type, v) + key(lane, 8, 1))
        total += mix(lane, first + second)
    return mix(lane, total + key(lane, 9, len(value)))


def cell(lane: int, type_text: str, value: Any) -> int:
    if value is None:
        return M64 - 1
    if type_text in ("string", "binary"):
        return bytes_cell(lane, value)
    if type_text in ("float", "double"):
        return mix(lane, double_bits(value))
    if type_text.startswith("decimal("):
        return decimal_cell(lane, type_text, value)
    if "<" in type_text:
        return nested_cell(lane, type_text, value)
    return mix(lane, int(value) % M64)


def row_hash(lane: int, types: Sequence[str], row: Sequence[Any]) -> int:
    cells = [cell(lane, t, v) for t, v in zip(types, row, strict=True)]
    return mix(lane, sum(h * (key(lane, 1, c) | 1) for c, h in enumerate(cells)) % M64)


def data_sha(algo: str, columns: Sequence[Sequence[str]], rows: Sequence[Sequence[Any]]) -> str:
    """`columns`: (name, type) pairs; `rows`: tuples of plain values."""

    def counted(text: str) -> bytes:
        raw = text.encode()
        return struct.pack("<Q", len(raw)) + raw

    types = [type_text for _, type_text in columns]
    message = counted(algo) + struct.pack("<Q", len(columns))
    for name, type_text in columns:
        message += counted(name) + counted(type_text)
    message += struct.pack("<Q", len(rows))
    for lane in (0, 1):
        total = sum(row_hash(lane, types, row) for row in rows) % 2**128
        message += total.to_bytes(16, "little")
    return hashlib.sha256(message).hexdigest()
