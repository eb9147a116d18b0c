"""Captures of naps, their processes, and a repository of two commits."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from children import running, started_since
from naps import NAPS, prepared_in, undescribed_in, write_naps
from tracekit.nightly.session.program import Bounds
from tracekit.record.supervisor import Supervisor


@pytest.fixture(scope="session", autouse=True)
def own_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the settings of whoever runs the tests away from the repositories of tests."""
    config = tmp_path_factory.mktemp("git") / "config"
    user = "[user]\nname = Test\nemail = test@example.org\n[init]\ndefaultBranch = main\n"
    config.write_text(f'{user}[protocol "file"]\nallow = always\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(config))
        patch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
        yield


@pytest.fixture
def workloads(tmp_path: Path) -> Path:
    """A folder with one workload, which sleeps."""
    return write_naps(tmp_path)


@pytest.fixture
def night(tmp_path: Path) -> Path:
    return tmp_path / "nights" / "night"


@pytest.fixture
def ready(workloads: Path, tmp_path: Path) -> Callable[..., Any]:
    """Prepare a capture of naps, for a with statement; nothing is started."""
    return lambda **values: undescribed_in(tmp_path, **values)


@pytest.fixture
def described(workloads: Path, tmp_path: Path) -> Callable[..., Any]:
    """Prepare a capture of naps, and ask its interpreters what they are."""
    return lambda **values: prepared_in(tmp_path, **values)


@pytest.fixture
def bounds(tmp_path: Path) -> Iterator[Bounds]:
    with Supervisor(tmp_path) as supervisor:
        yield Bounds(supervisor)


@pytest.fixture
def children() -> Iterator[Callable[[], list[psutil.Process]]]:
    """Return the processes that this one started since; none may be left after the test."""
    before = running()
    yield lambda: started_since(before)
    left = started_since(before)
    assert not left, f"left behind: {[process.cmdline() for process in left]}"


@pytest.fixture
def git() -> Callable[..., str]:
    def run(folder: Path, *arguments: str) -> str:
        argv = ["git", "-C", str(folder), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    return run


@pytest.fixture
def repository(workloads: Path, git: Callable[..., str]) -> Path:
    """Make a repository of the plan's folder, whose tag `fast` is the first of two commits.

    HEAD sleeps twenty times as long.
    """
    top = workloads.parent
    git(top, "init", "--quiet")
    (top / "module_of_plan.py").write_text("SPEED = 'fast'\n")
    (top / ".gitignore").write_text("__pycache__/\n")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "-m", "fast")
    git(top, "tag", "fast")
    (workloads / "naps.py").write_text(NAPS.replace("slow: float = 1.0", "slow: float = 20.0"))
    (top / "module_of_plan.py").write_text("SPEED = 'slow'\n")
    git(top, "commit", "--quiet", "--all", "-m", "slow")
    return top


@pytest.fixture
def interpreter(tmp_path: Path) -> Callable[..., Path]:
    """Make a program that is this interpreter with another environment."""

    def make(**environment: str) -> Path:
        place = tmp_path / "elsewhere" / "python"
        place.parent.mkdir(exist_ok=True)
        lines = [f"export {key}={value!r}" for key, value in environment.items()]
        place.write_text("\n".join(["#!/bin/sh", *lines, f'exec {sys.executable} "$@"', ""]))
        place.chmod(0o755)
        return place

    return make
