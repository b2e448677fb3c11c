"""Which data a result judged: by invocation, by time, or not known; and what is compared.

The store's first build ran from minute 8.5 to 9.5 of the factories' day, the second from 18.5 to
19.5; each left a snapshot of its own data.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbt_snapshot_plugin.bridges.files import listing_fingerprint
from dbt_snapshot_plugin.model.events import BuildStarted
from dbt_snapshot_plugin.model.ids import now
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.qa import Evidence
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.ingest import Row, ingest
from dbt_snapshot_plugin.ops.status_of import Verdicts
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import (
    ENV,
    ORDERS,
    STAGING,
    add_build,
    add_snapshot,
    clock,
    make_build,
    memory_store,
)
from tests.unit.qa.build import check, document, failing, put, row_count

PROD = Dataset("prod", ORDERS.unique_id)


def take(repo: Repository, root: Path, found: dict[str, Any], **where: Any) -> Row:
    done = ingest(repo, [put(root, found, **where)], env=ENV)
    return done.rows[0]


def stored(repo: Repository) -> Evidence:
    found = repo.events(ORDERS).evidence()
    assert len(found) == 1
    return found[0]


def sized(rows: int, **options: Any) -> dict[str, Any]:
    return document(check(rows=rows), row_count(rows), **options)


@pytest.fixture
def repo() -> Repository:
    """Snapshot 1 has 3 rows, snapshot 2 has 4."""
    return memory_store(2)


class TestByTime:
    @pytest.mark.parametrize(
        ("minute", "finished", "rows", "snapshot"),
        [
            (9.5, 9.5, 3, 1),
            (10, 12, 3, 1),
            (18, 18.4, 3, 1),
            (19.5, 19.6, 4, 2),
            (500, 501, 4, 2),
        ],
    )
    def test_between_a_build_and_the_next(
        self,
        repo: Repository,
        tmp_path: Path,
        minute: float,
        finished: float,
        rows: int,
        snapshot: int,
    ) -> None:
        row = take(repo, tmp_path, sized(rows, minute=minute, finished=finished))
        assert (row.state, row.basis, row.stored) == ("PASS", "time", True)
        assert stored(repo).data_sha == repo.history(ORDERS).get(snapshot).data_sha

    @pytest.mark.parametrize(
        ("minute", "finished", "words"),
        [
            (1, 2, "older than every recorded build"),
            (1, 500, "older than every recorded build"),
            (8.7, 8.8, "was still running"),
            (9.4, 12, "was still running"),
            (18, 18.5, "began before it was done"),
            (18, 30, "began before it was done"),
            (19, 30, "was still running"),
        ],
    )
    def test_anything_else_is_a_doubt(
        self, repo: Repository, tmp_path: Path, minute: float, finished: float, words: str
    ) -> None:
        row = take(repo, tmp_path, sized(4, minute=minute, finished=finished))
        assert (row.state, row.code, row.basis) == ("UNKNOWN", "stale", None)
        assert words in str(row.reason)
        evidence = stored(repo)
        assert (evidence.data_sha, evidence.code) == (None, "stale")

    def test_no_time_at_all(self, repo: Repository, tmp_path: Path) -> None:
        path = tmp_path / "result.json"
        path.write_bytes(msgspec.json.encode(sized(4, minute=None)))
        row = ingest(repo, [path], env=ENV).rows[0]
        assert (row.state, row.code) == ("UNKNOWN", "stale")
        assert "names no time" in str(row.reason)
        assert stored(repo).observed_at is None

    @pytest.mark.parametrize(("ahead", "state"), [(4, "PASS"), (6, "UNKNOWN"), (99999, "UNKNOWN")])
    def test_the_future(self, repo: Repository, tmp_path: Path, ahead: int, state: str) -> None:
        """A clock may be wrong by minutes; what comes from later has no time at all."""
        late = (now() + dt.timedelta(minutes=ahead)).strftime("%Y%m%dT%H%M%S.%fZ")
        found = sized(4, minute=None, meta={"batch_markers": {"ge_load_time": late}})
        row = take(repo, tmp_path, found)
        assert row.state == state
        if state == "UNKNOWN":
            assert "future" in str(row.reason)
            assert stored(repo).observed_at is None

    def test_a_result_from_the_future_is_not_believed_when_its_time_has_come(
        self, repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start = dt.datetime(2025, 1, 5, 14, 30, tzinfo=dt.timezone.utc)
        monkeypatch.setattr("dbt_snapshot_plugin.ops.ingest.now", lambda: start)
        assert take(repo, tmp_path, sized(4, minute=60)).state == "UNKNOWN"
        later = start + dt.timedelta(hours=5)
        monkeypatch.setattr("dbt_snapshot_plugin.ops.ingest.now", lambda: later)
        row = take(repo, tmp_path, sized(4, minute=60))
        assert (row.state, row.known, row.stored) == ("UNKNOWN", True, False)
        # but it does not stand in the way for ever
        assert take(repo, tmp_path, sized(4, minute=330), minute=330).state == "PASS"
        head = repo.history(ORDERS).head()
        assert head is not None
        assert Verdicts(repo, ORDERS).of(head).state == "PASS"


class TestUncaptured:
    @pytest.mark.parametrize(
        ("ended", "words"),
        [
            ({"status": "error", "outcome": "failed", "reason": "no disk"}, "no disk"),
            ({"status": "success", "outcome": "skipped", "reason": "0 rows"}, "0 rows"),
            (None, "has not ended"),
        ],
    )
    def test_a_build_without_a_snapshot(
        self, repo: Repository, tmp_path: Path, ended: dict[str, Any] | None, words: str
    ) -> None:
        """The hole: the build changes the data, its capture fails, then GX passes."""
        add_build(repo, ORDERS, minute=30, end=ended is not None, **(ended or {}))
        row = take(repo, tmp_path, sized(4, minute=40))
        assert (row.state, row.code, row.stored) == ("UNKNOWN", "uncaptured", True)
        assert words in str(row.reason)

    def test_a_node_that_dbt_skipped_changed_nothing(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        add_build(repo, ORDERS, minute=30, status="skipped", outcome="skipped")
        assert take(repo, tmp_path, sized(4, minute=40)).state == "PASS"

    def test_it_counts_once_what_it_judged_is_captured(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        """dbt built at minute 30, the capture failed and was made up for at minute 50."""
        add_build(repo, ORDERS, minute=29.5)
        found = sized(7, minute=40)
        assert take(repo, tmp_path, found).code == "uncaptured"
        late = add_snapshot(repo, ORDERS, rows=7, build=False)
        started, ended = make_build(late, minute=50)
        after = msgspec.structs.replace(started, built_at=clock(30))
        repo.events(ORDERS).write(after)
        repo.events(ORDERS).write(ended)
        row = take(repo, tmp_path, found)
        assert (row.state, row.basis, row.stored) == ("PASS", "time", True)
        assert Verdicts(repo, ORDERS).of(late).state == "PASS"
        again = take(repo, tmp_path, found)
        assert (again.state, again.known, again.stored) == ("PASS", True, False)

    def test_builds_that_overlap_leave_nobody_knows_what(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        add_build(repo, ORDERS, repo.history(ORDERS).get(1), minute=30, ended_at=clock(60))
        add_build(repo, ORDERS, repo.history(ORDERS).get(2), minute=40)
        row = take(repo, tmp_path, sized(4, minute=70))
        assert (row.code, "overlapped" in str(row.reason)) == ("uncaptured", True)
        inside = take(repo, tmp_path, sized(4, minute=45), minute=45)
        assert inside.state == "UNKNOWN"

    @staticmethod
    def capture_late(repo: Repository) -> None:
        """dbt built 7 rows at minute 21; they were captured at minute 50."""
        head = add_snapshot(repo, ORDERS, rows=7, build=False)
        started, ended = make_build(head, minute=50)
        repo.events(ORDERS).write(msgspec.structs.replace(started, built_at=clock(21)))
        repo.events(ORDERS).write(ended)

    def test_a_build_between_dbts_end_and_the_late_capture(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        """What was built in between is what the late capture saw."""
        add_build(repo, ORDERS, repo.history(ORDERS).get(1), minute=30)
        self.capture_late(repo)
        assert take(repo, tmp_path, sized(7, minute=25), minute=25).state == "UNKNOWN"
        assert take(repo, tmp_path, sized(7, minute=35), minute=35).state == "PASS"
        before = sized(4, minute=20, finished=25)
        assert take(repo, tmp_path, before).state == "UNKNOWN"

    def test_a_build_in_between_that_died(self, repo: Repository, tmp_path: Path) -> None:
        """Nobody knows when it wrote last: only what came after the late capture counts."""
        add_build(repo, ORDERS, minute=30, end=False)
        self.capture_late(repo)
        assert take(repo, tmp_path, sized(7, minute=25), minute=25).state == "UNKNOWN"
        assert take(repo, tmp_path, sized(7, minute=35), minute=35).code == "uncaptured"
        assert take(repo, tmp_path, sized(7, minute=55), minute=55).state == "PASS"

    def test_the_older_data_ended_when_dbt_built_not_at_the_late_capture(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        self.capture_late(repo)
        row = take(repo, tmp_path, sized(4, minute=20, finished=30))
        assert (row.state, row.code) == ("UNKNOWN", "stale")
        assert take(repo, tmp_path, sized(4, minute=20, finished=20.5)).state == "PASS"


class TestByInvocation:
    """The build of minute 30 belongs to the dbt run `inv-1`; it left 7 rows."""

    @pytest.fixture
    def head(self, repo: Repository) -> Manifest:
        head = add_snapshot(repo, ORDERS, rows=7, build=False)
        self.build(repo, head, 30, "inv-1")
        return head

    @staticmethod
    def build(repo: Repository, head: Manifest | None, minute: float, invocation: str) -> None:
        started, ended = make_build(head, minute=minute, invocation_id=invocation)
        started = msgspec.structs.replace(started, invocation_id=invocation)
        repo.events(ORDERS).write(started)
        repo.events(ORDERS).write(ended)

    @pytest.mark.parametrize("minute", [30, 30.5, 40])
    def test_inside_the_run_or_named_after_it(
        self, repo: Repository, head: Manifest, tmp_path: Path, minute: float
    ) -> None:
        row = take(repo, tmp_path, sized(7, minute=minute, run_name="inv-1"))
        assert (row.state, row.basis) == ("PASS", "invocation")
        assert stored(repo).data_sha == head.data_sha

    @pytest.mark.parametrize("minute", [29.9, 25])
    def test_its_time_must_not_contradict(
        self, repo: Repository, head: Manifest, tmp_path: Path, minute: float
    ) -> None:
        row = take(repo, tmp_path, sized(7, minute=minute, run_name="inv-1"))
        assert (row.state, row.code) == ("UNKNOWN", "stale")
        assert "names the dbt run inv-1" in str(row.reason)

    @pytest.mark.parametrize("minute", [45, 50])
    def test_a_later_build_ends_it(
        self, repo: Repository, head: Manifest, tmp_path: Path, minute: float
    ) -> None:
        self.build(repo, head, 45, "inv-2")
        assert take(repo, tmp_path, sized(7, minute=minute, run_name="inv-1")).state == "UNKNOWN"

    def test_a_run_that_was_captured_late(self, repo: Repository, tmp_path: Path) -> None:
        head = add_snapshot(repo, ORDERS, rows=7, build=False)
        started, ended = make_build(head, minute=50, invocation_id="inv-1")
        facts = {"built_at": clock(21), "invocation_id": "inv-1"}
        repo.events(ORDERS).write(msgspec.structs.replace(started, **facts))
        repo.events(ORDERS).write(ended)
        row = take(repo, tmp_path, sized(7, minute=30, run_name="inv-1"))
        assert (row.state, row.basis) == ("PASS", "invocation")

    def test_a_run_without_a_capture(self, repo: Repository, tmp_path: Path) -> None:
        self.build(repo, None, 30, "inv-1")
        row = take(repo, tmp_path, sized(4, minute=40, run_name="inv-1"))
        assert (row.state, row.code) == ("UNKNOWN", "uncaptured")

    def test_a_run_that_left_two_kinds_of_data_proves_nothing(
        self, repo: Repository, head: Manifest, tmp_path: Path
    ) -> None:
        self.build(repo, repo.history(ORDERS).get(1), 45, "inv-1")
        row = take(repo, tmp_path, sized(3, minute=50, run_name="inv-1"))
        assert (row.state, row.basis) == ("PASS", "time")

    def test_another_run_name_is_only_a_name(
        self, repo: Repository, head: Manifest, tmp_path: Path
    ) -> None:
        row = take(repo, tmp_path, sized(7, minute=40, run_name="20250105-nightly"))
        assert (row.state, row.basis) == ("PASS", "time")


class TestCompared:
    def test_another_row_count_is_other_data(self, repo: Repository, tmp_path: Path) -> None:
        row = take(repo, tmp_path, sized(5, minute=30))
        assert (row.state, row.code) == ("UNKNOWN", "stale")
        assert "it judged 5 rows, snapshot 2 has 4: not this data" in str(row.reason)
        assert stored(repo).compared == "rows"

    def test_the_row_count_of_a_part_is_not_compared(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        found = document(check(rows=1), minute=30, spec={"query": "select 1"})
        row = take(repo, tmp_path, found)
        assert (row.state, row.code) == ("UNKNOWN", "skipped")
        assert stored(repo).compared == "not_compared"

    def test_a_part_can_fail(self, repo: Repository, tmp_path: Path) -> None:
        found = document(check(False, rows=1), minute=30, spec={"query": "select 1"})
        assert take(repo, tmp_path, found).state == "FAIL"

    def test_nothing_to_compare_says_so(self, repo: Repository, tmp_path: Path) -> None:
        assert take(repo, tmp_path, document(check(rows=None), minute=30)).state == "PASS"
        assert stored(repo).compared == "not_compared"

    @pytest.mark.parametrize(
        ("rows", "touched", "state", "compared"),
        [
            (8, False, "PASS", "rows+listing"),
            (None, False, "PASS", "listing"),
            (8, True, "UNKNOWN", "rows+listing"),
            (9, True, "UNKNOWN", "rows"),
        ],
    )
    def test_the_files_of_head(
        self,
        repo: Repository,
        tmp_path: Path,
        rows: int | None,
        touched: bool,
        state: str,
        compared: str,
    ) -> None:
        table = tmp_path / "warehouse"
        table.mkdir()
        (table / "part-0.parquet").write_bytes(b"one")
        place = f"file:{table}"
        files = listing_fingerprint(place)
        head = add_snapshot(repo, ORDERS, rows=8, dataset_path=place, build=False)
        add_build(repo, ORDERS, head, minute=28.5, source_files=files)
        if touched:
            (table / "part-1.parquet").write_bytes(b"two")
        row = take(repo, tmp_path, document(check(rows=rows), minute=40))
        assert row.state == state
        assert stored(repo).compared == compared
        assert (
            (row.state == "PASS")
            or "not this data" in str(row.reason)
            or ("no longer those of snapshot 3" in str(row.reason))
        )

    @pytest.mark.parametrize("rows", [3, 9], ids=["an equal rebuild", "other data"])
    def test_the_files_of_an_earlier_build_are_gone_anyway(
        self, tmp_path: Path, rows: int
    ) -> None:
        repo = Repository(MemoryBackend())
        table = tmp_path / "warehouse"
        table.mkdir()
        place = f"file:{table}"
        for minute, count in ((8.5, 3), (18.5, rows)):
            (table / f"part-{minute}.parquet").write_bytes(b"data")
            head = repo.history(ORDERS).head()
            if head is None or count != head.num_rows:
                head = add_snapshot(repo, ORDERS, rows=count, dataset_path=place, build=False)
            files = listing_fingerprint(place)
            add_build(repo, ORDERS, head, minute=minute, source_files=files)
        assert take(repo, tmp_path, sized(3, minute=12)).state == "PASS"
        assert stored(repo).compared == "rows"
        again = take(repo, tmp_path, sized(rows, minute=25), minute=25)
        assert again.state == "PASS"
        newest = max(repo.events(ORDERS).evidence(), key=lambda e: str(e.observed_at))
        assert newest.compared == "rows+listing"


class TestEmptyTables:
    """An empty table under a not-null suite passes in GX; here it is not judged."""

    @pytest.mark.parametrize("rows", [0, None], ids=["SUMMARY", "BOOLEAN_ONLY"])
    def test_not_null_alone_judges_nothing(self, tmp_path: Path, rows: int | None) -> None:
        repo = Repository(MemoryBackend())
        add_snapshot(repo, ORDERS, rows=0)
        row = take(repo, tmp_path, document(check(rows=rows)))
        assert (row.state, row.code) == ("UNKNOWN", "skipped")
        assert "no rows to judge" in str(row.reason)

    def test_a_check_of_the_row_count_does(self, tmp_path: Path) -> None:
        repo = Repository(MemoryBackend())
        add_snapshot(repo, ORDERS, rows=0)
        assert take(repo, tmp_path, document(check(rows=None), row_count(0))).state == "PASS"
        assert stored(repo).counts.vacuous == 1

    def test_a_check_of_the_schema_does(self, tmp_path: Path) -> None:
        repo = Repository(MemoryBackend())
        add_snapshot(repo, ORDERS, rows=0)
        found = document(check(kind="expect_column_to_exist", rows=None))
        assert take(repo, tmp_path, found).state == "PASS"


class TestViews:
    """A view shows other data as soon as something below it is built."""

    @pytest.fixture
    def repo(self) -> Repository:
        repo = Repository(MemoryBackend())
        below = add_snapshot(repo, STAGING, rows=4)
        add_snapshot(repo, ORDERS, parents=[below], source_type="view", materialization="view")
        return repo

    def test_nothing_below_moved(self, repo: Repository, tmp_path: Path) -> None:
        assert take(repo, tmp_path, document(minute=40)).state == "PASS"

    def test_it_was_built_anew(self, repo: Repository, tmp_path: Path) -> None:
        add_snapshot(repo, STAGING, rows=5)
        row = take(repo, tmp_path, document(minute=40))
        assert (row.state, row.code) == ("UNKNOWN", "stale")
        assert STAGING.unique_id in str(row.reason)

    @pytest.mark.parametrize("end", [True, False], ids=["failed", "runs or died"])
    def test_the_build_left_nothing(self, repo: Repository, tmp_path: Path, end: bool) -> None:
        add_build(repo, STAGING, minute=20, end=end)
        assert take(repo, tmp_path, document(minute=40)).state == "UNKNOWN"

    def test_it_was_built_anew_with_the_same_rows(self, repo: Repository, tmp_path: Path) -> None:
        same = repo.history(STAGING).head()
        add_build(repo, STAGING, same, minute=20, outcome="unchanged")
        assert take(repo, tmp_path, document(minute=40)).state == "PASS"

    def test_it_was_just_being_built(self, repo: Repository, tmp_path: Path) -> None:
        same = repo.history(STAGING).head()
        add_build(repo, STAGING, same, minute=39.5, outcome="unchanged")
        assert take(repo, tmp_path, document(minute=40)).state == "UNKNOWN"

    def test_a_table_keeps_what_it_has(self, tmp_path: Path) -> None:
        repo = Repository(MemoryBackend())
        add_snapshot(repo, ORDERS, parents=[add_snapshot(repo, STAGING, rows=4)])
        add_snapshot(repo, STAGING, rows=5)
        assert take(repo, tmp_path, document(minute=40)).state == "PASS"

    def test_it_was_built_anew_only_later(self, repo: Repository, tmp_path: Path) -> None:
        add_snapshot(repo, STAGING, rows=5)
        assert take(repo, tmp_path, document(minute=15)).state == "PASS"


class TestTwoEnvs:
    """One result judged one relation: it can't count twice."""

    @pytest.fixture
    def prod(self, repo: Repository) -> Manifest:
        return add_snapshot(repo, PROD, rows=4)

    def test_the_second_env_does_not_get_it(
        self, repo: Repository, prod: Manifest, tmp_path: Path
    ) -> None:
        path = put(tmp_path, sized(4, minute=40))
        assert ingest(repo, [path], env=ENV).rows[0].state == "PASS"
        row = ingest(repo, [path], env="prod").rows[0]
        assert (row.state, row.dataset, row.code) == ("UNKNOWN", None, "ambiguous")
        assert f"already counts for {ORDERS}" in str(row.reason)
        assert repo.events(PROD).evidence() == []

    def test_a_run_name_of_neither_is_only_a_name(
        self, repo: Repository, prod: Manifest, tmp_path: Path
    ) -> None:
        assert take(repo, tmp_path, sized(4, minute=40, run_name="nightly")).state == "PASS"

    def test_a_run_name_belongs_to_one_env(
        self, repo: Repository, prod: Manifest, tmp_path: Path
    ) -> None:
        started = BuildStarted(
            build_id=make_build()[0].build_id,
            started_at=clock(30),
            command="run",
            invocation_id="inv-prod",
        )
        repo.events(PROD).write(started)
        row = take(repo, tmp_path, sized(4, minute=40, run_name="inv-prod"))
        assert (row.state, row.dataset, row.code) == ("UNKNOWN", None, "ambiguous")
        assert "prod/model.shop.fct_orders" in str(row.reason)


def test_the_same_suite_judges_two_snapshots(repo: Repository, tmp_path: Path) -> None:
    assert take(repo, tmp_path, sized(3, minute=15)).state == "PASS"
    bad = document(check(False, rows=4), row_count(4), minute=25)
    assert take(repo, tmp_path, bad, minute=25).state == "FAIL"
    history, verdicts = repo.history(ORDERS), Verdicts(repo, ORDERS)
    assert verdicts.of(history.get(1)).state == "PASS"
    assert verdicts.of(history.get(2)).state == "FAIL"


def test_identical_data_keeps_its_verdict_and_changed_data_loses_it(
    repo: Repository, tmp_path: Path
) -> None:
    take(repo, tmp_path, sized(4, minute=25))
    back = add_snapshot(repo, ORDERS, rows=3)
    assert Verdicts(repo, ORDERS).of(back).state == "UNKNOWN"
    again = add_snapshot(repo, ORDERS, rows=4)
    assert Verdicts(repo, ORDERS).of(again).state == "PASS"


def test_no_row_value_gets_into_the_store(repo: Repository, tmp_path: Path) -> None:
    row = take(repo, tmp_path, failing(minute=15))
    assert row.state == "FAIL"
    backend = repo.backend
    for key in repo.events(ORDERS).keys("evidence"):
        assert b"SECRET-VALUE" not in (backend.get(key) or b"")
