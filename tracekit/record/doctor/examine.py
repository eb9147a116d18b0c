"""The whole examination, and the results of earlier probes and comparisons on a machine.

A probe's matrix counts only for the build of the system, the build of Xcode and the chip that it
was recorded on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.base import InconclusiveError, TracekitError, choices, documents, files, units
from tracekit.base import capabilities as base_capabilities
from tracekit.record.doctor.checks import (
    FactStatus,
    MachineFact,
    failed,
    not_applicable,
    ok,
    run_checks,
    unknown,
    warning,
)
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.known_bundles import KnownBundles, note_file, read_note, recall
from tracekit.record.progress import Progress, quiet
from tracekit.record.recorder import Recorder
from tracekit.record.recorders import choose, xctrace_here
from tracekit.record.xctrace.command import NO_COUNTERS, WAYS_TO_COUNTERS
from tracekit.record.xctrace.tool import read_version
from tracekit.workload import Plan


def _file(identity: base_capabilities.Identity, folder: Path) -> Path:
    parts = (identity.system_build, identity.xcode_build, identity.chip)
    return note_file(folder, "capabilities", *parts)


def keep(capabilities: base_capabilities.Capabilities, folder: Path) -> None:
    """Write the matrix in place of an older one of the same machine; raise RecordingError."""
    documents.save(_file(capabilities.identity, folder), capabilities)


def recall_probe(
    identity: base_capabilities.Identity, folder: Path
) -> base_capabilities.Capabilities | None:
    """Return the last probe of this very machine, or None if it was never probed."""
    capabilities = read_note(
        _file(identity, folder), base_capabilities.Capabilities(identity, probed="")
    )
    if not capabilities.probed:
        return None
    return capabilities


def known_of(recorder: Recorder) -> base_capabilities.Capabilities | None:
    """Return the last probe of this machine; None for the host recorder, or without a probe."""
    if recorder.name != "xctrace":
        return None
    identity = DoctorSurroundings().identify(read_version(recorder.version()))
    return recall_probe(identity, files.notes_folder())


def resolve_plan(
    plan: Plan, matrix: base_capabilities.Capabilities | None
) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with every `auto` that the matrix can decide, and notes on the decisions.

    An explicit choice of the user stays, and so does the whole plan on a machine that was never
    probed. A template of the user's has its own counter set, so nothing is added to it.
    """
    if matrix is None:
        return plan, ()
    is_undecided = plan.counters == "auto" and plan.templates == (choices.METAL_SYSTEM_TRACE,)
    may_count = is_undecided or plan.counters == "on"
    mode, with_counters = _choose_way(matrix, may_count=may_count)
    notes: list[str] = []
    if plan.method == "auto" and plan.workload is not None and mode == "attach":
        plan = replace(plan, method="attach")
        notes.append(
            "The workload was attached to: only that gave rows when this machine was probed. "
            "`--method` chooses."
        )
    if is_undecided and with_counters and (plan.method, mode) != ("launch", "attach"):
        plan = replace(plan, counters="on")
        took = ""
        savings = [way.saving for way in matrix.combinations if way.counters and way.saving]
        if savings:
            took = f"; saving took {max(savings):.0f} s"
        notes.append(
            f"GPU counters were asked for: they came when this machine was probed{took}. "
            "`--counters off` leaves them out."
        )
    return plan, tuple(notes)


def _choose_way(
    matrix: base_capabilities.Capabilities, *, may_count: bool
) -> tuple[base_capabilities.Mode, bool]:
    """Return the best way that works: its mode, and whether it has counters.

    Counters are preferred if they are allowed. Launching is preferred to attaching, because it
    records a program from its beginning.
    """
    working_ways = {(way.mode, way.counters) for way in matrix.combinations if way.works}
    preferred_ways: list[tuple[base_capabilities.Mode, bool]] = [
        ("launch", False),
        ("attach", False),
    ]
    if may_count:
        preferred_ways = [("launch", True), ("attach", True), *preferred_ways]
    for way in preferred_ways:
        if way in working_ways:
            return way
    return "launch", False


_PROBE = "probe"

_NO_ROWS = (
    "Look at developer mode above, quit other recorders, and record once in Instruments itself: "
    "if that shows no GPU work either, this system does not give any."
)
_ON_CPU = " The probe ran on the CPU: see `mlx metal` above."
_OTHER_WAY: dict[base_capabilities.Mode, str] = {
    "launch": "Record workloads with `--method attach`, running programs with `--attach PID`.",
    "attach": "Record with `--method launch`, and programs of your own after `--`.",
}


def describe_probe(
    capabilities: base_capabilities.Capabilities | None, *, has_xctrace: bool
) -> Iterator[MachineFact]:
    """Report which ways to record gave rows when this machine was probed."""
    if not has_xctrace:
        yield not_applicable("There is no xctrace to record with.", name=_PROBE)
        return
    if capabilities is None:
        yield unknown(
            "never probed with this system and this Xcode",
            "`tracekit doctor --probe` records for two seconds in each way.",
            name=_PROBE,
        )
        return
    ways = capabilities.combinations
    yield ok(
        f"{len(ways)} ways to record were tried {units.stamp(capabilities.probed)}", name=_PROBE
    )
    plain_ways = [way for way in ways if not way.counters]
    counter_ways = [way for way in ways if way.counters]
    for way in plain_ways:
        another_works = any(other_way.works for other_way in plain_ways if other_way is not way)
        fact = _mode(way, another_works=another_works)
        yield replace(fact, name=f"{_PROBE}: {way.mode}")
    yield replace(_counters(counter_ways), name=f"{_PROBE}: counters")


def _mode(way: base_capabilities.Combination, *, another_works: bool) -> MachineFact:
    """Return the fact of a way without counters."""
    on_cpu = _ON_CPU if way.backend == "cpu" else ""
    if not way.works:
        return _broken_mode(way, on_cpu, another_works=another_works)
    rows = f"{units.count(way.rows)} GPU intervals of the probe's own"
    if way.dispatches is None:
        return ok(f"{rows}. How many dispatches it made is not known.{on_cpu}")
    words = f"{rows} for {units.count(way.dispatches)} dispatches"
    if (way.rows or 0) >= way.dispatches:
        return ok(words)
    return warning(
        f"{words}: work is missing from the trace.",
        "Trust no sums of this machine's traces until rows and dispatches agree; probe again "
        "with nothing else running.",
    )


def _broken_mode(
    way: base_capabilities.Combination, on_cpu: str, *, another_works: bool
) -> MachineFact:
    if way.failure:
        words = way.failure
    elif way.rows is None:
        words = "Whether the probe's work was recorded is not known."
    else:
        words = (
            "The recording was saved without a GPU interval of the probe's own; "
            f"other processes have {units.count(way.others)}."
        )
    if another_works and not on_cpu:
        return warning(words, _OTHER_WAY[way.mode])
    fix = _NO_ROWS
    if way.failure or on_cpu:
        fix = "Fix this problem; `tracekit doctor --probe` tries again."
    return failed(f"{words}{on_cpu}", fix)


def _counters(counter_ways: Sequence[base_capabilities.Combination]) -> MachineFact:
    """Return the fact of the ways with counters."""
    samples: list[str] = []
    for way in counter_ways:
        if way.counter_rows and not way.failure:
            counter_set = way.counter_set or "no named set"
            samples.append(f"{way.mode} {units.count(way.counter_rows)} samples of {counter_set}")
    if samples:
        return ok(", ".join(samples))
    if all(way.rows is None for way in counter_ways):
        return unknown("No trace with counters could be read, so nothing is known of them.")
    failures = dict.fromkeys(way.failure for way in counter_ways if way.failure)
    words = f"{NO_COUNTERS}."
    if failures:
        words = f"{NO_COUNTERS}: {'; '.join(failures)}"
    return warning(words, f"`--counters off`. {WAYS_TO_COUNTERS}")


_DIRECT = "direct reading"


def direct_facts(memory: KnownBundles, *, has_xctrace: bool) -> Iterator[MachineFact]:
    """Report which tables of this build are read from bundles as xctrace exports them."""
    if not has_xctrace:
        reason = "There is no xctrace to compare with; bundles of others can be read."
        yield not_applicable(reason, name=_DIRECT)
        return
    tables = memory.tables.values()
    if not tables:
        yield unknown(
            f"not checked yet for build {memory.build or 'unknown'}",
            "The next `tracekit capture` exports tables once and compares.",
            name=_DIRECT,
        )
        return
    filled_tables = 0
    rows = 0
    for table in tables:
        if table.rows and not table.difference:
            filled_tables += 1
            rows += table.rows
    words = f"{filled_tables} tables, {units.count(rows)} rows compared"
    yield ok(f"verified for build {memory.build}: {words}", name=_DIRECT)
    for table in tables:
        if table.difference:
            yield warning(
                f"differs: {table.difference}.",
                "Captures use exports of these tables. Report it with this line and the build: "
                "`tracekit doctor --json` has both.",
                name=f"{_DIRECT}: {table.schema}",
            )


DIAGNOSIS_FORMAT = 1


@dataclass(frozen=True)
class Diagnosis:
    """The facts of one machine, and its capability matrix if it was ever probed."""

    identity: base_capabilities.Identity
    facts: tuple[MachineFact, ...]
    capabilities: base_capabilities.Capabilities | None = None

    @property
    def exit_code(self) -> int:
        """0 if the machine is ready; 3 if a fact failed; 4 if a needed one is not known."""
        if any(fact.verdict is FactStatus.FAILED for fact in self.facts):
            return TracekitError.exit_code
        if any(fact.verdict is FactStatus.UNKNOWN and fact.needed for fact in self.facts):
            return InconclusiveError.exit_code
        return 0

    def document(self) -> "DiagnosisDocument":
        """Return the document of `tracekit doctor --json`; see docs/reference/doctor.md."""
        return DiagnosisDocument(
            format=DIAGNOSIS_FORMAT,
            identity=self.identity,
            facts=self.facts,
            capabilities=self.capabilities,
            exit_code=self.exit_code,
        )


@dataclass(frozen=True)
class DiagnosisDocument:
    """The JSON of `tracekit doctor`; `exit_code` is that of the command."""

    format: int
    identity: base_capabilities.Identity
    facts: tuple[MachineFact, ...]
    capabilities: base_capabilities.Capabilities | None
    exit_code: int


def examine(
    surroundings: DoctorSurroundings,
    folder: Path,
    progress: Progress = quiet,
    fresh: base_capabilities.Capabilities | None = None,
) -> Diagnosis:
    """Check everything, without recording.

    `fresh` is a probe that was just made; it is kept in `folder`, with former ones.
    """
    progress("Xcode")
    has_xctrace = surroundings.has_xctrace
    identity = surroundings.identity
    progress("this machine")
    capabilities = fresh or recall_probe(identity, folder)
    facts = [
        *run_checks(surroundings),
        *describe_probe(capabilities, has_xctrace=has_xctrace),
        *direct_facts(recall(identity.xcode_build, folder), has_xctrace=has_xctrace),
    ]
    if fresh is not None:
        facts += _keep_probe(fresh, folder)
    return Diagnosis(identity, tuple(facts), capabilities)


def probe_machine(
    surroundings: DoctorSurroundings, progress: Progress = quiet
) -> base_capabilities.Capabilities:
    """Record the probe in each way that this machine offers.

    Raise ToolError without xctrace, and on a virtual machine.
    """
    from tracekit.record.doctor.probe import probe  # noqa: PLC0415  few examinations record

    surroundings.machine.require_chip("A probe")
    progress("Xcode")
    xctrace_here()
    return probe(choose("xctrace"), surroundings.identity, progress)


_CACHE = "probe's cache"


def _keep_probe(fresh: base_capabilities.Capabilities, folder: Path) -> Iterator[MachineFact]:
    """Keep the matrix, unless no trace could be read at all: it would prove nothing then."""
    if all(way.rows is None for way in fresh.combinations):
        words = "No trace of the probe could be read, so this probe is not kept."
        yield warning(words, "Fix the problems above, and probe again.", name=_CACHE)
        return
    try:
        keep(fresh, folder)
    except TracekitError as error:
        fix = f"Let {folder} be a folder that you may write to."
        yield warning(error.message, fix, name=_CACHE)
