"""The graph: what a node reads, who asks for a snapshot, which columns are marked."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_snapshot_plugin.bridges.dbt_graph import graph_from_json
from dbt_snapshot_plugin.model.graph import (
    Graph,
    asks_for_snapshot,
    marked_columns,
    pipeline_stage,
    reached_macros,
    upstream,
)


def node(name: str, *reads: str, materialized: str = "table", **fields: Any) -> dict[str, Any]:
    return {
        "unique_id": f"model.shop.{name}",
        "resource_type": "model",
        "name": name,
        "package_name": "shop",
        "fqn": ["shop", name],
        "depends_on": {"nodes": [f"model.shop.{parent}" for parent in reads]},
        **fields,
        "config": {"materialized": materialized, **fields.get("config", {})},
    }


def macro(*calls: str, package: str = "shop") -> dict[str, Any]:
    return {"package_name": package, "macro_sql": "…", "depends_on": {"macros": list(calls)}}


def graph(*nodes: dict[str, Any], **macros: dict[str, Any]) -> Graph:
    return graph_from_json(
        {
            "nodes": {n["unique_id"]: n for n in nodes},
            "sources": {},
            "macros": {name.replace("__", "."): found for name, found in macros.items()},
        }
    )


def test_views_and_ephemerals_lead_to_what_holds_data() -> None:
    found = upstream(
        graph(
            node("raw"),
            node("more"),
            node("view", "raw", materialized="view"),
            node("inner", "view", "more", materialized="ephemeral"),
            node("mart", "inner", "raw", "gone"),
        ),
        "model.shop.mart",
    )
    assert found.data == ("model.shop.more", "model.shop.raw")
    assert found.through == ("model.shop.inner", "model.shop.view")


def test_what_is_above_a_table_is_not_a_parent() -> None:
    found = upstream(graph(node("a"), node("b", "a"), node("c", "b")), "model.shop.c")
    assert found.data == ("model.shop.b",)


def test_a_node_without_a_graph_reads_nothing() -> None:
    assert upstream(graph(), "model.shop.gone") == upstream(graph(node("a")), "model.shop.a")


HOOKS: list[tuple[Any, list[str], bool]] = [
    ("{{ dbt_snapshot.profile() }}", [], True),
    ({"sql": "{{dbt_snapshot.profile()}}", "transaction": True}, [], True),
    (["{{- dbt_snapshot . profile( ) -}}", "vacuum x"], ["vacuum x"], True),
    ("{{ dbt_snapshot.profile() }} insert into x", ["insert into x"], True),
    ("analyze table dbt_snapshot.profiles", ["analyze table dbt_snapshot.profiles"], False),
    (None, [], False),
]


@pytest.mark.parametrize(("hooks", "others", "asks"), HOOKS, ids=str)
def test_our_own_hook_is_not_one_of_the_users(hooks: Any, others: list[str], asks: bool) -> None:
    found = graph(node("a", config={"post-hook": hooks})).node("model.shop.a")
    assert found is not None
    assert found.hooks("post-hook") == others
    assert found.has_own_hook is asks
    assert asks_for_snapshot(graph(), found) is asks


def test_a_hook_may_call_us_through_other_macros() -> None:
    own = macro(package="dbt_snapshot")
    known = graph(
        node("a", depends_on={"macros": ["macro.shop.audit"]}),
        node("b", depends_on={"macros": ["macro.shop.other", "macro.shop.gone"]}),
        macro__shop__audit=macro("macro.shop.inner"),
        macro__shop__inner=macro("macro.dbt_snapshot.profile", "macro.shop.audit"),
        macro__shop__other=macro(),
        macro__dbt_snapshot__profile=own,
    )
    a, b = known.node("model.shop.a"), known.node("model.shop.b")
    assert a is not None
    assert b is not None
    assert asks_for_snapshot(known, a)
    assert not asks_for_snapshot(known, b)
    names = sorted(name for name, _ in reached_macros(known, a.macros))
    assert names == ["macro.dbt_snapshot.profile", "macro.shop.audit", "macro.shop.inner"]


MARKS: list[tuple[dict[str, Any], bool]] = [
    ({"tags": ["pii"]}, True),
    ({"config": {"tags": ["pii"]}}, True),
    ({"meta": {"pii": True}}, True),
    ({"meta": {"pii": "true"}}, True),
    ({"meta": {"pii": "GDPR class 2"}}, True),
    ({"config": {"meta": {"pii": 1}}}, True),
    ({"meta": {"dbt_snapshot": {"pii": True}}}, True),
    ({"meta": {"pii": False}}, False),
    ({"meta": {"pii": "no"}}, False),
    ({"meta": {"pii": None}}, False),
    ({"meta": {"dbt_snapshot": "pii"}}, False),
    ({"tags": ["pii_free"]}, False),
    ({"tags": None, "meta": None, "config": None}, False),
]


@pytest.mark.parametrize(("column", "marked"), MARKS, ids=str)
def test_marks_of_columns(column: dict[str, Any], marked: bool) -> None:
    found = graph(node("a", columns={"email": {"name": "email", **column}})).node("model.shop.a")
    assert found is not None
    assert marked_columns(found, "pii") == (["email"] if marked else [])


@pytest.mark.parametrize(
    ("fqn", "rules", "stage"),
    [
        (["shop", "staging", "a"], {}, "cleaned"),
        (["shop", "bronze", "a"], {"bronze": "raw"}, "raw"),
        (["shop", "staging", "a"], {"staging": "raw"}, "raw"),
        (["shop", "a"], {}, None),
    ],
)
def test_the_stage_follows_the_folders(fqn: list[str], rules: dict[str, str], stage: Any) -> None:
    found = graph(node("a", fqn=fqn)).node("model.shop.a")
    assert found is not None
    assert pipeline_stage(found, rules) == stage


def test_a_node_is_looked_up_again_when_it_has_changed() -> None:
    rows = {"model.shop.a": node("a")}
    known = graph_from_json({"nodes": rows, "sources": {}, "macros": {}})
    assert known.node("model.shop.a") is known.node("model.shop.a")
    rows["model.shop.a"]["compiled_code"] = "select 1"
    first = known.node("model.shop.a")
    assert first is not None
    assert first.compiled_code is None


@pytest.mark.parametrize(
    ("fields", "buildable"),
    [
        ({}, True),
        ({"materialized": "ephemeral"}, False),
        ({"config": {"enabled": False}}, False),
        ({"resource_type": "test"}, False),
        ({"materialized": "view"}, True),
    ],
    ids=str,
)
def test_what_dbt_builds(fields: dict[str, Any], buildable: bool) -> None:
    found = graph(node("a", **fields)).node("model.shop.a")
    assert found is not None
    assert found.buildable is buildable
