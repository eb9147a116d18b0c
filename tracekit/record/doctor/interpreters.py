"""The other interpreters of a machine that can import the MLX of this one."""

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Interpreter:
    """One Python: where it comes from, and its path."""

    kind: str
    path: Path


def find_interpreters(
    root: Path = Path("/"),
    home: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[Interpreter]:
    """Yield one Python of uv, of Homebrew and of python.org each, as far as they are there.

    They have the version of this one, because MLX's extension is of one version.
    """
    major, minor = sys.version_info[:2]
    version = f"{major}.{minor}"
    uv_folder = Path(environment.get("UV_PYTHON_INSTALL_DIR", ""))
    if not uv_folder.parts:
        uv_folder = (home or Path.home()) / ".local" / "share" / "uv" / "python"
    framework = root / "Library" / "Frameworks" / "Python.framework" / "Versions" / version
    places = {
        "uv": sorted(uv_folder.glob(f"cpython-{version}.*/bin/python{version}"), reverse=True),
        "homebrew": [root / f"opt/homebrew/opt/python@{version}/bin/python{version}"],
        "python-org": [framework / "bin" / f"python{version}"],
    }
    for kind, paths in places.items():
        for path in paths:
            if path.exists():
                yield Interpreter(kind, path)
                break


def list_package_folders() -> str:
    """Return the folders of this Python's packages, as the variable PYTHONPATH has them."""
    folders = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return os.pathsep.join(dict.fromkeys(folders))
