"""The producer is asked from git, and git may not be there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dbt_snapshot_plugin.bridges.git import producer_of


def git(directory: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(
        ["git", "-C", str(directory), *who, *arguments], check=True, capture_output=True
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    return tmp_path


@pytest.mark.parametrize(
    ("remote", "repo"),
    [
        ("https://ann:token@example.org/shop.git", "https://example.org/shop.git"),
        ("https://example.org/shop.git", "https://example.org/shop.git"),
        ("git@example.org:team/shop.git", "git@example.org:team/shop.git"),
        ("/srv/git/a@b/shop.git", "/srv/git/a@b/shop.git"),
    ],
)
def test_the_remote_without_its_password(repository: Path, remote: str, repo: str) -> None:
    git(repository, "remote", "add", "origin", remote)
    found = producer_of(repository)
    assert found.repo == repo
    assert found.commit is not None
    assert len(found.commit) == 40


def test_without_a_remote_the_directory_names_it(repository: Path) -> None:
    (repository / "inner").mkdir()
    assert producer_of(repository / "inner").repo == repository.name


def test_without_a_repository_or_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = producer_of(tmp_path)
    assert (found.repo, found.commit) == (None, None)
    monkeypatch.setenv("PATH", "")
    assert producer_of(tmp_path).commit is None
