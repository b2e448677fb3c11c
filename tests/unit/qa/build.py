"""Results of the shape that GX 1.24 stores, and GX projects that hold them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.model.graph import Graph, Node
from tests.factories import START

NOT_NULL = "expect_column_values_to_not_be_null"
ROW_COUNT = "expect_table_row_count_to_be_between"
FLAT_ERROR = {"exception_message": "no", "exception_traceback": "no", "raised_exception": True}
NESTED_ERROR = {"MetricConfigurationID(metric_name='column_values.nonnull')": FLAT_ERROR}
CALM = {"exception_message": None, "exception_traceback": None, "raised_exception": False}


def compact(minute: float) -> str:
    """GX's compact form of a time of the factories' day."""
    return (START + dt.timedelta(minutes=minute)).strftime("%Y%m%dT%H%M%S.%fZ")


def iso(minute: float) -> str:
    return (START + dt.timedelta(minutes=minute)).isoformat()


def check(
    success: bool = True,
    *,
    column: str | None = "email",
    kind: str = NOT_NULL,
    severity: str | None = "critical",
    rows: int | None = 3,
    error: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """One expectation's result; `rows=None` is BOOLEAN_ONLY."""
    config: dict[str, Any] = {"type": kind, "meta": dict(meta or {})}
    config["kwargs"] = {
        **({"column": column} if column else {}),
        "batch_id": "pd-orders",
        **kwargs,
    }
    if severity:
        config["severity"] = severity
    result: dict[str, Any] = {}
    if rows is not None and error is None:
        result = {"element_count": rows, "unexpected_count": 0 if success else 1}
        result["partial_unexpected_list"] = [] if success else ["SECRET-VALUE"]
    return {
        "success": success and error is None,
        "expectation_config": config,
        "exception_info": dict(error or CALM),
        "result": result,
        "meta": {},
    }


def row_count(rows: int, success: bool = True) -> dict[str, Any]:
    found = check(success, column=None, kind=ROW_COUNT, rows=None, min_value=1)
    return {**found, "result": {"observed_value": rows}}


def document(
    *checks: dict[str, Any],
    suite: str = "orders_suite",
    asset: str | None = "fct_orders",
    minute: float | None = 15,
    finished: float | None = None,
    run_name: str | None = None,
    spec: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    **top: Any,
) -> dict[str, Any]:
    """A whole result whose totals agree with its checks; `minute=None` names no time."""
    rows = list(checks) or [check(), row_count(3)]
    passed = sum(row["success"] for row in rows)
    inner: dict[str, Any] = {
        "active_batch_definition": {
            "batch_identifiers": {"dataframe": "<DATAFRAME>"},
            "data_asset_name": asset,
            "datasource_name": "shop",
        },
        "batch_spec": {"batch_data": "SparkDataFrame"} if spec is None else dict(spec),
        "great_expectations_version": "1.24.1",
        "run_id": {"run_name": run_name},
    }
    if spec is not None:
        inner["active_batch_definition"]["batch_identifiers"] = {}
    if minute is not None:
        end = iso(minute if finished is None else finished)
        inner["batch_markers"] = {"ge_load_time": compact(minute)}
        inner["run_id"]["run_time"] = end
        inner["validation_time"] = end
    statistics = {
        "evaluated_expectations": len(rows),
        "successful_expectations": passed,
        "unsuccessful_expectations": len(rows) - passed,
    }
    return {
        "id": None,
        "suite_name": suite,
        "suite_parameters": {},
        "success": passed == len(rows),
        "statistics": statistics,
        "results": rows,
        "meta": {**inner, **(meta or {})},
        **top,
    }


def failing(**options: Any) -> dict[str, Any]:
    return document(check(False), row_count(3), **options)


def content(found: Mapping[str, Any] | Sequence[Any] | bytes) -> bytes:
    return found if isinstance(found, bytes) else json.dumps(found, indent=2).encode()


def put(
    root: Path,
    found: Mapping[str, Any] | bytes,
    *,
    suite: str = "orders_suite",
    minute: float = 15,
    name: str = "shop-fct_orders",
) -> Path:
    """The result where GX would store it, below `root`/gx."""
    base = root / "gx" / "uncommitted" / "validations"
    path = base.joinpath(*suite.split("."), "__none__", compact(minute), f"{name}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content(found))
    return path


def put_suite(root: Path, suite: str, unique_id: str | None) -> Path:
    """The suite's own file, as it is now."""
    path = root.joinpath("gx", "expectations", *suite.split(".")).with_suffix(".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    meta = {"dbt_unique_id": unique_id} if unique_id else {}
    path.write_text(json.dumps({"name": suite, "meta": meta, "expectations": []}))
    return path


def make_node(name: str, kind: str = "model", /, **facts: Any) -> Node:
    """A table model of the project `shop` whose post-hook asks for snapshots."""
    values: dict[str, Any] = {
        "unique_id": f"{kind}.shop.{name}",
        "resource_type": kind,
        "name": name,
        "package": "shop",
        "materialization": "table",
        "relation": f"shop.{name}",
        "path": f"models/marts/{name}.sql",
        "root_path": None,
        "fqn": ("shop", "marts", name),
        "description": "",
        "tags": (),
        "meta": {},
        "columns": {},
        "raw_code": "",
        "compiled_code": None,
        "config": {"post-hook": ["{{ dbt_snapshot.profile() }}"]},
        "depends_on": (),
        "macros": (),
    }
    return Node(**{**values, **facts})


def make_graph(*nodes: Node) -> Graph:
    found = {node.unique_id: node for node in nodes}
    return Graph(find_node=found.get, find_macro=lambda _: None, node_ids=list(found))


def dbt_node(name: str, kind: str = "model", **facts: Any) -> dict[str, Any]:
    """The same as manifest.json has it."""
    return {
        "unique_id": f"{kind}.shop.{name}",
        "resource_type": kind,
        "name": name,
        "package_name": "shop",
        "relation_name": f"`shop`.`{name}`",
        "original_file_path": f"models/marts/{name}.sql",
        "fqn": ["shop", "marts", name],
        "config": {
            "materialized": "table",
            "post-hook": [{"sql": "{{ dbt_snapshot.profile() }}"}],
        },
        "depends_on": {"nodes": [], "macros": []},
        **facts,
    }


def make_project(root: Path, *nodes: dict[str, Any], env: str | None = None) -> Path:
    """A dbt project as its last run left it."""
    root.mkdir(exist_ok=True)
    (root / "dbt_project.yml").write_text("name: shop\n")
    table = {node["unique_id"]: node for node in nodes}
    target = root / "target"
    (target / "dbt_snapshot").mkdir(parents=True, exist_ok=True)
    manifest = {"nodes": table, "sources": {}, "macros": {}}
    (target / "manifest.json").write_text(json.dumps(manifest))
    if env is not None:
        (target / "dbt_snapshot" / "context.json").write_text(json.dumps({"env": env}))
    return root
