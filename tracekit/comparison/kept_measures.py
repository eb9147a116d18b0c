"""The measures that comparisons take of the tables of a run, kept in the run for the next one.

A run is compared many times: with its predecessor, with its baseline, with each later night.
Measuring it takes its tables, pandas and most of the analysis; the measures are a small file.

`tables/.measures.json` begins with a digest of its content and of the key of the run: its files,
its origin, its path, and tracekit's code, as `tracekit.tables.run_keys` makes it. With another key,
or if it is damaged, nothing of it is believed, and it is written anew. Files that are so young that
a change might go unseen have no key; then nothing is kept.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tracekit.base import Provenance, Recording, TracekitError, documents, files
from tracekit.tables import losses, run_keys

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Measure:
    """A measure as JSON, and the losses that were reported while it was made."""

    value: msgspec.Raw
    reported: losses.ReportedLosses


class KeptMeasures:
    """The measures of one run, by name; without a run, nothing is kept."""

    def __init__(
        self, recording: Recording | None = None, origin: Provenance | None = None
    ) -> None:
        """Read the kept measures of a run whose result has this origin."""
        self._key = ""
        self._file: Path | None = None
        self._measures: dict[str, _Measure] = {}
        self._has_more = False
        if recording is not None:
            self._key = _make_key(recording, origin)
        if recording is not None and self._key:
            self._file = recording.tables / run_keys.MEASURES_NOTE
            self._measures = _read(self._file, self._key)

    def take(self, name: str, kind: Any, measure: Callable[[], _T]) -> _T:
        """Return the measure of a name; it is taken, and of that kind, if it is not kept.

        The losses of its tables are reported each time.
        """
        if self._file is None:
            return measure()
        if name in self._measures:
            kept = self._measures[name]
            try:
                value: _T = documents.decode_json(kept.value, kind)
            except msgspec.MsgspecError:  # a number that JSON does not have
                return measure()
            kept.reported.report()
            return value
        with losses.overhearing() as ledger:
            value = measure()
        content = msgspec.Raw(documents.encode_json(value))
        self._measures[name] = _Measure(content, ledger.reported)
        self._has_more = True
        return value

    def keep(self) -> None:
        """Write the measures that were taken; that they cannot be written is not an error."""
        if self._file is None or not self._has_more:
            return
        content = documents.encode_json(self._measures)
        try:
            self._file.parent.mkdir(exist_ok=True)
            files.write_whole(self._file, _digest(self._key, content) + content)
        except (OSError, TracekitError) as error:
            _log.info("The measures of %s are not kept: %s", self._file.parent, error)


def _make_key(recording: Recording, origin: Provenance | None) -> str:
    """Return the key of all that measures are made of; "" if a change might not alter it."""
    place = str(recording.folder.resolve())
    facts = documents.encode_json((place, origin)).decode()
    return run_keys.make_run_key(recording.folder, facts, ignored=run_keys.RESULTS)


def _read(file: Path, key: str) -> dict[str, _Measure]:
    try:
        digest, _, content = files.read_input(file).partition(b"\n")
        if digest + b"\n" != _digest(key, content):
            return {}
        return documents.decode_json(content, dict[str, _Measure])
    except (OSError, TracekitError, msgspec.MsgspecError):
        return {}


def _digest(key: str, content: bytes) -> bytes:
    """Return the first line of a file: the digest of a key and of the lines that follow."""
    digest = blake2b(key.encode() + content, digest_size=16)
    return digest.hexdigest().encode() + b"\n"
