"""The pure parts of scripts/bootstrap.py: Java versions, the cleaned environment, the stamp."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts import bootstrap


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("17.0.9", 17),
        ("1.8.0_392", 8),
        ("21", 21),
        ("21-ea", 21),
        ("11.0.22+7", 11),
        ("", None),
        ("unknown", None),
    ],
)
def test_java_major(version: str, major: int | None) -> None:
    assert bootstrap.java_major(version) == major


@pytest.mark.parametrize(
    ("major", "usable"),
    [(None, False), (8, False), (11, False), (17, True), (21, True), (23, True), (25, False)],
)
def test_only_the_javas_that_spark_runs_on_are_usable(major: int | None, usable: bool) -> None:
    assert bootstrap.java_is_usable(major) is usable


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            'IMPLEMENTOR="Debian"\nJAVA_VERSION="17.0.15"\nJAVA_VERSION_DATE="2025-04-15"',
            "17.0.15",
        ),
        ('openjdk version "21.0.2" 2024-01-16\nOpenJDK Runtime Environment', "21.0.2"),
        ('java version "1.8.0_392"', "1.8.0_392"),
        ("bash: java: command not found", None),
    ],
)
def test_release_version(text: str, version: str | None) -> None:
    assert bootstrap.release_version(text) == version


def make_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return home


class TestJavaLookup:
    def test_java_home_comes_first(self, tmp_path: Path) -> None:
        named = make_java(tmp_path / "named", "21.0.1")
        on_path = make_java(tmp_path / "path", "17.0.9")
        environ = {"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}
        assert bootstrap.find_java(environ) == named

    def test_a_java_home_that_spark_can_not_use_is_passed_over_and_said(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        named = make_java(tmp_path / "named", "1.8.0_392")
        on_path = make_java(tmp_path / "path", "17.0.9")
        environ = {"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}
        assert bootstrap.find_java(environ) == on_path
        assert "JAVA_HOME is Java 1.8.0_392" in capsys.readouterr().err

    def test_the_directory_of_installed_javas_comes_last(self, tmp_path: Path) -> None:
        make_java(tmp_path / "jvm" / "java-17", "17.0.9")
        homes = bootstrap.java_candidates({"PATH": ""}, tmp_path / "jvm")
        assert homes == [tmp_path / "jvm" / "java-17"]

    def test_a_home_without_an_executable_has_no_version(self, tmp_path: Path) -> None:
        assert bootstrap.java_version_at(tmp_path) is None

    def test_without_a_release_file_the_program_is_asked(self, tmp_path: Path) -> None:
        home = make_java(tmp_path / "old", "")
        (home / "release").unlink()
        (home / "bin" / "java").write_text("#!/bin/sh\necho 'version \"17.0.1\"' >&2\n")
        assert bootstrap.java_version_at(home) == "17.0.1"


class TestEnvironment:
    def clean(
        self, tmp_path: Path, environ: dict[str, str], java: Path | None = None
    ) -> dict[str, str]:
        return bootstrap.clean_environment(environ, tmp_path / ".venv", java)

    def test_nothing_of_another_spark_dbt_or_store_is_left(self, tmp_path: Path) -> None:
        names = [
            "SPARK_HOME",
            "SPARK_REMOTE",
            "PYTHONPATH",
            "SNAPSHOT_ROOT",
            "LAKE_ROOT",
            "DBT_PROFILES_DIR",
            "DBT_SNAPSHOT_ROOT",
        ]
        cleaned = self.clean(tmp_path, dict.fromkeys(names, "elsewhere"))
        assert not set(names) & set(cleaned)

    def test_other_variables_are_kept(self, tmp_path: Path) -> None:
        environ = {"HOME": "h", "CI": "true"}
        assert self.clean(tmp_path, environ).items() >= environ.items()

    def test_spark_runs_our_python_on_loopback(self, tmp_path: Path) -> None:
        cleaned = self.clean(tmp_path, {})
        python = str(tmp_path / ".venv" / "bin" / "python")
        assert cleaned["PYSPARK_PYTHON"] == cleaned["PYSPARK_DRIVER_PYTHON"] == python
        assert cleaned["SPARK_LOCAL_IP"] == "127.0.0.1"

    def test_our_programs_come_first_on_the_path_then_java(self, tmp_path: Path) -> None:
        java = tmp_path / "jdk"
        cleaned = self.clean(tmp_path, {"PATH": "/usr/bin:/bin"}, java)
        assert cleaned["PATH"].split(os.pathsep) == [
            str(tmp_path / ".venv" / "bin"),
            str(java / "bin"),
            "/usr/bin",
            "/bin",
        ]
        assert cleaned["JAVA_HOME"] == str(java)


class TestStamp:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        for name in bootstrap.INPUTS:
            (tmp_path / name).write_text(name)
        return tmp_path

    def test_it_is_stable(self, root: Path) -> None:
        assert bootstrap.stamp_of(root, "3.11.7") == bootstrap.stamp_of(root, "3.11.7")

    @pytest.mark.parametrize("name", bootstrap.INPUTS)
    def test_it_moves_with_each_input(self, root: Path, name: str) -> None:
        before = bootstrap.stamp_of(root, "3.11.7")
        (root / name).write_text("changed")
        assert bootstrap.stamp_of(root, "3.11.7") != before

    def test_it_moves_with_the_python(self, root: Path) -> None:
        assert bootstrap.stamp_of(root, "3.11.7") != bootstrap.stamp_of(root, "3.12.1")


class TestRefusals:
    def test_without_apt_the_error_ends_with_the_exact_command(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bootstrap, "can_apt", lambda: False)
        with pytest.raises(bootstrap.BootstrapError) as caught:
            bootstrap.apt_install(bootstrap.JAVA_PACKAGE, "no Java was found")
        last = str(caught.value).splitlines()[-1]
        assert last.strip() == (
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends "
            "openjdk-17-jre-headless"
        )

    def test_no_java_and_no_way_to_install_it_is_exit_2(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(bootstrap, "can_apt", lambda: False)
        monkeypatch.setattr(bootstrap, "find_java", lambda environ: None)
        assert bootstrap.main(["run", "--", "true"]) == 2
        assert "openjdk-17-jre-headless" in capsys.readouterr().err

    def test_a_failed_step_shows_its_output_and_the_hint(self) -> None:
        with pytest.raises(bootstrap.BootstrapError, match=r"(?s)broken.*try this"):
            bootstrap.run(["sh", "-c", "echo broken; exit 3"], "try this")
