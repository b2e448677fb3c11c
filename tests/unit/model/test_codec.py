"""The codec: one byte form per record, and a reader that takes no other."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_snapshot_plugin.model.codec import (
    FORMAT_VERSION,
    SignedRecord,
    canonical_json,
    decode,
    encode,
    format_number,
    seal,
    sha256_hex,
    sign,
    to_plain,
)
from dbt_snapshot_plugin.model.errors import (
    CorruptRecordError,
    StoreError,
    UnknownFormatError,
)
from dbt_snapshot_plugin.model.events import Event
from dbt_snapshot_plugin.model.manifest import Manifest
from spark_profiler.model import Profile
from tests.factories import make_manifest

# RFC 8785, appendix B: the bits of a double and how it must be written.
RFC_NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    # a larger whole double is written like an integer, as RFC 8785 wants it, and is read as one
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(("bits", "text"), RFC_NUMBERS.items())
def test_numbers_are_written_as_in_rfc_8785(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert format_number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_to_the_same_bits(value: float) -> None:
    back = float(format_number(value))
    assert struct.pack(">d", back) == struct.pack(">d", value + 0.0)  # -0.0 is written as 0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_have_no_json_form(value: float) -> None:
    with pytest.raises(ValueError, match="no JSON form"):
        canonical_json({"x": value})


def test_strings_are_escaped_as_in_rfc_8785() -> None:
    text = "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u007f/"
    assert canonical_json(text).decode() == '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"\u007f/"'


def test_keys_are_sorted_by_their_utf8_bytes() -> None:
    keys = ["\u20ac", "\r", "1", "\U0001f600", "\ufb33", "a", "Z"]
    written = canonical_json(dict.fromkeys(keys, 0))
    assert list(json.loads(written)) == sorted(keys, key=lambda key: key.encode())


def test_an_integer_is_written_in_full() -> None:
    assert canonical_json(2**64 - 1) == b"18446744073709551615"


@given(ANY_JSON)
def test_canonical_json_says_the_same_and_is_stable(value: Any) -> None:
    written = canonical_json(value)
    assert json.loads(written) == value
    assert canonical_json(json.loads(written)) == written


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), ANY_JSON, max_size=5))
@settings(max_examples=50)
def test_a_manifest_survives_the_round_trip(metadata: dict[str, Any]) -> None:
    manifest = make_manifest(metadata=metadata)
    data = encode(manifest)
    assert decode(data, Manifest, "here") == manifest
    assert encode(decode(data, Manifest, "here")) == data


def test_a_stored_record_says_its_format_and_its_checksum() -> None:
    plain = json.loads(encode(make_manifest()))
    claimed = plain.pop("record_sha256")
    assert plain["format_version"] == FORMAT_VERSION
    assert claimed == sha256_hex(canonical_json(plain))


def resigned(plain: dict[str, Any]) -> bytes:
    """What a writer that knows the rules, but not the types, would store."""
    rest = {key: value for key, value in plain.items() if key != "record_sha256"}
    return canonical_json({**rest, "record_sha256": sha256_hex(canonical_json(rest))})


def manifest_plain(**changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(make_manifest())
    return {**plain, **changes}


def without(plain: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if name != key}


def nested(depth: int) -> bytes:
    return b'{"metadata":{"x":' + b"[" * depth + b"]" * depth + b"}}"


VALID = encode(make_manifest())
REFUSED: dict[str, tuple[bytes, str]] = {
    "an unknown key": (resigned(manifest_plain(extra=1)), "unknown field `extra`"),
    "a missing key": (resigned(without(manifest_plain(), "seq")), "missing required field `seq`"),
    "a wrong type": (resigned(manifest_plain(seq="1")), "Expected `int`, got `str` - at `$.seq`"),
    "a number for text": (resigned(manifest_plain(env=3)), "at `$.env`"),
    "null for a value": (resigned(manifest_plain(tags=None)), "at `$.tags`"),
    "a wrong choice": (resigned(manifest_plain(depth="deep")), "at `$.depth`"),
    "a path for a hash": (
        resigned(manifest_plain(profile={"sha256": "../../../etc/passwd", "bytes": 1})),
        "at `$.profile.sha256`",
    ),
    "a hash with a line end": (resigned(manifest_plain(data_sha="a" * 64 + "\n")), "$.data_sha"),
    "a path for an id": (resigned(manifest_plain(snapshot_id="../x")), "at `$.snapshot_id`"),
    "a time that is none": (resigned(manifest_plain(created_at="yesterday")), "`$.created_at`"),
    "a day that is none": (
        resigned(manifest_plain(created_at="2025-02-30T00:00:00.000000Z")),
        "day is out of range",
    ),
    "a negative count": (resigned(manifest_plain(num_rows=-1)), "at `$.num_rows`"),
    "a number with a thousand digits": (
        VALID.replace(b'"num_rows":3', b'"num_rows":' + b"9" * 5000),
        "out of range",
    ),
    "a number out of range": (VALID.replace(b'"num_rows":3', b'"num_rows":1e999'), "$.num_rows"),
    "NaN": (VALID.replace(b'"num_rows":3', b'"num_rows":NaN'), "malformed"),
    "a duplicate key": (VALID.replace(b'"seq":1', b'"seq":1,"seq":1'), "not in canonical form"),
    "a space": (VALID.replace(b'"seq":1', b'"seq": 1'), "not in canonical form"),
    "another key order": (
        VALID.replace(b'"schema_name":', b'"\\u0073chema_name":'),
        "not in canonical form",
    ),
    "a number written otherwise": (VALID.replace(b'"num_columns":3', b'"num_columns":3.0'), "int"),
    "an explicit default": (resigned(manifest_plain(message=None)), "not in canonical form"),
    "a line end": (VALID + b"\n", "not in canonical form"),
    "bytes behind it": (VALID + b"{}", "malformed"),
    "a wrong checksum": (VALID.replace(b'"env":"dev', b'"env":"qa1'), "record_sha256"),
    "no checksum": (canonical_json(without(manifest_plain(), "record_sha256")), "record_sha256"),
    "no format": (resigned(without(manifest_plain(), "format_version")), "format"),
    "invalid UTF-8": (VALID.replace(b'"ann"', b'"\xff\xfe"'), "utf-8"),
    "a lone surrogate": (VALID.replace(b'"ann"', b'"\\ud800"'), ""),
    "deep nesting": (nested(100_000), ""),
    "nesting just too deep": (nested(980), ""),
    "a byte order mark": (b"\xef\xbb\xbf" + VALID, "malformed"),
    "another JSON value": (b"[]", "Expected `object`"),
    "a number": (b"1", "Expected `object`"),
    "nothing": (b"", "truncated"),
    "zeros": (b"\0" * 64, "malformed"),
    "half of it": (VALID[: len(VALID) // 2], "truncated"),
    "10 MB of text": (b'{"env":"' + b"x" * 10_000_000 + b'"}', "missing required field"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_reader_refuses(data: bytes, reason: str) -> None:
    assert data != VALID
    with pytest.raises(CorruptRecordError) as caught:
        decode(data, Manifest, "store/00000001.json")
    assert type(caught.value) is CorruptRecordError
    assert reason in caught.value.what
    assert caught.value.where == "store/00000001.json"
    assert caught.value.next_step


def test_every_flipped_byte_is_seen() -> None:
    missed = []
    for index in range(len(VALID)):
        broken = bytearray(VALID)
        broken[index] ^= 1 << (index % 8)
        try:
            decode(bytes(broken), Manifest, "here")
        except CorruptRecordError:
            continue
        missed.append(index)
    assert missed == []


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_nothing_else_happens(data: bytes) -> None:
    for kind in (Manifest, Event, Profile):
        with pytest.raises(CorruptRecordError):
            decode(data, kind, "here")


@given(st.data())
@settings(max_examples=200)
def test_a_damaged_record_is_refused_and_nothing_else_happens(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(VALID)))
    end = data.draw(st.integers(start, min(len(VALID), start + 40)))
    broken = VALID[:start] + data.draw(st.binary(max_size=40)) + VALID[end:]
    if broken != VALID:
        with pytest.raises(CorruptRecordError):
            decode(broken, Manifest, "here")


@given(ANY_JSON, st.sampled_from(sorted(manifest_plain())))
@settings(max_examples=200)
def test_any_value_in_any_field_is_read_or_refused(value: Any, field: str) -> None:
    data = resigned(manifest_plain(**{field: value}))
    try:
        record = decode(data, Manifest, "here")
    except CorruptRecordError:
        return
    assert encode(record) == data


@pytest.mark.parametrize("version", ["2.0", "1.7", "0.9", "10.0"])
def test_a_whole_record_of_another_format_is_not_called_damaged(version: str) -> None:
    data = resigned(manifest_plain(format_version=version, invented_later=True))
    with pytest.raises(UnknownFormatError) as caught:
        decode(data, Manifest, "here")
    assert version in caught.value.what
    assert caught.value.next_step == "upgrade dbt-snapshot-plugin"


def test_another_major_is_refused_even_if_the_fields_fit() -> None:
    with pytest.raises(UnknownFormatError):
        decode(resigned(manifest_plain(format_version="2.0")), Manifest, "here")


def test_a_minor_that_added_nothing_here_is_read() -> None:
    assert decode(resigned(manifest_plain(format_version="1.7")), Manifest, "here").seq == 1


def test_a_damaged_record_that_claims_another_format_is_damaged() -> None:
    broken = VALID.replace(b'"format_version":"1.0"', b'"format_version":"3.0"')
    with pytest.raises(CorruptRecordError) as caught:
        decode(broken, Manifest, "here")
    assert type(caught.value) is CorruptRecordError


UNWRITABLE: dict[str, dict[str, Any]] = {
    "NaN": {"metadata": {"x": math.nan}},
    "a lone surrogate": {"description": "\ud800"},
    "a value without a JSON form": {"metadata": {"x": object()}},
    "a hash that is none": {"data_sha": "abc"},
    "a negative count": {"num_rows": -1},
    "an integer without end": {"metadata": {"x": 10**5000}},
}


@pytest.mark.parametrize("fields", UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_a_writer_refuses_what_a_reader_would(fields: dict[str, Any]) -> None:
    manifest = make_manifest(**fields, metadata_sha="0" * 64, record_sha256="")
    with pytest.raises(StoreError) as caught:
        seal(manifest, "store/00000001.json")
    assert "can't be stored" in caught.value.what
    assert caught.value.where == "store/00000001.json"


def test_sealed_bytes_are_what_a_reader_takes() -> None:
    record, data = seal(make_manifest(), "here")
    assert decode(data, Manifest, "here") == record


def test_signing_twice_changes_nothing() -> None:
    manifest = make_manifest()
    assert sign(manifest) == manifest
    assert isinstance(manifest, SignedRecord)
