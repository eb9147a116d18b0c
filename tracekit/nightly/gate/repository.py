"""Files by their names in a repository, for reports that others read."""

import os
from pathlib import Path


def in_repository(file: Path) -> str:
    """Return a file's path in its repository, with slashes; outside of one its name alone.

    A whole path would name a person's folders in a report that others read.
    """
    file = file.resolve()
    roots: list[Path] = []
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace:
        roots.append(Path(workspace).resolve())
    roots += [parent for parent in file.parents if (parent / ".git").exists()]
    roots.append(Path.cwd().resolve())
    for root in roots:
        if file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return file.name
