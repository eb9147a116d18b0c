"""A plan to begin with: it says what is usual, and in comments what else there is."""

from contextlib import suppress
from pathlib import Path

from tracekit.base import RecordingError, ToolError, UsageError, git, require_apart, shipped
from tracekit.nightly.plan.document import OWN, SHARED, has_plan

STARTER = shipped("templates") / "nightly" / OWN
_COMMIT = "1a2b3c4d5e6f"
_FIRST = "# What it is measured against"
_NO_COMMIT = """\
# This folder is in no git repository that has a commit, so there is nothing to measure against yet,
# and nothing is judged. Name a commit below, or another interpreter.
"""


def starter(commit: str) -> str:
    """Return a plan to begin with, which measures against a commit; against nothing without one."""
    text = STARTER.read_text(encoding="utf-8")
    if commit:
        return text.replace(_COMMIT, commit)
    reference = '[nightly.capture.reference]\nrevision = "'
    without = text.replace(reference, "# " + reference.replace("\n", "\n# "))
    return without.replace(_FIRST, f"{_NO_COMMIT}{_FIRST}").replace(_COMMIT, "COMMIT")


def write_starter(file: Path = Path(OWN)) -> Path:
    """Write a plan to begin with, and return its file.

    It measures against the commit that stands now, where the folder is in a repository.

    Raises:
        UsageError: There is a plan already, for nothing is written over; or no folder to write to.
        RecordingError: It cannot be written.
    """
    shared = file.parent / SHARED
    if file.name == SHARED or has_plan(shared):
        raise UsageError(
            f"{shared} has a plan, or is for others as well: a new one is a file of its own.",
            hint=f"`tracekit nightly --init {OWN}` writes it where there is none.",
        )
    require_apart([file])
    text = starter(_commit(file.parent))
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise UsageError(f"{file} is there already.", hint="Nothing was written over.") from None
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"There is no folder {file.parent}.", hint="Make it first.") from None
    except OSError as error:
        raise RecordingError(
            f"{file} cannot be written: {error.strerror}.",
            hint="Make room, or name another place that you may write to.",
        ) from error
    return file


def _commit(folder: Path) -> str:
    """Return the first digits of the commit that stands in a folder; empty where none does."""
    with suppress(ToolError):
        found = git(folder, "rev-parse", "--verify", "--quiet", "--short=12", "HEAD")
        return found.stdout.strip() if found.returncode == 0 else ""
    return ""
