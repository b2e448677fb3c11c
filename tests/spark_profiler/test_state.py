"""The laws of the state: a commutative monoid to the byte, written down and read back."""

from __future__ import annotations

import functools
import itertools
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_profiler import ProfileOptions, profile_arrow
from spark_profiler.kernel import TableSchema, TableState
from spark_profiler.kernel.state import ColumnState
from spark_profiler.kernel.tally import combine
from spark_profiler.profiler import Field, _finish
from spark_profiler.types import parse
from tests.spark_profiler.tables import QUICK, Column, Table, batch, tables


def schema_of(columns: list[Column]) -> TableSchema:
    return TableSchema(
        names=tuple(name for name, _ in columns),
        types=tuple(parse(text) for _, text in columns),
        in_identity=tuple(place != 1 for place in range(len(columns))),
    )


def state_of(table: Table, start: int = 0, stop: int | None = None) -> TableState:
    """The state of some of a table's rows."""
    state = TableState.zero(schema_of(table.columns))
    rows = batch(table.columns, table.arrays)
    state.update(rows.slice(start, None if stop is None else stop - start))
    return state


@QUICK
@given(tables())
def test_zero_is_the_unit(table: Table) -> None:
    state, zero = state_of(table), TableState.zero(schema_of(table.columns))
    expected = state.to_bytes()
    assert state.merge(zero).to_bytes() == expected
    assert zero.merge(state).to_bytes() == expected
    assert state_of(table, 0, 0).to_bytes() == zero.to_bytes()


@QUICK
@given(tables(), st.integers(0, 12), st.integers(0, 12))
def test_merging_is_cutting_backwards(table: Table, first: int, second: int) -> None:
    """Commutative, associative, and the merge of the parts is the state of the whole."""
    cuts = sorted((first, second))
    bounds = [min(cut, len(table.rows)) for cut in (0, *cuts, len(table.rows))]
    parts = [state_of(table, a, b) for a, b in itertools.pairwise(bounds)]
    whole = state_of(table).to_bytes()
    for a, b, c in itertools.permutations(parts):
        assert a.merge(b).merge(c).to_bytes() == whole
        assert a.merge(b.merge(c)).to_bytes() == whole


@QUICK
@given(tables())
def test_a_state_is_what_its_bytes_say(table: Table) -> None:
    state = state_of(table)
    raw = state.to_bytes()
    again = TableState.from_bytes(state.schema, raw)
    assert again.to_bytes() == raw
    assert again.merge(state).to_bytes() == state.merge(state).to_bytes()
    again.update(batch(table.columns, table.arrays))  # one that was read can go on
    assert again.to_bytes() == state.merge(state).to_bytes()


@QUICK
@given(tables())
def test_merging_changes_neither_side(table: Table) -> None:
    first, second = state_of(table), state_of(table)
    before = first.to_bytes()
    merged = first.merge(second)
    merged.update(batch(table.columns, table.arrays))
    assert (first.to_bytes(), second.to_bytes()) == (before, before)


@QUICK
@given(tables())
def test_profiles_of_parts_are_profiles_of_the_whole(table: Table) -> None:
    """profile(a + b) is the profile of merge(a, b), in every byte."""
    rows = batch(table.columns, table.arrays)
    half = len(table.rows) // 2
    merged = state_of(table, half).merge(state_of(table)).merge(state_of(table, 0, half))
    volatile = tuple(name for name, _ in table.columns[1:2])
    options = ProfileOptions(volatile=volatile)
    fields = [Field(name, parse(text), True) for name, text in table.columns]
    whole = profile_arrow([rows, rows], table.columns, options)
    assert _finish(fields, merged, options).to_json() == whole.to_json()
    assert whole.num_rows == 2 * len(table.rows)


def test_a_tree_of_many_states_is_one_pass() -> None:
    columns: list[Column] = [("n", "bigint"), ("s", "string"), ("d", "double")]
    numbers = list(range(5000))
    rows = batch(
        columns,
        [
            pa.array(numbers),
            pa.array([str(n % 300) for n in numbers]),
            pa.array([n / 7 for n in numbers]),
        ],
    )
    schema = schema_of(columns)
    states = []
    for start in range(0, 5000, 321):
        state = TableState.zero(schema)
        state.update(rows.slice(start, 321))
        states.append(TableState.from_bytes(schema, state.to_bytes()))
    whole = TableState.zero(schema)
    whole.update(rows)
    left = functools.reduce(TableState.merge, states)
    right = functools.reduce(TableState.merge, states[::-1])
    assert left.to_bytes() == right.to_bytes() == whole.to_bytes()
    assert len(whole.columns[0].distinct.hashes) == 2048


def test_sums_that_cancel_leave_no_trace() -> None:
    columns: list[Column] = [("n", "bigint")]
    schema = schema_of(columns)
    there, back, both = (TableState.zero(schema) for _ in range(3))
    there.update(batch(columns, [pa.array([5, 0])]))
    back.update(batch(columns, [pa.array([-5])]))
    both.update(batch(columns, [pa.array([0, 5, -5])]))
    assert there.merge(back).to_bytes() == both.to_bytes()
    assert "sum_values" not in both.columns[0].tally


def test_the_bytes_are_canonical_json() -> None:
    state = state_of(Table([("a", "int")], [(1,)], [pa.array([1], pa.int32())]))
    raw = state.to_bytes()
    plain = json.loads(raw)
    assert json.dumps(plain, sort_keys=True, separators=(",", ":")).encode() == raw
    assert plain["format"] == 1
    assert plain["rows"] == 1


def test_the_state_of_another_table_is_refused() -> None:
    state = TableState.zero(schema_of([("a", "int")]))
    with pytest.raises(ValueError, match="another format or schema"):
        TableState.from_bytes(schema_of([("a", "int"), ("b", "int")]), state.to_bytes())
    newer = state.to_bytes().replace(b'"format":1', b'"format":2')
    with pytest.raises(ValueError, match="another format or schema"):
        TableState.from_bytes(state.schema, newer)


def test_states_of_unequal_schemas_do_not_merge() -> None:
    narrow = TableState.zero(schema_of([("a", "int")]))
    wide = TableState.zero(schema_of([("a", "int"), ("b", "int")]))
    with pytest.raises(ValueError, match="zip"):
        narrow.merge(wide)


TALLIES = st.dictionaries(
    st.sampled_from(["sum_a", "sum_b", "min_a", "max_a"]), st.integers(-(2**70), 2**70)
).map(lambda tally: combine({}, tally))


@given(TALLIES, TALLIES, TALLIES)
def test_tallies_are_a_commutative_monoid(
    a: dict[str, int], b: dict[str, int], c: dict[str, int]
) -> None:
    assert combine(a, {}) == a
    assert combine(a, b) == combine(b, a)
    assert combine(combine(a, b), c) == combine(a, combine(b, c))
    assert combine(a, b).get("sum_a", 0) == a.get("sum_a", 0) + b.get("sum_a", 0)
    lowest = [tally["min_a"] for tally in (a, b) if "min_a" in tally]
    highest = [tally["max_a"] for tally in (a, b) if "max_a" in tally]
    assert combine(a, b).get("min_a") == (min(lowest) if lowest else None)
    assert combine(a, b).get("max_a") == (max(highest) if highest else None)


def test_a_new_column_state_is_empty() -> None:
    assert ColumnState().dump() == {"tally": {}, "distinct": ""}
