"""The reader of GX results: what it understands, and that nothing it is given becomes a PASS."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dbt_snapshot_plugin.bridges.gx_files import find_results, path_suite, suite_file
from dbt_snapshot_plugin.bridges.gx_results import (
    GxResult,
    NotAResultError,
    UnreadableResultError,
    read_result,
)
from dbt_snapshot_plugin.model.errors import UsageError
from tests.unit.qa.build import (
    FLAT_ERROR,
    NESTED_ERROR,
    check,
    compact,
    content,
    document,
    put,
    put_suite,
    row_count,
)


def read(found: object, where: str = "result.json") -> GxResult:
    data = found if isinstance(found, bytes) else json.dumps(found).encode()
    return read_result(data, where)


def refused(found: object, where: str = "result.json") -> UnreadableResultError:
    with pytest.raises(UnreadableResultError) as caught:
        read(found, where)
    return caught.value


def real(version: str) -> Path:
    """What that version of GX stored, for one failing suite."""
    return next((Path(__file__).parent / "gx_results").glob(f"gx{version}*.json"))


class TestVersions:
    @pytest.mark.parametrize("version", ["0.15.50", "0.18.22", "1.0.6"])
    def test_real_files(self, version: str) -> None:
        result = read_result(real(version), "result.json")
        subject = result.subject
        assert subject.gx_version == version
        assert (result.success, result.counts.failed_critical, result.judged_rows) == (False, 1, 3)
        assert result.failed[0].column == "order_id"
        assert subject.observed_at is not None
        assert not subject.partial

    def test_the_suite_of_old_results(self) -> None:
        subject = read_result(real("0.15.50"), "result.json").subject
        assert (subject.suite, subject.asset) == ("orders.warning", "analytics.orders")
        assert (subject.schema, subject.table) == (None, None)
        assert subject.run_name == "20261118-nightly"
        assert str(subject.observed_at) == "2026-11-18 06:01:16.438341+00:00"
        assert str(subject.finished_at) == "2026-11-18 06:01:16.446940+00:00"

    @pytest.mark.parametrize("version", ["0.15.50", "0.18.22", "1.0.6"])
    def test_real_files_cut_at_any_place(self, version: str) -> None:
        data = real(version).read_bytes().rstrip()
        for length in range(0, len(data), 50):
            refused(data[:length])

    def test_of_1_0_without_run_id_and_severity(self) -> None:
        found = document(check(False, severity=None))
        del found["meta"]["run_id"], found["meta"]["validation_time"]
        result = read(found)
        assert result.subject.observed_at == result.subject.finished_at
        assert result.subject.observed_at is not None
        assert result.counts.failed_critical == 1

    def test_of_1_24(self) -> None:
        result = read(document(run_name="inv-1"))
        assert result.subject.suite == "orders_suite"
        assert result.subject.run_name == "inv-1"
        assert (result.success, result.counts.passed, result.judged_rows) == (True, 2, 3)


class TestChecks:
    @pytest.mark.parametrize("info", [FLAT_ERROR, NESTED_ERROR], ids=["flat", "per metric"])
    def test_both_shapes_of_an_exception_are_errors(self, info: dict) -> None:
        result = read(document(check(error=info), row_count(3)))
        assert (result.counts.errors, result.counts.failed_critical) == (1, 0)
        assert [c.outcome for c in result.failed] == ["error"]

    @pytest.mark.parametrize(
        ("severity", "field"),
        [
            ("critical", "failed_critical"),
            ("warning", "failed_warning"),
            ("info", "failed_info"),
            (None, "failed_critical"),
            ("fatal", "failed_critical"),
        ],
    )
    def test_severities_and_the_strictest_for_the_unknown(
        self, severity: str | None, field: str
    ) -> None:
        counts = read(document(check(False, severity=severity))).counts
        assert getattr(counts, field) == 1

    def test_a_warning_that_could_not_be_evaluated_is_no_critical_error(self) -> None:
        counts = read(document(check(error=FLAT_ERROR, severity="warning"))).counts
        assert (counts.errors, counts.failed_warning) == (0, 1)

    def test_nothing_but_names_and_counts_of_a_failure(self) -> None:
        result = read(document(check(False, column="email")))
        assert "SECRET-VALUE" not in repr(result)
        failed = result.failed[0]
        assert (failed.column, failed.unexpected_count, failed.element_count) == ("email", 1, 3)

    def test_checks_on_no_rows_are_counted(self) -> None:
        assert read(document(check(rows=0), row_count(0))).counts.vacuous == 1

    def test_boolean_only(self) -> None:
        result = read(document(check(rows=None)))
        assert (result.success, result.judged_rows) == (True, None)

    def test_a_row_condition_says_nothing_about_the_table(self) -> None:
        result = read(document(check(rows=2, row_condition="amount > 1"), check(rows=3)))
        assert result.judged_rows == 3

    def test_same_checks_same_suite_sha(self) -> None:
        one, other = read(document()), read(document(minute=60, run_name="x"))
        assert one.suite_sha == other.suite_sha
        assert read(document(check(column="amount"))).suite_sha != one.suite_sha


class TestParts:
    @pytest.mark.parametrize(
        "spec",
        [
            {"query": "select * from orders limit 5"},
            {"table_name": "orders", "partitioner_method": "partition_on_year"},
            {"table_name": "orders", "sampling_method": "_sample_using_limit"},
        ],
    )
    def test_a_query_or_a_partition_is_a_part(self, spec: dict) -> None:
        assert read(document(spec=spec)).subject.partial

    def test_a_whole_table_is_none(self) -> None:
        subject = read(document(spec={"table_name": "shop.fct_orders"})).subject
        assert (subject.schema, subject.table, subject.partial) == ("shop", "fct_orders", False)


LONE = b'"\\ud800"'
GOOD = content(document())


def twice(key: bytes) -> bytes:
    return GOOD.replace(b'"suite_parameters": {}', key + b": {}, " + key + b": {}")


class TestBadInput:
    @pytest.mark.parametrize("length", [*range(0, len(GOOD) - 1, 50), len(GOOD) - 1])
    def test_truncated_at_any_place(self, length: int) -> None:
        refused(GOOD[:length])

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"[]",
            b"[1, 2]",
            b"null",
            b'"PASS"',
            b"\xff\xfe\x00",
            b"\x00" * 50,
            GOOD + b"}",
            GOOD + GOOD,
            twice(b'"suite_parameters"'),
            GOOD.replace(b'"success": true', b'"success": true, "success": true', 1),
            b"[" * 100_000,
            b'{"results":' * 50_000,
        ],
    )
    def test_no_whole_json_object(self, data: bytes) -> None:
        refused(data)

    @pytest.mark.parametrize(
        "document_",
        [
            {"success": True, "results": []},
            {**document(), "suite_name": ""},
            {**document(), "suite_name": 5},
            {**document(), "suite_name": "x" * 2000},
            {**document(), "success": "true"},
            {**document(), "success": None},
            {**document(), "success": False},
            {**document(check(False)), "success": True},
            {**document(), "results": {}},
            {**document(), "results": [1]},
            {**document(), "results": [{"success": True}]},
            {**document(), "meta": []},
            {**document(), "statistics": {"evaluated_expectations": 9}},
            {**document(), "statistics": {"successful_expectations": True}},
            {**document(), "statistics": {"unsuccessful_expectations": "0"}},
            document({**check(), "exception_info": FLAT_ERROR}),
            document({**check(), "exception_info": [1]}),
            document({**check(), "result": "none"}),
        ],
    )
    def test_contradictions_are_refused(self, document_: dict) -> None:
        refused(document_)

    @pytest.mark.parametrize("old", [b'"orders_suite"', b'"fct_orders"', b'"email"'])
    def test_lone_surrogates(self, old: bytes) -> None:
        refused(GOOD.replace(old, LONE))

    def test_not_a_number_is_no_count(self) -> None:
        data = GOOD.replace(b'"element_count": 3', b'"element_count": NaN')
        data = data.replace(b'"observed_value": 3', b'"observed_value": 1e999')
        assert read(data).judged_rows is None

    @pytest.mark.parametrize("count", [b"-1", b"2.5", b"true", b'"3"', b"1" * 30, b"1e30"])
    def test_odd_counts_are_refused(self, count: bytes) -> None:
        refused(GOOD.replace(b'"element_count": 3', b'"element_count": ' + count))

    @pytest.mark.parametrize(
        ("mostly", "unexpected", "believed"),
        [(None, 0, True), (None, 1, False), (1.0, 1, False), (0.5, 1, True), (0.5, 4, False)],
    )
    def test_a_success_with_unexpected_values(
        self, mostly: float | None, unexpected: int, *, believed: bool
    ) -> None:
        """Only `mostly` lets some of the values be wrong, and never more than there are."""
        row = check(mostly=mostly)
        row["result"]["unexpected_count"] = unexpected
        if believed:
            assert read(document(row)).counts.passed == 1
        else:
            refused(document(row))

    @pytest.mark.parametrize("told", ["true", 1, {"yes": 1}])
    def test_whatever_is_not_false_was_raised(self, told: object) -> None:
        refused(document({**check(), "exception_info": {"metric": {"raised_exception": told}}}))

    def test_infinite_arguments_are_refused(self) -> None:
        refused(GOOD.replace(b'"min_value": 1', b'"min_value": 1e999'))

    def test_a_number_too_long_for_python(self) -> None:
        refused(GOOD.replace(b'"min_value": 1', b'"min_value": ' + b"1" * 5000))

    def test_it_still_says_whose_it_is(self) -> None:
        error = refused({**document(), "success": False})
        assert error.subject is not None
        assert error.subject.suite == "orders_suite"

    @pytest.mark.parametrize("data", [b"{}", b'{"name": "orders", "expectations": []}'])
    def test_other_json_is_no_result(self, data: bytes) -> None:
        with pytest.raises(NotAResultError):
            read(data)


class TestTimes:
    @pytest.mark.parametrize("told", ["garbage", "", 5, None, "1999-01-01T00:00:00Z", "0001"])
    def test_what_is_no_time(self, told: object) -> None:
        found = document(minute=None, meta={"batch_markers": {"ge_load_time": told}})
        assert read(found).subject.observed_at is None

    def test_the_path_is_the_last_resort(self) -> None:
        where = f"/x/validations/s/__none__/{compact(5)}/a.json"
        assert read(document(minute=None), where).subject.observed_at is not None

    def test_the_load_time_counts_not_what_a_caller_says(self) -> None:
        subject = read(document(minute=15, finished=99)).subject
        assert str(subject.observed_at) == "2025-01-05 14:15:00+00:00"
        assert str(subject.finished_at) == "2025-01-05 15:39:00+00:00"


class TestFiles:
    def test_a_link_out_of_the_tree_is_refused_and_one_inside_is_read(
        self, tmp_path: Path
    ) -> None:
        real = put(tmp_path, document())
        outside = tmp_path / "outside.json"
        outside.write_bytes(content(document()))
        (real.parent / "in.json").symlink_to(real)
        (real.parent / "out.json").symlink_to(outside)
        (real.parent / "dangling.json").symlink_to(tmp_path / "nowhere.json")
        found = {f.path.name: f.refused for f in find_results([tmp_path / "gx"])}
        assert found["in.json"] is None
        assert "symbolic link" in str(found["out.json"])
        assert "symbolic link" in str(found["dangling.json"])

    def test_a_directory_that_leads_out_is_not_passed_over(self, tmp_path: Path) -> None:
        put(tmp_path / "other", document())
        real = put(tmp_path, document())
        (real.parent / "more").symlink_to(tmp_path / "other", target_is_directory=True)
        refused_ = [f.path.name for f in find_results([tmp_path / "gx"]) if f.refused]
        assert refused_ == ["more"]

    def test_a_directory_that_cannot_be_listed_is_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = put(tmp_path, document())
        scan = os.scandir

        def deny(path: str) -> object:
            if str(path) == str(real.parent):
                raise PermissionError(13, "Permission denied", str(path))
            return scan(path)

        monkeypatch.setattr(os, "scandir", deny)
        assert [str(f.refused) for f in find_results([tmp_path])] == [
            "can't be listed: Permission denied"
        ]

    def test_a_pipe_does_not_hang(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.json")
        with pytest.raises(UnreadableResultError, match="regular file"):
            read_result(tmp_path / "pipe.json", "pipe.json")

    def test_too_large_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dbt_snapshot_plugin.bridges.gx_results.MAX_BYTES", 10)
        with pytest.raises(UnreadableResultError, match="larger"):
            read_result(put(tmp_path, document()), "result.json")

    def test_a_whole_project_gives_its_results_only(self, tmp_path: Path) -> None:
        put(tmp_path, document())
        (tmp_path / "target").mkdir()
        (tmp_path / "target" / "run_results.json").write_text('{"results": []}')
        assert [f.path.name for f in find_results([tmp_path])] == ["shop-fct_orders.json"]

    def test_what_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no such file"):
            find_results([tmp_path / "nothing"])

    def test_the_path_tells_the_suite_of_a_broken_file(self, tmp_path: Path) -> None:
        path = put(tmp_path, b"", suite="orders.daily")
        assert path_suite(str(path)) == "orders/daily"
        put_suite(tmp_path, "orders.daily", "model.shop.fct_orders")
        found = suite_file(path, "orders.daily")
        assert found is not None
        assert found.unique_id == "model.shop.fct_orders"
