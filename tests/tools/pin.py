"""Pin what a fresh clone and CI install: `just pin` takes the newest versions within the bounds.

The versions stand in `pyproject.toml`, as constraints of uv, so that `uv run` in a fresh clone
installs them; and in `.ci/requirements.txt`, with the hashes of their files, for `uv pip sync`.
"""

import subprocess
import tempfile
from pathlib import Path

import tomlkit
from tomlkit.items import Array

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "pyproject.toml"
REQUIREMENTS = ROOT / ".ci" / "requirements.txt"
EXPORT = [
    *("uv", "export", "--quiet", "--no-emit-index-url", "--no-emit-project"),
    *("--all-extras", "--all-groups", "--no-annotate", "--no-header"),
]


def main() -> None:
    """Resolve without the present pins, and write what came out to both files."""
    document = tomlkit.parse(PROJECT.read_text())
    settings = document["tool"]["uv"]
    settings.pop("constraint-dependencies", None)
    settings["constraint-dependencies"] = _as_array(_resolve(tomlkit.dumps(document)))
    PROJECT.write_text(tomlkit.dumps(document))
    subprocess.run(["uv", "lock", "--quiet"], cwd=ROOT, check=True)
    hashed = subprocess.run(EXPORT, cwd=ROOT, check=True, capture_output=True, text=True)
    REQUIREMENTS.write_text(hashed.stdout)


def _resolve(project: str) -> list[str]:
    """Return a line `name==version; marker` for each package that a project file resolves to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text(project)
        export = [*EXPORT, "--no-hashes"]
        listed = subprocess.run(export, cwd=folder, check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


def _as_array(lines: list[str]) -> Array:
    array = tomlkit.array()
    array.extend(lines)
    return array.multiline(multiline=True)


if __name__ == "__main__":
    main()
