"""One run's folder: its files, their provenance, and the state of each stage.

`base/stages.py` runs a stage and notes its state.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import documents
from tracekit.base.capabilities import Capabilities
from tracekit.base.checksums import CHECKSUMS
from tracekit.base.choices import RecordingChoices
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.files import read_input

FORMAT = 1


BRINGING = ("record", "recover", "import", "export")
"""The stages that bring tables into a run."""


@dataclass(frozen=True)
class Stage:
    """The state of one stage: running, done, interrupted, failed, or for `recover` incomplete."""

    state: str
    at: str
    message: str = ""


@dataclass(frozen=True)
class Process:
    """A process as the trace names it."""

    pid: int
    name: str = ""


@dataclass(frozen=True)
class Overhead:
    """The cost of recording: medians of interleaved steps, recorded and unrecorded.

    `ratio` is recorded / unrecorded - 1; `spread` is the half-width of a 95 % interval of it,
    in the same unit. Both are None if they could not be measured, and `reason` says why.
    """

    ratio: float | None = None
    spread: float | None = None
    recorded: int = 0
    unrecorded: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Used:
    """The choices that a recorder made of what was asked for; empty or None if not known.

    `method` is launch or attach, `instruments` those added to the `template`, `counters` whether
    GPU counters were asked of the recorder, `counter_profile` the number in a template that
    tracekit made, `counter_set` the set that the recording names, and `time_limit` the recorder's
    own limit, in seconds, which includes the time of a launched workload to get ready.
    """

    method: str = ""
    template: str = ""
    instruments: tuple[str, ...] = ()
    counters: bool | None = None
    counter_profile: int | None = None
    counter_set: str = ""
    time_limit: float | None = None


@dataclass(frozen=True)
class Provenance(RecordingChoices):
    """The origin of a run: all that is needed to trust it and to repeat it.

    Saved as `recording.json`. It may name people and machines; `redaction` makes the version that
    results and pages show. Times are ISO 8601, durations seconds. `target_rows` tells whether GPU
    work of the targets was recorded; null if that is not known. `run` is the one that an import is
    about, of a trace that may hold several. The choices are as they were asked for, but `recorder`
    is the one that recorded; `used` is what it made of them. `workloads` is the folder of a
    workload of the user's own. `made` says how a recording came about that no machine made; empty
    for any other.
    """

    format: int = FORMAT
    tracekit: str = ""
    created: str = ""
    recorder_version: str = ""
    workload: str = ""
    workloads: str = ""
    command_lines: tuple[tuple[str, ...], ...] = ()
    run: int | None = None
    targets: tuple[Process, ...] = ()
    target_reason: str = ""
    used: Used | None = None
    started: str = ""
    ended: str = ""
    duration: float | None = None
    end_reason: str = ""
    machine: dict[str, Any] = field(default_factory=dict[str, Any])
    capabilities: Capabilities | None = None
    git_commit: str = ""
    clock: dict[str, Any] = field(default_factory=dict[str, Any])
    overhead: Overhead | None = None
    target_rows: bool | None = None
    stages: dict[str, Stage] = field(default_factory=dict[str, Stage])
    warnings: tuple[str, ...] = ()
    redacted: bool = False
    made: str = ""

    def __repr__(self) -> str:
        """Return the origin in one line."""
        subject = self.workload or "a recording"
        targets = ", ".join(f"{target.name} ({target.pid})" for target in self.targets)
        return (
            f"<Provenance of {subject}, by {self.recorder or 'nothing'}: {targets or 'no target'}>"
        )

    @property
    def unfinished_stages(self) -> dict[str, Stage]:
        """The stages before the page that began and did not end, by name."""
        stages = {name: entry for name, entry in self.stages.items() if entry.state != "done"}
        stages.pop("report", None)
        return stages

    @property
    def incomplete(self) -> dict[str, Stage]:
        """Those of them that bring tables, so that rows or whole tables may be missing."""
        return {name: entry for name, entry in self.unfinished_stages.items() if name in BRINGING}

    @property
    def pruning_note(self) -> str:
        """The files that were removed to make room, and when; empty if there are none."""
        if "prune" not in self.stages:
            return ""
        return self.stages["prune"].message

    def note_stage(self, name: str, state: str, message: str = "") -> "Provenance":
        """Return it with the state of a stage as of now."""
        entry = Stage(state, make_timestamp(), message)
        return replace(self, stages={**self.stages, name: entry})


class _RunFile:
    """A file or folder of a run, by its name in the run's folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, recording: "Recording", owner: object = None) -> Path:
        return recording.folder / self.name


@dataclass(frozen=True)
class Recording:
    """The folder of one run and the names of the files in it.

    `lent` if the folder existed before the run: it may be emptied, but not removed.
    """

    folder: Path
    lent: bool = field(default=False, compare=False)

    provenance_file = _RunFile("recording.json")  # the target, the method, the place and the time
    # the input of a run that a reading command made next to it, to find the run again
    input_file = _RunFile("input.json")
    workload_file = _RunFile("workload.json")  # the workload's own account
    # the workload's marks as they happen; folded into `workload.json` at the end
    journal_file = _RunFile("workload.jsonl")
    # the readings of a monitor of the machine during the run, as marks; absent without one
    gauges_file = _RunFile("gauges.jsonl")
    # the standard output of a program that xctrace or Metal recorded
    target_output_file = _RunFile("target-output.txt")
    # the standard output of a recorded program that is not ours
    output_file = _RunFile("output.txt")
    # a user's patterns for that program's numbers; absent if tracekit knows them, or without any
    patterns_file = _RunFile("patterns.json")
    spec_file = _RunFile("worker.json")  # the worker's instructions
    # a template with counters that was made for this recording
    template_file = _RunFile("counters.tracetemplate")
    bundle = _RunFile("recording.trace")  # the bundle of `xctrace`, which Instruments opens
    gputrace = _RunFile("capture.gputrace")  # Metal's capture of a few steps, for Xcode to replay
    # what the workload of a capture expects of its dispatches, as `kernel check --config` reads it
    expectations_file = _RunFile("expectations.toml")
    # the raw samples of the host recorder, which Instruments cannot open
    host_bundle = _RunFile("recording.host")
    host_session = _RunFile("recording.host/session.json")  # the recording's own metadata
    host_samples = _RunFile("recording.host/samples.jsonl")  # as they came, one JSON object a line
    host_output = _RunFile("recording.host/stdout.txt")
    host_errors = _RunFile("recording.host/stderr.txt")
    exports = _RunFile("exports")  # the tables as XML, and the TOC
    # the table of contents that came with the exports; absent without one
    toc_file = _RunFile("exports/toc.xml")
    tables = _RunFile("tables")  # the Parquet cache of the exports
    result_file = _RunFile("result.json")  # metrics, findings and checks
    report_file = _RunFile("report.html")  # the page
    checksums_file = _RunFile(
        CHECKSUMS
    )  # of the files that each stage wrote; `tracekit runs verify` reads it

    @classmethod
    def places(cls) -> frozenset[str]:
        """Return the names of all files and folders that a run's folder may have."""
        places: set[str] = set()
        for place in vars(cls).values():
            if isinstance(place, _RunFile):
                top, _, _ = place.name.partition("/")
                places.add(top)
        return frozenset(places)

    def provenance(self) -> Provenance:
        """Read `recording.json`; raise if there is none, or one that cannot be understood."""
        try:
            text = read_input(self.provenance_file)
        except FileNotFoundError:
            raise RecordingError(
                f"{self.folder} is not a run's folder: it has no recording.json.",
                hint="`tracekit capture` makes one, `tracekit import` one of a bundle or exports.",
            ) from None
        try:
            provenance = documents.decode_json(text, Provenance)
        except msgspec.MsgspecError as error:
            raise InputError(f"{self.provenance_file} cannot be read: {error}") from error
        if provenance.format > FORMAT:
            raise InputError(
                f"{self.provenance_file} has format {provenance.format}; "
                f"this tracekit reads up to {FORMAT}.",
                hint="Use the tracekit that wrote it, or a newer one.",
            )
        return provenance

    def save_provenance(self, provenance: Provenance) -> None:
        """Write `recording.json`, whole or not at all."""
        documents.save(self.provenance_file, provenance)


def make_timestamp() -> str:
    """Return the time as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
