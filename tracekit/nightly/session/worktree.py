"""Work trees of other revisions: each checked out and set up once, and kept for later nights.

They lie in tracekit's notes, one folder for a commit and a setup. Next to each are its lock, which
every user holds, the output of its setup, and a note that it is whole. The note is written last, so
a work tree that was left unfinished is made again.
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
    RecordingError,
    ToolError,
    TracekitError,
    UsageError,
    documents,
    files,
    git,
    locks,
    make_timestamp,
    processes,
    system,
)
from tracekit.nightly.history.night import ANCHORED, ReferenceKind
from tracekit.nightly.plan.plan import Capture, Reference
from tracekit.nightly.session.program import Bounds, Program, last_words, run


@dataclass(frozen=True)
class Repository:
    """A repository with a work tree, whose top folder is `top`."""

    top: Path

    def commit(self, revision: str) -> str:
        """Return the full commit that a revision names."""
        commit_expression = f"{revision}^{{commit}}"
        answer = git.run(
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
        answer = git.run(self.top, "merge-base", "HEAD", self.commit(branch))
        if answer.returncode != 0:
            raise UsageError(
                f"HEAD and {branch} have no commit in common in the repository {self.top}.",
                hint="A shallow clone may lack it: `git fetch --unshallow` brings the rest.",
            )
        return answer.stdout.strip()

    def has_tag(self, name: str) -> bool:
        """Tell whether there is a tag of that name: a revision that stays."""
        answer = git.run(self.top, "show-ref", "--quiet", "--verify", f"refs/tags/{name}")
        return answer.returncode == 0

    def find_relative_path(self, path: Path) -> Path | None:
        """Return the path from the top of the work tree; None if it lies outside."""
        full_path = path.resolve()
        if not full_path.is_relative_to(self.top):
            return None
        return full_path.relative_to(self.top)


def commit_of(reference: Reference, repository: Repository) -> str:
    """Return the commit that a reference is now; without a name HEAD, as in the first night."""
    if reference.merge_base:
        return repository.branch_point(reference.merge_base)
    return repository.commit(reference.revision or "HEAD")


def kind_of(capture: Capture, folder: Path) -> ReferenceKind:
    """Return the kind of a capture's reference; empty if it is not a commit."""
    reference = capture.reference
    if reference is None or not reference.has_commit:
        return ""
    if capture.name.endswith(ANCHORED):
        return "anchor"
    if reference.merge_base:
        return "branch point"
    if reference.previous_night:
        return "moving"
    if _is_fixed(reference.revision, repository(folder)):
        return "fixed"
    return "moving"


def _is_fixed(revision: str, repository: Repository) -> bool:
    """Tell whether a revision always names the same commit."""
    full_name = repository.commit(revision)
    return full_name.startswith(revision) or repository.has_tag(revision)


def repository(folder: Path) -> Repository:
    """Return the repository whose work tree holds a folder."""
    answer = git.run(folder, "rev-parse", "--show-toplevel")
    if answer.returncode == 0 and answer.stdout.strip():
        return Repository(Path(answer.stdout.strip()).resolve())
    message = git.complaint(answer)
    reason = ""
    if message and "not a git repository" not in message:
        # There may be another reason, such as a folder that belongs to somebody else.
        reason = f": {message.rstrip('.')}"
    raise UsageError(
        f"A reference that is a revision needs a git repository, and {folder} is in none{reason}.",
        hint="Keep the plan in the repository, or give the reference by `python`.",
    )


KEPT = 4
"""The number of work trees of a repository that are kept, the last used ones."""
_SETUP = 3600.0
_POLL = 0.1
# Variables that point a Python to the modules, or the environment, of another one.
OF_ANOTHER = frozenset({"VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "PYTHONHOME", "PYTHONPATH"})


@dataclass(frozen=True)
class Worktree:
    """The folder of a revision, and the files next to it; `setup` makes its environment."""

    repository: Repository
    commit: str
    setup: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The work tree."""
        encoded_setup = msgspec.json.encode(self.setup)
        digest = hashlib.sha256(encoded_setup).hexdigest()[:8]
        return _place(self.repository) / f"{self.commit[:12]}-{digest}"

    @property
    def note(self) -> Path:
        """The note that it is whole."""
        return self.folder.with_suffix(".json")

    @property
    def log(self) -> Path:
        """The output of its setup."""
        return self.folder.with_suffix(".log")

    @property
    def is_whole(self) -> bool:
        """Whether it is there as it was made: set up, at its commit, its files not changed.

        It is not whole if git cannot tell.
        """
        with suppress(ToolError):
            if self.note.is_file() and self.folder.is_dir():
                head = git.check_output(self.folder, "rev-parse", "--verify", "--quiet", "HEAD")
                return head.strip() == self.commit and not self.changed_files
        return False

    @property
    def changed_files(self) -> str:
        """Git's lines on tracked files that differ from the commit; empty without any."""
        arguments = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
        return git.check_output(self.folder, *arguments).strip()


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
    encoded_top = os.fsencode(repository.top)
    digest = hashlib.sha256(encoded_top).hexdigest()[:12]
    return files.notes_folder().resolve() / "worktrees" / digest


def _make(worktree: Worktree, bounds: Bounds) -> None:
    repository = worktree.repository
    folder = worktree.folder
    git.check_output(repository.top, "worktree", "prune")
    folder_name = str(folder)
    git.check_output(
        repository.top, "worktree", "add", "--force", "--detach", folder_name, worktree.commit
    )
    if worktree.setup:
        _set_up(worktree, bounds)
    changed = worktree.changed_files
    if changed:
        raise ToolError(
            f"The setup of revision {worktree.commit[:12]} changed files of the commit, so a "
            f"measurement would not be of that commit: {changed.splitlines()[0].strip()}",
            hint="Let it write only files that the repository does not track.",
        )
    made = make_timestamp()
    documents.save(
        worktree.note,
        {"commit": worktree.commit, "setup": worktree.setup, "made": made},
    )


def _set_up(worktree: Worktree, bounds: Bounds) -> None:
    env = dict(os.environ)
    for name in git.REPOSITORY_VARIABLES | OF_ANOTHER:
        env.pop(name, None)
    worktree.log.unlink(missing_ok=True)
    program = Program(worktree.setup, env, worktree.folder, worktree.log)
    status = run(program, bounds, _SETUP)
    if status != 0:
        raise ToolError(
            f"The setup of revision {worktree.commit[:12]}, {program.line}, ended with "
            f"{processes.exit_words(status)}.{last_words(worktree.log)}",
            hint=f"Its whole output is in {worktree.log}.",
        )


def _remove(repository: Repository, folder: Path) -> None:
    """Remove a work tree and git's record of it; raise ToolError if somebody locked it."""
    removed = git.run(repository.top, "worktree", "remove", "--force", str(folder))
    if "locked" in removed.stderr:
        raise ToolError(f"The work tree {folder} cannot be made again: {git.complaint(removed)}")
    try:
        folder.with_suffix(".json").unlink(missing_ok=True)
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise RecordingError(f"{folder} cannot be removed: {error.strerror}.") from error


def _prune(worktree: Worktree) -> None:
    """Remove all but the last used work trees of the repository, except those in use."""
    notes = list(_place(worktree.repository).glob("*.json"))
    notes.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for note in notes[KEPT:]:
        folder = note.with_suffix("")
        with suppress(TracekitError, OSError), _lock_file(folder) as handle:
            system.flock(handle, system.EXCLUSIVE | system.AT_ONCE)
            _remove(worktree.repository, folder)
            folder.with_suffix(".log").unlink(missing_ok=True)


def _lock_file(folder: Path) -> AbstractContextManager[int]:
    reason = "Revisions are checked out next to it; TRACEKIT_CACHE names another place."
    return locks.open_lock_file(folder.with_suffix(".lock"), reason)


def _take(handle: int, how: int, worktree: Worktree, bounds: Bounds) -> None:
    """Lock, once nobody else holds a conflicting lock."""
    while True:
        try:
            system.flock(handle, how | system.AT_ONCE)
        except BlockingIOError:
            bounds.require_time(f"while somebody else made {worktree.folder}")
            time.sleep(_POLL)
        else:
            return
