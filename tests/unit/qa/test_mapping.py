"""Which dataset a result is about: every level, and that doubt attaches to nothing."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_snapshot_plugin.bridges.gx_results import Subject
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.mapping import Known, Mapped, Unmapped, map_result

ORDERS = Known(Dataset("prod", "model.shop.fct_orders"), "fct_orders", "`mart`.`fct_orders`")
# the alias of its relation differs from its name, and is the name of another model
CUSTOMERS = Known(Dataset("prod", "model.shop.customers"), "customers", "crm.customers_v2")
RAW = Known(Dataset("prod", "source.shop.raw.customers_raw"), "customers_raw", "raw.customers")
KNOWN = [ORDERS, CUSTOMERS, RAW]
DEV = Known(Dataset("dev", "model.shop.fct_orders"), "fct_orders", "dev_ann.fct_orders")


def subject(**facts: Any) -> Subject:
    return Subject(where="r.json", sha256="0" * 64, **{"suite": "nightly", **facts})


def mapped(found: Mapped | Unmapped) -> tuple[str, str]:
    assert isinstance(found, Mapped), found
    return found.known.label, found.by


def unmapped(found: Mapped | Unmapped) -> Unmapped:
    assert isinstance(found, Unmapped), found
    return found


@pytest.mark.parametrize(
    ("facts", "options", "expected"),
    [
        ({}, {"suite_meta": "model.shop.fct_orders"}, ("model.shop.fct_orders", "meta")),
        ({"unique_ids": ("model.shop.fct_orders",)}, {}, ("model.shop.fct_orders", "meta")),
        (
            {"asset": "customers"},
            {"suite_meta": "model.shop.fct_orders"},
            ("model.shop.fct_orders", "meta"),
        ),
        ({}, {"mapping": {"nightly": "fct_orders"}}, ("model.shop.fct_orders", "map")),
        (
            {"asset": "a1"},
            {"mapping": {"a1": "model.shop.customers"}},
            ("model.shop.customers", "map"),
        ),
        (
            {"asset": "fct_orders"},
            {"mapping": {"nightly": "customers"}},
            ("model.shop.customers", "map"),
        ),
        (
            {"schema": "mart", "table": "fct_orders", "asset": "customers"},
            {},
            ("model.shop.fct_orders", "relation"),
        ),
        ({"schema": "MART", "table": "FCT_Orders"}, {}, ("model.shop.fct_orders", "relation")),
        # tutorial style: the asset is called otherwise and no schema is named
        (
            {"asset": "customer_data", "table": "customers_v2"},
            {},
            ("model.shop.customers", "relation"),
        ),
        ({"table": "customers"}, {}, ("source.shop.raw.customers_raw", "relation")),
        ({"asset": "fct_orders"}, {}, ("model.shop.fct_orders", "asset")),
        ({"asset": "shop.fct_orders"}, {}, ("model.shop.fct_orders", "asset")),
        ({"asset": "mart.fct_orders"}, {}, ("model.shop.fct_orders", "asset")),
        ({"asset": "customers_v2"}, {}, ("model.shop.customers", "asset")),
        ({"suite": "fct_orders"}, {}, ("model.shop.fct_orders", "suite")),
        ({"suite": "fct_orders", "asset": "other"}, {}, ("model.shop.fct_orders", "suite")),
    ],
)
def test_the_strongest_statement_wins(
    facts: dict[str, Any], options: dict[str, Any], expected: tuple[str, str]
) -> None:
    label, by = mapped(map_result(subject(**facts), KNOWN, **options))
    assert (label, by) == (f"prod/{expected[0]}", expected[1])


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        # an explicit id that names nothing is no reason to guess
        ({"asset": "fct_orders"}, {"suite_meta": "model.shop.fct_order"}, "did you mean"),
        ({"asset": "fct_orders", "unique_ids": ("model.x.y",)}, {}, "names no known dataset"),
        ({"asset": "fct_orders"}, {"mapping": {"nightly": "nothing"}}, "qa.map: 'nothing'"),
        # the physical table is not the model of that name
        ({"schema": "crm", "table": "customers", "asset": "customers"}, {}, "crm.customers"),
        (
            {"schema": "other", "table": "fct_orders", "suite": "fct_orders"},
            {},
            "other.fct_orders",
        ),
        # a claim cannot overrule where the rows were read from
        (
            {"schema": "dev_ann", "table": "fct_orders"},
            {"suite_meta": "model.shop.fct_orders"},
            "it judged dev_ann.fct_orders, but prod/model.shop.fct_orders is `mart`.`fct_orders`",
        ),
        ({"asset": "nobody"}, {}, "neither its suite nor its asset"),
        ({"suite": "orders.warning"}, {}, "neither its suite nor its asset"),
    ],
)
def test_what_maps_to_nothing_says_why(
    facts: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    found = unmapped(map_result(subject(**facts), KNOWN, **options))
    assert words in found.reason
    assert found.code is None


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        (
            {"unique_ids": ("model.shop.customers", "model.shop.fct_orders")},
            {},
            "model.shop.customers, model.shop.fct_orders",
        ),
        (
            {"unique_ids": ("model.shop.customers",)},
            {"suite_meta": "model.shop.fct_orders"},
            "model.shop.customers, model.shop.fct_orders",
        ),
        (
            {"asset": "a1"},
            {"mapping": {"a1": "customers", "nightly": "fct_orders"}},
            "customers, fct_orders",
        ),
        # `customers` is the name of a model and the table of a source
        (
            {"asset": "customers", "suite": "fct_orders"},
            {},
            "prod/model.shop.customers, prod/source.shop.raw.customers_raw",
        ),
    ],
)
def test_more_than_one_candidate_is_none(
    facts: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    found = unmapped(map_result(subject(**facts), KNOWN, **options))
    assert found.code == "ambiguous"
    assert words in found.reason


class TestEnvs:
    """Without an env the same dataset can be meant in each."""

    @pytest.mark.parametrize(
        "facts", [{"unique_ids": ("model.shop.fct_orders",)}, {"asset": "fct_orders"}]
    )
    def test_a_name_alone_is_ambiguous(self, facts: dict[str, Any]) -> None:
        found = unmapped(map_result(subject(**facts), [*KNOWN, DEV]))
        assert found.code == "ambiguous"
        assert "dev/model.shop.fct_orders, prod/model.shop.fct_orders" in found.reason

    @pytest.mark.parametrize("ids", [(), ("model.shop.fct_orders",)])
    def test_the_table_tells_them_apart(self, ids: tuple[str, ...]) -> None:
        facts = subject(schema="dev_ann", table="fct_orders", unique_ids=ids)
        assert mapped(map_result(facts, [*KNOWN, DEV]))[0] == "dev/model.shop.fct_orders"


def test_a_relation_that_is_not_known_contradicts_nothing() -> None:
    bare = Known(Dataset("prod", "model.shop.new"), "new", "")
    facts = subject(table="anything", unique_ids=("model.shop.new",))
    assert mapped(map_result(facts, [bare]))[1] == "meta"
    assert "no known dataset" in unmapped(map_result(subject(table="anything"), [bare])).reason


def test_nothing_is_known() -> None:
    assert unmapped(map_result(subject(asset="fct_orders"), [])).code is None
