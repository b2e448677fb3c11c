"""What an import costs, and what a Spark worker must have."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import spark_profiler
from spark_profiler.feeds import dataframe
from spark_profiler.kernel import TableSchema, TableState
from spark_profiler.types import parse

PROJECT = Path(spark_profiler.__file__).parents[1]
HEAVY = ["pyarrow", "numpy", "pyspark", "pandas", "datasketch", "scipy", "msgspec"]


def run(code: str, *arguments: str, cwd: Path = PROJECT) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loaded_by(code: str) -> set[str]:
    found = run(f"{code}\nimport sys\nprint(*[n for n in {HEAVY} if n in sys.modules])")
    return set(found.split())


def test_the_package_imports_nothing_heavy() -> None:
    assert loaded_by("import spark_profiler") == set()


def test_the_model_needs_msgspec_only() -> None:
    assert loaded_by("from spark_profiler import Profile") == {"msgspec"}


def test_profiling_without_spark_loads_no_spark() -> None:
    code = "from spark_profiler import profile, profile_arrow"
    assert loaded_by(code) == {"msgspec", "numpy", "pyarrow"}
    # pyarrow.dataset itself loads pandas where it finds it.
    local = loaded_by("import spark_profiler.feeds.local")
    assert local - {"pandas"} == {"msgspec", "numpy", "pyarrow"}


def test_the_public_names_are_there() -> None:
    for name in spark_profiler.__all__:
        assert getattr(spark_profiler, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'profiles'"):
        spark_profiler.profiles  # noqa: B018


SCHEMA = TableSchema(
    names=("n", "s", "l"),
    types=(parse("bigint"), parse("string"), parse("array<decimal(20,2)>")),
    in_identity=(True, True, False),
)


def rows() -> pa.RecordBatch:
    lists = pa.array([[1], None, []], pa.list_(pa.decimal128(20, 2)))
    return pa.record_batch({"n": [1, 2, None], "s": ["a", "é", None], "l": lists})


WORKER = """
    import io, pickle, sys

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("spark_profiler", "msgspec", "pandas", "datasketch"):
                raise ModuleNotFoundError(f"No module named {name!r}")

    sys.meta_path.insert(0, Refuse())
    import pyarrow as pa

    profile, merge, raw = pickle.load(open(sys.argv[1], "rb"))
    batches = list(pa.ipc.open_stream(raw))
    states = [state for batch in batches for state in profile(iter([batch]))]
    merged, = merge(iter(states))
    sys.stdout.write(merged.column(0)[0].as_py().decode())
"""


def test_a_worker_needs_numpy_and_pyarrow_only(tmp_path: Path) -> None:
    """The tasks run, both, where neither this package nor msgspec can be imported."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows().schema) as stream:
        for start in range(3):
            stream.write_batch(rows().slice(start, 1))
    with dataframe._ship_by_value():
        tasks = (dataframe._partition_task(SCHEMA), dataframe._merge_task(SCHEMA))
        shipped = cloudpickle.dumps((*tasks, sink.getvalue().to_pybytes()))
    (tmp_path / "tasks").write_bytes(shipped)
    whole = TableState.zero(SCHEMA)
    whole.update(rows())
    assert run(WORKER, str(tmp_path / "tasks"), cwd=tmp_path).encode() == whole.to_bytes()


def test_tasks_without_rows_send_nothing() -> None:
    assert list(dataframe._partition_task(SCHEMA)(iter([rows().slice(0, 0)]))) == []
    assert list(dataframe._merge_task(SCHEMA)(iter([]))) == []


def test_shipping_by_value_ends_with_its_last_user() -> None:
    def by_value() -> bool:
        return "spark_profiler" in cloudpickle.list_registry_pickle_by_value()

    assert not by_value()
    with dataframe._ship_by_value():
        with dataframe._ship_by_value():
            assert by_value()
        assert by_value()
    assert not by_value()
    with pytest.raises(KeyError), dataframe._ship_by_value():
        raise KeyError
    assert not by_value()
