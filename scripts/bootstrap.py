"""Make this checkout runnable on a machine where nothing was installed by hand.

    python3 scripts/bootstrap.py                 make the environment, find Java
    python3 scripts/bootstrap.py run -- CMD …    the same, then CMD in a cleaned environment

Every Makefile target goes through the second form, so a shell that has its own SPARK_HOME,
PYTHONPATH or DBT_* variables gives the same result as an empty one. Standard library only,
because it runs before anything is installed. It says what it does and is silent when there is
nothing to do. Exit code 2: it could not be done; the last line is the command that would do it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / ".bootstrap-stamp"
INPUTS = ("pyproject.toml", "constraints.txt")

PYTHONS = ((3, 10), (3, 14))  # first version that works, first one that is not tried
# Spark 4 needs 17; its Hadoop client fails on 25 with "getSubject is not supported" (tried)
JAVAS = (17, 24)
JAVA_PACKAGE = "openjdk-17-jre-headless"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")

DROPPED = {
    "SPARK_HOME",
    "SPARK_REMOTE",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE",  # start-up without compiled files is about twice as slow (measured)
    "SNAPSHOT_ROOT",
    "LAKE_ROOT",
}
DROPPED_PREFIX = "DBT_"


class BootstrapError(Exception):
    """Something is missing that can't be supplied here; the text ends with the command to run."""


def say(text: str) -> None:
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)


# --- pure parts ----------------------------------------------------------------------------------


def java_major(version: str) -> int | None:
    """The feature release: 17 of "17.0.9", 8 of "1.8.0_392", 21 of "21" or "21-ea"."""
    match = re.match(r"(?:1\.)?(\d+)", version.strip())
    return int(match.group(1)) if match else None


def java_is_usable(major: int | None) -> bool:
    return major is not None and JAVAS[0] <= major < JAVAS[1]


def release_version(release: str) -> str | None:
    """The version in a JDK's `release` file or in what `java -version` prints."""
    match = re.search(r'(?:^JAVA_VERSION=|version )"([^"]+)"', release, re.MULTILINE)
    return match.group(1) if match else None


def clean_environment(
    environ: Mapping[str, str], venv: Path, java_home: Path | None
) -> dict[str, str]:
    """What a command gets to see: nothing of another Spark, dbt or store; ours first on PATH."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in DROPPED and not name.startswith(DROPPED_PREFIX)
    }
    python = str(venv / "bin" / "python")
    path = [str(venv / "bin")]
    if java_home is not None:
        kept["JAVA_HOME"] = str(java_home)
        path.append(str(java_home / "bin"))
    path += [part for part in kept.get("PATH", os.defpath).split(os.pathsep) if part not in path]
    return {
        **kept,
        "PATH": os.pathsep.join(path),
        "VIRTUAL_ENV": str(venv),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def stamp_of(root: Path, python_version: str) -> str:
    """Changes when the environment must be made anew: other requirements, Python or place."""
    digest = hashlib.sha256(f"{python_version}\n{root}\n".encode())
    for name in INPUTS:
        digest.update(hashlib.sha256((root / name).read_bytes()).digest())
    return digest.hexdigest()


def python_is_usable(version: tuple[int, ...]) -> bool:
    return PYTHONS[0] <= version[:2] < PYTHONS[1]


# --- processes -----------------------------------------------------------------------------------


def run(command: Sequence[str], hint: str) -> None:
    """Run a step; its output is shown only if it fails."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BootstrapError(f"{done.stdout.strip()}\n{hint}")


def python_version(python: str | Path) -> tuple[int, ...] | None:
    code = "import sys; print(*sys.version_info[:3])"
    try:
        text = subprocess.run(
            [str(python), "-c", code], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(int(part) for part in text.split())


def can_apt() -> bool:
    return (
        os.geteuid() == 0
        and Path("/etc/debian_version").exists()
        and shutil.which("apt-get") is not None
    )


def apt_install(package: str, why: str) -> None:
    command = f"apt-get update && apt-get install -y --no-install-recommends {package}"
    if not can_apt():
        sudo = command.replace("apt-get", "sudo apt-get")
        raise BootstrapError(f"{why}. On Debian or Ubuntu this installs it:\n  {sudo}")
    say(f"{why}: installing {package} with apt-get")
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    run(["sh", "-c", command], f"{package} could not be installed; try:\n  {command}")


# --- Python environment --------------------------------------------------------------------------


def find_python() -> str:
    """The interpreter that runs this script if it will do, else a versioned one on PATH."""
    if python_is_usable(sys.version_info[:3]):
        return getattr(sys, "_base_executable", None) or sys.executable
    for minor in (11, 12, 13, 10):
        found = shutil.which(f"python3.{minor}")
        if found and python_is_usable(python_version(found) or ()):
            return found
    raise BootstrapError(
        f"Python 3.{PYTHONS[0][1]} to 3.{PYTHONS[1][1] - 1} is needed, this is "
        f"{sys.version.split()[0]}. With one of them installed:\n  python3.11 scripts/bootstrap.py"
    )


def create_venv() -> None:
    python = find_python()
    say(f"making {VENV.name} with {python}")
    uv = shutil.which("uv")
    if uv:
        run([uv, "venv", "--clear", "--python", python, str(VENV)], "uv could not make .venv")
        return
    if not has_ensurepip(python):
        apt_install("python3-venv", "this Python has no ensurepip, so it can't make environments")
    command = [python, "-m", "venv", "--clear", str(VENV)]
    run(command, f"the environment could not be made; try:\n  {python} -m venv --clear .venv")


def has_ensurepip(python: str) -> bool:
    asked = subprocess.run([python, "-c", "import ensurepip"], capture_output=True, check=False)
    return asked.returncode == 0


def install_requirements() -> None:
    python = str(VENV / "bin" / "python")
    what = ["-c", str(ROOT / "constraints.txt"), "-e", f"{ROOT}[all]", "--group", "dev"]
    uv = shutil.which("uv")
    hint = "the requirements could not be installed; see the lines above, then run:\n  make setup"
    say(f"installing the requirements with {'uv' if uv else 'pip'} (some minutes the first time)")
    os.chdir(ROOT)  # --group reads the pyproject.toml of the working directory
    if uv:
        run([uv, "pip", "install", "--compile-bytecode", "--python", python, *what], hint)
        return
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, "pip>=25.1"], hint)  # the first one that knows --group
    run([*pip, *what], hint)


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Two targets started at once must not install into the same environment."""
    with (ROOT / ".bootstrap.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def ensure_environment() -> None:
    with only_one():
        version = python_version(VENV / "bin" / "python")
        if not python_is_usable(version or ()):
            create_venv()
            version = python_version(VENV / "bin" / "python")
        stamp = stamp_of(ROOT, ".".join(str(part) for part in version or ()))
        if STAMP.exists() and STAMP.read_text() == stamp:
            return
        STAMP.unlink(missing_ok=True)
        install_requirements()
        STAMP.write_text(stamp)
        say("the environment is ready")


# --- Java and Chromium ---------------------------------------------------------------------------


def java_candidates(
    environ: Mapping[str, str], jvm_dir: Path = Path("/usr/lib/jvm")
) -> list[Path]:
    """Homes to look at, in order: JAVA_HOME, the `java` on PATH, then what Debian installed."""
    homes = []
    if environ.get("JAVA_HOME"):
        homes.append(Path(environ["JAVA_HOME"]))
    on_path = shutil.which("java", path=environ.get("PATH"))
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    if jvm_dir.is_dir():
        homes += sorted(jvm_dir.iterdir())
    return homes


def java_version_at(home: Path) -> str | None:
    """Read from its `release` file; starting a JVM to ask costs half a second on every command."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    with contextlib.suppress(OSError):
        version = release_version((home / "release").read_text(errors="replace"))
        if version:
            return version
    try:
        asked = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return release_version(asked.stderr)


def find_java(environ: Mapping[str, str]) -> Path | None:
    for home in java_candidates(environ):
        version = java_version_at(home)
        if version and java_is_usable(java_major(version)):
            return home
        if version and str(home) == environ.get("JAVA_HOME"):
            say(f"JAVA_HOME is Java {version}, which Spark does not run on: looking further")
    return None


def ensure_java(environ: Mapping[str, str]) -> Path:
    home = find_java(environ)
    if home is None:
        apt_install(JAVA_PACKAGE, f"no Java {JAVAS[0]} to {JAVAS[1] - 1} was found")
        home = find_java(environ)
    if home is None:
        raise BootstrapError(
            f"{JAVA_PACKAGE} is installed, but no Java {JAVAS[0]} to {JAVAS[1] - 1} was found. "
            "Name it:\n  JAVA_HOME=<its directory> make setup"
        )
    return home


def ensure_chromium(environ: Mapping[str, str]) -> None:
    if not any(shutil.which(name, path=environ.get("PATH")) for name in CHROMIUM_NAMES):
        apt_install("chromium", "no Chromium was found for the browser tests")


# --- command line --------------------------------------------------------------------------------


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bootstrap.py", description="Make this checkout run.")
    parser.add_argument(
        "--no-java", action="store_true", help="use Java if found, don't install it"
    )
    parser.add_argument("--with-chromium", action="store_true", help="browser tests need it")
    verbs = parser.add_subparsers(dest="verb")
    runner = verbs.add_parser("run", help="run a command in the cleaned environment")
    runner.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD …")
    return parser.parse_args(argv)


def execute(command: Sequence[str], environ: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(command[0], list(command), environ)
    except OSError as error:
        raise BootstrapError(f"{command[0]} can't be run: {error.strerror}") from error


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    command = getattr(options, "command", [])
    if command[:1] == ["--"]:  # argparse keeps it up to Python 3.12 and drops it after that
        command = command[1:]
    try:
        java = find_java(os.environ) if options.no_java else ensure_java(os.environ)
        if options.with_chromium:
            ensure_chromium(os.environ)
        here = Path.cwd()
        ensure_environment()
        os.chdir(here)
        if command:
            execute(command, clean_environment(os.environ, VENV, java))
    except BootstrapError as error:
        say(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
