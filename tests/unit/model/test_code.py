"""`code_sha`: one case for each thing that moves it and for each that must not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dbt_snapshot_plugin.bridges.dbt_graph import graph_from_json
from dbt_snapshot_plugin.model.code import code_sha
from dbt_snapshot_plugin.model.graph import upstream

ORDERS = "model.shop.orders"
CODE = "select {{ money('x') }} from {{ ref('clean') }}\nwhere y > {{ var('y') }}"
WORLD: dict[str, Any] = {
    "nodes": {
        ORDERS: {
            "unique_id": ORDERS,
            "resource_type": "model",
            "name": "orders",
            "package_name": "shop",
            "raw_code": CODE,
            "compiled_code": "select x from shop.clean where y > 3",
            "relation_name": "`dev`.`orders`",
            "description": "old",
            "tags": ["daily"],
            "meta": {"owner": "ann"},
            "config": {
                "materialized": "incremental",
                "unique_key": "id",
                "file_format": "parquet",
                "location_root": "/a",
                "partition_by": ["day"],
                "grants": {},
                "docs": {"show": True},
                "persist_docs": {},
                "post-hook": [
                    {"sql": "{{ dbt_snapshot.profile() }}"},
                    {"sql": "optimize {{ a }}"},
                ],
                "pre-hook": [],
            },
            "depends_on": {
                "nodes": ["model.shop.clean"],
                "macros": ["macro.shop.money", "macro.dbt.is_incremental"],
            },
        },
        "model.shop.clean": {
            "unique_id": "model.shop.clean",
            "resource_type": "model",
            "name": "clean",
            "package_name": "shop",
            "raw_code": "select * from raw",
            "config": {"materialized": "view"},
            "depends_on": {"nodes": [], "macros": []},
        },
    },
    "sources": {},
    "macros": {
        "macro.shop.money": {
            "package_name": "shop",
            "macro_sql": "{% macro money(c) %}{{ round(c) }}{{ env_var('RATE', '1') }}"
            "{{ env_var('DBT_ENV_SECRET_KEY') }}{% endmacro %}",
            "depends_on": {"macros": ["macro.shop.round"]},
        },
        "macro.shop.round": {
            "package_name": "shop",
            "macro_sql": "{% macro round(c) %}round({{ c }}){% endmacro %}",
            "depends_on": {"macros": []},
        },
        "macro.dbt.is_incremental": {
            "package_name": "dbt",
            "macro_sql": "dbt's own",
            "depends_on": {"macros": []},
        },
        "macro.dbt_snapshot.profile": {
            "package_name": "dbt_snapshot",
            "macro_sql": "ours",
            "depends_on": {"macros": []},
        },
        "macro.shop.unused": {
            "package_name": "shop",
            "macro_sql": "x",
            "depends_on": {"macros": []},
        },
    },
    "vars": {"y": 3, "unused": 1},
    "env": {"RATE": "2", "DBT_ENV_SECRET_KEY": "s3cret", "UNUSED": "1"},
}

Change = Callable[[dict[str, Any]], None]


def sha(world: dict[str, Any], unique_id: str = ORDERS, seed: bytes | None = None) -> str | None:
    graph = graph_from_json(world)
    node = graph.node(unique_id)
    assert node is not None
    through = upstream(graph, unique_id).through
    return code_sha(graph, node, through, lambda _, n: world["vars"].get(n), world["env"], seed)


def changed(change: Change) -> str | None:
    world = copy.deepcopy(WORLD)
    change(world)
    return sha(world)


def put(*path: Any) -> Change:
    """Sets what the path but its last part leads to."""

    def change(world: dict[str, Any]) -> None:
        place: Any = world
        for step in path[:-2]:
            place = place[step]
        place[path[-2]] = path[-1]

    return change


def config(key: str, value: Any) -> Change:
    return put("nodes", ORDERS, "config", key, value)


MOVES: dict[str, Change] = {
    "code": put("nodes", ORDERS, "raw_code", "select 1"),
    "macro": put("macros", "macro.shop.money", "macro_sql", "other"),
    "macro of a macro": put("macros", "macro.shop.round", "macro_sql", "other"),
    "view on the way": put("nodes", "model.shop.clean", "raw_code", "select 2"),
    "its materialisation": put("nodes", "model.shop.clean", "config", "materialized", "ephemeral"),
    "var": put("vars", "y", 4),
    "var taken away": put("vars", {}),
    "env_var": put("env", "RATE", "3"),
    "strategy": config("incremental_strategy", "append"),
    "unique_key": config("unique_key", ["id", "day"]),
    "on_schema_change": config("on_schema_change", "fail"),
    "event_time": config("event_time", "at"),
    "materialized": config("materialized", "table"),
    "pre-hook": config("pre-hook", [{"sql": "set x = 1"}]),
    "post-hook": config("post-hook", [{"sql": "optimize b"}]),
}
STAYS: dict[str, Change] = {
    "line ends": put("nodes", ORDERS, "raw_code", CODE.replace("\n", "\r\n")),
    "last line end": put("nodes", ORDERS, "raw_code", CODE + "\n"),
    "compiled code": put("nodes", ORDERS, "compiled_code", "select x from prod.clean"),
    "relation": put("nodes", ORDERS, "relation_name", "`prod`.`orders`"),
    "description": put("nodes", ORDERS, "description", "new"),
    "tags": put("nodes", ORDERS, "tags", []),
    "meta": put("nodes", ORDERS, "meta", {}),
    "docs": config("docs", {"show": False}),
    "grants": config("grants", {"select": ["ann"]}),
    "file_format": config("file_format", "delta"),
    "location": config("location_root", "/b"),
    "partitioning": config("partition_by", []),
    "our hook": config("post-hook", [{"sql": "optimize {{ a }}"}]),
    "dbt's macro": put("macros", "macro.dbt.is_incremental", "macro_sql", "next release"),
    "our macro": put("macros", "macro.dbt_snapshot.profile", "macro_sql", "next release"),
    "macro not called": put("macros", "macro.shop.unused", "macro_sql", "y"),
    "var not named": put("vars", "unused", 2),
    "env_var not named": put("env", "UNUSED", "2"),
    "secret": put("env", "DBT_ENV_SECRET_KEY", "other"),
}  # fmt: skip


@pytest.mark.parametrize("change", MOVES.values(), ids=MOVES)
def test_what_can_change_values_moves_it(change: Change) -> None:
    assert changed(change) != sha(WORLD)


@pytest.mark.parametrize("change", STAYS.values(), ids=STAYS)
def test_what_can_not_leaves_it(change: Change) -> None:
    assert changed(change) == sha(WORLD)


def test_a_users_macro_behind_dbts_own_counts() -> None:
    """dbt's dispatch may lead back into the project."""
    world = copy.deepcopy(WORLD)
    world["macros"]["macro.dbt.is_incremental"]["depends_on"] = {"macros": ["macro.shop.unused"]}
    assert sha(world) != sha(WORLD)


def test_a_var_named_by_a_hook_counts() -> None:
    world = copy.deepcopy(WORLD)
    world["nodes"][ORDERS]["config"]["post-hook"].append({"sql": "set x = {{ var('z') }}"})
    before = sha(world)
    world["vars"]["z"] = 1
    assert sha(world) != before


def test_a_table_in_between_ends_it() -> None:
    world = copy.deepcopy(WORLD)
    world["nodes"]["model.shop.clean"]["config"]["materialized"] = "table"
    before = sha(world)
    world["nodes"]["model.shop.clean"]["raw_code"] = "select 2"
    assert sha(world) == before


def test_a_seed_is_its_bytes_and_a_source_has_no_code() -> None:
    assert sha(WORLD, seed=b"a") != sha(WORLD, seed=b"b")
    world = copy.deepcopy(WORLD)
    world["nodes"][ORDERS]["resource_type"] = "source"
    assert sha(world) is None


def test_values_of_yaml_that_are_no_json() -> None:
    import datetime as dt

    world = copy.deepcopy(WORLD)
    world["vars"]["y"] = {"from": dt.date(2025, 1, 1), "share": 0.5, 1: [None, True]}
    assert sha(world) != sha(WORLD)
