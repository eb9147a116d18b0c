"""Short recordings of a probe, to see which ways to record give rows on this machine."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import get_args

from tracekit.base import (
    NOT_AVAILABLE,
    Capabilities,
    Combination,
    Identity,
    InterruptedRunError,
    Mode,
    Provenance,
    Recording,
    TracekitError,
    count,
    now,
    stamp,
)
from tracekit.record.doctor.facts import Fact, failed, not_applicable, ok, unknown, warning
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.observe import request_for
from tracekit.record.recorder import Progress, Recorded, Recorder, quiet
from tracekit.record.xctrace.exporting import counter_set
from tracekit.record.xctrace.problems import NO_COUNTERS, WAYS_TO_COUNTERS
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
                hint="`tracekit doctor --probe` begins again.",
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


NAME = "probe: host recorder"
_FIX = "Record any workload with `--recorder host`, and look at what it says."


def probe_host(progress: Progress = quiet, dose: Dose = DOSE) -> Fact:
    """Record the probe with the host recorder, read its tables, and say what they hold.

    Raises:
        InterruptedRunError: Someone asked to stop.
    """
    with tempfile.TemporaryDirectory(
        prefix="tracekit-probe-", ignore_cleanup_errors=True
    ) as folder:
        try:
            return _recorded_on_host(Recording(Path(folder) / "run"), progress, dose)
        except InterruptedRunError:
            raise
        except TracekitError as error:
            return failed(NAME, error.message, error.hint or _FIX)


def _recorded_on_host(recording: Recording, progress: Progress, dose: Dose) -> Fact:
    recorder = HostRecorder()
    recording.save_provenance(Provenance(created=now(), recorder=recorder.name))
    plan = Plan(
        workload=load(WORK),
        parameters={"dispatches": dose.dispatches},
        recorder=recorder.name,
        time_limit=dose.seconds,
        warmup=3,
    )
    recorded = recorder.record(request_for(plan, recording, recorder), recording, progress)
    if recorded.interrupted:
        raise KeyboardInterrupt
    if recorded.failure:
        return failed(NAME, recorded.failure, _FIX)
    recorder.export(recording, progress)
    tables = Tables(recording.exports, frozenset(one.pid for one in recorded.targets))
    steps, samples = len(tables["steps"]), len(tables["process_samples"])
    words = f"{steps} steps and {samples} samples of a probe were recorded and read"
    return ok(NAME, words) if steps and samples else failed(NAME, words, _FIX)


PREFIX = "probe"

_NO_ROWS = (
    "Look at developer mode above, quit other recorders, and record once in Instruments itself: "
    "if that shows no GPU work either, this system does not give any."
)
_AGAIN = "Fix what it says; `tracekit doctor --probe` tries again."
_NO_GPU_WORK = "The probe ran on the CPU, so it had no GPU work to show."
_ON_CPU = "The probe ran on the CPU, so there is no number of dispatches to hold against it."
_OTHER_WAY: dict[Mode, str] = {
    "launch": "Record workloads with `--method attach`, running programs with `--attach PID`.",
    "attach": "Record with `--method launch`, and programs of your own after `--`.",
}


def shown(capabilities: Capabilities | None, *, has_xctrace: bool) -> Iterator[Fact]:
    """Say which ways to record gave rows, when this machine was probed."""
    if not has_xctrace:
        yield not_applicable(PREFIX, "There is no xctrace to record with.")
    elif capabilities is None:
        yield unknown(
            PREFIX,
            "never probed with this system and this Xcode",
            "`tracekit doctor --probe` records for two seconds in each way.",
        )
    else:
        when = stamp(capabilities.probed)
        yield ok(PREFIX, f"{len(capabilities.combinations)} ways to record were tried {when}")
        yield from _modes(capabilities)
        yield _counters(capabilities)


def _modes(capabilities: Capabilities) -> Iterator[Fact]:
    tried = [one for one in capabilities.combinations if not one.counters]
    for one in tried:
        others = any(other.works for other in tried if other is not one)
        yield _mode(one, another_works=others)


def _mode(one: Combination, *, another_works: bool) -> Fact:
    name = f"{PREFIX}: {one.mode}"
    if not one.works:
        words = one.failure or _absence(one)
        if one.backend == "cpu":
            return failed(name, f"{words} {_NO_GPU_WORK}", "See `mlx metal` above.")
        if another_works:
            return warning(name, words, _OTHER_WAY[one.mode])
        return failed(name, words, _AGAIN if one.failure else _NO_ROWS)
    rows = f"{count(one.rows)} GPU intervals of the probe's own"
    if one.dispatches is None:
        why = _ON_CPU if one.backend == "cpu" else "How many dispatches it made is not known."
        return ok(name, f"{rows}. {why}")
    words = f"{rows} for {count(one.dispatches)} dispatches"
    if (one.rows or 0) >= one.dispatches:
        return ok(name, words)
    return warning(
        name,
        f"{words}: work is missing from the trace.",
        "Trust no sums of this machine's traces until rows and dispatches agree; probe again "
        "with nothing else running.",
    )


def _absence(one: Combination) -> str:
    if one.rows is None:
        return "Whether the probe's work was recorded is not known."
    return (
        "The recording was saved without a GPU interval of the probe's own; "
        f"other processes have {count(one.others)}."
    )


def _counters(capabilities: Capabilities) -> Fact:
    name = f"{PREFIX}: counters"
    tried = [one for one in capabilities.combinations if one.counters]
    working = [one for one in tried if one.counter_rows and not one.failure]
    if working:
        samples = ", ".join(
            f"{one.mode} {count(one.counter_rows)} samples of {one.counter_set or 'no named set'}"
            for one in working
        )
        return ok(name, samples)
    if all(one.rows is None for one in tried):
        return unknown(name, "No trace with counters could be read, so nothing is known of them.")
    why = "; ".join(dict.fromkeys(one.failure for one in tried if one.failure))
    return warning(
        name, f"{NO_COUNTERS}{f': {why}' if why else '.'}", f"`--counters off`. {WAYS_TO_COUNTERS}"
    )


MATRIX_COLUMNS = (
    "way",
    "rows",
    "dispatches",
    "others' rows",
    "counter set",
    "counter rows",
    "saving",
    "remarks",
)


def matrix_rows(capabilities: Capabilities) -> list[tuple[str, ...]]:
    """Return the cells of each way that was tried."""
    return [_row(one) for one in capabilities.combinations]


def _row(one: Combination) -> tuple[str, ...]:
    saving = NOT_AVAILABLE if one.saving is None else f"{one.saving:.1f} s"
    remarks = (one.failure, *one.warnings)
    return (
        one.name,
        count(one.rows),
        count(one.dispatches),
        count(one.others),
        one.counter_set or "none",
        count(one.counter_rows) if one.counters else "not asked for",
        saving,
        " ".join(" ".join(text.split()) for text in remarks if text),
    )
