"""Run git in the repository of a folder, without a network and without questions to the user."""

import os
import subprocess
from pathlib import Path

from tracekit.base import processes
from tracekit.base.errors import ToolError

REPOSITORY_VARIABLES = frozenset(
    f"GIT_{name}"
    for name in (
        *("DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "COMMON_DIR", "NAMESPACE", "SHALLOW_FILE"),
        *("OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "GRAFT_FILE", "REPLACE_REF_BASE"),
        *("CONFIG", "CONFIG_PARAMETERS", "CONFIG_COUNT", "IMPLICIT_WORK_TREE"),
    )
)
"""Variables that point git to a repository, whatever folder it is in; hooks set them."""
# Hooks are for a person's commands; a monitor of files would stay behind as a process.
_SETTINGS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_SECONDS = 300.0
_QUOTED = 1000


def run(
    folder: Path, *arguments: str, seconds: float = _SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, in English, without hooks and without prompts.

    Variables that point it to another repository are left out. Raise ToolError if there is no git,
    or if it took more than `seconds`; then it was ended, and all that it started.
    """
    argv = ("git", "-C", str(folder), *_SETTINGS, *arguments)
    env = dict(os.environ)
    for name in REPOSITORY_VARIABLES:
        env.pop(name, None)
    env["LC_ALL"] = "C"
    env["GIT_TERMINAL_PROMPT"] = "0"
    env["GIT_NO_LAZY_FETCH"] = "1"
    try:
        return processes.run(argv, seconds, env=env)
    except OSError as error:
        raise ToolError(
            f"git cannot be started: {error.strerror}.",
            hint="A reference that is a revision is checked out by git; install it.",
        ) from error
    except subprocess.TimeoutExpired:
        line = " ".join(arguments)
        raise ToolError(f"git {line} did not end within {seconds:g} s and was ended.") from None


def check_output(folder: Path, *arguments: str) -> str:
    """Run git and return its output; raise ToolError with its complaint if it fails."""
    outcome = run(folder, *arguments)
    if outcome.returncode != 0:
        raise ToolError(f"git {' '.join(arguments)} failed: {complaint(outcome)}")
    return outcome.stdout


def complaint(outcome: subprocess.CompletedProcess[str]) -> str:
    """Return the end of git's output when it failed, or its exit status."""
    words = (outcome.stderr or outcome.stdout).strip()
    return words[-_QUOTED:] or f"exit status {outcome.returncode}"
