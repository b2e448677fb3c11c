"""Distinct values and the row MinHash: against sets, truth and the datasketch library."""

from __future__ import annotations

import random

import datasketch
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_profiler import Profile, profile_arrow
from spark_profiler.canonical import NULL, RowHasher, cell_lanes
from spark_profiler.sketches import BottomK, MinHash128
from spark_profiler.sketches.distinct import K
from spark_profiler.types import parse, read_column
from tests.spark_profiler.tables import QUICK

WORDS = st.integers(0, NULL)
# Words that share the low 12 bits meet in one place of the sketch's cache, some of them with null.
TWINS = st.builds(lambda high, low: high << 12 | low, st.integers(0, 9), st.integers(0, 2))
NULLS = st.sampled_from([NULL, NULL - (1 << 12), NULL - (1 << 13)])


def words(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint64)


@QUICK
@given(st.lists(st.lists(WORDS | TWINS | NULLS, max_size=40), max_size=6))
def test_few_values_are_kept_exactly(batches: list[list[int]]) -> None:
    sketch = BottomK()
    for hashes in batches:
        sketch.update(words(hashes))
    truth = sorted({value for hashes in batches for value in hashes} - {NULL})
    assert sketch.hashes.tolist() == truth
    assert sketch.is_exact
    assert sketch.count == len(truth)


def test_of_many_values_the_smallest_are_kept() -> None:
    chance = random.Random(1)
    pool = [chance.getrandbits(64) for _ in range(6000)]
    sketch, parts, seen = BottomK(), [], set()
    for size in (1, 2047, 3000, 0, 5000, 20_000):
        hashes = chance.choices(pool, k=size)
        seen.update(hashes)
        sketch.update(words(hashes))
        part = BottomK()
        part.update(words(hashes))
        parts.append(part)
        assert sketch.hashes.tolist() == sorted(seen)[:K]
    merged = BottomK()
    for part in parts:
        merged = part.merge(merged)
    assert merged.hashes.tolist() == sketch.hashes.tolist()


def distinct(count: int, copies: int = 1) -> Profile:
    numbers = np.repeat(np.arange(count, dtype=np.int64) * 3 - 5, copies)
    return profile_arrow(pa.record_batch({"a": pa.array(numbers)}), [("a", "bigint")])


@pytest.mark.parametrize("count", [0, 1, K - 1])
def test_the_count_is_exact_below_the_limit(count: int) -> None:
    found = distinct(count, copies=2)
    assert found.column_stats["a"].num_unique == count
    assert found.estimated == {}


@pytest.mark.parametrize("count", [K, 5000, 40_000, 1_000_000])
def test_the_count_is_an_estimate_with_its_error_above(count: int) -> None:
    found = distinct(count)
    estimate = found.estimated["column_stats.a.num_unique"]
    assert estimate.error == 0.0221
    assert str(K) in estimate.method
    assert abs(found.column_stats["a"].num_unique / count - 1) < 3 * estimate.error


def test_the_estimate_is_the_documented_formula() -> None:
    column = read_column(pa.array(range(10_000)), parse("bigint"))
    kept = sorted(cell_lanes(column)[0].tolist())[:2048]
    found = profile_arrow(pa.record_batch({"a": range(10_000)}), [("a", "bigint")])
    assert found.column_stats["a"].num_unique == 2047 * 2**64 // (kept[-1] + 1)


def rows_of(numbers: range) -> tuple[Profile, list[int]]:
    """The profile of a table of two columns, and its row hashes (lane 0)."""
    made = pa.record_batch({"n": pa.array(numbers), "s": pa.array([f"row {n}" for n in numbers])})
    hasher = RowHasher(made.num_rows)
    for column, text in zip(made.columns, ("bigint", "string"), strict=True):
        hasher.add(cell_lanes(read_column(column, parse(text))))
    return profile_arrow(made, [("n", "bigint"), ("s", "string")]), hasher.lanes()[0].tolist()


def loaded(profile: Profile) -> datasketch.MinHash:
    """The profile's signature in the library."""
    kept = profile.row_minhash
    assert kept is not None
    return datasketch.MinHash(
        hashvalues=np.array(kept.hashvalues, np.uint64), seed=kept.seed, scheme=kept.scheme
    )


@pytest.mark.parametrize("numbers", [range(0), range(1), range(20_000)], ids=len)
def test_the_signature_is_the_one_of_datasketch(numbers: range) -> None:
    profile, hashes = rows_of(numbers)
    theirs = datasketch.MinHash(num_perm=128, seed=1, scheme="affine32", hashfunc=lambda row: row)
    for row in hashes[:2000]:
        theirs.update(row >> 32)
    theirs.update_batch([row >> 32 for row in hashes[2000:]])
    assert profile.row_minhash is not None
    assert profile.row_minhash.hashvalues == theirs.hashvalues.tolist()
    assert loaded(profile).jaccard(theirs) == 1.0


def test_the_library_goes_on_with_a_loaded_signature() -> None:
    first, _ = rows_of(range(50))
    both, _ = rows_of(range(100))
    _, hashes = rows_of(range(50, 100))
    kept = first.row_minhash
    assert kept is not None
    theirs = datasketch.MinHash(
        hashvalues=np.array(kept.hashvalues, np.uint64),
        seed=kept.seed,
        scheme=kept.scheme,
        hashfunc=lambda row: row,
    )
    theirs.update_batch([row >> 32 for row in hashes])
    assert both.row_minhash is not None
    assert theirs.hashvalues.tolist() == both.row_minhash.hashvalues


@pytest.mark.parametrize(
    ("first", "second", "truth"),
    [
        (range(3000), range(3000), 1.0),
        (range(3000), range(1000, 4000), 0.5),
        (range(3000), range(2000, 5000), 0.2),
        (range(3000), range(3000, 6000), 0.0),
    ],
)
def test_overlapping_tables_have_their_jaccard(first: range, second: range, truth: float) -> None:
    a, b = rows_of(first)[0], rows_of(second)[0]
    assert loaded(a).jaccard(loaded(b)) == pytest.approx(truth, abs=0.12)


@given(st.lists(WORDS, max_size=30), st.integers(0, 30))
def test_signatures_of_parts_merge_into_the_whole(hashes: list[int], cut: int) -> None:
    whole, first, second = MinHash128(), MinHash128(), MinHash128()
    whole.update(words(hashes))
    first.update(words(hashes[:cut]))
    second.update(words(hashes[cut:]))
    assert first.merge(second).values.tolist() == whole.values.tolist()
