"""What a trace holds, as its table of contents says: runs, devices, tables, settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base import Process

# As a bundle keeps those of one instrument: a text, or several, under the name of each setting.
Dictionaries = Sequence[Mapping[str, str | Sequence[str]]]
# Apple's own spelling, and the one that it means.
NAMES = ("intruments-recording-settings", "instruments-recording-settings")


def settings(run: Element) -> dict[str, tuple[str, ...]]:
    """Return one "Key: value" line for each setting, by instrument."""
    found: dict[str, tuple[str, ...]] = {}
    for name in NAMES:
        for instrument in run.iterfind(f"info/summary/{name}/instrument"):
            key = instrument.get("name", "")
            found[key] = found.get(key, ()) + tuple(_lines(instrument))
    return found


def setting_lines(dictionaries: Dictionaries) -> tuple[str, ...]:
    """Return one "Key: value" line for each setting that a bundle keeps of an instrument."""
    return tuple(_kept_lines(dictionaries))


def _kept_lines(dictionaries: Dictionaries) -> Iterator[str]:
    for dictionary in dictionaries:
        for name, value in dictionary.items():
            if not isinstance(value, str):
                yield from (_line(name, each.strip()) for each in value)
            elif value.strip():
                yield f"{name}: {value.strip()}"


def _lines(instrument: Element) -> Iterator[str]:
    for setting in instrument.iter("key", "option"):
        yield from _option(setting) if setting.tag == "option" else _key(setting)


def _key(key: Element) -> Iterator[str]:
    name, own = key.get("name", ""), (key.text or "").strip()
    if own:
        yield f"{name}: {own}"
    for value in key.iterfind("value"):
        yield _line(name, (value.text or "").strip())


def _line(name: str, words: str) -> str:
    return words if ": " in words else f"{name}: {words}"


def _option(option: Element) -> Iterator[str]:
    yield f"{option.get('key', '')}: {option.get('value', option.text or '')}"


@dataclass(frozen=True)
class TocTable:
    """A table of a run: its place (1, 2 …, as in an export's xpath), schema and attributes."""

    index: int
    schema: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class TocDetail:
    """A detail of a track, such as the list of allocations.

    `place` is how its export names itself, and so the name of its table: "track[1]/detail[2]".
    """

    place: str
    track: str
    name: str
    kind: str = ""


@dataclass(frozen=True)
class ExternalFormat:
    """Another format in which a schema of the run can be exported, such as HAR."""

    format: str
    source_schema: str


@dataclass(frozen=True)
class TocRun:
    """One run of a bundle.

    `target` is None for a recording of all processes. `target_type` is "launched" or
    "attached". `duration` is in seconds. `settings` holds one "Key: value" line for each
    setting of each instrument, as Instruments words them. `environment` holds the names of
    variables; their values may be secrets and are not read. `arguments` and `paths` (of
    processes, by pid) are private. `unknown` names what tracekit does not know.
    """

    number: int
    device: dict[str, str] = field(default_factory=dict[str, str])
    target: Process | None = None
    target_type: str = ""
    arguments: str = field(default="", repr=False)
    exit_status: str = ""
    termination_reason: str = ""
    all_processes: bool = False
    environment: tuple[str, ...] = ()
    start_date: str = ""
    end_date: str = ""
    duration: float | None = None
    end_reason: str = ""
    instruments_version: str = ""
    template: str = ""
    recording_mode: str = ""
    time_limit: str = ""
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    processes: tuple[Process, ...] = ()
    paths: dict[int, str] = field(default_factory=dict[int, str], repr=False)
    tables: tuple[TocTable, ...] = ()
    details: tuple[TocDetail, ...] = ()
    external_formats: tuple[ExternalFormat, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Toc:
    """What a bundle holds."""

    runs: tuple[TocRun, ...]
    unknown: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be said of it: elements and attributes that tracekit does not know."""
        found = [*self.unknown, *(name for run in self.runs for name in run.unknown)]
        names = ", ".join(dict.fromkeys(found))
        return (f"The TOC holds what tracekit does not know: {names}.",) if names else ()
