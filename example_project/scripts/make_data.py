"""Write the raw deliveries of a small chain of coffee shops, flaws included.

The same options always give the same bytes. Every day has a random generator of its own, so a
day's rows do not depend on how many days are written: ``--days 60`` is ``--days 58`` plus two
files per table. Files whose bytes would not change are left alone, the way a real landing zone
looks after a new delivery.

    python scripts/make_data.py                 58 days, about 100k rows
    python scripts/make_data.py --days 60       two more days
    python scripts/make_data.py --break         plus one faulty delivery on the last day
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Row = tuple[object, ...]

SEED = 7
FIRST_DAY = date(2026, 1, 5)
DEFAULT_DAYS = 58
MAX_DAYS = 366
CUSTOMERS = 5_000
FAULTY_ORDERS = 240
FAULTY_ORDER_BASE = 9_000_000
FREE_PRODUCT = 17
FREE_FROM_DAY = 30

# How often each flaw occurs (a share of the rows it can hit).
DUPLICATE = 0.006
UNKNOWN_CUSTOMER = 0.008
IMPOSSIBLE_TIME = 0.003
CLOCK_RESET = 0.003
NEGATIVE_QUANTITY = 0.008
CURRENCY_STRING = 0.15
NO_EMAIL = 0.04
MESSY_EMAIL = 0.08

CITIES = ("Porto", "Lisbon", "Braga", "Coimbra", "Faro", "Aveiro")
FIRST_NAMES = ("Ana", "Rui", "Ines", "Joao", "Marta", "Tiago", "Sofia", "Luis", "Clara", "Nuno")
LAST_NAMES = ("Silva", "Costa", "Pereira", "Lopes", "Ramos", "Sousa", "Alves", "Rocha", "Pinto")
PRODUCTS: dict[str, tuple[str, ...]] = {
    "coffee": ("Espresso", "Double Espresso", "Macchiato", "Cortado", "Cappuccino", "Flat White",
               "Latte", "Mocha", "Americano", "Filter", "Cold Brew", "Affogato"),
    "tea": ("Black Tea", "Green Tea", "Mint Tea", "Chai", "Matcha Latte", "Rooibos"),
    "pastry": ("Croissant", "Almond Croissant", "Cinnamon Roll", "Custard Tart", "Brownie",
               "Cookie", "Carrot Cake", "Cheesecake", "Scone", "Banana Bread"),
    "lunch": ("Ham Toastie", "Cheese Toastie", "Veggie Wrap", "Chicken Wrap", "Soup", "Salad"),
    "beans": ("House Blend", "Decaf Blend", "Ethiopia", "Colombia", "Brazil", "Guatemala"),
}  # fmt: skip
BASE_PRICE = {"coffee": 2.2, "tea": 2.4, "pastry": 2.8, "lunch": 6.2, "beans": 11.5}

SCHEMAS: dict[str, pa.Schema] = {
    "stores": pa.schema(
        [
            ("store_id", pa.int32()),
            ("store_name", pa.string()),
            ("city", pa.string()),
            ("opened_on", pa.date32()),
        ]
    ),
    "products": pa.schema(
        [
            ("product_id", pa.int32()),
            ("product_name", pa.string()),
            ("category", pa.string()),
            ("list_price", pa.string()),
        ]
    ),
    "customers": pa.schema(
        [
            ("customer_id", pa.int64()),
            ("full_name", pa.string()),
            ("email", pa.string()),
            ("signed_up_on", pa.date32()),
            ("home_store_id", pa.int32()),
        ]
    ),
    "orders": pa.schema(
        [
            ("order_id", pa.int64()),
            ("revision", pa.int32()),
            ("customer_id", pa.int64()),
            ("store_id", pa.int32()),
            ("ordered_at", pa.string()),
            ("status", pa.string()),
            ("payment_method", pa.string()),
            ("delivered_on", pa.date32()),
        ]
    ),
    "order_items": pa.schema(
        [
            ("order_item_id", pa.int64()),
            ("order_id", pa.int64()),
            ("product_id", pa.int32()),
            ("quantity", pa.int32()),
            ("unit_price", pa.string()),
            ("delivered_on", pa.date32()),
        ]
    ),
}


@dataclass
class Delivery:
    """What the tills of all stores send in for one day."""

    orders: list[Row] = field(default_factory=list)
    order_items: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Product:
    product_id: int
    name: str
    category: str
    price: float


def catalogue() -> list[Product]:
    """The 40 products; prices follow from the position, not from chance."""
    names = [(category, name) for category, group in PRODUCTS.items() for name in group]
    return [
        Product(number, name, category, round(BASE_PRICE[category] + 0.15 * (number % 7), 2))
        for number, (category, name) in enumerate(names, start=1)
    ]


def store_rows() -> list[Row]:
    return [
        (n, f"{CITIES[n % 6]} {'Centre' if n <= 6 else 'Station'}", CITIES[n % 6],
         date(2019, 1, 7) + timedelta(days=91 * n))
        for n in range(1, 13)
    ]  # fmt: skip


def product_rows(products: Sequence[Product]) -> list[Row]:
    """One product's list price has been overwritten with zero; some carry their currency."""
    rows: list[Row] = []
    for product in products:
        price = 0.0 if product.product_id == FREE_PRODUCT else product.price
        text = f"{price:.2f} EUR" if product.product_id % 5 == 0 else f"{price:.2f}"
        rows.append((product.product_id, product.name, product.category, text))
    return rows


def customer_rows(rng: random.Random) -> list[Row]:
    """Customers, of whom some have no e-mail and some have one in mixed case or with blanks."""
    rows: list[Row] = []
    for number in range(1, CUSTOMERS + 1):
        first, last = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)
        address = f"{first}.{last}.{number}@example.com".lower()
        email: str | None = address
        kind = rng.random()
        if kind < NO_EMAIL:
            email = None
        elif kind < NO_EMAIL + MESSY_EMAIL:
            email = f"  {address.upper()} " if number % 2 else address.title()
        signed_up = date(2024, 1, 1) + timedelta(days=rng.randrange(730))
        rows.append((number, f"{first} {last}", email, signed_up, rng.randint(1, 12)))
    return rows


def ordered_at(rng: random.Random, day: date) -> str:
    """The till's clock as text: normally right, sometimes impossible, sometimes reset to 1970."""
    moment = datetime.combine(day, time(7)) + timedelta(seconds=rng.randrange(13 * 3600))
    kind = rng.random()
    if kind < IMPOSSIBLE_TIME:
        return f"{day:%Y-%m}-31 27:{moment:%M:%S}"
    if kind < IMPOSSIBLE_TIME + CLOCK_RESET:
        return f"1970-01-01 00:{moment:%M:%S}"
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def price_text(rng: random.Random, price: float) -> str:
    """A price as a till prints it: plain, with a currency, or with a decimal comma."""
    if rng.random() >= CURRENCY_STRING:
        return f"{price:.2f}"
    comma = f"{price:.2f}".replace(".", ",")
    return rng.choice((f"EUR {price:.2f}", f"{comma} EUR", f"€{price:.2f}"))


def item_rows(
    rng: random.Random, order_id: int, day_number: int, products: Sequence[Product]
) -> list[Row]:
    day = FIRST_DAY + timedelta(days=day_number - 1)
    rows: list[Row] = []
    for line in range(1, rng.choices((1, 2, 3), (70, 24, 6))[0] + 1):
        product = rng.choice(products)
        free = product.product_id == FREE_PRODUCT and day_number >= FREE_FROM_DAY
        quantity = rng.choices((1, 2, 3), (78, 18, 4))[0]
        if rng.random() < NEGATIVE_QUANTITY:
            quantity = -quantity
        price = price_text(rng, 0.0 if free else product.price)
        rows.append((order_id * 10 + line, order_id, product.product_id, quantity, price, day))
    return rows


def day_delivery(rng: random.Random, day_number: int, products: Sequence[Product]) -> Delivery:
    """All orders of one day; some are sent twice, the second time with their final status."""
    day = FIRST_DAY + timedelta(days=day_number - 1)
    delivery = Delivery()
    count = rng.randint(640, 690) + (70 if day.weekday() >= 5 else 0)
    for position in range(1, count + 1):
        order_id = day_number * 10_000 + position
        customer = int(CUSTOMERS * rng.random() ** 1.6) + 1
        if rng.random() < UNKNOWN_CUSTOMER:
            customer = 90_000 + rng.randrange(500)
        store, clock = rng.randint(1, 12), ordered_at(rng, day)
        status = rng.choices(("completed", "cancelled", "refunded"), (94, 4, 2))[0]
        payment = rng.choices(("card", "cash", "app"), (60, 15, 25))[0]
        if rng.random() < DUPLICATE:
            delivery.orders.append((order_id, 1, customer, store, clock, "placed", payment, day))
            delivery.orders.append((order_id, 2, customer, store, clock, status, payment, day))
        else:
            delivery.orders.append((order_id, 1, customer, store, clock, status, payment, day))
        delivery.order_items.extend(item_rows(rng, order_id, day_number, products))
    return delivery


def faulty_delivery(rng: random.Random, last_day: int, products: Sequence[Product]) -> Delivery:
    """A till update gone wrong: no customer ids, and every price below zero."""
    day = FIRST_DAY + timedelta(days=last_day - 1)
    delivery = Delivery()
    for position in range(1, FAULTY_ORDERS + 1):
        order_id = FAULTY_ORDER_BASE + position
        clock = f"{day:%Y-%m-%d} 18:{position % 60:02d}:00"
        delivery.orders.append(
            (order_id, 1, None, position % 12 + 1, clock, "completed", "card", day)
        )
        product = rng.choice(products)
        price = f"-{product.price:.2f}"
        delivery.order_items.append(
            (order_id * 10 + 1, order_id, product.product_id, 1, price, day)
        )
    return delivery


def all_files(days: int, broken: bool) -> dict[str, list[Row]]:
    """Every raw file by its path below the output directory, with its rows."""
    master = random.Random(SEED)
    customer_rng = random.Random(master.getrandbits(64))
    faulty_rng = random.Random(master.getrandbits(64))
    day_seeds = [master.getrandbits(64) for _ in range(MAX_DAYS)]
    products = catalogue()
    files: dict[str, list[Row]] = {
        "stores/part-all.parquet": store_rows(),
        "products/part-all.parquet": product_rows(products),
        "customers/part-all.parquet": customer_rows(customer_rng),
    }
    deliveries = {
        f"{FIRST_DAY + timedelta(days=number - 1)}": day_delivery(
            random.Random(day_seeds[number - 1]), number, products
        )
        for number in range(1, days + 1)
    }
    if broken:
        last = FIRST_DAY + timedelta(days=days - 1)
        deliveries[f"{last}-faulty"] = faulty_delivery(faulty_rng, days, products)
    for name, delivery in deliveries.items():
        files[f"orders/part-{name}.parquet"] = delivery.orders
        files[f"order_items/part-{name}.parquet"] = delivery.order_items
    return files


def write_file(path: Path, table: str, rows: Sequence[Row]) -> None:
    schema = SCHEMAS[table]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, compression="snappy")


def publish(incoming: Path, out: Path) -> None:
    """Move what is new or changed into place, then drop the part files that are not wanted."""
    wanted = {path.relative_to(incoming) for path in incoming.glob("*/part-*.parquet")}
    for name in sorted(wanted):
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (incoming / name).read_bytes():
            (incoming / name).replace(target)
    for table in SCHEMAS:
        for path in (out / table).glob("part-*.parquet"):
            if path.relative_to(out) not in wanted:
                path.unlink()


def make_data(out: Path, days: int = DEFAULT_DAYS, broken: bool = False) -> dict[str, int]:
    """Write the raw files below ``out`` and return the number of rows of each table."""
    incoming = out / ".incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    counts = dict.fromkeys(SCHEMAS, 0)
    for name, rows in all_files(days, broken).items():
        table = name.split("/")[0]
        write_file(incoming / name, table, rows)
        counts[table] += len(rows)
    publish(incoming, out)
    shutil.rmtree(incoming)
    return counts


def main(argv: Sequence[str] | None = None) -> int:
    default_out = Path(__file__).resolve().parents[1] / "raw"
    parser = argparse.ArgumentParser(description="Write the raw coffee shop data.")
    parser.add_argument("--days", type=int, default=DEFAULT_DAYS, help="days of orders to write")
    parser.add_argument("--break", dest="broken", action="store_true", help="add a bad delivery")
    parser.add_argument("--out", type=Path, default=default_out, help="directory to write to")
    options = parser.parse_args(argv)
    if not 1 <= options.days <= MAX_DAYS:
        parser.error(f"--days must be between 1 and {MAX_DAYS}, not {options.days}")
    counts = make_data(options.out, options.days, options.broken)
    for table, count in counts.items():
        print(f"{table:<12} {count:>7,} rows")
    print(f"{'total':<12} {sum(counts.values()):>7,} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
