"""Valid records and small stores, made by the product's own code: nothing here is a mock.

    repo = memory_store(3)                            three snapshots of fct_orders, with builds
    manifest = add_snapshot(repo, CUSTOMERS, rows=5)  one more dataset
    add_evidence(repo, manifest, passed=False)        a suite that failed on it

Times are fixed and one minute apart, so that listings and golden files do not move; ids are real.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex, sign
from dbt_snapshot_plugin.model.events import BuildEnded, BuildStarted
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.ids import format_time, new_id
from dbt_snapshot_plugin.model.manifest import (
    SCHEMA_NAME,
    Column,
    Contracts,
    Manifest,
    ObjectRef,
    Parent,
    Producer,
)
from dbt_snapshot_plugin.model.qa import UNCHECKED, Basis, Counts, Evidence, FailedCheck
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store.backend import Backend
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from spark_profiler.model import Profile

ENV = "dev.shop"
ORDERS = Dataset(ENV, "model.shop.fct_orders")
CUSTOMERS = Dataset(ENV, "model.shop.dim_customers")
STAGING = Dataset(ENV, "model.shop.stg_orders")
START = dt.datetime(2025, 1, 5, 14, 0, tzinfo=dt.timezone.utc)


def clock(minute: float) -> str:
    """The time so many minutes after the factories' day began."""
    return format_time(START + dt.timedelta(minutes=minute))


@functools.cache
def make_profile(rows: int = 3, salt: int = 0) -> Profile:
    """A real profile of a small table; another `rows` or `salt` is other data."""
    import pyarrow as pa

    from spark_profiler import profile_arrow

    numbers = [index + 1000 * salt for index in range(rows)]
    columns = {
        "order_id": pa.array(numbers, pa.int64()),
        "amount": pa.array([n * 0.5 for n in numbers], pa.float64()),
        "email": pa.array([f"user{n}@example.org" for n in numbers], pa.string()),
    }
    schema = [("order_id", "bigint"), ("amount", "double"), ("email", "string")]
    return profile_arrow(pa.table(columns), schema)


def profile_bytes(profile: Profile) -> bytes:
    """The one byte form in which a profile is stored."""
    return canonical_json(profile.to_dict())


def reference_to(data: bytes) -> ObjectRef:
    return ObjectRef(sha256=sha256_hex(data), bytes=len(data))


def make_manifest(
    dataset: Dataset = ORDERS,
    *,
    head: Manifest | None = None,
    data: Profile | None = None,
    parents: Iterable[Parent] = (),
    **fields: Any,
) -> Manifest:
    """The valid, signed manifest of `data` after `head`; `fields` replaces any of its fields.

    `metadata_sha` and `record_sha256` are computed last, unless they are among `fields`.
    """
    profile = data or make_profile()
    assert profile.data_sha is not None
    seq = head.seq + 1 if head else 1
    change = "first" if head is None else "data"
    if head is not None and head.data_sha == profile.data_sha:
        change = "metadata"
    values: dict[str, Any] = {
        "schema_name": SCHEMA_NAME,
        "snapshot_id": new_id(),
        "seq": seq,
        "env": dataset.env,
        "unique_id": dataset.unique_id,
        "dataset_name": dataset.unique_id.rsplit(".", 1)[-1],
        "parent_snapshot_id": head.snapshot_id if head else None,
        "parent_record_sha256": head.record_sha256 if head else None,
        "change": change,
        "created_at": clock(10 * seq),
        "created_by": "ann",
        "metadata_sha": "",
        "data_sha": profile.data_sha,
        "hash_algo": profile.hash_algo,
        "depth": profile.depth,
        "num_rows": profile.num_rows,
        "num_columns": profile.num_columns,
        "columns": [msgspec.convert(msgspec.to_builtins(c), Column) for c in profile.columns],
        "schema_hash": profile.schema_hash,
        "volatile_columns": [],
        "redacted_columns": [],
        "code_sha": sha256_hex(b"select 1"),
        "materialization": "table",
        "pipeline_stage": "final",
        "parents": sorted(parents, key=lambda parent: parent.unique_id),
        "relation": f"`shop`.`{dataset.unique_id.rsplit('.', 1)[-1]}`",
        "source_type": "parquet",
        "description": "One row per order.",
        "tags": {"finance": ""},
        "metadata": {"owner": "ann"},
        "producer": Producer(repo=None, commit=None),
        "contracts": Contracts(schemas={}, compatibility={}),
        "files": [],
        "checksum_algorithm": "sha256",
        "profile": reference_to(profile_bytes(profile)),
        "qa_status_at_commit": UNCHECKED,
        "versions": {"dbt_snapshot_plugin": "0.1.0"},
        "not_computed": {},
    }
    manifest = Manifest(**{**values, **fields})
    if "metadata_sha" not in fields:
        manifest = msgspec.structs.replace(manifest, metadata_sha=metadata_sha(manifest))
    return manifest if "record_sha256" in fields else sign(manifest)


def pin(parent: Manifest, *, looked_through: bool = False) -> Parent:
    """The entry of a child that read this snapshot."""
    return Parent(
        unique_id=parent.unique_id,
        basis="captured" if parent.depth == "full" else "schema",
        seq=parent.seq,
        snapshot_id=parent.snapshot_id,
        metadata_sha=parent.metadata_sha,
        data_sha=parent.data_sha,
        looked_through=looked_through,
    )


def make_build(
    manifest: Manifest | None = None, *, minute: float = 0, **ended: Any
) -> tuple[BuildStarted, BuildEnded]:
    """The two events of a build that began at `minute` and took one; it left `manifest`.

    Without a manifest the build failed. `ended` replaces fields of the end.
    """
    build_id = new_id()
    started = BuildStarted(build_id=build_id, started_at=clock(minute), command="run")
    values: dict[str, Any] = {
        "build_id": build_id,
        "started_at": started.started_at,
        "ended_at": clock(minute + 1),
        "status": "error",
        "outcome": "failed",
        "reason": "dbt reported an error",
    }
    if manifest is not None:
        values |= {
            "status": "success",
            "outcome": "metadata" if manifest.change == "metadata" else "new",
            "reason": None,
            "seq": manifest.seq,
            "snapshot_id": manifest.snapshot_id,
            "metadata_sha": manifest.metadata_sha,
            "data_sha": manifest.data_sha,
        }
    return started, BuildEnded(**{**values, **ended})


def make_evidence(
    data_sha: str | None,
    *,
    passed: bool = True,
    suite: str = "orders_suite",
    minute: float = 5,
    basis: Basis | None = "data_sha",
    source: Literal["gx", "dbt_test"] = "gx",
    **fields: Any,
) -> Evidence:
    """One suite's result on the data with this sha; None means it belongs to no known data."""
    check = FailedCheck(
        check="expect_column_values_to_not_be_null",
        column="email",
        severity="critical",
        outcome="failed",
        unexpected_count=1,
        element_count=3,
    )
    counts = Counts(evaluated=2, passed=2 if passed else 1, failed_critical=0 if passed else 1)
    values: dict[str, Any] = {
        "source": source,
        "suite": suite,
        "suite_sha": sha256_hex(suite.encode()),
        "report": f"{suite}.json",
        "report_sha256": sha256_hex(f"{suite} {data_sha} {minute} {passed}".encode()),
        "observed_at": clock(minute),
        "counts": counts,
        "failed": [] if passed else [check],
        "mapped_by": "meta.dbt_unique_id",
        "data_sha": data_sha,
        "basis": basis if data_sha else None,
    }
    return Evidence(**{**values, **fields})


def add_snapshot(
    repo: Repository,
    dataset: Dataset = ORDERS,
    *,
    rows: int = 3,
    salt: int = 0,
    parents: Iterable[Manifest] = (),
    build: bool = True,
    **fields: Any,
) -> Manifest:
    """What a capture leaves: build started, profile, manifest, build ended; parents pinned.

    The build began 1.5 minutes before the manifest's `created_at` and ended half a minute
    before it, so evidence at the manifest's own minute (10 * seq) lies after it.
    """
    repo.prepare()
    profile = make_profile(rows, salt)
    pins = [pin(parent) for parent in parents]

    def follow(head: Manifest | None) -> Manifest:
        fields.setdefault("profile", repo.objects.put(profile_bytes(profile)))
        return make_manifest(dataset, head=head, data=profile, parents=pins, **fields)

    manifest = repo.history(dataset).append(follow)
    assert manifest is not None
    if build:
        add_build(repo, dataset, manifest, minute=10 * manifest.seq - 1.5)
    return manifest


def add_build(
    repo: Repository,
    dataset: Dataset,
    manifest: Manifest | None = None,
    *,
    minute: float,
    end: bool = True,
    **ended: Any,
) -> None:
    """Writes the events of one build; with `end=False` it still runs, or died."""
    started, finished = make_build(manifest, minute=minute, **ended)
    events = repo.events(dataset)
    events.write(started)
    if end:
        events.write(finished)


def add_evidence(repo: Repository, manifest: Manifest, **fields: Any) -> Evidence:
    """A suite's result on this snapshot, observed three minutes after it was recorded."""
    minute = fields.pop("minute", 10 * manifest.seq + 3)
    evidence = make_evidence(manifest.data_sha, minute=minute, **fields)
    repo.events(Dataset(manifest.env, manifest.unique_id)).write(evidence)
    return evidence


def fill(backend: Backend, snapshots: int = 3, dataset: Dataset = ORDERS) -> Repository:
    """A store with so many snapshots of one dataset, each of other data."""
    repo = Repository(backend)
    repo.prepare()
    for number in range(1, snapshots + 1):
        add_snapshot(repo, dataset, rows=number + 2)
    return repo


def memory_store(snapshots: int = 3, dataset: Dataset = ORDERS) -> Repository:
    return fill(MemoryBackend(), snapshots, dataset)


def local_store(root: Path, snapshots: int = 3, dataset: Dataset = ORDERS) -> Repository:
    return fill(LocalBackend(root), snapshots, dataset)


def shop_store(backend: Backend) -> Repository:
    """Three datasets: staging feeds both marts; orders has three snapshots, one of them only
    `metadata`, and passes; customers fails; staging was never checked."""
    repo = Repository(backend)
    staging = add_snapshot(repo, STAGING, rows=4, materialization="view", source_type="view")
    customers = add_snapshot(repo, CUSTOMERS, rows=5, salt=1, parents=[staging])
    add_snapshot(repo, ORDERS, rows=3, parents=[staging])
    add_snapshot(repo, ORDERS, rows=4, parents=[staging])
    orders = add_snapshot(repo, ORDERS, rows=4, parents=[staging], message="new tax rule")
    add_evidence(repo, orders)
    add_evidence(repo, customers, suite="customers_suite", passed=False)
    return repo
