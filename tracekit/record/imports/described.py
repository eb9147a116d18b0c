"""What is known of a recording that someone else made: by its table of contents, and its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from tracekit.analysis.target import UNKNOWN
from tracekit.base.errors import UsageError
from tracekit.base.recording import Process, Provenance, Recording
from tracekit.tables.direct import direct
from tracekit.tables.exports import index
from tracekit.tables.in_place import said_of_run
from tracekit.tables.one_run import meant
from tracekit.tables.place import Choice
from tracekit.tables.tables import Tables
from tracekit.tables.toc.read import read_toc
from tracekit.tables.toc.toc import TocRun


def described(
    provenance: Provenance, recording: Recording, name: str, number: int | None
) -> Provenance:
    """Say where a run comes from, as far as its table of contents does.

    Args:
        provenance: What else is known of the run.
        recording: The recording, with its exports.
        name: What the trace is called.
        number: Which run of the trace it is about; None for the last one that has tables.

    Raises:
        UsageError: The trace has no such run.
    """
    found = index(recording.exports)
    run, several = meant(found, recording.exports, number, name)
    if found.toc is None or run is None:
        return replace(
            provenance,
            recorder="import",
            workload=name,
            run=None if run is None else run.number,
            warnings=(
                *several,
                "The exports came without a TOC: machine, times and target are not known.",
            ),
        )
    return replace(
        provenance,
        recorder="import",
        run=run.number,
        recorder_version=f"Instruments {version}" if (version := run.instruments_version) else "",
        workload=name,
        targets=(run.target,) if run.target else (),
        templates=(run.template,) if run.template else (),
        started=run.start_date,
        ended=run.end_date,
        duration=run.duration,
        end_reason=run.end_reason,
        machine=_machine(run),
        warnings=(*several, *found.toc.warnings, *_said_of_bundle(recording, run.number)),
    )


def choose_run(recording: Recording, number: int) -> None:
    """Make a recording be about another run of its trace: its target, times and machine.

    What was found out about the run before, result and page, is removed.

    Raises:
        UsageError: The trace has no such run.
        InputError: The exports cannot be listed, or the bundle is damaged.
        RecordingError: The folder is no run's, or cannot be written.
    """
    before = recording.provenance()
    if before.run == number:
        return
    if before.recorder == "import":
        blank = replace(before, targets=(), target_reason="")
        after = described(blank, recording, before.workload, number)
        after = with_target(after, recording, None)
    else:
        run, _ = meant(index(recording.exports), recording.exports, number)
        after = replace(before, run=None if run is None else run.number)
    recording.save_provenance(after)
    for file in (recording.result_file, recording.report_file):
        file.unlink(missing_ok=True)


def run_and_targets(
    recording: Recording, number: int | None = None
) -> tuple[int | None, frozenset[int]]:
    """Return the run that tables are read of, and the pids of its targets.

    Args:
        recording: The recording.
        number: Which run of its trace; None for the one that the recording is about.

    Raises:
        UsageError: The trace has no such run.
    """
    provenance = recording.provenance()
    about = provenance.run if provenance.run is not None else _first_described(recording)
    run, targets = None, provenance.targets
    if number not in {None, about}:
        run, _ = meant(index(recording.exports), recording.exports, number)
    if run is not None and provenance.recorder == "import":
        targets = () if run.target is None else (run.target,)
    return about if number is None else number, frozenset(one.pid for one in targets)


def _first_described(recording: Recording) -> int | None:
    """Return the run that an import of before described without a note: the first of several."""
    if recording.provenance().recorder != "import" or not recording.toc_file.exists():
        return None
    runs = read_toc(recording.toc_file).runs
    return runs[0].number if len(runs) > 1 else None


def _said_of_bundle(recording: Recording, run: int) -> tuple[str, ...]:
    """Return what is to be known of the run of a bundle that is read directly; else nothing."""
    note = direct(recording.exports)
    return () if note is None else said_of_run(note.path(recording.exports), run)


def _machine(run: TocRun) -> dict[str, str]:
    kept = {"model": "model", "platform": "system", "os-version": "release"}
    return {ours: run.device[theirs] for theirs, ours in kept.items() if run.device.get(theirs)}


def with_target(provenance: Provenance, recording: Recording, target: str | None) -> Provenance:
    """Settle whose rows count: what the user says, the TOC, or the only process there is."""
    if target is None and provenance.targets:
        return provenance
    seen = processes(recording, provenance.run)
    if target is not None:
        return replace(provenance, targets=(_chosen(target, seen),))
    if len(seen) == 1:
        only = f"{seen[0].name} ({seen[0].pid}) is taken for the target: no other has rows."
        return replace(provenance, targets=seen, warnings=(*provenance.warnings, only))
    return replace(provenance, target_reason=UNKNOWN)


def processes(recording: Recording, run: int | None = None) -> tuple[Process, ...]:
    """Return the processes that the tables of a run name, by pid."""
    tables = Tables(recording.exports, frozenset(), recording.tables, Choice(run))
    named: dict[int, str] = {}
    for name in ("gpu_intervals", "encoders", "submissions", "driver_intervals"):
        for one in _each(tables, name):
            rows = one[["pid", "process"]].dropna().drop_duplicates()
            named |= dict(zip(rows["pid"].astype(int), rows["process"].astype(str), strict=True))
    return tuple(Process(pid, name) for pid, name in sorted(named.items()))


def _each(tables: Tables, name: str) -> Iterator[pd.DataFrame]:
    """Yield a table; where it is not clear which one is meant, each that may be."""
    places = [one.place for one in tables.repeated(name)]
    if name in tables and not places:
        yield tables[name]
    for place in places:
        yield tables.chosen(name, table=place.index, run=place.run)


def _chosen(target: str, seen: Sequence[Process]) -> Process:
    by_pid = [one for one in seen if str(one.pid) == target]
    found = by_pid or [one for one in seen if one.name == target]
    if len(found) != 1:
        known = ", ".join(f"{one.name} ({one.pid})" for one in seen) or "no process at all"
        raise UsageError(
            f"--target {target} names {len(found) or 'none'} of the processes in the tables.",
            hint=f"There are: {known}.",
        )
    return found[0]
