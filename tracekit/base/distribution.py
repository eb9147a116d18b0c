"""The installed distribution: its name, its version, and the extras that it may have."""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.metadata import distribution as find_distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from tracekit.base.errors import ToolError

DISTRIBUTION = "metaltrace"
"""Its name; the package that is imported and the command are `tracekit`."""


@cache
def own_version() -> str:
    """Return the version of the tracekit that runs, such as "0.1.0"."""
    return version(DISTRIBUTION)


@dataclass(frozen=True)
class Extra:
    """An extra of the distribution: the work that needs it, and the modules that it brings."""

    work: str
    modules: tuple[str, ...]


EXTRAS: Final[Mapping[str, Extra]] = {
    "batch": Extra("A batch", ("dask", "distributed", "fsspec")),
    "load": Extra("Measuring a server", ("httpx2",)),
    "mcp": Extra("The server for agents", ("mcp", "duckdb")),
    "metal": Extra("Measuring on a queue of its own", ("Metal",)),
    "nightly": Extra("The history of nights", ("sqlalchemy", "prometheus_client")),
    "perfetto": Extra("Perfetto's format", ("perfetto",)),
    "plots": Extra("A plot", ("matplotlib",)),
    "postgresql": Extra("A history in PostgreSQL", ("psycopg",)),
    "query": Extra("A query in SQL", ("duckdb",)),
}
"""All extras by name, as `pyproject.toml` declares them; `all` there is their union."""


@dataclass(frozen=True)
class InstalledCopy:
    """The way in which this tracekit was installed.

    `prefix` is the environment. `source` is the folder or file that was installed, None for a
    package of an index; `is_editable` is true for a clone that runs in place.
    """

    prefix: Path
    source: Path | None = None
    is_editable: bool = False
    is_tool: bool = False  # by `uv tool install`
    has_pip: bool = False


def require_extra(name: str) -> None:
    """Raise ToolError, with the command that installs the extra, if a module of it is missing."""
    for module in EXTRAS[name].modules:
        if not _is_present(module):
            raise missing_extra(name, module)


def missing_extra(name: str, module: str) -> ToolError:
    """Return the error of work that needs a module of an extra that is not installed."""
    command = install_command(name, find_installation(), list_extras())
    return ToolError(
        f"{EXTRAS[name].work} needs {module}, which is not installed.",
        hint=f"Install it: {command}",
    )


def install_packages_command(packages: Iterable[str], installation: InstalledCopy) -> str:
    """Return the command that adds packages, which are of no extra, to an installation."""
    names = " ".join(packages)
    prefix = installation.prefix
    if installation.has_pip:
        python = shlex.quote(str(prefix / "bin" / "python"))
        return f"{python} -m pip install {names}"
    return f"uv pip install --python {shlex.quote(str(prefix))} {names}"


def list_extras() -> list[str]:
    """Return the names of the extras that are installed whole."""
    return [name for name, extra in EXTRAS.items() if all(map(_is_present, extra.modules))]


def install_command(
    name: str, installation: InstalledCopy, present_extras: Iterable[str] = ()
) -> str:
    """Return the command that adds an extra to an installation.

    A tool is installed anew, so its command repeats the extras that are present.
    """
    prefix, source = installation.prefix, installation.source
    if installation.is_editable and source is not None and prefix.parent == source:
        return f"uv sync --inexact --extra {name} --project {shlex.quote(str(source))}"
    extras = [name]
    if installation.is_tool:
        extras = sorted({name, *present_extras})
    names = ",".join(extras)
    package = shlex.quote(f"{source or DISTRIBUTION}[{names}]")
    if installation.is_editable:
        package = f"--editable {package}"
    if installation.is_tool:
        return f"uv tool install {package}"
    if installation.has_pip:
        python = shlex.quote(str(prefix / "bin" / "python"))
        return f"{python} -m pip install {package}"
    return f"uv pip install --python {shlex.quote(str(prefix))} {package}"


def find_installation() -> InstalledCopy:
    """Return the way in which the tracekit that runs was installed."""
    prefix = Path(sys.prefix)
    source = None
    is_editable = False
    try:
        origin_text = find_distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        origin_text = None
    if origin_text:
        origin = json.loads(origin_text)
        url = urlsplit(origin.get("url", ""))
        if url.scheme == "file":
            source = Path(unquote(url.path))
        is_editable = bool(origin.get("dir_info", {}).get("editable"))
    is_tool = (prefix / "uv-receipt.toml").exists()
    return InstalledCopy(prefix, source, is_editable, is_tool, has_pip=_is_present("pip"))


def _is_present(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module that was made without a file
        return True
