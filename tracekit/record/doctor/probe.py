"""Short recordings of a probe, to see which ways to record give rows on this machine."""

import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from tracekit.base import (
    Capabilities,
    Combination,
    Identity,
    InterruptedRunError,
    Mode,
    Provenance,
    Recording,
    TracekitError,
    now,
)
from tracekit.record.doctor.facts import Fact, failed, ok
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.observe import request_for
from tracekit.record.recorder import Progress, Recorded, Recorder, quiet
from tracekit.record.xctrace.exporting import counter_set
from tracekit.tables import Tables, read_toc
from tracekit.workload import Plan, WorkloadReport, fold, load

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
    """
    combinations: list[Combination] = []
    for number, (mode, counters) in enumerate(ways, 1):
        way = Combination(mode, counters)
        head = f"{number}: {way.name}: "
        try:
            combinations.append(
                _tried(way, recorder, lambda text, head=head: progress(head + text), dose)
            )
        except (KeyboardInterrupt, InterruptedRunError) as stop:
            raise InterruptedRunError(
                f"Interrupted after {len(combinations)} of {len(ways)} probes; none is kept.",
                hint="`tracekit doctor --probe` begins again.",
            ) from stop
    return Capabilities(identity, now(), tuple(combinations))


@contextmanager
def _recorded(
    recorder: Recorder, progress: Progress, dose: Dose, /, **choices: Any
) -> Generator[tuple[Recording, Recorded]]:
    """Record the probe into a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(
        prefix="tracekit-probe-", ignore_cleanup_errors=True
    ) as folder:
        recording = Recording(Path(folder) / "run")
        recording.save_provenance(Provenance(created=now(), recorder=recorder.name))
        plan = Plan(
            workload=load(WORK),
            parameters={"dispatches": dose.dispatches},
            time_limit=dose.seconds,
            warmup=_WARMUP,
            **choices,
        )
        recorded = recorder.record(request_for(plan, recording, recorder), recording, progress)
        if recorded.interrupted:
            raise KeyboardInterrupt
        yield recording, recorded


def _tried(way: Combination, recorder: Recorder, progress: Progress, dose: Dose) -> Combination:
    choices = {"method": way.mode, "counters": "on" if way.counters else "off"}
    try:
        with _recorded(recorder, progress, dose, **choices) as (recording, recorded):
            saving = _seconds_since(recorded.ended)
            warnings = recorder.export(recording, progress)
            report = fold(recording.journal_file)
            tables = _tables(recording, recorded)
            intervals, counters = tables.get("gpu_intervals"), tables.get("gpu_counters")
            runs = read_toc(recording.toc_file).runs
            own = None if intervals is None else int(intervals["target"].sum())
            said = (*tables.warnings, *recorded.warnings, *warnings)
            return replace(
                way,
                rows=own,
                others=None if intervals is None or own is None else len(intervals) - own,
                counter_set=counter_set(runs[-1]) if runs else "",
                counter_rows=None if counters is None or not way.counters else len(counters),
                backend=report.backend,
                dispatches=dispatches_within(report, way.mode, dose.dispatches),
                saving=saving,
                failure=recorded.failure,
                warnings=tuple(dict.fromkeys(said)),
            )
    except InterruptedRunError:
        raise
    except TracekitError as error:
        return replace(way, failure=f"{error.message} {error.hint}".strip())


def _tables(recording: Recording, recorded: Recorded) -> Tables:
    return Tables(recording.exports, frozenset(target.pid for target in recorded.targets))


def dispatches_within(report: WorkloadReport, mode: Mode, budget: int) -> int | None:
    """Return how many dispatches the probe made while it was recorded; None if nobody knows.

    A launched probe is recorded from its beginning; one that was attached to, after its warm-up.
    Steps beyond the budget only rest.
    """
    if report.model.dispatches is None:
        return None
    working = report.steps[:budget]
    recorded = [step for step in working if mode == "launch" or step.phase != "warm-up"]
    return len(recorded) * report.model.dispatches


def _seconds_since(moment: str) -> float | None:
    try:
        return max(0.0, round(time.time() - datetime.fromisoformat(moment).timestamp(), 3))
    except ValueError:
        return None


_FIX = "Record any workload with `--recorder host`, and look at what it says."


def probe_host(progress: Progress = quiet, dose: Dose = DOSE) -> Fact:
    """Record the probe with the host recorder, read its tables, and say what they hold.

    Raises:
        InterruptedRunError: Someone asked to stop.
    """
    name, recorder = "probe: host recorder", HostRecorder()
    try:
        with _recorded(recorder, progress, dose, recorder=recorder.name) as (recording, recorded):
            if recorded.failure:
                return failed(recorded.failure, _FIX, name=name)
            recorder.export(recording, progress)
            tables = _tables(recording, recorded)
            steps, samples = len(tables["steps"]), len(tables["process_samples"])
    except InterruptedRunError:
        raise
    except TracekitError as error:
        return failed(error.message, error.hint or _FIX, name=name)
    words = f"{steps} steps and {samples} samples of a probe were recorded and read"
    return ok(words, name=name) if steps and samples else failed(words, _FIX, name=name)
