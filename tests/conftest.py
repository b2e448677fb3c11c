"""One Spark session for the whole test process; dbt, GX and the profiler all use it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What dbt's session method asks for; static settings count for the first session of a process.
SPARK_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-Dderby.stream.error.file=/dev/null",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.sources.partitionOverwriteMode": "DYNAMIC",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """With a Hive metastore of its own, in memory, so that dbt finds what it wants."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.appName("tests").enableHiveSupport()
    for key, value in SPARK_SETTINGS.items():
        builder = builder.config(key, value)
    metastore = "jdbc:derby:memory:metastore;create=true"
    session = (
        builder.config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", metastore)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
