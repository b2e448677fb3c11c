from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durability is tested with the store; here it only costs time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
