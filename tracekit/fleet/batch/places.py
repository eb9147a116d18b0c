"""Places in file systems: of this machine, of an object store, inside an archive."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from fsspec.core import url_to_fs

from tracekit.base import InputError, UsageError

CHAIN = "::"
_SCHEME = re.compile(r"^[A-Za-z][\w+.-]*://")
_MAGIC = re.compile(r"[*?\[]")


def scheme(words: str) -> str:
    """Return how a URL begins, such as "s3://"; nothing for a path."""
    found = _SCHEME.match(words)
    return found.group() if found else ""


def is_pattern(words: str) -> bool:
    """Tell whether words hold wildcards, and name nothing that is there."""
    return bool(_MAGIC.search(words.partition(CHAIN)[0])) and not os.path.lexists(words)


def fixed(pattern: str) -> str:
    """Return the folder of a pattern: what comes before the first part with a wildcard."""
    head, chain, rest = pattern.partition(CHAIN)
    begin = scheme(head)
    parts = head.removeprefix(begin).split("/")
    plain = next(place for place, part in enumerate(parts) if _MAGIC.search(part))
    folder = "/".join(parts[:plain])
    if not folder and not begin:
        folder = "/" if head.startswith("/") else "."
    return f"{begin}{folder}{chain}{rest}"


def joined(words: str, below: str) -> str:
    """Return the name of what lies below a folder; in a chain the first link is the folder."""
    head, chain, rest = words.partition(CHAIN)
    if head == ".":
        return below
    between = "" if head.endswith("/") or not head else "/"
    return f"{head}{between}{below}{chain}{rest}"


def shown(words: str) -> str:
    """Return a path or URL without what may be a secret in it: user, password, query."""
    return CHAIN.join(_without_secrets(link) for link in words.split(CHAIN))


def absolute(words: str) -> str:
    """Return a chain of URLs whose archive, if it is a file of this machine, is named in full."""
    first, *links = words.split(CHAIN)
    rest = [link if scheme(link) else os.path.realpath(link) for link in links]
    return CHAIN.join([first, *rest])


def _without_secrets(link: str) -> str:
    begin = scheme(link)
    if not begin:
        return link
    parts = urlsplit(link)
    host = parts.netloc.rpartition("@")[2]
    query = f"?{parts.query}" if parts.query and "=" not in parts.query else ""  # "?" as wildcard
    path = parts.path if len(parts.path) < 2 else parts.path.rstrip("/")  # noqa: PLR2004
    return f"{begin}{urlunsplit(('', '', f'{host}{path}', '', ''))}{query}"


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

    def listed(self) -> list[tuple["Place", Said]]:
        """Return what lies in this folder, by name, with what the file system says of each."""
        said: Any = self._asked("ls", self.path, detail=True)
        found: list[tuple[Place, Said]] = []
        for entry in sorted(said, key=itemgetter("name")):
            path = entry["name"].rstrip("/")
            if path != self.path.rstrip("/"):
                below = self._below(path)
                name, identity = joined(self.name, below), joined(self.identity, below)
                found.append((Place(self.filesystem, path, name, identity), entry))
        return found

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
    """Return the place that a path or a URL of fsspec names; chains of URLs are understood."""
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
