"""The commit of a work tree that was run, and whether the run may have included other changes."""

import re
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path, PurePosixPath

from tracekit.base import ToolError, git

_SECONDS = 10
_DOCUMENTS = {"recording.json", "night.json"}  # each names its folder as one that tracekit made
_BUNDLES = (".trace", ".gputrace")
# A plan is not a source: a night knows it by its digest.
_REPORT = re.compile(
    r"tracekit\.toml|.*\.((db|sqlite3?)(-journal|-shm|-wal)?|html|log(\.\d+)?|md|prom|sarif|xml)"
)


def git_commit(folder: Path) -> str:
    """Return the commit of the folder's work tree, with a suffix for other changes.

    It ends with -dirty if tracked files changed, or if there are untracked ones that are not
    ignored and that tracekit did not write; with -unknown if git did not answer in time. It is
    empty without a repository, a commit or git.
    """
    commit = (_ask_git(folder, "rev-parse", "--verify", "HEAD") or "").strip()
    if not commit:
        return ""
    status = _ask_git(folder, "status", "--porcelain", "-z", "--untracked-files=all")
    if status is None:
        return f"{commit}-unknown"
    if is_dirty(status):
        return f"{commit}-dirty"
    return commit


def is_dirty(status: str) -> bool:
    """Return whether the files that `git status --porcelain -z` lists may change a run.

    Plans, recordings, nights and reports are left out: writing them changes nothing that is run.
    """
    entries = [entry for entry in status.split("\0") if entry]
    untracked = [PurePosixPath(entry[3:]) for entry in entries if entry.startswith("?? ")]
    if len(untracked) < len(entries):
        return True
    runs = {file.parent for file in untracked if file.name in _DOCUMENTS}
    runs.discard(PurePosixPath())
    return not all(_is_output(file, runs) for file in untracked)


def _is_output(file: PurePosixPath, runs: AbstractSet[PurePosixPath]) -> bool:
    """Return whether an untracked file is hidden, or one that tracekit wrote or reads."""
    for part in file.parts:
        if part.startswith(".") or part.endswith(_BUNDLES):
            return True
    return not runs.isdisjoint(file.parents) or _REPORT.fullmatch(file.name) is not None


def _ask_git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git; None if it fails, is missing or takes too long."""
    with suppress(ToolError):
        result = git.run(folder, *arguments, seconds=_SECONDS)
        if result.returncode == 0:
            return result.stdout
    return None
