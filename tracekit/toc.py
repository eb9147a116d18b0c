"""The table of contents of a trace: what was recorded, of whom, and which tables there are."""

from dataclasses import dataclass, field
from pathlib import Path

from tracekit.recording import Process


@dataclass(frozen=True)
class TocTable:
    """A table of a run: its place (1, 2 …, as in an export's xpath), schema and attributes."""

    index: int
    schema: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class TocRun:
    """One run of a bundle.

    `target` is None for a recording of all processes. `target_type` is "launched" or
    "attached". `duration` is in seconds. `settings` holds one "Key: value" line for each
    setting of each instrument, as Instruments words them.
    """

    number: int
    device: dict[str, str] = field(default_factory=dict[str, str])
    target: Process | None = None
    target_type: str = ""
    exit_status: str = ""
    termination_reason: str = ""
    all_processes: bool = False
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
    tables: tuple[TocTable, ...] = ()


@dataclass(frozen=True)
class Toc:
    """What a bundle holds."""

    runs: tuple[TocRun, ...]


def read_toc(path: Path) -> Toc:
    """Read a TOC as `xctrace export --toc` writes it; raise InputError if it is none."""
    raise NotImplementedError
