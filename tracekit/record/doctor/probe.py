"""Short recordings of a probe, to find the ways to record that give rows on this machine."""

import tempfile
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tracekit.base import (
    InterruptedRunError,
    Provenance,
    Recording,
    TracekitError,
    capabilities,
    make_timestamp,
)
from tracekit.record.observe import request_for
from tracekit.record.progress import Progress, quiet
from tracekit.record.recorder import Recorder
from tracekit.record.target_rows import count_samples
from tracekit.record.xctrace.exporting import counter_set
from tracekit.tables import Tables, toc
from tracekit.workload import Plan, journal, load

WORK = Path(__file__).with_name("probe_work.py")
_WARMUP = 3
_SECONDS = 2.0  # of the probe's steady phase
_DISPATCHES = 150  # of the probe in all

WAYS: tuple[tuple[capabilities.Mode, bool], ...] = (
    ("launch", False),
    ("attach", False),
    ("launch", True),
    ("attach", True),
)


def probe(
    recorder: Recorder,
    identity: capabilities.Identity,
    progress: Progress = quiet,
    ways: tuple[tuple[capabilities.Mode, bool], ...] = WAYS,
    *,
    seconds: float = _SECONDS,
    dispatches: int = _DISPATCHES,
) -> capabilities.Capabilities:
    """Record the probe in each way, and return the results.

    A way that fails is a result like any other. The recordings are removed again.
    """
    combinations: list[capabilities.Combination] = []
    for number, (mode, counters) in enumerate(ways, 1):
        way = capabilities.Combination(mode, counters)
        plan = Plan(
            workload=load(WORK),
            parameters={"dispatches": dispatches},
            time_limit=seconds,
            warmup=_WARMUP,
            method=mode,
            counters="on" if counters else "off",
        )
        head = f"{number}: {way.name}: "
        outcome = _probe_way(plan, recorder, lambda text, head=head: progress(head + text))
        combinations.append(replace(way, **outcome))
    return capabilities.Capabilities(identity, make_timestamp(), tuple(combinations))


def _probe_way(plan: Plan, recorder: Recorder, progress: Progress) -> dict[str, Any]:
    """Record into a temporary folder; return fields of a `Combination`, or why it failed."""
    with tempfile.TemporaryDirectory(
        prefix="tracekit-probe-", ignore_cleanup_errors=True
    ) as folder:
        recording = Recording(Path(folder) / "run")
        recording.save_provenance(Provenance(created=make_timestamp(), recorder=recorder.name))
        try:
            return _try_way(plan, recorder, recording, progress)
        except (KeyboardInterrupt, InterruptedRunError) as stop:
            raise InterruptedRunError("Interrupted; no probe is kept.") from stop
        except TracekitError as error:
            return {"failure": f"{error.message} {error.hint}".strip()}


def _try_way(
    plan: Plan, recorder: Recorder, recording: Recording, progress: Progress
) -> dict[str, Any]:
    """Record and export, and return the fields of a `Combination` that follow from it."""
    recorded = recorder.record(request_for(plan, recording, recorder), recording, progress)
    if recorded.interrupted:
        raise KeyboardInterrupt
    saving = _measure_saving(recorded.end_date)
    export_warnings = recorder.export(recording, progress)
    report = journal.fold(recording.journal_file)
    targets = frozenset(target.pid for target in recorded.targets)
    tables = Tables(recording.exports, targets)
    intervals = tables.get("gpu_intervals")
    runs = toc.read_toc(recording.toc_file).runs
    rows = None
    other_rows = None
    if intervals is not None:
        rows = int(intervals["target"].sum())
        other_rows = len(intervals) - rows
    counter_rows = None
    if plan.counters != "off":
        counter_rows = count_samples(tables)
    warnings = (*tables.warnings, *recorded.warnings, *export_warnings)
    return {
        "rows": rows,
        "others": other_rows,
        "counter_set": counter_set(runs[-1]) if runs else "",
        "counter_rows": counter_rows,
        "backend": report.backend,
        "dispatches": dispatches_within(report, plan.method, plan.parameters["dispatches"]),
        "saving": saving,
        "failure": recorded.failure,
        "warnings": tuple(dict.fromkeys(warnings)),
    }


def _measure_saving(end_date: str) -> float | None:
    """Return the seconds since the end of a recording; None if its date cannot be read."""
    try:
        end = datetime.fromisoformat(end_date).timestamp()
    except ValueError:
        return None
    return max(0.0, round(time.time() - end, 3))


def dispatches_within(report: journal.WorkloadReport, mode: str, budget: int) -> int | None:
    """Return the number of dispatches of the probe while it was recorded; None if unknown.

    A launched probe is recorded from its beginning; one that was attached to, after its warm-up.
    Steps beyond the budget only rest.
    """
    if report.model.dispatches is None:
        return None
    steps = 0
    for step in report.steps[:budget]:
        if mode == "launch" or step.phase != "warm-up":
            steps += 1
    return steps * report.model.dispatches
