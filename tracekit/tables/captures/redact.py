"""A copy of a GPU frame capture without names, sources and contents, to be attached to an issue.

Each text is replaced by one of equal length, so that every size and place in the copy stays. Packed
contents are compressed anew, hashes of changed AIR are made anew. The copy is decoded again before
it is kept: it has the same calls, and none of the names.

Contents of an unknown form are zeroed. Folders of people are replaced by x; names of files stay.
"""

import bz2
import io
import re
import struct
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tracekit.base import InputError
from tracekit.base.redaction import is_common_word
from tracekit.tables.bundle.container.keyed import Archive
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.captures.arguments import list_bindings, list_buffers
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.files import INDEX, STORE, read_entries
from tracekit.tables.captures.metallib import (
    MAGIC,
    Metallib,
    MetallibFunction,
    unpack_archive,
)
from tracekit.tables.captures.private_rows import BUFFERS, SOURCE
from tracekit.tables.captures.records import is_stream
from tracekit.tables.captures.texts import (
    PROPERTY_LIST,
    TextPlace,
    list_air_texts,
    list_property_texts,
    read_source_name,
)

_LETTER = b"x"
_PLAIN = "utf-8"
_HOMES = rb"(?:/private)?/(?:Users|home|Volumes|var/folders)/"
_PATH = re.compile(_HOMES + rb"[^\x00-\x1f\"'<>|]+")
_USER = re.compile(rb"/(?:Users|home)/([^/\x00-\x1f\"'<>| ]+)")
_WIDE_USER = re.compile(rb"(?:\x00/\x00U\x00s\x00e\x00r\x00s\x00/)((?:\x00[^/\x00])+)")
_IDENTIFIER = re.compile(rb"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b")
_DEVICES = ("(device info)", "(control device info)")
_ARCHIVES = ("metadata", "environment", "gttrace-dump", *_DEVICES, "(device profile)")
_STRUCTS = (115, 120)  # the tags that structs begin with
_TAG = struct.Struct("<Q")
_SHORTEST_NAME = 3
_NO_NAMES = frozenset(
    {b"shared", b"guest", b"root", b"runner", b"air", b"llvm", b"uint", b"constant", b"half"}
)
_MOST_NAMES = 256
_DATA = ("MTL", "CAMetalLayer", "IOSurface")  # names of contents that are the data of the work
_TEXT_END = re.compile(rb"[^\n]")


@dataclass(frozen=True)
class RedactedCapture:
    """The outcome of a redaction: the replaced texts, and the contents that were zeroed."""

    replaced: int
    zeroed: tuple[str, ...]


def redact_capture(
    capture: FrameCapture, folder: Path, include: Collection[str] = ()
) -> RedactedCapture:
    """Write a redacted copy of a capture into an empty folder, and check it.

    `include` names the private parts that stay: "source", "buffers". Raise InputError if a content
    is damaged, or if a name would be left in the copy.
    """
    redaction = _CaptureRedaction(capture, frozenset(include))
    _write(capture, redaction, folder)
    _check(capture, folder, redaction)
    return RedactedCapture(redaction.replaced, tuple(redaction.zeroed))


@dataclass
class _CaptureRedaction:
    capture: FrameCapture
    include: frozenset[str]
    replaced: int = 0
    zeroed: list[str] = field(default_factory=list[str])
    secrets: list[bytes] = field(default_factory=list[bytes])

    def __post_init__(self) -> None:
        """Find the names of the machine and of people that the capture holds."""
        self._kept = _find_constants(self.capture)
        self._sources = _list_source_contents(self.capture)
        secrets = set(_list_machine_names(self.capture))
        for name in self.capture.files.list_names():
            if not name.startswith(_DATA):
                secrets.update(_list_users(self.capture.files.read(name)))
        self.secrets = sorted(filter(_is_private, secrets), key=lambda name: (-len(name), name))
        if len(self.secrets) > _MOST_NAMES:
            count = len(self.secrets)
            raise InputError(f"{self.capture.name} is not redacted: it has {count:,} names.")
        self._patterns = [_compile_name(form) for form in self._list_forms()]

    def _list_forms(self) -> Iterator[bytes]:
        for secret in self.secrets:
            yield secret
            yield _widen(secret)

    def holds_name(self, content: bytes) -> bool:
        """Return whether one of the names is a word in a content."""
        return any(pattern.search(content) for pattern in self._patterns)

    def redact_content(self, name: str) -> bytes:
        """Return a content of the copy, as long as the original."""
        content = self.capture.files.read(name)
        if content.startswith(MAGIC):
            return self._redact_metallib(name, content)
        if name in self._sources:
            return self._redact_source(content)
        if content.startswith(PROPERTY_LIST):
            return self._redact_places(content, list_property_texts(content))
        if _has_texts(name, content):
            return self.redact_texts(content)
        if BUFFERS in self.include:
            return content
        return self._zero(name, content)

    def _zero(self, name: str, content: bytes) -> bytes:
        """Return zeros instead of data; a constant that tables show stays."""
        size = self._kept.get(name, 0)
        if not size:
            self.zeroed.append(name)
        return content[:size] + bytes(len(content) - size)

    def _redact_places(self, content: bytes, places: Iterable[TextPlace]) -> bytes:
        """Redact the texts at some places of a content."""
        redacted_content = bytearray(content)
        for place in places:
            end = place.start + place.size
            text = content[place.start : end]
            if place.encoding == _PLAIN:
                redacted_content[place.start : end] = self.redact_texts(text)
            else:
                letters = text.decode(place.encoding, "replace")
                redacted_content[place.start : end] = self._redact_wide(letters)
        return bytes(redacted_content)

    def _redact_wide(self, letters: str) -> bytes:
        """Redact a text in UTF-16; each letter that is hidden becomes one letter."""
        hidden = self.redact_texts(letters.encode())
        if hidden == letters.encode():
            return letters.encode("utf-16-be", "replace")
        return _LETTER.decode().ljust(len(letters), _LETTER.decode()).encode("utf-16-be")

    def redact_texts(self, content: bytes) -> bytes:
        """Return a content with each private text replaced by one of equal length."""
        content = _PATH.sub(self._hide_path, content)
        content = _IDENTIFIER.sub(self._hide_identifier, content)
        for pattern in self._patterns:
            content = pattern.sub(self._hide_name, content)
        return content

    def _hide_name(self, match: re.Match[bytes]) -> bytes:
        self.replaced += 1
        return _blank(match[0])

    def _hide_path(self, match: re.Match[bytes]) -> bytes:
        """Replace the folders of a path below a home folder, and keep the name of the file."""
        path = match[0]
        home = re.match(_HOMES, path)
        assert home is not None
        folders, slash, name = path[home.end() :].rpartition(b"/")
        self.replaced += 1
        if not slash or b"." not in name:
            return home[0] + _blank(path[home.end() :])
        return home[0] + _blank(folders) + slash + name

    def _hide_identifier(self, match: re.Match[bytes]) -> bytes:
        self.replaced += 1
        return re.sub(rb"[0-9A-Fa-f]", b"0", match[0])

    def _redact_source(self, content: bytes) -> bytes:
        if SOURCE in self.include:
            return self.redact_texts(content)
        return blank_source(content)

    def _redact_metallib(self, name: str, content: bytes) -> bytes:
        """Redact the texts of a library, its AIR with new hashes, and its archive of sources."""
        try:
            library = Metallib(content)
            place = library.find_archive()
            air_start, air_end = library.air_range
            redacted_content = bytearray(content)
            redacted_content[:air_start] = self.redact_texts(content[:air_start])
            archive_start = len(content)
            if place is not None:
                archive_start = place.start
                packed = content[place.start : place.start + place.size]
                redacted_archive = self._redact_archive(packed)
                redacted_content[place.start : place.start + place.size] = redacted_archive
            debug_texts = self.redact_texts(content[air_end:archive_start])
            redacted_content[air_end:archive_start] = debug_texts
            for function in library.functions.values():
                self._redact_air(redacted_content, library, function)
        except ArchiveError as error:
            raise self.capture.files.make_damage_error(name, str(error)) from error
        return bytes(redacted_content)

    def _redact_air(
        self, redacted_content: bytearray, library: Metallib, function: MetallibFunction
    ) -> None:
        """Redact the AIR of a function in the bytes of its library, and make its hash anew."""
        air = library.read_air(function)
        redacted_air = self._redact_places(air, list_air_texts(air))
        source_name = read_source_name(redacted_air)
        if self.holds_name(source_name) or _PATH.search(source_name):
            raise ArchiveError(f"has a name in the AIR of {function.name} that cannot be replaced")
        start = library.air_range[0] + function.offset
        redacted_content[start : start + function.size] = redacted_air
        if sha256(air).digest() == function.digest:
            _replace_once(redacted_content, function.digest, sha256(redacted_air).digest())

    def _redact_archive(self, packed: bytes) -> bytes:
        """Return an archive of sources, made anew and filled with zeros to its former size."""
        redacted_archive = io.BytesIO()
        content = unpack_archive(packed)
        with (
            tarfile.open(fileobj=io.BytesIO(content)) as archive,
            tarfile.open(fileobj=redacted_archive, mode="w", format=tarfile.GNU_FORMAT) as copy,
        ):
            for member in archive:
                if not member.isreg():
                    continue
                file = archive.extractfile(member)
                if file is None:
                    continue
                name = self.redact_texts(member.name.encode()).decode("utf-8", "replace")
                text = self._redact_member(name, file.read())
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                copy.addfile(entry, io.BytesIO(text))
        packed_copy = bz2.compress(redacted_archive.getvalue())
        if len(packed_copy) > len(packed):
            raise ArchiveError("has sources that do not fit their place after the redaction")
        return packed_copy + bytes(len(packed) - len(packed_copy))

    def _redact_member(self, name: str, content: bytes) -> bytes:
        if SOURCE in self.include or name.endswith(".txt"):
            return self.redact_texts(content)
        return blank_source(content)


def blank_source(content: bytes) -> bytes:
    """Return a source of equal length and equal lines, without its text; its NULs stay."""
    text = content.rstrip(b"\0")
    return _TEXT_END.sub(b" ", text) + bytes(len(content) - len(text))


def _blank(text: bytes) -> bytes:
    """Return a text of equal length, in which slashes and NULs stay."""
    return re.sub(rb"[^/\x00]", _LETTER, text)


def _compile_name(form: bytes) -> re.Pattern[bytes]:
    """Return a pattern of a name that is a word: no letter or digit touches it."""
    if form[:1] == b"\0":  # UTF-16, whose letters follow zeros
        return re.compile(rb"(?<!\x00\w)" + re.escape(form) + rb"(?!\x00\w)")
    return re.compile(rb"(?<!\w)" + re.escape(form) + rb"(?!\w)")


def _widen(text: bytes) -> bytes:
    """Return a text in UTF-16, as property lists store it."""
    return text.decode("utf-8", "replace").encode("utf-16-be")


def _replace_once(content: bytearray, old: bytes, new: bytes) -> None:
    place = content.find(old)
    if place >= 0:
        content[place : place + len(old)] = new


def _has_texts(name: str, content: bytes) -> bool:
    """Return whether a content is of a known form, which holds texts and no data of the work."""
    if name in _ARCHIVES or is_stream(content):
        return True
    return len(content) >= _TAG.size and _TAG.unpack_from(content)[0] in _STRUCTS


def _find_constants(capture: FrameCapture) -> dict[str, int]:
    """Return the contents that are one shown number, with its size in bytes."""
    contents = {buffer.handle: buffer.content for buffer in list_buffers(capture)}
    sizes: dict[str, int] = {}
    for dispatch in capture.commands.dispatches:
        for binding in list_bindings(capture, dispatch):
            if binding.value is None or binding.length is None:
                continue
            name = contents.get(binding.buffer or 0, "")
            if not binding.buffer:
                name = dispatch.buffers[binding.index].content
            sizes[name] = binding.length
    return sizes


def _list_source_contents(capture: FrameCapture) -> frozenset[str]:
    """Return the names of sources that a program compiled libraries of."""
    names: set[str] = set()
    for library in capture.libraries.values():
        if library.is_from_source and library.contents:
            names.add(library.contents[0])
    return frozenset(names)


def _list_machine_names(capture: FrameCapture) -> Iterator[bytes]:
    """Yield the name of the machine, its first part, and its identifier."""
    for name in _DEVICES:
        if name not in capture.files:
            continue
        try:
            archive = Archive(capture.files.read(name))
            host = archive.text(archive.part(archive.root, "name"))
            identifier = archive.text(archive.part(archive.root, "identifier"))
        except ArchiveError:
            continue
        yield from (text.encode() for text in (host, host.partition(".")[0], identifier))


def _is_private(name: bytes) -> bool:
    """Return whether a name may identify somebody, and is not a word that occurs by itself.

    Those of a redacted copy are hidden already.
    """
    if not name.strip(_LETTER) or not name.strip(b"0-"):
        return False
    text = name.decode("utf-8", "replace")
    if len(name) < _SHORTEST_NAME or name.lower() in _NO_NAMES:
        return False
    return not is_common_word(text)


def _list_users(content: bytes) -> Iterator[bytes]:
    """Yield the names of users in the paths of a content, and in the texts compressed in it."""
    for text in _list_texts(content):
        yield from _USER.findall(text)
        for match in _WIDE_USER.findall(text):
            yield match.replace(b"\0", b"")


def _list_texts(content: bytes) -> Iterator[bytes]:
    """Yield a content, and the texts that are compressed in it."""
    yield content
    if content.startswith(MAGIC):
        try:
            library = Metallib(content)
            place = library.find_archive()
            if place is not None:
                yield unpack_archive(content[place.start : place.start + place.size])
        except ArchiveError:
            return


def _write(capture: FrameCapture, redaction: _CaptureRedaction, folder: Path) -> None:
    """Write the contents at their kind of place, with a new store and an index for it."""
    index = bytearray((capture.bundle / INDEX).read_bytes())
    places: dict[tuple[bytes, int], tuple[int, int]] = {}
    end = 0
    with (folder / STORE).open("wb") as store:
        for entry in read_entries(index):
            content = redaction.redact_content(entry.name)
            if len(content) != entry.content.size:
                raise InputError(f"{capture.name} is not redacted: {entry.name} changed its size.")
            if not entry.content.is_packed:
                (folder / entry.name).write_bytes(content)
                continue
            key = (sha256(content).digest(), len(content))
            if key not in places:
                stored = zlib.compress(content)
                store.write(stored)
                places[key] = (end, len(stored))
                end += len(stored)
            offset, stored_size = places[key]
            entry.change(index, stored_size, offset)
    (folder / INDEX).write_bytes(index)


def _check(capture: FrameCapture, folder: Path, redaction: _CaptureRedaction) -> None:
    """Raise InputError unless a copy has the calls of its original, and none of the names."""
    copy = FrameCapture(folder)
    for name in capture.list_streams():
        records = [(record.code, record.signature) for record in capture.list_records(name)]
        copied = [(record.code, record.signature) for record in copy.list_records(name)]
        if records != copied:
            raise InputError(f"{capture.name} is not redacted: {name} would lose calls.")
    if copy.count_unexplained_bytes() > capture.count_unexplained_bytes():
        raise InputError(f"{capture.name} is not redacted: its copy cannot be explained.")
    if copy.airs != capture.airs:
        raise InputError(f"{capture.name} is not redacted: the facts of its AIR would change.")
    for name in copy.files.list_names():
        if name.startswith(_DATA):
            continue
        for text in _list_texts(copy.files.read(name)):
            if redaction.holds_name(text):
                raise InputError(f"{capture.name} is not redacted: {name} would keep a name.")
