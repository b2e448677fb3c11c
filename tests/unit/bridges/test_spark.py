"""What a capture asks of Spark, on a real session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext

from dbt_snapshot_plugin.bridges.spark import SparkHost, active_context, open_session
from dbt_snapshot_plugin.model.errors import CaptureError, HostError


@pytest.fixture
def shop(spark: Any) -> Iterator[str]:
    spark.sql("create schema bridge")
    yield "bridge"
    spark.sql("drop schema bridge cascade")


@pytest.mark.spark
def test_tables_and_views(
    spark: Any, shop: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    host = SparkHost(spark)
    place = tmp_path / "a b%20c"
    spark.sql(f"create table {shop}.t using parquet location '{place}' as select 1 as id, 2 as n")
    spark.sql(f"create view {shop}.v as select l.id from {shop}.t l join {shop}.t r using (id)")
    table, view = host.describe(f"{shop}.t"), host.describe(f"{shop}.v")
    assert (table.is_view, table.provider, table.location) == (False, "parquet", f"file:{place}")
    assert (view.is_view, view.location) == (True, None)
    frame = host.frame(f"{shop}.v")
    profile = host.profile(frame, "v", volatile=(), high_null=0.5)
    assert (profile.num_rows, profile.num_columns) == (1, 1)
    assert host.schema_profile(frame, "v").schema_hash == profile.schema_hash
    one = host.estimated_bytes(host.frame(f"{shop}.t"))
    both = host.estimated_bytes(frame)
    assert one is not None
    assert both is not None
    assert 0 < both <= 2 * one  # not their product

    spark.sql(f"drop table {shop}.t")
    with pytest.raises(CaptureError) as gone:
        host.describe(f"{shop}.t")
    assert gone.value.what == f"the relation {shop}.t does not exist"
    with pytest.raises(CaptureError) as broken:
        host.frame(f"{shop}.v")
    assert broken.value.what.startswith(
        f"Spark could not read {shop}.v: [TABLE_OR_VIEW_NOT_FOUND]"
    )
    assert "\n" not in broken.value.what
    assert "at org.apache" not in capfd.readouterr().err


@pytest.mark.spark
def test_files_of_another_writer_are_seen(spark: Any, shop: str, tmp_path: Path) -> None:
    """Spark keeps a listing; another process may have written since."""
    host = SparkHost(spark)
    spark.sql(f"create table {shop}.t using parquet location '{tmp_path}/t' as select 1 as id")
    assert host.frame(f"{shop}.t").count() == 1
    (part,) = (tmp_path / "t").glob("*.parquet")
    (tmp_path / "t" / "part-more.parquet").write_bytes(part.read_bytes())
    assert host.frame(f"{shop}.t").count() == 2


@pytest.mark.spark
def test_a_row_that_can_not_be_computed(spark: Any, shop: str) -> None:
    host = SparkHost(spark)
    text = "select cast(raise_error('no such luck') as int) as x from range(2)"
    spark.sql(f"create view {shop}.bad as {text}")
    with pytest.raises(CaptureError) as caught:
        host.profile(host.frame(f"{shop}.bad"), f"{shop}.bad", volatile=(), high_null=0.5)
    assert "no such luck" in str(caught.value)
    assert "org.apache" not in str(caught.value)
    assert "\tat " not in str(caught.value)


def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(HostError, match="no Java was found") as caught:
        open_session({})
    assert caught.value.where == "PATH"
    assert "openjdk-17" in (caught.value.next_step or "")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(HostError) as caught:
        open_session({})
    assert caught.value.where == f"JAVA_HOME={tmp_path}"


def test_a_metastore_that_another_process_holds() -> None:
    """Spark's text says only that a client could not be made; the cause is deep in its trace."""
    from pyspark.errors import AnalysisException

    error = AnalysisException("HiveException: Unable to instantiate SessionHiveMetaStoreClient")
    error._stackTrace = "…\nCaused by: ERROR XSDB6: Another instance of Derby may have booted"

    class Session:
        def sql(self, text: str) -> Any:
            raise error

    with pytest.raises(HostError, match="another process holds the embedded Derby metastore"):
        SparkHost(Session()).describe("shop.orders")


class TestCheckCatalog:
    """Only the log of a Spark that this capture has started is touched."""

    class Log:
        def __init__(self) -> None:
            self.levels: list[str] = []

        def setLogLevel(self, level: str) -> None:  # noqa: N802 - pyspark's name
            self.levels.append(level)

    class Session:
        def sql(self, text: str) -> Any:
            return SimpleNamespace(collect=lambda: [text])

    @pytest.mark.parametrize(("level", "set_to"), [("WARN", ["OFF", "WARN"]), (None, [])])
    def test_the_log_level(
        self, level: str | None, set_to: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = self.Log()
        monkeypatch.setattr(SparkContext, "_active_spark_context", log)
        SparkHost(self.Session()).check_catalog(level)
        assert log.levels == set_to

    def test_a_remote_spark_has_no_log_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(SparkContext, "_active_spark_context", None)
        SparkHost(self.Session()).check_catalog("WARN")
        assert active_context() is None
