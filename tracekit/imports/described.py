"""What is known of a recording that someone else made: by its table of contents, and its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from tracekit.analysis.target import UNKNOWN
from tracekit.errors import UsageError
from tracekit.recording import Process, Provenance, Recording
from tracekit.tables import Tables
from tracekit.toc import Toc, TocRun


def described(provenance: Provenance, toc: Toc | None, name: str) -> Provenance:
    """Say where a run comes from, as far as its table of contents does."""
    if toc is None:
        return replace(
            provenance,
            recorder="import",
            workload=name,
            warnings=("The exports came without a TOC: machine, times and target are not known.",),
        )
    run = toc.runs[0]
    several = (
        f"The TOC lists {len(toc.runs)} runs; machine and target are those of run {run.number}."
    )
    return replace(
        provenance,
        recorder="import",
        recorder_version=f"Instruments {version}" if (version := run.instruments_version) else "",
        workload=name,
        targets=(run.target,) if run.target else (),
        templates=(run.template,) if run.template else (),
        started=run.start_date,
        ended=run.end_date,
        duration=run.duration,
        end_reason=run.end_reason,
        machine=_machine(run),
        warnings=((several,) if len(toc.runs) > 1 else ()) + toc.warnings,
    )


def _machine(run: TocRun) -> dict[str, str]:
    kept = {"model": "model", "platform": "system", "os-version": "release"}
    return {ours: run.device[theirs] for theirs, ours in kept.items() if run.device.get(theirs)}


def with_target(provenance: Provenance, recording: Recording, target: str | None) -> Provenance:
    """Settle whose rows count: what the user says, the TOC, or the only process there is."""
    if target is None and provenance.targets:
        return provenance
    seen = processes(recording)
    if target is not None:
        return replace(provenance, targets=(_chosen(target, seen),))
    if len(seen) == 1:
        only = f"{seen[0].name} ({seen[0].pid}) is taken for the target: no other has rows."
        return replace(provenance, targets=seen, warnings=(*provenance.warnings, only))
    return replace(provenance, target_reason=UNKNOWN)


def processes(recording: Recording) -> tuple[Process, ...]:
    """Return the processes that the run's tables name, by pid."""
    tables = Tables(recording.exports, frozenset(), cache=recording.tables)
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
