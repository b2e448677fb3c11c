"""The raw data of the example: always the same, and as flawed as its README says."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest

SCRIPT = Path(__file__).parents[2] / "example_project" / "scripts" / "make_data.py"
LAST_DAY = date(2026, 3, 3)


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coffee_make_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


make_data = load_script()


def rows(raw: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted((raw / table).glob("part-*.parquet")):
        found.extend(pq.read_table(path, partitioning=None).to_pylist())
    return found


def contents(raw: Path) -> dict[str, bytes]:
    return {str(p.relative_to(raw)): p.read_bytes() for p in raw.rglob("*") if p.is_file()}


def is_time(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007
    except ValueError:
        return False
    return True


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("raw")
    make_data.make_data(out)
    return out


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("broken")
    make_data.make_data(out, broken=True)
    return out


def test_about_a_hundred_thousand_rows(raw: Path) -> None:
    counts = {table: len(rows(raw, table)) for table in make_data.SCHEMAS}
    assert counts["stores"] == 12
    assert counts["products"] == 40
    assert counts["customers"] == 5_000
    assert 38_000 <= counts["orders"] <= 42_000
    assert 52_000 <= counts["order_items"] <= 58_000
    assert 97_000 <= sum(counts.values()) <= 103_000
    assert {row["delivered_on"] for row in rows(raw, "orders")} == {
        date.fromordinal(date(2026, 1, 5).toordinal() + n) for n in range(58)
    }


def test_two_runs_give_the_same_bytes(raw: Path, tmp_path: Path) -> None:
    make_data.make_data(tmp_path)
    assert contents(tmp_path) == contents(raw)


def test_a_second_run_in_place_touches_no_file(tmp_path: Path) -> None:
    make_data.make_data(tmp_path, days=2)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("part-*.parquet")}
    make_data.make_data(tmp_path, days=2)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("part-*.parquet")} == before
    assert not (tmp_path / ".incoming").exists()


def test_more_days_only_add_files(raw: Path, tmp_path: Path) -> None:
    make_data.make_data(tmp_path, days=60)
    more, fewer = contents(tmp_path), contents(raw)
    assert {name: more[name] for name in fewer} == fewer
    assert set(more) - set(fewer) == {
        f"{table}/part-2026-03-0{day}.parquet"
        for table in ("orders", "order_items")
        for day in (4, 5)
    }


def test_fewer_days_take_files_away_and_leave_strangers_alone(tmp_path: Path) -> None:
    make_data.make_data(tmp_path, days=3)
    (tmp_path / "orders" / "notes.txt").write_text("kept")
    make_data.make_data(tmp_path, days=1)
    assert {path.name for path in (tmp_path / "orders").iterdir()} == {
        "part-2026-01-05.parquet",
        "notes.txt",
    }


def test_orders_carry_their_flaws(raw: Path) -> None:
    orders = rows(raw, "orders")
    known = {row["customer_id"] for row in rows(raw, "customers")}
    repeated = [n for n in Counter(row["order_id"] for row in orders).values() if n > 1]
    assert 150 <= len(repeated) <= 350
    assert set(repeated) == {2}
    assert len({(row["order_id"], row["revision"]) for row in orders}) == len(orders)
    assert 200 <= sum(row["customer_id"] not in known for row in orders) <= 450
    assert 70 <= sum(not is_time(row["ordered_at"]) for row in orders) <= 200
    assert 70 <= sum(row["ordered_at"].startswith("1970") for row in orders) <= 200
    assert all(row["customer_id"] is not None for row in orders)


def test_order_items_carry_their_flaws(raw: Path) -> None:
    items = rows(raw, "order_items")
    orders = {row["order_id"] for row in rows(raw, "orders")}
    assert {row["order_id"] for row in items} == orders
    assert 300 <= sum(row["quantity"] < 0 for row in items) <= 600
    spelled = [row["unit_price"] for row in items if not row["unit_price"][0].isdigit()]
    assert any(text.startswith("EUR ") for text in spelled)
    assert any(text.startswith("€") for text in spelled)
    assert any(row["unit_price"].endswith(" EUR") and "," in row["unit_price"] for row in items)
    assert not any("-" in row["unit_price"] for row in items)


def test_one_product_became_free(raw: Path) -> None:
    products = {row["product_id"]: row for row in rows(raw, "products")}
    assert [n for n, row in products.items() if row["list_price"].startswith("0.00")] == [17]
    sold = [row for row in rows(raw, "order_items") if row["product_id"] == 17]
    changed = date(2026, 2, 3)
    free = {row["delivered_on"] >= changed for row in sold if "0.00" in row["unit_price"]}
    comma_free = {row["delivered_on"] >= changed for row in sold if "0,00" in row["unit_price"]}
    paid = {
        row["delivered_on"] >= changed
        for row in sold
        if "0.00" not in row["unit_price"] and "0,00" not in row["unit_price"]
    }
    assert free == comma_free == {True}
    assert paid == {False}


def test_customers_carry_their_flaws(raw: Path) -> None:
    emails = [row["email"] for row in rows(raw, "customers")]
    given = [email for email in emails if email is not None]
    assert 130 <= emails.count(None) <= 280
    assert 250 <= sum(email != email.strip().lower() for email in given) <= 550
    assert any(email != email.strip() for email in given)
    cleaned = {email.strip().lower() for email in given}
    assert len(cleaned) == len(given)


def test_break_adds_one_faulty_delivery(raw: Path, broken: Path) -> None:
    good, bad = contents(raw), contents(broken)
    assert {name: bad[name] for name in good} == good
    assert set(bad) - set(good) == {
        f"{table}/part-{LAST_DAY}-faulty.parquet" for table in ("orders", "order_items")
    }
    known = {row["order_id"] for row in rows(raw, "orders")}
    orders = [row for row in rows(broken, "orders") if row["order_id"] not in known]
    items = [row for row in rows(broken, "order_items") if row["order_id"] not in known]
    assert len(orders) == len(items) == make_data.FAULTY_ORDERS
    assert {row["customer_id"] for row in orders} == {None}
    assert {row["delivered_on"] for row in orders} == {LAST_DAY}
    assert all(row["unit_price"].startswith("-") and row["quantity"] > 0 for row in items)


def test_a_good_delivery_replaces_the_faulty_one(raw: Path, tmp_path: Path) -> None:
    make_data.make_data(tmp_path, broken=True)
    make_data.make_data(tmp_path)
    assert contents(tmp_path) == contents(raw)


@pytest.mark.parametrize("days", ["0", "367", "many"])
def test_bad_days_are_refused(
    days: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        make_data.main(["--days", days, "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert "--days" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_main_prints_the_row_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make_data.main(["--days", "1", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "customers      5,000 rows" in printed
    assert f"{sum(len(rows(tmp_path, t)) for t in make_data.SCHEMAS):,} rows" in printed
