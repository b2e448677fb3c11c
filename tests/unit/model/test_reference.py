"""References: `[env/]dataset[@selector]`, and what happens when they miss."""

from __future__ import annotations

import pytest

from dbt_snapshot_plugin.model.errors import UnknownReferenceError
from dbt_snapshot_plugin.model.reference import (
    Dataset,
    Selector,
    names,
    parse_reference,
    resolve_dataset,
)

UUID = "01a1f045-6baf-7843-af3d-a7a8031d4cc8"
ORDERS = Dataset("dev.shop", "model.shop.fct_orders")
PROD_ORDERS = Dataset("prod.shop", "model.shop.fct_orders")
CUSTOMERS = Dataset("dev.shop", "model.shop.dim_customers")
RAW = Dataset("dev.shop", "source.shop.raw.orders")
OTHER = Dataset("dev.shop", "model.other.dim_customers")
KNOWN = [ORDERS, PROD_ORDERS, CUSTOMERS, RAW]


@pytest.mark.parametrize(
    ("text", "env", "dataset", "selector"),
    [
        ("fct_orders", None, "fct_orders", Selector("HEAD", back=0)),
        ("dev.shop/fct_orders", "dev.shop", "fct_orders", Selector("HEAD", back=0)),
        ("fct_orders@HEAD", None, "fct_orders", Selector("HEAD", back=0)),
        ("fct_orders@HEAD~3", None, "fct_orders", Selector("HEAD~3", back=3)),
        ("fct_orders@12", None, "fct_orders", Selector("12", seq=12)),
        ("fct_orders@0012", None, "fct_orders", Selector("0012", seq=12)),
        (
            "fct_orders@1234567",
            None,
            "fct_orders",
            Selector("1234567", seq=1234567, sha="1234567"),
        ),
        ("fct_orders@123456789", None, "fct_orders", Selector("123456789", sha="123456789")),
        ("fct_orders@abcdef1", None, "fct_orders", Selector("abcdef1", sha="abcdef1")),
        ("fct_orders@abcdef", None, "fct_orders", Selector("abcdef", name="abcdef")),
        (f"fct_orders@{'a' * 64}", None, "fct_orders", Selector("a" * 64, sha="a" * 64)),
        (f"fct_orders@{UUID}", None, "fct_orders", Selector(UUID, uuid=UUID)),
        ("fct_orders@audited", None, "fct_orders", Selector("audited", name="audited")),
        ("fct_orders@HEAD~", None, "fct_orders", Selector("HEAD~", name="HEAD~")),
        ("ann@corp/team/fct_orders@2", "ann@corp/team", "fct_orders", Selector("2", seq=2)),
        ("model.shop.fct_orders", None, "model.shop.fct_orders", Selector("HEAD", back=0)),
    ],
)
def test_a_reference_is_split(
    text: str, env: str | None, dataset: str, selector: Selector
) -> None:
    found = parse_reference(text)
    assert (found.env, found.dataset, found.selector) == (env, dataset, selector)


@pytest.mark.parametrize("text", ["", "@", "@3", "fct_orders@", "/fct_orders", "dev/", "dev/@3"])
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(UnknownReferenceError) as caught:
        parse_reference(text)
    assert repr(text) in caught.value.what
    assert "[env/]dataset" in (caught.value.next_step or "")


@pytest.mark.parametrize(
    ("text", "dataset"),
    [
        ("dim_customers", CUSTOMERS),
        ("shop.dim_customers", CUSTOMERS),
        ("model.shop.dim_customers", CUSTOMERS),
        ("dev.shop/dim_customers", CUSTOMERS),
        ("prod.shop/fct_orders", PROD_ORDERS),
        ("prod/fct_orders", PROD_ORDERS),
        ("p/fct_orders", PROD_ORDERS),
        ("d/fct_orders@3", ORDERS),
        ("raw.orders", RAW),
        ("orders", RAW),
    ],
)
def test_the_one_dataset_that_is_meant(text: str, dataset: Dataset) -> None:
    assert resolve_dataset(parse_reference(text), KNOWN) == dataset


def test_an_env_in_full_wins_over_one_that_it_begins() -> None:
    known = [Dataset("dev", "model.a.b"), Dataset("dev2", "model.a.b")]
    assert resolve_dataset(parse_reference("dev/b"), known) == known[0]


def test_a_dataset_in_full_wins_over_one_that_it_ends() -> None:
    known = [Dataset("dev", "model.a.b"), Dataset("dev", "x.model.a.b")]
    assert resolve_dataset(parse_reference("model.a.b"), known) == known[0]


def test_a_part_of_a_word_is_no_name() -> None:
    assert not names("model.shop.fct_orders", "orders")
    assert not names("model.shop.fct_orders", "")


@pytest.mark.parametrize(
    ("text", "known", "candidates"),
    [
        ("fct_orders", KNOWN, [ORDERS, PROD_ORDERS]),
        ("dim_customers", [CUSTOMERS, OTHER], [CUSTOMERS, OTHER]),
        ("d/fct_orders", [ORDERS, Dataset("deploy", ORDERS.unique_id)], [ORDERS]),
    ],
)
def test_ambiguity_lists_the_candidates(
    text: str, known: list[Dataset], candidates: list[Dataset]
) -> None:
    with pytest.raises(UnknownReferenceError) as caught:
        resolve_dataset(parse_reference(text), known)
    assert "ambiguous" in caught.value.what
    assert all(str(dataset) in caught.value.what for dataset in candidates)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("fct_order", "did you mean fct_orders"),
        ("model.shop.dim_custmers@3", "did you mean dim_customers"),
        ("staging/dim_customers", "there is dev.shop/model.shop.dim_customers"),
        ("zzzz", "`dbt-snapshot list` shows what is there"),
    ],
)
def test_a_typo_gets_suggestions(text: str, hint: str) -> None:
    with pytest.raises(UnknownReferenceError) as caught:
        resolve_dataset(parse_reference(text), KNOWN)
    assert repr(text.partition("@")[0]) in caught.value.what
    assert hint in (caught.value.next_step or "")


def test_an_empty_store_knows_nothing() -> None:
    with pytest.raises(UnknownReferenceError, match="no dataset 'x'"):
        resolve_dataset(parse_reference("x"), [])
