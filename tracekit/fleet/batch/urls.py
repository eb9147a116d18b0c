"""Paths and URLs as words: chains of them, patterns, and what of them is secret."""

import os
import re
from urllib.parse import urlsplit, urlunsplit

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
    rest = [one if scheme(one) else os.path.realpath(one) for one in links]
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
