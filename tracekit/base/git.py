"""Asks git of the repository that holds a folder; never of a network, and never a person."""

import os
import subprocess
from pathlib import Path

from tracekit.base.errors import ToolError
from tracekit.base.processes import run

REPOSITORY_VARIABLES = frozenset(
    f"GIT_{name}"
    for name in (
        *("DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "COMMON_DIR", "NAMESPACE", "SHALLOW_FILE"),
        *("OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "GRAFT_FILE", "REPLACE_REF_BASE"),
        *("CONFIG", "CONFIG_PARAMETERS", "CONFIG_COUNT", "IMPLICIT_WORK_TREE"),
    )
)
"""What points git to a repository, whatever folder it is in; hooks set them."""
# Hooks are for what a person does; a monitor of files would stay behind as a process.
_SETTINGS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_SECONDS = 300.0
_QUOTED = 1000


def git(
    folder: Path, *arguments: str, seconds: float = _SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, in English, without hooks, and let it ask nobody anything.

    Variables that point it to another repository are left out. Raise ToolError where there is no
    git, or where it took more than `seconds`; then it was ended, and all that it started.
    """
    argv = ("git", "-C", str(folder), *_SETTINGS, *arguments)
    kept_variables = {
        name: value for name, value in os.environ.items() if name not in REPOSITORY_VARIABLES
    }
    env = kept_variables | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    try:
        return run(argv, seconds, env=env)
    except OSError as error:
        raise ToolError(
            f"git cannot be started: {error.strerror}.",
            hint="A reference that is a revision is checked out by git; install it.",
        ) from error
    except subprocess.TimeoutExpired:
        line = " ".join(arguments)
        raise ToolError(f"git {line} did not end within {seconds:g} s and was ended.") from None


def done(folder: Path, *arguments: str) -> str:
    """Run git and return what it says; raise ToolError with its words where it fails."""
    outcome = git(folder, *arguments)
    if outcome.returncode != 0:
        raise ToolError(f"git {' '.join(arguments)} failed: {complaint(outcome)}")
    return outcome.stdout


def complaint(outcome: subprocess.CompletedProcess[str]) -> str:
    """Return what git said when it failed."""
    return (outcome.stderr or outcome.stdout).strip()[
        -_QUOTED:
    ] or f"exit status {outcome.returncode}"
