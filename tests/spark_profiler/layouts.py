"""The same values in every Arrow layout that a column may arrive in."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

REFUSED = (pa.ArrowInvalid, pa.ArrowNotImplementedError)
_WHOLE = (
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
)


class Wrapped(pa.ExtensionType):
    """An extension type around any storage."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "tests.wrapped")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Wrapped:
        return cls(storage)


def every_layout(array: pa.Array) -> dict[str, pa.Array]:
    """Layouts of `array` (made by `to_arrow`) by name: its own, others, and slices of them all."""
    found = dict(_relaid(array))
    for name, made in list(found.items()):
        try:
            found[f"{name}, sliced"] = inside_a_longer_one(made)
        except REFUSED:
            continue
    return found


def inside_a_longer_one(array: pa.Array) -> pa.Array:
    """A slice with something before and after it, not on a byte of the null bitmap."""
    return pa.concat_arrays([array, array.slice(0, 3), array, array]).slice(
        len(array) + min(3, len(array)), len(array)
    )


def _relaid(array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    attempts: list[tuple[str, Callable[[], pa.Array]]] = [
        ("as it is", lambda: array),
        ("extension", lambda: pa.ExtensionArray.from_storage(Wrapped(array.type), array)),
        ("dictionary", array.dictionary_encode),
        ("dictionary with null", lambda: array.dictionary_encode(null_encoding="encode")),
        ("run ends", lambda: pc.run_end_encode(array)),
        ("values under nulls", lambda: under_nulls(array)),
    ]
    attempts += [
        (str(target), functools.partial(_cast, array, target)) for target in _targets(array.type)
    ]
    if len(array) and array.null_count == len(array):
        attempts.append(("null", lambda: pa.nulls(len(array))))
    for name, make in attempts:
        try:
            yield name, make()
        except REFUSED:
            continue
    yield from _nested(array)


def _targets(arrow: pa.DataType) -> list[pa.DataType]:
    """Other Arrow types that hold the same values; a cast that would lose one is refused."""
    is_type = pa.types
    if is_type.is_integer(arrow):
        return [target for target in _WHOLE if target != arrow]
    if is_type.is_decimal(arrow):
        scale = arrow.scale
        wider = [pa.decimal128(38, scale), pa.decimal256(70, scale), pa.decimal256(70, scale + 3)]
        narrow = [make(p, scale) for make, p in ((pa.decimal32, 9), (pa.decimal64, 18))]
        return wider + narrow
    if is_type.is_timestamp(arrow):
        zones: list[str | None] = ["UTC", "Asia/Tokyo"] if arrow.tz else [None]
        return [pa.timestamp(unit, tz) for unit in ("s", "ms", "us", "ns") for tz in zones]
    if is_type.is_date(arrow):
        return [pa.date64()]
    if is_type.is_string(arrow):
        return [pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()]
    if is_type.is_binary(arrow):
        return [pa.large_binary(), pa.binary_view()]
    return []


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    made = array.cast(target)
    if made.cast(array.type) != array:  # pyarrow 26 narrows decimals without a check
        raise pa.ArrowInvalid("the values do not fit")
    return made


def under_nulls(array: pa.Array) -> pa.Array:
    """Null slots that hold the first value that is there, instead of zeros."""
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    if not array.null_count or not valid.any():
        raise pa.ArrowInvalid("nothing to put there")
    places = np.where(valid, np.arange(len(array)), int(valid.argmax()))
    filled = array.take(pa.array(places))
    mask = pa.array(~valid)
    if pa.types.is_map(array.type):
        return pa.MapArray.from_arrays(filled.offsets, filled.keys, filled.items, mask=mask)
    if pa.types.is_list(array.type):
        return pa.ListArray.from_arrays(filled.offsets, filled.values, mask=mask)
    if pa.types.is_struct(array.type):
        return _struct(filled.flatten(), array)
    bitmap = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [bitmap, *filled.buffers()[1:]])


def _struct(children: list[pa.Array], array: pa.Array) -> pa.Array:
    fields = [
        pa.field(field.name, child.type) for field, child in zip(array.type, children, strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())


def _nested(array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    arrow = array.type
    if pa.types.is_struct(arrow):
        children = [array.field(i) for i in range(arrow.num_fields)]
        for name, child in every_layout(children[0]).items():
            yield f"struct of {name}", _struct([child, *children[1:]], array)
    elif pa.types.is_map(arrow):
        yield "other order of entries", _backwards(array)
        for name, child in every_layout(array.items).items():
            yield (
                f"map of {name}",
                pa.MapArray.from_arrays(array.offsets, array.keys, child, mask=array.is_null()),
            )
    elif pa.types.is_list(arrow):
        yield from _lists(array)


def _backwards(array: pa.Array) -> pa.Array:
    ends = array.offsets.to_pylist()
    places = [i for a, b in itertools.pairwise(ends) for i in range(b - 1, a - 1, -1)]
    taken = pa.array(places, pa.int64())
    return pa.MapArray.from_arrays(
        array.offsets, array.keys.take(taken), array.items.take(taken), mask=array.is_null()
    )


def _lists(array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    mask = array.is_null()
    for name, child in every_layout(array.values).items():
        yield f"list of {name}", pa.ListArray.from_arrays(array.offsets, child, mask=mask)
    yield (
        "large list",
        pa.LargeListArray.from_arrays(array.offsets.cast(pa.int64()), array.values, mask=mask),
    )
    turned = array.take(pa.array(range(len(array) - 1, -1, -1), pa.int64()))
    offsets = turned.offsets.to_numpy()
    starts, sizes = offsets[:-1][::-1], np.diff(offsets)[::-1]
    for make, whole in ((pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())):
        parts = (pa.array(starts).cast(whole), pa.array(sizes).cast(whole), turned.values)
        yield make.__name__, make.from_arrays(*parts, mask=mask)
