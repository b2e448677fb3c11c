"""`make demo`, as a newcomer runs it: a process of its own, nothing prepared."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bootstrap import CHROMIUM_NAMES
from tests.conftest import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "home"


@pytest.fixture(scope="module")
def told(home: Path) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "demo.py", "--home", home],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_story_is_told_to_its_end(told: str) -> None:
    exits = [int(code) for code in re.findall(r"\(exit (\d),", told)]
    assert exits.count(1) == 3  # no verdict on new data, the failing suite, the failing data
    assert set(exits) == {0, 1}
    assert "GATE: PASS" in told
    assert "GATE: FAIL" in told
    assert "11 unchanged" in told
    assert "RESULT: PASS" in told
    assert "Traceback" not in told


def test_a_browser_shows_it_on_the_model_page(told: str, home: Path, tmp_path: Path) -> None:
    page = home / "coffee_shop" / "target" / "static_index.html"
    text = page_text(f"{page.as_uri()}#!/model/model.coffee_shop.fct_orders", tmp_path)
    assert re.search(r"qa_status\s+FAIL", text, re.IGNORECASE)
    assert re.search(r"snapshot_rows\s+41,339", text, re.IGNORECASE)
    assert re.search(r"dataset_snapshot\s+#3 [0-9a-f]{12}", text, re.IGNORECASE)
    assert "expect_column_values_to_not_be_null(customer_id)" in text


def page_text(url: str, profile: Path) -> str:
    """What headless Chromium has on the page when its scripts are done, tags taken out."""
    browser = next(found for found in map(shutil.which, CHROMIUM_NAMES) if found)
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    done = subprocess.run(
        [browser, *options, "--virtual-time-budget=15000", "--dump-dom", url],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", done.stdout, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))
