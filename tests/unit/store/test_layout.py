"""Keys: every name has one, no two share one, none leaves its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store import layout

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(TEXT)
def test_a_name_survives_the_round_trip(text: str) -> None:
    name = layout.encode_name(text)
    assert layout.decode_name(name) == text
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-%")
    assert name not in {".", ".."}


@given(TEXT, TEXT)
def test_two_names_never_meet_even_where_case_is_ignored(first: str, second: str) -> None:
    same = layout.encode_name(first).lower() == layout.encode_name(second).lower()
    assert same == (first == second)


@pytest.mark.parametrize("name", [".", "..", "A", "%2E", "%2", "%zz", "%61", "a b", "%ff", ""])
def test_what_is_never_encoded_is_not_decoded(name: str) -> None:
    assert layout.decode_name(name) is None


@pytest.mark.parametrize("text", ["", "x" * 241, "é" * 60])
def test_a_name_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(StoreError) as caught:
        layout.encode_name(text)
    assert "can't be stored" in caught.value.what
    assert not layout.can_store(Dataset("dev", text))


def test_where_everything_lies() -> None:
    dataset = Dataset("Dev.shop", "model.shop.fct_orders")
    home = "datasets/%44ev%2eshop/model%2eshop%2efct_orders"
    sha = "ab" + "0" * 62
    assert layout.snapshot_key(dataset, 12) == f"{home}/snapshots/00000012.json"
    assert layout.hint_key(dataset) == f"{home}/hint"
    assert layout.object_key(sha) == f"objects/ab/{sha}"
    assert layout.event_key(dataset, "build", 5, "x") == (
        f"{home}/events/build/099999999999999995-x.json"
    )


@given(st.lists(st.integers(0, 10**17), min_size=2, max_size=5, unique=True))
def test_event_keys_sort_newest_first(moments: list[int]) -> None:
    dataset = Dataset("dev", "x")
    keys = [layout.event_key(dataset, "build", m, "id") for m in sorted(moments, reverse=True)]
    assert keys == sorted(keys)
