"""Damages to GPU frame captures, one by one, and how the reader ends.

    refused   the capture is not opened, and an error of tracekit's says why
    named     tables differ from those of the whole capture, and a loss names the capture
    harmless  all tables are those of the whole capture
    values    tables differ in values alone, after a change of bytes that no checksum protects:
              records of plain files, the index, contents that were compressed anew
    SILENT    rows are missing or more, and no loss says so
    ERROR     something else was raised than tracekit's own errors
    SLOW      it took longer than ten seconds of the processor

Record streams and the index have no checksum, so that a changed value in them cannot be told.
"""

import shutil
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from capture_writer import METALLIB, STATISTICS, small_capture
from tracekit.base import TracekitError
from tracekit.tables import tables_of_bundle
from tracekit.tables.captures import open_capture, redact_capture
from tracekit.tables.captures.files import read_entries
from tracekit.tables.captures.row_tables import Row
from tracekit.tables.captures.rows import list_rows, list_schemas

REFUSED, NAMED, HARMLESS, VALUES = "refused", "named", "harmless", "values"
SILENT, ERROR, SLOW = "SILENT", "ERROR", "SLOW"
FINDINGS = {SILENT, ERROR, SLOW}
_SECONDS = 10.0
_FEW = 4
_REDACTED = 8  # of so many seeds, one is redacted as well
_FRAMED = 16  # and one is read as dataframes as well
_PARTS = ("source", "buffers")
Told = dict[str, list[Row]]


@dataclass(frozen=True)
class CaptureOutcome:
    """How a case ended: the kind of damage, the damaged file, the ending, and words on it."""

    seed: int
    kind: str
    name: str
    ending: str
    words: str = ""

    def __str__(self) -> str:
        """Say it in a line."""
        return f"seed {self.seed}: {self.ending}: {self.kind}: {self.name}: {self.words}"


def flip(random: Random, content: bytes) -> bytes:
    """Flip a few bits."""
    changed = bytearray(content)
    for _ in range(random.randint(1, _FEW)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def write_numbers(random: Random, content: bytes) -> bytes:
    """Write striking numbers over words."""
    changed = bytearray(content)
    for _ in range(random.randint(1, _FEW)):
        if len(changed) < 8:
            break
        place = random.randrange(len(changed) // 4 - 1) * 4
        number = random.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 20, random.randrange(1 << 32)))
        struct.pack_into("<I", changed, place, number)
    return bytes(changed)


def cut(random: Random, content: bytes) -> bytes:
    """Cut the end off."""
    return content[: random.randrange(len(content) + 1)]


def lose(random: Random, content: bytes) -> bytes:
    """Lose some bytes in the middle."""
    start = random.randrange(len(content) + 1)
    return content[:start] + content[start + random.randint(1, 64) :]


def repeat(random: Random, content: bytes) -> bytes:
    """Repeat a part."""
    start = random.randrange(len(content) + 1)
    end = min(len(content), start + random.randint(1, 4096))
    return content[:end] + content[start:end] + content[end:]


def blank(random: Random, content: bytes) -> bytes:
    """Zero a part."""
    start = random.randrange(len(content) + 1)
    size = min(random.randint(1, 4096), len(content) - start)
    return content[:start] + bytes(size) + content[start + size :]


CHANGES: dict[str, Callable[[Random, bytes], bytes]] = {
    "bits flipped": flip,
    "numbers written": write_numbers,
    "cut": cut,
    "bytes lost": lose,
    "bytes repeated": repeat,
    "bytes zeroed": blank,
}
_GONE = "file gone"
_INSIDE = "content changed"


class CaptureSubject:
    """A capture whose copies are damaged, and the tables that it has undamaged."""

    def __init__(self, bundle: Path) -> None:
        """Take a capture that may be copied into its folder."""
        self.bundle = bundle
        self.whole = tell(bundle)
        self.names = sorted(path.name for path in bundle.iterdir() if path.is_file())
        self.place = bundle.with_name(f"damaged-{bundle.name}")

    def damage(self, seed: int) -> CaptureOutcome:
        """Damage a copy by a seed, and return how reading it ended."""
        random = Random(seed)
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.bundle, self.place)
        kind = random.choice((*CHANGES, *CHANGES, _INSIDE, _INSIDE, _INSIDE, _INSIDE, _GONE))
        if kind == _GONE:
            name = random.choice(self.names)
            (self.place / name).unlink()
        elif kind == _INSIDE:
            name = self._change_content(random)
        else:
            name = random.choice([*self.names, "index", "index", "capture", "capture"])
            path = self.place / name
            path.write_bytes(CHANGES[kind](random, path.read_bytes()))
        return self._read(seed, kind, name)

    def _change_content(self, random: Random) -> str:
        """Change a packed content, and compress all contents anew, so that no checksum tells."""
        files = open_capture(self.bundle).files
        packed = [name for name, place in files.contents.items() if place.is_packed]
        changed_name = random.choice([*packed, *(set(packed) & {METALLIB, STATISTICS})])
        change = CHANGES[random.choice(tuple(CHANGES))]
        index = bytearray((self.place / "index").read_bytes())
        store = bytearray()
        for entry in read_entries(index):
            if not entry.content.is_packed:
                continue
            content = files.read(entry.name)
            if entry.name == changed_name:
                content = change(random, content)
            stored = zlib.compress(content, 1)
            struct.pack_into("<IIQ", index, entry.start, len(content), len(stored), len(store))
            store += stored
        (self.place / "index").write_bytes(index)
        (self.place / "store0").write_bytes(store)
        return changed_name

    def _read(self, seed: int, kind: str, name: str) -> CaptureOutcome:
        start = time.process_time()
        ending = HARMLESS
        words = ""
        try:
            ending, words = self._compare(seed)
        except TracekitError as error:
            ending = REFUSED
            words = str(error)
        except Exception as error:  # noqa: BLE001  a finding
            ending = ERROR
            words = repr(error)
        if time.process_time() - start > _SECONDS:
            ending = SLOW
        return CaptureOutcome(seed, kind, name, ending, words)

    def _compare(self, seed: int) -> tuple[str, str]:
        tables = tell(self.place)
        if seed % _FRAMED == 0:
            frames = tables_of_bundle(self.place, include=_PARTS)
            for name in frames:
                _ = frames[name]
        losses = [str(loss) for loss in open_capture(self.place).losses]
        if seed % _REDACTED == 0:
            self._redact()
        if losses:
            return NAMED, losses[0]
        rows = {name: len(table) for name, table in tables.items()}
        whole_rows = {name: len(table) for name, table in self.whole.items()}
        if rows != whole_rows:
            return _judge_rows(rows, whole_rows), f"{rows} instead of {whole_rows}"
        if tables == self.whole:
            return HARMLESS, ""
        return VALUES, ""

    def _redact(self) -> None:
        """Redact the damaged copy; an error of tracekit's is an ending, and any copy will do."""
        copy = self.place.with_name("redacted.gputrace")
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        try:
            redact_capture(open_capture(self.place), copy)
        except TracekitError:
            return


def _judge_rows(rows: dict[str, int], whole_rows: dict[str, int]) -> str:
    """Return whether lost rows are a change of values: handles and codes have no checksum.

    The records of the calls are always counted, so fewer of them without a loss are a finding.
    """
    if rows["capture-calls"] < whole_rows["capture-calls"]:
        return SILENT
    return VALUES


def tell(bundle: Path) -> Told:
    """Return the rows of all tables of a capture, private ones included."""
    capture = open_capture(bundle)
    return {schema: list_rows(capture, schema) for schema in list_schemas(_PARTS)}


def made_subjects(folder: Path) -> list[CaptureSubject]:
    """Return captures that are made in a folder."""
    sources = {"/Users/anne/probe.metal": b"kernel void probe() {}\n" * 20}
    bundle = small_capture(sources).write(folder / "made.gputrace")
    return [CaptureSubject(bundle)]


def real_subjects(folder: Path, corpus: Path) -> list[CaptureSubject]:
    """Return copies of the real captures of the corpus; none without it."""
    subjects: list[CaptureSubject] = []
    for path in sorted(corpus.glob("*/*.gputrace")):
        copy = folder / path.name
        shutil.copytree(path, copy)
        copy.chmod(0o755)
        for file in copy.iterdir():
            file.chmod(0o644)
        subjects.append(CaptureSubject(copy))
    return subjects
