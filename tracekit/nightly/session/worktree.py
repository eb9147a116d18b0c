"""Work trees of other revisions: each checked out and set up once, and kept for later nights.

They lie in tracekit's notes, one folder for a commit and a way to set it up. Beside each lie its
lock, which whoever uses it holds, what its setup said, and a note that it is whole. The note is
written last, so a work tree that was made by half is made again.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tracekit.base import (
    REPOSITORY_VARIABLES,
    RecordingError,
    ToolError,
    TracekitError,
    UsageError,
    complaint,
    done,
    exit_words,
    git,
    make_timestamp,
    notes_folder,
    open_lock_file,
    save,
    system,
)
from tracekit.nightly.history.night import ANCHORED, ReferenceKind
from tracekit.nightly.plan.plan import Capture, Reference
from tracekit.nightly.session.program import Bounds, Program, last_words, run


@dataclass(frozen=True)
class Repository:
    """A repository with a work tree; `top` is where that begins."""

    top: Path

    def commit(self, revision: str) -> str:
        """Return the commit that a revision names, in full."""
        commit_expression = f"{revision}^{{commit}}"
        answer = git(
            self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", commit_expression
        )
        if answer.returncode == 0:
            return answer.stdout.strip()
        raise UsageError(
            f"The repository {self.top} has no revision {revision!r}.",
            hint="Give a commit, branch or tag that `git rev-parse` knows here; `git fetch --tags` "
            "may bring it, and in a shallow clone `git fetch --unshallow`.",
        )

    def branch_point(self, branch: str) -> str:
        """Return the commit at which HEAD left a branch."""
        answer = git(self.top, "merge-base", "HEAD", self.commit(branch))
        if answer.returncode != 0:
            raise UsageError(
                f"HEAD and {branch} have no commit in common in the repository {self.top}.",
                hint="A shallow clone may lack it: `git fetch --unshallow` brings the rest.",
            )
        return answer.stdout.strip()

    def has_tag(self, name: str) -> bool:
        """Tell whether there is a tag of that name: a revision that stays."""
        return git(self.top, "show-ref", "--quiet", "--verify", f"refs/tags/{name}").returncode == 0

    def find_relative_path(self, path: Path) -> Path | None:
        """Return the path from the top of the work tree; None where it lies outside."""
        full_path = path.resolve()
        return full_path.relative_to(self.top) if full_path.is_relative_to(self.top) else None


def commit_of(reference: Reference, repository: Repository) -> str:
    """Return the commit that a reference is now; without a name HEAD, as in the first night."""
    if reference.merge_base:
        return repository.branch_point(reference.merge_base)
    return repository.commit(reference.revision or "HEAD")


def kind_of(capture: Capture, folder: Path) -> ReferenceKind:
    """Return which kind of reference a capture has; empty where it is no commit."""
    reference = capture.reference
    if reference is None or not reference.has_commit:
        return ""
    if capture.name.endswith(ANCHORED):
        return "anchor"
    if reference.merge_base:
        return "branch point"
    if reference.previous_night:
        return "moving"
    plan_repository, revision = repository(folder), reference.revision
    fixed = plan_repository.commit(revision).startswith(revision) or plan_repository.has_tag(
        revision
    )
    return "fixed" if fixed else "moving"


def repository(folder: Path) -> Repository:
    """Return the repository whose work tree holds a folder."""
    answer = git(folder, "rev-parse", "--show-toplevel")
    if answer.returncode != 0 or not answer.stdout.strip():
        message = complaint(answer)  # it may be another reason, as that the folder is not ours
        reason = (
            "" if not message or "not a git repository" in message else f": {message.rstrip('.')}"
        )
        raise UsageError(
            f"A reference that is a revision needs a git repository, and {folder} is in "
            f"none{reason}.",
            hint="Keep the plan in the repository, or give the reference by `python`.",
        )
    return Repository(Path(answer.stdout.strip()).resolve())


KEPT = 4
"""Work trees of a repository that are kept when another one is made, the last used ones."""
_SETUP = 3600.0
_POLL = 0.1
# What points a Python to the modules, or the environment, of another one.
OF_ANOTHER = frozenset({"VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "PYTHONHOME", "PYTHONPATH"})


@dataclass(frozen=True)
class Worktree:
    """A revision's own folder, and the names beside it; `setup` makes its environment."""

    repository: Repository
    commit: str
    setup: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The work tree."""
        digest = hashlib.sha256(msgspec.json.encode(self.setup)).hexdigest()[:8]
        return _place(self.repository) / f"{self.commit[:12]}-{digest}"

    @property
    def note(self) -> Path:
        """Says that it is whole."""
        return self.folder.with_suffix(".json")

    @property
    def log(self) -> Path:
        """What its setup said."""
        return self.folder.with_suffix(".log")

    @property
    def is_whole(self) -> bool:
        """Whether it is there as it was made: set up, at its commit, its files not changed.

        One of which git cannot tell that is not.
        """
        with suppress(ToolError):
            if self.note.is_file() and self.folder.is_dir():
                head = done(self.folder, "rev-parse", "--verify", "--quiet", "HEAD")
                return head.strip() == self.commit and not self.changed_files
        return False

    @property
    def changed_files(self) -> str:
        """What of its tracked files is not as in the commit; empty where all is."""
        arguments = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
        return done(self.folder, *arguments).strip()


@contextmanager
def checked_out(worktree: Worktree, bounds: Bounds) -> Generator[Path]:
    """Make the work tree if it is not whole, and keep it while it is used."""
    with ExitStack() as stack:
        handle = stack.enter_context(_lock_file(worktree.folder))
        _take(handle, system.SHARED, worktree, bounds)
        if not worktree.is_whole:
            system.flock(handle, system.UNLOCKED)
            _take(handle, system.EXCLUSIVE, worktree, bounds)
            if not worktree.is_whole:  # somebody else may have made it meanwhile
                _remove(worktree.repository, worktree.folder)
                _make(worktree, bounds)
            system.flock(handle, system.SHARED)
            _prune(worktree)
        with suppress(OSError):
            os.utime(worktree.note)
        yield worktree.folder


def _place(repository: Repository) -> Path:
    digest = hashlib.sha256(os.fsencode(repository.top)).hexdigest()[:12]
    return notes_folder().resolve() / "worktrees" / digest


def _make(worktree: Worktree, bounds: Bounds) -> None:
    repository, folder = worktree.repository, worktree.folder
    done(repository.top, "worktree", "prune")
    done(repository.top, "worktree", "add", "--force", "--detach", str(folder), worktree.commit)
    if worktree.setup:
        _set_up(worktree, bounds)
    if changed := worktree.changed_files:
        raise ToolError(
            f"The setup of revision {worktree.commit[:12]} changed files of the commit, so what "
            f"would be measured is not that commit: {changed.splitlines()[0].strip()}",
            hint="Let it write only files that the repository does not track.",
        )
    save(
        worktree.note,
        {"commit": worktree.commit, "setup": worktree.setup, "made": make_timestamp()},
    )


def _set_up(worktree: Worktree, bounds: Bounds) -> None:
    excluded_names = REPOSITORY_VARIABLES | OF_ANOTHER
    env = {name: value for name, value in os.environ.items() if name not in excluded_names}
    worktree.log.unlink(missing_ok=True)
    program = Program(worktree.setup, env, worktree.folder, worktree.log)
    status = run(program, bounds, _SETUP)
    if status != 0:
        raise ToolError(
            f"The setup of revision {worktree.commit[:12]}, {program.line}, ended with "
            f"{exit_words(status)}.{last_words(worktree.log)}",
            hint=f"All that it said is in {worktree.log}.",
        )


def _remove(repository: Repository, folder: Path) -> None:
    """Remove a work tree and what git knows of it, unless somebody locked it."""
    removed = git(repository.top, "worktree", "remove", "--force", str(folder))
    if "locked" in removed.stderr:
        raise ToolError(f"The work tree {folder} cannot be made again: {complaint(removed)}")
    try:
        folder.with_suffix(".json").unlink(missing_ok=True)
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise RecordingError(f"{folder} cannot be removed: {error.strerror}.") from error


def _prune(worktree: Worktree) -> None:
    """Remove all but the last used work trees of the repository, unless somebody uses them."""
    notes = _place(worktree.repository).glob("*.json")
    for note in sorted(notes, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        folder = note.with_suffix("")
        with suppress(TracekitError, OSError), _lock_file(folder) as handle:
            system.flock(handle, system.EXCLUSIVE | system.AT_ONCE)
            _remove(worktree.repository, folder)
            folder.with_suffix(".log").unlink(missing_ok=True)


def _lock_file(folder: Path) -> AbstractContextManager[int]:
    reason = "Revisions are checked out beside it; TRACEKIT_CACHE names another place."
    return open_lock_file(folder.with_suffix(".lock"), reason)


def _take(handle: int, how: int, worktree: Worktree, bounds: Bounds) -> None:
    """Lock, once nobody else holds a lock that stands against it."""
    while True:
        try:
            system.flock(handle, how | system.AT_ONCE)
        except BlockingIOError:
            bounds.require_time(f"while somebody else made {worktree.folder}")
            time.sleep(_POLL)
        else:
            return
