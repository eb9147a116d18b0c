"""The repository that holds a plan."""

from dataclasses import dataclass
from pathlib import Path

from tracekit.base.errors import UsageError
from tracekit.base.git import complaint, git


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
        said = complaint(found)  # it may be another reason, as that the folder is not ours
        why = "" if not said or "not a git repository" in said else f": {said.rstrip('.')}"
        raise UsageError(
            f"A reference that is a revision needs a git repository, and {folder} is in none{why}.",
            hint="Keep the plan in the repository, or give the reference by `python`.",
        )
    return Repository(Path(found.stdout.strip()).resolve())
