"""Short recordings of a probe, to see which ways to record give rows on this machine."""

import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tracekit.base import (
    Capabilities,
    Combination,
    Identity,
    InterruptedRunError,
    Mode,
    Provenance,
    Recording,
    TracekitError,
    make_timestamp,
)
from tracekit.record.observe import request_for
from tracekit.record.recorder import Progress, Recorder, quiet
from tracekit.record.xctrace.exporting import counter_set
from tracekit.tables import Tables, read_toc
from tracekit.workload import Plan, WorkloadReport, fold, load

WORK = Path(__file__).with_name("probe_work.py")
_WARMUP = 3
_SECONDS = 2.0  # of the probe's steady phase
_DISPATCHES = 150  # of the probe in all
_MODES: tuple[Mode, ...] = ("launch", "attach")
WAYS: tuple[tuple[Mode, bool], ...] = tuple(
    (mode, counters) for counters in (False, True) for mode in _MODES
)


def probe(
    recorder: Recorder,
    identity: Identity,
    progress: Progress = quiet,
    ways: tuple[tuple[Mode, bool], ...] = WAYS,
    *,
    seconds: float = _SECONDS,
    dispatches: int = _DISPATCHES,
) -> Capabilities:
    """Record the probe in each way, and return what came of it.

    A way that fails is a result like any other. What was recorded is removed again.
    """
    combinations: list[Combination] = []
    for number, (mode, counters) in enumerate(ways, 1):
        way = Combination(mode, counters)
        plan = Plan(
            workload=load(WORK),
            parameters={"dispatches": dispatches},
            time_limit=seconds,
            warmup=_WARMUP,
            method=mode,
            counters="on" if counters else "off",
        )
        head = f"{number}: {way.name}: "
        with tempfile.TemporaryDirectory(
            prefix="tracekit-probe-", ignore_cleanup_errors=True
        ) as folder:
            recording = Recording(Path(folder) / "run")
            recording.save_provenance(Provenance(created=make_timestamp(), recorder=recorder.name))
            try:
                outcome = _try_way(
                    plan, recorder, recording, lambda text, head=head: progress(head + text)
                )
            except (KeyboardInterrupt, InterruptedRunError) as stop:
                raise InterruptedRunError("Interrupted; no probe is kept.") from stop
            except TracekitError as error:
                outcome = {"failure": f"{error.message} {error.hint}".strip()}
        combinations.append(replace(way, **outcome))
    return Capabilities(identity, make_timestamp(), tuple(combinations))


def _try_way(
    plan: Plan, recorder: Recorder, recording: Recording, progress: Progress
) -> dict[str, Any]:
    """Record and export, and return the fields of a `Combination` that follow from it."""
    recorded = recorder.record(request_for(plan, recording, recorder), recording, progress)
    if recorded.interrupted:
        raise KeyboardInterrupt
    saving = None
    with suppress(ValueError):
        save_seconds = time.time() - datetime.fromisoformat(recorded.end_date).timestamp()
        saving = max(0.0, round(save_seconds, 3))
    warnings = recorder.export(recording, progress)
    report = fold(recording.journal_file)
    tables = Tables(recording.exports, frozenset(target.pid for target in recorded.targets))
    intervals, counters = tables.get("gpu_intervals"), tables.get("gpu_counters")
    runs = read_toc(recording.toc_file).runs
    target_rows = None if intervals is None else int(intervals["target"].sum())
    return {
        "rows": target_rows,
        "others": None
        if intervals is None or target_rows is None
        else len(intervals) - target_rows,
        "counter_set": counter_set(runs[-1]) if runs else "",
        "counter_rows": None if counters is None or plan.counters == "off" else len(counters),
        "backend": report.backend,
        "dispatches": dispatches_within(report, plan.method, plan.parameters["dispatches"]),
        "saving": saving,
        "failure": recorded.failure,
        "warnings": tuple(dict.fromkeys((*tables.warnings, *recorded.warnings, *warnings))),
    }


def dispatches_within(report: WorkloadReport, mode: str, budget: int) -> int | None:
    """Return how many dispatches the probe made while it was recorded; None if nobody knows.

    A launched probe is recorded from its beginning; one that was attached to, after its warm-up.
    Steps beyond the budget only rest.
    """
    if report.model.dispatches is None:
        return None
    working = report.steps[:budget]
    recorded = [step for step in working if mode == "launch" or step.phase != "warm-up"]
    return len(recorded) * report.model.dispatches
