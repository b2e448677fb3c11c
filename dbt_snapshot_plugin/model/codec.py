"""The one codec: canonical JSON out, strict decoding in.

A stored record has exactly one byte form. Reading therefore decodes into the typed record, writes
it again and compares: a duplicate key, a space, another key order, an explicit default or a
number written differently can't slip through, whatever the JSON parser tolerates.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, TypeVar

import msgspec

from dbt_snapshot_plugin.model.errors import CorruptRecordError


class Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of everything that is stored or shown as JSON."""


class SignedRecord(Record, frozen=True, kw_only=True):
    """A record that stands alone in the store and carries the checksum of its own bytes."""

    record_sha256: str = ""


R = TypeVar("R", bound=msgspec.Struct)
S = TypeVar("S", bound=SignedRecord)


def canonical_json(value: Any) -> bytes:
    """Keys sorted by code point, UTF-8, no spaces, numbers as in RFC 8785."""
    return "".join(_parts(value)).encode("utf-8")


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _parts(value: Any) -> list[str]:
    out: list[str] = []
    _write(value, out)
    return out


def _write(value: Any, out: list[str]) -> None:
    if value is None or value is True or value is False:
        out.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, str):
        out.append(json.dumps(value, ensure_ascii=False))
    elif isinstance(value, int):
        out.append(str(int(value)))
    elif isinstance(value, float):
        out.append(format_number(value))
    elif isinstance(value, dict):
        _write_members(value, out)
    elif isinstance(value, (list, tuple)):
        out.append("[")
        for index, item in enumerate(value):
            if index:
                out.append(",")
            _write(item, out)
        out.append("]")
    else:
        raise TypeError(f"{type(value).__name__} has no JSON form")


def _write_members(value: dict[str, Any], out: list[str]) -> None:
    out.append("{")
    for index, key in enumerate(sorted(value)):
        if index:
            out.append(",")
        out.append(json.dumps(key, ensure_ascii=False))
        out.append(":")
        _write(value[key], out)
    out.append("}")


def format_number(value: float) -> str:
    """A double as ECMAScript prints it: the shortest digits that read back to the same bits."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no JSON form")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + (int(exponent) if exponent else 0)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """`point` is where the decimal point stands, counted from the start of `digits`."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    shown = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    power = point - 1
    return f"{shown}e{'+' if power > 0 else '-'}{abs(power)}"


def to_plain(record: Any) -> Any:
    """The record as dicts and lists."""
    return msgspec.to_builtins(record)


def encode(record: Record) -> bytes:
    """Canonical bytes of an unsigned record."""
    return canonical_json(to_plain(record))


def sign(record: S) -> S:
    """The record with the checksum of its own bytes filled in."""
    return msgspec.structs.replace(record, record_sha256=_own_checksum(to_plain(record)))


def _own_checksum(plain: dict[str, Any]) -> str:
    return sha256_hex(canonical_json({k: v for k, v in plain.items() if k != "record_sha256"}))


def decode(data: bytes, kind: type[R], where: str) -> R:
    """Typed record from stored bytes; raises CorruptRecordError that names path and file."""
    try:
        record = msgspec.json.decode(data, type=kind)
        plain = to_plain(record)
        again = canonical_json(plain)
    except (msgspec.DecodeError, ValueError, UnicodeError, RecursionError) as error:
        raise _corrupt(str(error), where) from None
    if again != data:
        raise _corrupt(f"not in canonical form at {_first_difference(data, again)}", where)
    if isinstance(record, SignedRecord) and record.record_sha256 != _own_checksum(plain):
        raise _corrupt("`record_sha256` does not match the record's content", where)
    return record


def _first_difference(stored: bytes, canonical: bytes) -> str:
    offset = next(
        (i for i, (a, b) in enumerate(zip(stored, canonical, strict=False)) if a != b),
        min(len(stored), len(canonical)),
    )
    around = stored[max(0, offset - 12) : offset + 12].decode("utf-8", "replace")
    return f"byte {offset} (near {around!r})"


def _corrupt(reason: str, where: str) -> CorruptRecordError:
    return CorruptRecordError(
        f"a stored record is damaged: {reason}",
        where=where,
        next_step="restore this file from a backup; `dbt-snapshot validate` lists all damage",
    )
