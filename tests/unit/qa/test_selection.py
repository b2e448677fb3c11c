"""dbt's selection syntax, as far as the graph alone can answer it."""

from __future__ import annotations

import pytest

from dbt_snapshot_plugin.model.errors import UsageError
from dbt_snapshot_plugin.model.graph import Graph
from dbt_snapshot_plugin.ops.selection import graph_of_store, select
from dbt_snapshot_plugin.store.memory import MemoryBackend
from tests.factories import ENV, shop_store
from tests.unit.qa.build import make_graph, make_node

# raw (source) -> stg -> int (ephemeral) -> fct -> mart; tiers is a seed that fct reads, too


@pytest.fixture
def graph() -> Graph:
    return make_graph(
        make_node("raw.orders", "source", name="orders", path="models/staging/_sources.yml"),
        make_node("tiers", "seed", path="seeds/tiers.csv", fqn=("shop", "tiers")),
        make_node(
            "stg",
            depends_on=("source.shop.raw.orders",),
            tags=("nightly", "pii"),
            path="models/staging/stg.sql",
            fqn=("shop", "staging", "stg"),
        ),
        make_node("int", materialization="ephemeral", depends_on=("model.shop.stg",)),
        make_node("fct", depends_on=("model.shop.int", "seed.shop.tiers"), tags=("nightly",)),
        make_node("mart", depends_on=("model.shop.fct",)),
        make_node("not_null_fct", "test", depends_on=("model.shop.fct",), tags=("nightly",)),
    )


@pytest.mark.parametrize(
    ("expressions", "names"),
    [
        ([], ""),
        (["fct"], "fct"),
        (["model.shop.fct"], "fct"),
        (["shop.fct"], "fct"),
        (["source.shop.raw.orders"], "orders"),
        (["fct stg"], "fct stg"),
        (["fct", "stg"], "fct stg"),
        (["*t"], "int fct mart"),
        (["staging"], "stg"),
        (["shop.marts"], "int fct mart"),
        (["marts.f*"], "fct"),
        (["tag:nightly"], "stg fct"),
        (["tag:night*"], "stg fct"),
        (["tag:nightly,tag:pii"], "stg"),
        (["tag:nightly,fct mart"], "fct mart"),
        (["path:models/staging"], "orders stg"),
        (["path:models/staging/stg.sql"], "stg"),
        (["./models/staging/"], "orders stg"),
        (["stg+"], "stg int fct mart"),
        (["+fct"], "orders tiers stg int fct"),
        (["+fct+"], "orders tiers stg int fct mart"),
        (["1+fct"], "tiers int fct"),
        (["2+fct"], "tiers int stg fct"),
        (["stg+2"], "stg int fct"),
        (["0+fct"], "fct"),
        (["+tag:pii"], "orders stg"),
        (["+mart,stg+"], "stg int fct mart"),
    ],
)
def test_selection(graph: Graph, expressions: list[str], names: str) -> None:
    found = {uid.rsplit(".", 1)[-1] for uid in select(graph, expressions)}
    assert found == set(names.split())


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("fctt", "did you mean fct"),
        ("tag:nightl", "did you mean tag:nightly"),
        ("orders", "no node matches 'orders'"),  # a source wants its full name
        ("nothing_like_it", "write names"),
        ("state:modified+", "`dbt ls -s state:modified"),
        ("config.materialized:table", "not supported"),
        ("@fct", "not understood"),
        ("fct,", "not understood"),
        ("+", "not understood"),
        ("tag:pii,mart", "no node is in all of"),
        ("path:models/nowhere", "no node matches"),
        ("not_null_fct", "no node matches"),
    ],
)
def test_what_matches_nothing_is_an_error(graph: Graph, expression: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(graph, ["fct", expression])
    assert words in str(caught.value)


def test_the_store_stands_in_for_the_graph() -> None:
    graph = graph_of_store(shop_store(MemoryBackend()), ENV)
    assert select(graph, ["+fct_orders"]) == {"model.shop.stg_orders", "model.shop.fct_orders"}
    assert len(select(graph, ["tag:finance"])) == 3
    assert list(graph_of_store(shop_store(MemoryBackend()), "prod").node_ids) == []
