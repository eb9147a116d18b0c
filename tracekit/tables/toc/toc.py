"""What a trace holds, as its table of contents says: nouns only."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tracekit.base.recording import Process


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


def distinctions(tables: Sequence[TocTable]) -> dict[int, dict[str, str]]:
    """Return, by index, the attributes that tell tables of one schema apart."""
    keys = dict.fromkeys(key for table in tables for key in table.attributes)
    telling = [key for key in keys if len({table.attributes.get(key) for table in tables}) > 1]
    return {
        table.index: {key: table.attributes[key] for key in telling if key in table.attributes}
        for table in tables
    }
