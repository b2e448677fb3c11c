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

from dbt_snapshot_plugin.model.errors import (
    CorruptRecordError,
    StoreError,
    UnknownFormatError,
)

FORMAT_VERSION = "1.0"
# What a broken or hostile record can make msgspec and the encoder raise.
_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError)


class Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of everything that is stored or shown as JSON."""


class SignedRecord(Record, frozen=True, kw_only=True):
    """A record that stands alone in the store: it says its format and carries its checksum.

    `sign` fills in both. Their default is no valid value, so both are always written out.
    """

    format_version: str = ""
    record_sha256: str = ""


R = TypeVar("R", bound=msgspec.Struct)
S = TypeVar("S", bound=SignedRecord)


def canonical_json(value: Any) -> bytes:
    """Keys sorted by code point (which is UTF-8's byte order), no spaces, numbers as in RFC 8785.

    Integers are the one difference: they are written in full, also beyond 2^53, because a hash
    value or a row count must not be rounded.
    """
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
    """The record with its format and the checksum of its own bytes filled in."""
    versioned = msgspec.structs.replace(record, format_version=FORMAT_VERSION)
    checksum = _own_checksum(to_plain(versioned))
    return msgspec.structs.replace(versioned, record_sha256=checksum)


def seal(record: S, where: str) -> tuple[S, bytes]:
    """The signed record and its bytes, as they go into the store.

    Raises StoreError for what `decode` would refuse, so that nothing unreadable is ever written.
    """
    try:
        signed = sign(record)
        data = encode(signed)
        _read(data, type(signed))
    except _UNREADABLE as error:
        raise StoreError(
            f"a record can't be stored: {error}",
            where=where,
            next_step="correct that value where it comes from (the dbt project or a QA result)",
        ) from None
    return signed, data


def _own_checksum(plain: dict[str, Any]) -> str:
    return sha256_hex(canonical_json({k: v for k, v in plain.items() if k != "record_sha256"}))


def decode(data: bytes, kind: type[R], where: str) -> R:
    """Typed record from stored bytes; raises CorruptRecordError that names path and file."""
    try:
        return _read(data, kind)
    except _UNREADABLE as error:
        reason = str(error)
    if version := _other_format(data):
        raise UnknownFormatError(
            f"format {version} is not known to this version, which reads {FORMAT_VERSION}",
            where=where,
            next_step="upgrade dbt-snapshot-plugin",
        )
    raise CorruptRecordError(
        f"a stored record is damaged: {reason}",
        where=where,
        next_step="restore this file from a backup; `dbt-snapshot validate` lists all damage",
    )


def _read(data: bytes, kind: type[R]) -> R:
    record = msgspec.json.decode(data, type=kind)
    plain = to_plain(record)
    again = canonical_json(plain)
    if again != data:
        raise ValueError(f"not in canonical form at {_first_difference(data, again)}")
    if isinstance(record, SignedRecord):
        if record.record_sha256 != _own_checksum(plain):
            raise ValueError("`record_sha256` does not match the record's content")
        if _major(record.format_version) != _major(FORMAT_VERSION):
            raise ValueError(f"format {record.format_version!r}")
    return record


def _other_format(data: bytes) -> str | None:
    """The format of a record that is whole, but not of ours; None if it is damaged."""
    try:
        plain = msgspec.json.decode(data)
        whole = canonical_json(plain) == data and plain["record_sha256"] == _own_checksum(plain)
        version = plain["format_version"] if whole else FORMAT_VERSION
    except (*_UNREADABLE, KeyError, AttributeError):
        return None
    return None if version == FORMAT_VERSION else str(version)


def _major(version: str) -> str:
    return version.partition(".")[0]


def _first_difference(stored: bytes, canonical: bytes) -> str:
    offset = next(
        (i for i, (a, b) in enumerate(zip(stored, canonical, strict=False)) if a != b),
        min(len(stored), len(canonical)),
    )
    around = stored[max(0, offset - 12) : offset + 12].decode("utf-8", "replace")
    return f"byte {offset} (near {around!r})"
