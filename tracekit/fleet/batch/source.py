"""A recording to analyse: where it lies, in which form, and whether it is still the same."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tracekit.fleet.batch.place import Place, Said

_KEY = 24  # letters of a digest: 96 bits
_NOT_NEEDED = ("instrument_data/", "shared_data/", "UI_state_metadata.bin")
_OF_A_RUN = {"recording.json", "workload.json", "workload.jsonl", "gauges.jsonl"}
_MARKS = ("ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "CRC", "created")


class Form(StrEnum):
    """In which form a recording comes."""

    RUN = "run"
    BUNDLE = "bundle"
    ZIPPED = "zipped bundle"
    EXPORTS = "exports"


@dataclass(frozen=True)
class Source:
    """A recording: `place` is a folder, or a file for a zipped bundle and a single export."""

    place: Place
    form: Form

    @property
    def key(self) -> str:
        """What its results are called by, the same however it was named."""
        return hashlib.sha256(_bytes(self.place.identity)).hexdigest()[:_KEY]

    def files(self) -> Mapping[str, Said]:
        """Return the files that an analysis needs, by their paths in the folder.

        Of a bundle these are not what keeps windows and views of Instruments, nor indexes of
        its stores (layout: docs/explanation/trace-bundles.md).

        Raises:
            InputError: They cannot be listed.
        """
        there = self.place.below()
        if not there:
            return {self.place.base: self.place.info()}
        if self.form is Form.RUN:
            direct = "exports/direct.json" in there
            return {name: one for name, one in there.items() if _of_a_run(name, direct=direct)}
        if self.form is Form.EXPORTS:
            return {name: one for name, one in there.items() if _is_export(name)}
        return {name: one for name, one in there.items() if _of_a_bundle(name)}

    def stamp(self, settings: str) -> str:
        """Return what changes when a file of it does, or what is asked of it.

        Raises:
            InputError: As `files`.
        """
        digest = hashlib.sha256(settings.encode())
        for name, said in sorted(self.files().items()):
            digest.update(_bytes(f"\0{name}\0{said.get('size')}\0{_mark(said)}"))
        return digest.hexdigest()[:_KEY]


def _bytes(name: str) -> bytes:
    """Return a name as bytes, whatever it is: names of files need not be text."""
    return name.encode(errors="surrogatepass")


def _of_a_run(name: str, *, direct: bool) -> bool:
    top, _, rest = name.partition("/")
    if top == "recording.trace":
        return direct and _of_a_bundle(rest)
    return name in _OF_A_RUN or (top == "exports" and "/" not in rest)


def _of_a_bundle(name: str) -> bool:
    return not name.startswith(_NOT_NEEDED) and not name.rpartition("/")[2].startswith("spindex.")


def _is_export(name: str) -> bool:
    return "/" not in name and name.lower().endswith(".xml")


def _mark(said: Said) -> Any:
    return next((said[name] for name in _MARKS if said.get(name) is not None), "")
