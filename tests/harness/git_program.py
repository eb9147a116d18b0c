"""Git, for tests: with the settings of gitconfig, and skipped by name where there is none."""

import shutil
import subprocess
from pathlib import Path

import pytest


def require_git() -> None:
    """Skip the test that asks where there is no git."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it says, without space around it."""
    require_git()
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
