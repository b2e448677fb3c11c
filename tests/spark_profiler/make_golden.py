"""Write the golden vectors of data_sha with the reference implementation.

Run `python -m tests.spark_profiler.make_golden` only when the algorithm gets a new name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.spark_profiler.reference import data_sha
from tests.spark_profiler.tables import thue_morse

ALGO = "dbt-snapshot-rows-1-draft"
GOLDEN = Path(__file__).parent / "golden" / "data_sha.json"
A, B = (half.decode("ascii") for half in thue_morse(10))

# (what it pins down, columns, rows); bytes are written as text in latin-1.
CASES: list[tuple[str, list[tuple[str, str]], list[tuple[Any, ...]]]] = [
    ("no rows", [("a", "bigint")], []),
    ("one null", [("a", "bigint")], [(None,)]),
    ("integers", [("a", "tinyint"), ("b", "bigint")], [(-128, 2**63 - 1), (127, -(2**63))]),
    ("columns swapped", [("b", "bigint"), ("a", "tinyint")], [(2**63 - 1, -128)]),
    ("a duplicated pair", [("a", "int")], [(1,), (1,), (2,)]),
    ("the other pair", [("a", "int")], [(1,), (2,), (2,)]),
    ("booleans", [("a", "boolean")], [(True,), (False,), (None,)]),
    ("doubles", [("a", "double")], [(0.1,), (0.0,), (1e308,), (5e-324,)]),
    (
        "dates and times",
        [("d", "date"), ("t", "timestamp"), ("n", "timestamp_ntz")],
        [(-719162, 1700000000000001, -1)],
    ),
    (
        "decimals",
        [("a", "decimal(18,2)"), ("b", "decimal(38,10)")],
        [(-123, -1), (10**17, 10**37), (0, 2**64)],
    ),
    ("empty string is not null", [("s", "string")], [("",), (None,)]),
    ("strings around the word size", [("s", "string")], [("a" * n,) for n in (7, 8, 9, 16, 17)]),
    ("zero bytes", [("s", "binary")], [("\0" * n,) for n in range(10)]),
    ("not valid UTF-8", [("s", "string")], [("\xff\xfe\x80",)]),
    ("Thue-Morse", [("s", "string")], [(A,)]),
    ("Thue-Morse, complement", [("s", "string")], [(B,)]),
    ("array", [("a", "array<int>")], [([1, None, 2],), ([],), (None,), ([2, None, 1],)]),
    ("struct", [("a", "struct<x:int,y:string>")], [((1, "q"),), ((None, None),), (None,)]),
    ("map", [("a", "map<string,int>")], [([("k", 1), ("l", None)],), ([],)]),
    ("nested", [("a", "array<struct<x:map<string,array<int>>>>")], [([([("k", [1, 2])],)],)]),
    ("a name that is not ASCII", [("größe 📏", "int")], [(1,)]),
]


def plain(value: Any) -> Any:
    """Text becomes bytes, at every depth."""
    if isinstance(value, str):
        return value.encode("latin-1")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def vectors() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "columns": [list(column) for column in columns],
            "rows": [list(row) for row in rows],
            "data_sha": data_sha(ALGO, columns, plain(rows)),
        }
        for name, columns, rows in CASES
    ]


def render() -> str:
    lines = [json.dumps(vector, ensure_ascii=True) for vector in vectors()]
    return f'{{"hash_algo": "{ALGO}", "vectors": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    GOLDEN.write_text(render(), encoding="ascii")
