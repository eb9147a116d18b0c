"""Short recordings of a probe, to see which ways to record give rows on this machine."""

import tempfile
import time
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import get_args

from tracekit.base.capabilities import Capabilities, Combination, Identity, Mode
from tracekit.base.errors import InterruptedRunError, TracekitError
from tracekit.base.recording import Provenance, Recording, now
from tracekit.record.recorder import Progress, Recorded, Recorder, quiet
from tracekit.record.requests import request_for
from tracekit.record.xctrace.counters import counter_set
from tracekit.tables.tables import Tables
from tracekit.tables.toc.read import read_toc
from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.plan import Plan
from tracekit.workload.workload import load

WORK = Path(__file__).with_name("probe_work.py")
_WARMUP = 3


@dataclass(frozen=True)
class Dose:
    """How much to record: `seconds` of the probe's steady phase, and its dispatches in all."""

    seconds: float = 2.0
    dispatches: int = 150


DOSE = Dose()
WAYS: tuple[tuple[Mode, bool], ...] = tuple(
    (mode, counters) for counters in (False, True) for mode in get_args(Mode)
)


def probe(
    recorder: Recorder,
    identity: Identity,
    progress: Progress = quiet,
    dose: Dose = DOSE,
    ways: tuple[tuple[Mode, bool], ...] = WAYS,
) -> Capabilities:
    """Record the probe in each way, and return what came of it.

    A way that fails is a result like any other. What was recorded is removed again.

    Raises:
        InterruptedRunError: Someone asked to stop.
    """
    combinations: list[Combination] = []
    for number, (mode, counters) in enumerate(ways, 1):
        way = Combination(mode, counters)
        try:
            combinations.append(_tried(way, recorder, _Steps(progress, way, number), dose))
        except (KeyboardInterrupt, InterruptedRunError) as stop:
            raise InterruptedRunError(
                f"Interrupted after {len(combinations)} of {len(ways)} probes; none is kept.",
                hint="`tracekit doctor --probe` begins anew.",
            ) from stop
    return Capabilities(identity, now(), tuple(combinations))


@dataclass(frozen=True)
class _Steps:
    progress: Progress
    way: Combination
    number: int

    def __call__(self, text: str) -> None:
        self.progress(f"{self.number}: {self.way.name}: {text}")


def _tried(way: Combination, recorder: Recorder, progress: Progress, dose: Dose) -> Combination:
    with tempfile.TemporaryDirectory(
        prefix="tracekit-probe-", ignore_cleanup_errors=True
    ) as folder:
        recording = Recording(Path(folder) / "run")
        recording.save_provenance(Provenance(created=now(), recorder=recorder.name))
        try:
            return _recorded(way, recorder, recording, progress, dose)
        except InterruptedRunError:
            raise
        except TracekitError as error:
            return replace(way, failure=f"{error.message} {error.hint}".strip())


def _recorded(
    way: Combination, recorder: Recorder, recording: Recording, progress: Progress, dose: Dose
) -> Combination:
    plan = Plan(
        workload=load(WORK),
        parameters={"dispatches": dose.dispatches},
        method=way.mode,
        counters="on" if way.counters else "off",
        time_limit=dose.seconds,
        warmup=_WARMUP,
    )
    recorded = recorder.record(request_for(plan, recording, recorder), recording, progress)
    if recorded.interrupted:
        raise KeyboardInterrupt
    saving = _seconds_since(recorded.ended)
    warnings = (*recorded.warnings, *recorder.export(recording, progress))
    report = fold(recording.journal_file)
    way = _counted(way, recording, recorded)
    return replace(
        way,
        backend=report.backend,
        dispatches=dispatches_within(report, way.mode, dose.dispatches),
        saving=saving,
        failure=recorded.failure,
        warnings=tuple(dict.fromkeys((*way.warnings, *warnings))),
    )


def _counted(way: Combination, recording: Recording, recorded: Recorded) -> Combination:
    tables = Tables(recording.exports, frozenset(one.pid for one in recorded.targets))
    intervals = tables.get("gpu_intervals")
    counters = tables.get("gpu_counters")
    runs = read_toc(recording.toc_file).runs
    own = None if intervals is None else int(intervals["target"].sum())
    return replace(
        way,
        rows=own,
        others=None if intervals is None or own is None else len(intervals) - own,
        counter_set=counter_set(runs[-1]) if runs else "",
        counter_rows=None if counters is None or not way.counters else len(counters),
        warnings=tables.warnings,
    )


def dispatches_within(report: WorkloadReport, mode: Mode, budget: int) -> int | None:
    """Return how many dispatches the probe made while it was recorded; None if nobody knows.

    A launched probe is recorded from its beginning; one that was attached to, after its warm-up.
    Steps beyond the budget only rest.
    """
    if report.model.dispatches is None:
        return None
    working = report.steps[:budget]
    recorded = [one for one in working if mode == "launch" or one.phase != "warm-up"]
    return len(recorded) * report.model.dispatches


def _seconds_since(moment: str) -> float | None:
    try:
        return max(0.0, round(time.time() - datetime.fromisoformat(moment).timestamp(), 3))
    except ValueError:
        return None
