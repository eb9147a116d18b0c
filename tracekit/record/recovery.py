"""Recover a recording after its recorder was killed, from the raw data in its bundle.

A recorder that is killed leaves a bundle without a document, which xctrace does not open. It may
hold the events of the kernel as raw data, and `xctrace import` makes a new bundle of them. The new
one lacks the end of the recording and all events that were not written yet.
"""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.base import (
    InterruptedRunError,
    Provenance,
    Recording,
    RecordingError,
    ToolError,
    UsageError,
    choices,
    make_timestamp,
    own_version,
    stages,
)
from tracekit.record.imports import describe_import, open_tables
from tracekit.record.inputs import name_of
from tracekit.record.progress import Progress
from tracekit.record.recorders import choose_used_schemas, xctrace_here
from tracekit.record.supervisor import Supervisor, size
from tracekit.record.xctrace.claim import Premises, refuse_rivals, rivals
from tracekit.record.xctrace.exporting import Choose
from tracekit.record.xctrace.recovering import find_raw_data, import_raw_data, import_seconds
from tracekit.tables import is_bundle, toc
from tracekit.workload import plan

INCOMPLETE = "incomplete"  # the state of the stage `recover` of a run that was recovered
_KEPT = (
    *("workload.json", "workload.jsonl", "gauges.jsonl", "worker.json", "target-output.txt"),
    *("output.txt", "patterns.json"),
)


@dataclass(frozen=True)
class BrokenRecording:
    """A bundle without a document, and the run that it belongs to, if it belongs to one."""

    name: str
    bundle: Path
    run: Recording | None = None


def find_broken(source: Path) -> BrokenRecording:
    """Return the recording that a path names: a run's folder, or a bundle.

    Raise UsageError for anything else, RecordingError for a run without a bundle.
    """
    if is_bundle(source):
        return BrokenRecording(name_of(source), source)
    if not source.exists():
        raise UsageError(f"{source} does not exist.")
    recording = Recording(source)
    if not recording.provenance_file.exists():
        raise UsageError(
            f"{source} is neither a .trace bundle nor a run's folder.",
            hint="Name one of them: RUN or X.trace.",
        )
    if not recording.bundle.is_dir():
        raise RecordingError(f"{source} has no bundle to recover.", hint="Record again.")
    return BrokenRecording(source.resolve().name, recording.bundle, recording)


def recover(
    source: Path,
    output: Path | None,
    progress: Progress,
    *,
    template: str | None = None,
    seconds: float | None = None,
    choose_schemas: Choose = choose_used_schemas,
    premises: Premises | None = None,
) -> Recording:
    """Make a new run of the raw data in a bundle; the old bundle is only read.

    `template` names the template to import with: by default that of the old run, else Metal System
    Trace. `seconds` limits the import: by default 10 minutes, and 1 second more for each 2 MB.

    Raises:
        UsageError: There is no such bundle or run, or `output` is taken.
        InputError: The bundle holds no raw data.
        ToolError: xctrace is not here, fails, takes too long, or makes an empty bundle.
        RecordingError: The disk is all but full.
    """
    broken = find_broken(source)
    raw_data = find_raw_data(broken.bundle)
    tool = xctrace_here()
    remarks = refuse_rivals(rivals())
    provenance = _begin_provenance(broken, template)
    recording = plan.claim_folder(output, f"{broken.name}-recovered", provenance, [source])
    with _recovering(recording), Supervisor(recording.folder) as supervisor:
        _require_room(recording, raw_data, premises or Premises())
        before = _stamp(broken.bundle)
        supervised_tool = tool.bind_supervisor(supervisor)
        progress(f"importing {size([raw_data]) / 1e6:,.0f} MB of raw data")
        import_raw_data(
            supervised_tool,
            raw_data,
            recording.bundle,
            provenance.templates[0],
            seconds or import_seconds(size([raw_data])),
        )
        progress("checking the bundle")
        supervised_tool.toc(recording.bundle, recording.toc_file)
        _require_data(recording)
        if _stamp(broken.bundle) != before:
            remarks = (*remarks, f"xctrace changed {broken.bundle.name} while it was imported.")
        remarks = (*remarks, *_describe(recording, broken, progress, choose_schemas))
    stages.mark(recording, "recover", INCOMPLETE, _explain(broken, raw_data))
    provenance = recording.provenance()
    recording.save_provenance(replace(provenance, warnings=(*provenance.warnings, *remarks)))
    return recording


def _begin_provenance(broken: BrokenRecording, template: str | None) -> Provenance:
    """Return the provenance of the new run: the old run's, without its stages."""
    old = Provenance(counters="")
    if broken.run is not None:
        old = broken.run.provenance()
    templates = old.templates or (choices.METAL_SYSTEM_TRACE,)
    if template is not None:
        templates = (template,)
    return replace(
        old,
        tracekit=own_version(),
        created=make_timestamp(),
        templates=templates,
        stages={},
        ended="",
        duration=None,
    )


def _describe(
    recording: Recording, broken: BrokenRecording, progress: Progress, choose_schemas: Choose
) -> tuple[str, ...]:
    """Copy the files of the old run; of a bundle alone, open the tables and describe them."""
    if broken.run is None:
        warnings = open_tables(recording, progress, choose_schemas)
        describe_import(recording, broken.name, None, None)
        return warnings
    for name in _KEPT:
        file = broken.run.folder / name
        if file.is_file():
            shutil.copyfile(file, recording.folder / name)
    return ()


def _require_data(recording: Recording) -> None:
    """Raise ToolError if the new bundle has no run, or one that lasted no time."""
    runs = toc.read_toc(recording.toc_file).runs
    if not runs or not runs[-1].duration:
        raise ToolError(
            "xctrace imported the raw data, and the new bundle holds none of it.",
            hint="Record again.",
        )


def _explain(broken: BrokenRecording, raw_data: Path) -> str:
    reason = ""
    if broken.run is not None and "record" in broken.run.provenance().stages:
        entry = broken.run.provenance().stages["record"]
        if entry.message:
            reason = f" ({entry.message.rstrip('.')})"
    megabytes = size([raw_data]) / 1e6
    return (
        f"Recovered, incomplete: the recorder of {broken.name} did not save{reason}; this is what "
        f"{megabytes:,.1f} MB of raw data hold, and the end of the recording may be missing"
    )


def _require_room(recording: Recording, raw_data: Path, premises: Premises) -> None:
    """Raise RecordingError unless a bundle as large as the raw data has room above the floor."""
    needed_bytes = size([raw_data])
    shortage = replace(premises, floor=premises.floor + needed_bytes).shortage((recording.folder,))
    if shortage:
        raise RecordingError(
            f"Nothing was imported: {shortage}.",
            hint=f"The raw data take {needed_bytes / 1e9:.1f} GB, and the new bundle as much.",
        )


def _stamp(bundle: Path) -> dict[str, tuple[int, int]]:
    """Return the size and the time of the last change of each file of a bundle."""
    stamps: dict[str, tuple[int, int]] = {}
    for file in bundle.rglob("*"):
        status = file.lstat()
        stamps[str(file)] = (status.st_size, status.st_mtime_ns)
    return stamps


@contextmanager
def _recovering(recording: Recording) -> Generator[None]:
    """Mark the stage `recover`, and remove the new folder if it does not come to its end."""
    try:
        with stages.running(recording, "recover"):
            yield
    except InterruptedRunError as stop:
        plan.discard(recording)
        raise InterruptedRunError(
            "Interrupted while recovering; the old bundle is as it was.", hint="Recover it again."
        ) from stop
    except BaseException:
        plan.discard(recording)
        raise
