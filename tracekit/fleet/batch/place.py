"""A place in a file system, be it of this machine, of an object store or inside an archive."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, cast

from fsspec.core import url_to_fs

from tracekit.base.errors import InputError, UsageError
from tracekit.fleet.batch.urls import CHAIN, absolute, joined, scheme, shown

Said = Mapping[str, Any]

_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "adlfs"),
    **dict.fromkeys(("http", "https"), "fsspec[http]"),
    **dict.fromkeys(("sftp", "ssh"), "fsspec[ssh]"),
}


@dataclass(frozen=True)
class Place:
    """A file or folder.

    Attributes:
        filesystem: The file system of fsspec that holds it.
        path: What it is called there.
        name: What it is called by people: the path as it was given, or the URL without secrets.
        identity: The same for whatever words lead to it: the absolute path, or the URL.
    """

    filesystem: Any
    path: str
    name: str
    identity: str

    @property
    def local(self) -> bool:
        """Whether it lies in a folder of this machine."""
        return "file" in _protocols(self.filesystem)

    @property
    def base(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def child(self, path: str) -> "Place":
        """Return what a listing of this folder names.

        Raises:
            InputError: It lies elsewhere: a listing that lies leads nowhere.
        """
        below = self._below(path)
        name, identity = joined(self.name, below), joined(self.identity, below)
        return Place(self.filesystem, path.rstrip("/"), name, identity)

    def listed(self) -> list[tuple["Place", Said]]:
        """Return what lies in this folder, by name, with what the file system says of each.

        Raises:
            InputError: The folder cannot be read, or its listing names what is not in it.
        """
        said: Any = self._asked("ls", self.path, detail=True)
        own = self.path.rstrip("/")
        found = [one for one in said if one["name"].rstrip("/") != own]
        return [(self.child(one["name"]), one) for one in sorted(found, key=itemgetter("name"))]

    def info(self) -> Said:
        """Return what the file system says of it; raise UsageError where there is nothing."""
        try:
            return cast("Said", self.filesystem.info(self.path))
        except FileNotFoundError:
            raise UsageError(f"{self.name} does not exist.") from None
        except Exception as error:
            raise _unreadable(self.name, error) from error

    def below(self) -> dict[str, Said]:
        """Return all files below this folder: path in the folder to what is said of each.

        A file has none.

        Raises:
            InputError: As `listed`.
        """
        found: Any = self._asked("find", self.path, detail=True)
        return {self._below(str(path)): said for path, said in found.items() if path != self.path}

    def beginning(self, size: int) -> bytes:
        """Return the first bytes of the file; none where it cannot be read."""
        try:
            with self.filesystem.open(self.path, "rb") as file:
                return cast("bytes", file.read(size))
        except Exception:  # noqa: BLE001  file systems raise what they like
            return b""

    def _below(self, path: str) -> str:
        """Return a listed path from this folder on."""
        own = self.path.rstrip("/")
        inside = f"{own}/" if own or self.path else ""
        below = path.rstrip("/").removeprefix(inside)
        leaves = not path.startswith(inside) or not {"", ".", ".."}.isdisjoint(below.split("/"))
        if leaves or "\\" in below or "\0" in below:
            raise InputError(
                f"The listing of {self.name} names {path!r}, which is no path below it.",
                hint="Nothing of it was read; look at what made it.",
            )
        return below

    def _asked(self, question: str, *words: object, **options: object) -> Any:
        try:
            return getattr(self.filesystem, question)(*words, **options)
        except Exception as error:
            raise _unreadable(self.name, error) from error


def place_of(words: str) -> Place:
    """Return the place that a path or a URL of fsspec names; chains of URLs are understood.

    Raises:
        UsageError: The file system is unknown, or the package for it is not installed.
        InputError: The archive or store cannot be opened.
    """
    protocol = scheme(words).removesuffix("://")
    try:
        filesystem, found = url_to_fs(words)
    except ImportError as error:
        package = _PACKAGES.get(protocol, "")
        raise UsageError(
            f"{protocol}:// needs a package that is not installed: {package or error}.",
            hint=f"pip install '{package}'" if package else "Install it beside tracekit.",
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{shown(words)} is no source: {error}.", hint="Give a path, or a URL as of s3 or gs."
        ) from error
    except Exception as error:
        raise _unreadable(shown(words), error) from error
    path = str(found)
    if "file" in _protocols(filesystem) and CHAIN not in words:
        return Place(filesystem, path, words.removeprefix(scheme(words)), os.path.realpath(path))
    return Place(filesystem, path, shown(words), absolute(shown(words)))


def _protocols(filesystem: Any) -> tuple[str, ...]:
    named: str | tuple[str, ...] = filesystem.protocol
    return (named,) if isinstance(named, str) else named


def _unreadable(name: str, error: Exception) -> InputError:
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return InputError(
        f"{name} cannot be read: {str(why).rstrip('.')}.",
        hint="See that it is there, and that you may read it.",
    )
