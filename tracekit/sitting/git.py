"""Asks git of the repository that holds a plan; never of a network."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import ToolError, UsageError
from tracekit.sitting.program import sweep

REPOSITORY_VARIABLES = frozenset(
    f"GIT_{name}"
    for name in (
        *("DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "COMMON_DIR", "NAMESPACE", "SHALLOW_FILE"),
        *("OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "GRAFT_FILE", "REPLACE_REF_BASE"),
        *("CONFIG", "CONFIG_PARAMETERS", "CONFIG_COUNT", "IMPLICIT_WORK_TREE"),
    )
)
"""What points git to a repository, whatever folder it is in; hooks set them."""
_SECONDS = 300.0
_QUOTED = 1000


@dataclass(frozen=True)
class Repository:
    """A repository with a work tree; `top` is where that begins."""

    top: Path

    def commit(self, revision: str) -> str:
        """Return the commit that a revision names, in full.

        Raises:
            UsageError: There is no such commit here.
        """
        asked = f"{revision}^{{commit}}"
        found = git(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", asked)
        if found.returncode == 0:
            return found.stdout.strip()
        if git(self.top, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
            raise UsageError(
                f"The repository {self.top} has no revision {revision!r}, and not its whole "
                "history either: it is a shallow clone.",
                hint="`git fetch --unshallow` brings the rest, `git fetch --tags` the tags.",
            )
        raise UsageError(
            f"The repository {self.top} has no revision {revision!r}.",
            hint="Give a commit, branch or tag that `git rev-parse` knows here; "
            "`git fetch --tags` may bring it.",
        )

    def inside(self, path: Path) -> Path | None:
        """Return the path from the top of the work tree; None where it lies outside."""
        try:
            return path.resolve().relative_to(self.top)
        except ValueError:
            return None


def repository(folder: Path) -> Repository:
    """Return the repository whose work tree holds a folder.

    Raises:
        UsageError: None does.
        ToolError: There is no git.
    """
    found = git(folder, "rev-parse", "--show-toplevel")
    if found.returncode != 0 or not found.stdout.strip():
        raise UsageError(
            f"A reference that is a revision needs a git repository, and {folder} is in none: "
            f"{_complaint(found)}",
            hint="Keep the plan in the repository, or give the reference by `python`.",
        )
    return Repository(Path(found.stdout.strip()).resolve())


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, in English, and let it ask nobody anything.

    Variables that point it to another repository are left out.

    Raises:
        ToolError: There is no git, or it did not end in time.
    """
    argv = ("git", "-C", str(folder), *arguments)
    kept = {name: value for name, value in os.environ.items() if name not in REPOSITORY_VARIABLES}
    env = kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"git cannot be started: {error.strerror}.",
            hint="A reference that is a revision is checked out by git; install it.",
        ) from error
    with process:
        try:
            out, err = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            line = " ".join(argv[3:])
            raise ToolError(
                f"git {line} did not end within {_SECONDS:g} s and was ended."
            ) from None
        finally:
            sweep(process)
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def done(folder: Path, *arguments: str) -> str:
    """Run git and return what it says; raise ToolError with its words where it fails."""
    found = git(folder, *arguments)
    if found.returncode != 0:
        raise ToolError(f"git {' '.join(arguments)} failed: {_complaint(found)}")
    return found.stdout


def _complaint(found: subprocess.CompletedProcess[str]) -> str:
    return (found.stderr or found.stdout).strip()[-_QUOTED:] or f"exit status {found.returncode}"
