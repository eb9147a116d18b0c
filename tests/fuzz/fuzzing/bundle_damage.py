"""Damage to one file of a bundle: what a broken disk, a copy cut short or an enemy may do to it."""

import os
import shutil
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random

Change = Callable[[Random, bytes], bytes]
_PLACES = 3


def files_of(bundle: Path) -> list[str]:
    """Return the names of all files in a bundle, in order."""
    files = (one for one in bundle.rglob("*") if one.is_file())
    return sorted(str(one.relative_to(bundle)) for one in files)


def is_checked(name: str) -> bool:
    """Tell whether a file is a zlib stream, whose checksum shows any damage to it."""
    return name.startswith("corespace/run")


@contextmanager
def replaced(bundle: Path, name: str, content: bytes) -> Generator[None]:
    """Put another content into a file of a bundle for a while."""
    path = bundle / name
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


@contextmanager
def gone(bundle: Path, name: str, instead: str) -> Generator[None]:
    """Take a file away for a while: "nothing", a "link" to it, or a "folder" in its place."""
    path, aside = bundle / name, bundle.parent / "aside"
    path.rename(aside)
    if instead == "link":
        path.symlink_to(aside)
    elif instead == "folder":
        path.mkdir()
    try:
        yield
    finally:
        if path.is_symlink():
            path.unlink()
        elif path.is_dir():
            path.rmdir()
        aside.rename(path)


@contextmanager
def without(bundle: Path, folder: str) -> Generator[None]:
    """Take a folder away for a while, with all that is in it."""
    aside = bundle.parent / "aside"
    (bundle / folder).rename(aside)
    try:
        yield
    finally:
        aside.rename(bundle / folder)


@contextmanager
def exchanged(bundle: Path, one: str, other: str) -> Generator[None]:
    """Let two files or folders change places for a while."""
    _exchange(bundle, one, other)
    try:
        yield
    finally:
        _exchange(bundle, one, other)


def _exchange(bundle: Path, one: str, other: str) -> None:
    aside = bundle.parent / "aside"
    (bundle / one).rename(aside)
    (bundle / other).rename(bundle / one)
    aside.rename(bundle / other)


def _flip(random: Random, content: bytes) -> bytes:
    found = bytearray(content)
    for _ in range(random.choice([1, 1, _PLACES])):
        if found:
            found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    return bytes(found)


def _flip_early(random: Random, content: bytes) -> bytes:
    early = random.choice([64, 512, 6000])
    return _flip(random, content[:early]) + content[early:]


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _cut_end(random: Random, content: bytes) -> bytes:
    return content[: -random.randrange(1, 9)]


def _lose(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    return content[:start] + content[start + random.choice([1, 4, 512]) :]


def _zero(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    size = len(content[start : start + random.choice([4, 512, 4096])])
    return content[:start] + bytes(size) + content[start + size :]


def _fill(random: Random, content: bytes) -> bytes:
    start = random.randrange(min(len(content), 6000) + 1)
    size = random.choice([4, 8])
    return content[:start] + b"\xff" * size + content[start + size :]


def _repeat(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    piece = content[start : start + random.choice([1, 8, 64])]
    return content[:start] + piece + content[start:]


def _nothing(_random: Random, _content: bytes) -> bytes:
    return b""


def _byte_behind(random: Random, content: bytes) -> bytes:
    return content + bytes([random.randrange(256)])


def _block_behind(random: Random, content: bytes) -> bytes:
    return content + random.randbytes(random.choice([512, 4096, 70_000]))


CHANGES: dict[str, Change] = {
    "bits flipped": _flip,
    "bits flipped early": _flip_early,
    "cut": _cut,
    "end cut off": _cut_end,
    "bytes lost": _lose,
    "bytes zeroed": _zero,
    "emptied": _nothing,
    "a byte appended": _byte_behind,
    "a block appended": _block_behind,
}
"""What may become of a file's bytes as they are stored."""
_INSIDE: list[Change] = [
    _flip, _flip_early, _flip_early, _cut, _lose, _zero, _fill, _repeat, _byte_behind
]  # fmt: skip


def changed_inside(random: Random, content: bytes) -> bytes:
    """Return a zlib stream with a damage to what it holds, and a right checksum.

    What is no stream has no checksum, and its bytes are changed as they stand.
    """
    change = random.choice(_INSIDE)
    try:
        inner = zlib.decompress(content)
    except zlib.error:
        return change(random, content)
    return zlib.compress(change(random, inner), 1)


def copied(bundle: Path, place: Path) -> Path:
    """Copy a bundle so that its files can be changed; return the copy."""
    shutil.copytree(bundle, place)
    for folder, _, names in os.walk(place):
        Path(folder).chmod(0o755)
        for name in names:
            Path(folder, name).chmod(0o644)
    return place
