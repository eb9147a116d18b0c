"""A plan to begin with: it says what is usual, and in comments what else there is."""

from contextlib import ExitStack, suppress
from pathlib import Path

from tracekit.base import RecordingError, ToolError, UsageError, git, require_apart
from tracekit.nightly.plan.document import OWN, SHARED, has_plan

STARTER = """\
# What `tracekit nightly` measures. Every key: docs/reference/night-plan.md
# `tracekit nightly --dry-run` says what would run, and how long it takes.

[nightly]
budget = "2h"              # a night that takes longer is stopped, and kept as partial
wait = "5m"                # for the machine to be idle and cool, before each capture
# output = "bench/nights"  # a folder for each night
# history = "sqlite:///bench/nights/history.db"

# What holds for every capture that does not say otherwise.
[nightly.defaults]
pairs = 10                 # of processes, candidate and reference, measured in turns
turn = "300ms"
traced = 1                 # captures of each side that are traced as well

[[nightly.capture]]
name = "decode"
workload = "paged"         # `tracekit workloads` lists them
parameters = { batch = 16 }
# checks = [["python", "-m", "pytest", "-q", "tests/parity"]]
# fail-on = ["pipeline-churn"]

# What it is measured against, in the same session: a commit, another interpreter, or other work.
# Against a commit that stays, what is lost night by night adds up. When a change is meant, accept
# it (`tracekit baseline accept`), or name a newer commit. Instead of it, `merge-base = "main"` is
# where this branch left main, and `previous-night = true` what the night before measured; then a
# fixed anchor is measured as well, every 7 nights and once nights have lost half of a threshold.
[nightly.capture.reference]
revision = "1a2b3c4d5e6f"  # the commit that stood when this was written
# setup = ["uv", "sync"]   # makes the environment of the commit's worktree
# python = ".venv/bin/python"
# workload = "sdpa"

# What decides: 0.03 is 3 % for the worse. Without this table step_p50 does.
[nightly.capture.metrics]
tokens_per_second = 0.03
step_p99 = { threshold = 0.10, gate = false }
"""
_COMMIT = "1a2b3c4d5e6f"
_FIRST = "# What it is measured against"
_NO_COMMIT = """\
# This folder is in no git repository that has a commit, so there is nothing to measure against yet,
# and nothing is judged. Name a commit below, or another interpreter.
"""


def starter(commit: str) -> str:
    """Return a plan to begin with, which measures against a commit; against nothing without one."""
    if commit:
        return STARTER.replace(_COMMIT, commit)
    reference = '[nightly.capture.reference]\nrevision = "'
    without = STARTER.replace(reference, "# " + reference.replace("\n", "\n# "))
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
    try:
        with file.open("x", encoding="utf-8") as stream, ExitStack() as stack:
            stack.callback(file.unlink)  # where writing fails, no part of it is left
            stream.write(starter(_commit(file.parent)))
            stream.flush()
            stack.pop_all()
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
