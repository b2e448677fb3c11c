from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.capture.world import World


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the developer's own environment gets in."""
    import os

    for name in [name for name in os.environ if name.startswith("DBT_SNAPSHOT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
