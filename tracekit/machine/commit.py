"""Which commit of a work tree was run, and whether more may have been run than it holds."""

import re
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path, PurePosixPath

from tracekit.base import ToolError, git

_SECONDS = 10
_DOCUMENTS = {"recording.json", "night.json"}  # each names its folder as one that tracekit made
_BUNDLES = (".trace", ".gputrace")
# A plan is no source: a night knows it by its digest.
_REPORT = re.compile(
    r"tracekit\.toml|.*\.((db|sqlite3?)(-journal|-shm|-wal)?|html|log(\.\d+)?|md|prom|sarif|xml)"
)


def git_commit(folder: Path) -> str:
    """Return the commit of the folder's work tree, and what more may have been run than it holds.

    It ends with -dirty if tracked files changed, or if there are untracked ones that are not
    ignored and that tracekit did not write; with -unknown if git could not tell in time. Empty
    where there is no repository, no commit or no git.
    """
    commit = (_ask_git(folder, "rev-parse", "--verify", "HEAD") or "").strip()
    if not commit:
        return ""
    status = _ask_git(folder, "status", "--porcelain", "-z", "--untracked-files=all")
    if status is None:
        return f"{commit}-unknown"
    return f"{commit}-dirty" if is_dirty(status) else commit


def is_dirty(status: str) -> bool:
    """Tell whether what `git status --porcelain -z` lists may change what is run.

    Plans, recordings, nights and reports are left out: to write them changes nothing that is run.
    """
    entries = [entry for entry in status.split("\0") if entry]
    untracked = [PurePosixPath(entry[3:]) for entry in entries if entry.startswith("?? ")]
    if len(untracked) < len(entries):
        return True
    runs = {file.parent for file in untracked if file.name in _DOCUMENTS} - {PurePosixPath()}
    return not all(_is_output(file, runs) for file in untracked)


def _is_output(file: PurePosixPath, runs: AbstractSet[PurePosixPath]) -> bool:
    """Tell whether an untracked file is hidden, or one that tracekit wrote or reads."""
    return (
        any(part.startswith(".") or part.endswith(_BUNDLES) for part in file.parts)
        or not runs.isdisjoint(file.parents)
        or _REPORT.fullmatch(file.name) is not None
    )


def _ask_git(folder: Path, *arguments: str) -> str | None:
    """Return what git says; None where it fails, is not there or takes too long."""
    with suppress(ToolError):
        result = git(folder, *arguments, seconds=_SECONDS)
        return result.stdout if result.returncode == 0 else None
    return None
