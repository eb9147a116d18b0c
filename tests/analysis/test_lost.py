"""What a recording lacks is said, and never counted as zero.

Each table that metrics and rules read is taken from good recordings: once altogether, once all of
its rows, once half of its export.
"""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelled.faults import FAULTS
from labelled.folder import write
from labelled.program import simulate
from labelled.setup import MICROSECOND, MILLISECOND, Counters, Hold, Server, Setup
from small_trace import SETUP
from tracekit import pipeline
from tracekit.analysis.analyze import judge, measure, used_tables
from tracekit.analysis.given import OF_MARKS, Given, recorded_tables
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Measurement, RuleCheck, Status
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.analysis.wording import ShownFact
from tracekit.base.recording import Recording
from tracekit.record.host.exports import EVENTS, source_of, write_rows
from tracekit.tables.schemas import SCHEMAS
from tracekit.workload.plan import Plan
from tracekit.workload.workload import find

# A simulated recording with something of everything that a metric measures.
_BUSY = replace(
    SETUP,
    steps=24,
    version="27.0",
    ahead=0,
    tells=True,
    monitored=True,
    counters=Counters(),
    bytes_moved=200_000_000,
    flops=1_000_000_000,
    readbacks=2,
    late=600 * MICROSECOND,
    rival=Hold(20 * MILLISECOND, 2 * MILLISECOND),
    compiles=((5, 20 * MILLISECOND), (9, 3 * MILLISECOND)),
    leak=1 << 21,
    allocations=4,
    wiring=300 * MICROSECOND,
    spilled=256,
    overhead=0.01,
    clock=(0.7, 0.3),
    thermal="Serious",
    spikes=((16, 30 * MILLISECOND),),
)
_PAGED = {"batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "block_size": 16}
_PAGED |= {"max_blocks": 4, "active_blocks": 2, "dtype": "float32"}
_SERVE = {"head_dim": 32, "q_heads": 2, "kv_heads": 1, "layers": 1, "dtype": "float32"}
_SERVE |= {"max_seqs": 2, "blocks": 3, "seed": 2, "rate": 120.0, "duration": 0.4}
_SERVE |= {"prompt_tokens": 12, "prompt_shortest": 4, "prompt_longest": 40}
_SERVE |= {"output_tokens": 6, "output_shortest": 1, "output_longest": 20}
_SERVE |= {"slo_ttft": 40.0, "slo_tpot": 4.0, "slow_tick": 2.0}

Judged = tuple[RuleCheck, list[Finding]]


@dataclass(frozen=True)
class Whole:
    """A recording, its tables, and what each metric and each rule says of it."""

    recording: Recording
    tables: Mapping[str, pd.DataFrame]
    metrics: dict[str, Measurement]
    judged: dict[str, Judged]

    def build_given(self, tables: Mapping[str, pd.DataFrame]) -> Given:
        return Given(tables, self.recording.provenance(), used_tables())


def _simulate_setup(setup: Setup) -> Callable[[Path], Recording]:
    """Make a recording with all tables of marks, as a workload of tracekit leaves them."""

    def make(folder: Path) -> Recording:
        recording = write(simulate(setup), folder)
        for name in EVENTS:
            if not (recording.exports / f"{source_of(name)}.parquet").exists():
                write_rows(recording.exports, name, ())
        return recording

    return make


def _record_on_host(workload: str, parameters: Mapping[str, object]) -> Callable[[Path], Recording]:
    def make(folder: Path) -> Recording:
        plan = Plan(
            workload=find(workload),
            parameters=dict(parameters),
            recorder="host",
            time_limit=20.0,
            warmup=2,
            repeats=300 if workload == "paged" else None,
            output=folder,
        )
        recording = pipeline.record(plan)
        pipeline.export(recording)
        return recording

    return make


KINDS: Mapping[str, Callable[[Path], Recording]] = {
    "metal": _simulate_setup(_BUSY),
    "metal that tells no waits": _simulate_setup(replace(_BUSY, tells=False)),
    "metal server": _simulate_setup(replace(_BUSY, server=Server(8, 20 * MILLISECOND, True))),
    "host": _record_on_host("paged", _PAGED),
    "host server": _record_on_host("serve", _SERVE),
}
"""How a good recording of each kind is made."""


def examine_recording(make: Callable[[Path], Recording], folder: Path) -> Whole:
    recording = make(folder)
    all_tables = pipeline.tables_of(recording)
    tables = {name: all_tables[name] for name in used_tables() if name in all_tables}
    given_tables = Given(tables, recording.provenance())
    metrics = {name: measure(metric, given_tables) for name, metric in METRICS.items()}
    judged = {name: judge(rule, given_tables, {}) for name, rule in RULES.items()}
    return Whole(recording, tables, metrics, judged)


def faulty(fault: str, seed: int) -> Callable[[Path], Recording]:
    """Return how a recording with a fault is made, that the rule of its name finds."""
    setup = replace(SETUP, steps=40)
    return _simulate_setup(FAULTS[fault].put(setup, np.random.default_rng(seed)))


# Tables of events: that one has no row says that nothing of the kind happened. These numbers are
# then those of a recording in which it did not.
_EMPTY = {"idle_host", "idle_way_back", "idle_encoding", "idle_start_latency"}
NONE_HAPPENED = {
    "driver_events": {*_EMPTY, "idle_wiring", "wire_time"},
    "resource_allocations": {"allocations_per_step"},
    "spans": _EMPTY,
}
COUNTED_AS_NONE = {"wire_time", "allocations_per_step"}
# The same for rules, which then find nothing.
NONE_FOUND = {
    ("shader-spills", "shader_spills"),
    ("hot-allocations", "resource_allocations"),
    ("hot-allocations", "driver_events"),
    ("lost-residency", "driver_events"),
    ("shallow-queue", "driver_events"),
    ("shallow-queue", "spans"),
    ("command-buffer-errors", "command_buffer_errors"),
    ("pipeline-churn", "compiler_activity"),
}
# Findings that say what explains them, as far as was recorded, or tell of the same by other
# tables: their sentences change, and each stays true.
CHANGED = {"step-spikes", "irregular-cadence", "pipeline-churn"}
# Idle time that has another name where nothing of that kind happened.
RENAMED = {("bubbles", "spans"), ("bubbles", "driver_events"), ("bubbles", "compiler_activity")}
# Without marks the loop is found by its structure, and a sentence says "iteration" for "step".
_OF_LOOPS = (
    *("bubbles", "shallow-queue", "frequent-readback", "hot-allocations", "host-bound"),
    *("frequent-command-buffers", "tiny-encoders", "avoidable-kernels", "unfused-attention"),
    "lost-residency",
)
RENAMED |= {(name, "steps") for name in _OF_LOOPS}
IDLE_SHARES = [
    metric_name
    for metric_name in METRICS
    if metric_name.startswith("idle_") and metric_name != "idle_ratio"
]
# Each fault with a seed by which it is large enough to be found.
FOUND = {
    **dict.fromkeys(RULES, 0),
    **dict.fromkeys(
        ("bubbles", "shallow-queue", "gpu-contended", "irregular-cadence", "lost-residency"), 1
    ),
    "unfused-attention": 1,
    "uneven-work": 1,
    "memory-growth": 4,
    "low-occupancy": 2,
    "roofline-distance": 2,
}
LIMITS = {"frequent-readback": {"limit": 0.02}}
"""Thresholds for faults that are small in recordings as short as these."""
OF_TABLES = sorted(set(FAULTS) - {"schema-drift", "trace-overhead"})


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=() if kind in {"metal", "host"} else pytest.mark.campaign)
        for kind in KINDS
    ],
)
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return examine_recording(KINDS[request.param], tmp_path_factory.mktemp("good") / "run")


def without(tables: dict[str, pd.DataFrame], name: str, how: str) -> dict[str, pd.DataFrame]:
    if how == "absent":
        return {table_name: frame for table_name, frame in tables.items() if table_name != name}
    return tables | {name: tables[name].iloc[:0]}


def reads(metric: str, table: str) -> bool:
    return table in recorded_tables(METRICS[metric].measure)


def check_metrics(
    old_metrics: dict[str, Measurement], new_metrics: dict[str, Measurement], allowed: set[str]
) -> None:
    for name, new in new_metrics.items():
        old = old_metrics[name]
        assert new.value is not None or new.reason, name
        if name == "idle_unattributed":  # what nothing tells any more
            assert (new.value or 0) >= (old.value or 0), name
        elif new.value is not None and name not in allowed:
            assert new.value == old.value, name
        if name in allowed & COUNTED_AS_NONE:
            assert new.value in {0, None}, name
    shares = [
        new_metrics[share_name].value for share_name in IDLE_SHARES if share_name in new_metrics
    ]
    if len(shares) == len(IDLE_SHARES) and None not in shares:
        assert sum(filter(None, shares)) == pytest.approx(new_metrics["idle_ratio"].value)


OF_SAVINGS = {
    *("pulled", "pulled_number", "saving_least", "saving_most", "limit"),
    *("several", "period_several", "batch", "period_batch"),
}


def may_save(finding: Finding, saving: int | None) -> bool:
    """Tell whether a finding states this saving, or a range that holds it, but for a hundredth."""
    facts = {fact.name: fact.value for fact in finding.facts}
    lower_bound, upper_bound = facts.get("saving_least"), facts.get("saving_most")
    if isinstance(lower_bound, int) and isinstance(upper_bound, int) and saving is not None:
        return 0.99 * lower_bound <= saving <= 1.01 * upper_bound
    return finding.saving in {None, saving}


def statements(findings: list[Finding]) -> set[object]:
    """Return the facts that are known, but for those of savings, and sentences without facts."""
    without = [finding for finding in findings if not finding.wording]
    return {
        *(
            (fact.name, str(ShownFact(fact)))
            for finding in findings
            for fact in finding.facts
            if fact.value and fact.name not in OF_SAVINGS
        ),
        *(part for finding in without for part in re.split(r"(?<=[.:]) ", finding.message)),
    }


def check_rule(old_judged: Judged, new_judged: Judged, table: str, how: str) -> None:
    (old, was), (new, new_findings) = old_judged, new_judged
    place = (old.rule, table)
    is_unjudged = new.status in {Status.ABSTAINED, Status.NOT_APPLICABLE}
    assert not is_unjudged or new.reason, old.rule
    if is_unjudged or place == ("capture-empty", "gpu_intervals"):
        return
    if how == "empty" and place in NONE_FOUND:
        return
    if place == ("capture-truncated", "phases"):
        return  # that a workload left no marks is what it looks for
    # What is not recorded may count for something else: then a finding says that it may.
    marked = any(
        fact.name == "lacking" and fact.value for finding in new_findings for fact in finding.facts
    )
    assert new.status is old.status or (marked and new.status is Status.FOUND), place
    if not marked and old.rule not in CHANGED and place not in RENAMED:
        assert statements(new_findings) <= statements(was), place
        for finding in new_findings:
            assert any(may_save(finding, old_finding.saving) for old_finding in was), place


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_a_table_that_is_missing_changes_no_number_without_a_reason(good: Whole, how: str) -> None:
    for table in sorted(used_tables() & good.tables.keys()):
        if how == "empty" and good.tables[table].empty:
            continue
        reduced_tables = good.build_given(without(dict(good.tables), table, how))
        allowed_metrics = NONE_HAPPENED.get(table, set()) if how == "empty" else set[str]()
        new_metrics = {
            name: measure(METRICS[name], reduced_tables) for name in METRICS if reads(name, table)
        }
        check_metrics(good.metrics, new_metrics, allowed_metrics)
        for name, rule in RULES.items():
            if table in recorded_tables(rule.judge):
                check_rule(good.judged[name], judge(rule, reduced_tables, {}), table, how)


@pytest.mark.campaign
@pytest.mark.parametrize("name", OF_TABLES)
def test_no_rule_passes_because_a_table_is_missing(name: str, tmp_path: Path) -> None:
    recording = faulty(name, FOUND[name])(tmp_path / "run")
    provenance, rule = recording.provenance(), RULES[name]
    read = pipeline.tables_of(recording)
    tables = {table_name: read[table_name] for table_name in used_tables() if table_name in read}
    limits = LIMITS.get(name, {})
    old_judged = judge(rule, Given(tables, provenance), limits)
    assert old_judged[0].status is Status.FOUND
    for table in recorded_tables(rule.judge) & tables.keys():
        for how in ("absent", "empty"):
            if (name, table) == ("frequent-readback", "steps"):
                continue  # groups of command buffers alike may each be a part of an iteration
            reduced_tables = Given(without(tables, table, how), provenance)
            check_rule(old_judged, judge(rule, reduced_tables, limits), table, how)


@contextmanager
def half_of(export: Path) -> Generator[None]:
    """Let an export be half as long for a while, as if writing it had been stopped."""
    content = export.read_bytes()
    export.write_bytes(content[: len(content) // 2])
    try:
        yield
    finally:
        export.write_bytes(content)


def made_of(schema: str) -> set[str]:
    return {
        name
        for name, table_schema in SCHEMAS.items()
        if schema in {source.schema for source in table_schema.sources}
    }


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore::tracekit.tables.drift.DamagedExportWarning")
@pytest.mark.parametrize("good", ["metal", "host", "host server"], indirect=True)
def test_nothing_is_made_of_half_an_export(good: Whole) -> None:
    exports = [file for file in good.recording.exports.glob("*.*") if file.stem != "toc"]
    provenance = good.recording.provenance()
    cut_exports = [file for file in exports if made_of(file.stem) & used_tables()]
    for export in cut_exports:
        with half_of(export):
            reduced_tables = Given(pipeline.tables_of(good.recording), provenance, used_tables())
            for name, metric in METRICS.items():
                new = measure(metric, reduced_tables)
                is_unchanged = new.value == good.metrics[name].value  # the workload marks its loop
                if made_of(export.stem) & recorded_tables(metric.measure) and not is_unchanged:
                    assert (new.value, bool(new.reason)) == (None, True), (name, export.stem)
                elif new.value is not None:
                    assert new.value == good.metrics[name].value, (name, export.stem)
            for name, rule in RULES.items():
                check, findings = judge(rule, reduced_tables, {})
                if name == "capture-truncated":
                    assert findings[0].wording == "capture-truncated-damaged", (name, export.stem)
                elif (check, findings) == good.judged[name]:
                    continue  # the workload marks its loop: the table was not needed
                elif made_of(export.stem) & recorded_tables(rule.judge):
                    unjudged = {Status.ABSTAINED, Status.NOT_APPLICABLE}
                    assert check.status in unjudged | {Status.FOUND}, (name, export.stem)
                    # What it found may be whole; what it would save was read off the damaged table.
                    whole_savings = {finding.saving for finding in good.judged[name][1]} | {None}
                    assert (
                        check.reason or {finding.saving for finding in findings} <= whole_savings
                    ), (export, name)
                elif check.status in {Status.PASSED, Status.FOUND} and name != "schema-drift":
                    assert check.status is good.judged[name][0].status, (name, export.stem)
    assert len(cut_exports) > 10


_COLUMN = "<col><mnemonic>{0}</mnemonic><engineering-type>{1}</engineering-type></col>"
CUT = (
    '<?xml version="1.0"?><trace-query-result><node><schema name="metal-shader-profiler-intervals">'
    f"{_COLUMN.format('start', 'start-time')}{_COLUMN.format('duration', 'duration')}"
    f"{_COLUMN.format('process', 'process')}</schema><row>"
)


@pytest.mark.filterwarnings("ignore::tracekit.tables.drift.DamagedExportWarning")
@pytest.mark.parametrize(
    ("name", "schemas"),
    [
        ("compute-bound", {"step_models": "host-step-model", "steps": "host-steps"}),
        ("memory-bound", {"step_models": "host-step-model", "steps": "host-steps"}),
        ("low-occupancy", {"shader_runs": "metal-shader-profiler-intervals"}),
        ("performance-cliff", {"shader_runs": "metal-shader-profiler-intervals"}),
    ],
)
def test_a_rule_abstains_if_a_table_it_reads_is_damaged(
    name: str, schemas: dict[str, str], tmp_path: Path
) -> None:
    recording = faulty(name, FOUND[name])(tmp_path / "run")

    def judge_recording() -> Judged:
        given_tables = Given(pipeline.tables_of(recording), recording.provenance(), used_tables())
        return judge(RULES[name], given_tables, {})

    assert judge_recording()[0].status is Status.FOUND
    for table, schema in schemas.items():
        if table == "shader_runs":
            (recording.exports / f"{schema}.xml").write_text(CUT)
            check, findings = judge_recording()
        else:
            [export] = recording.exports.glob(f"{schema}.*")
            with half_of(export):
                check, findings = judge_recording()
        assert (check.status, findings) == (Status.ABSTAINED, []), table
        assert table in check.reason


def test_all_tables_of_marks_are_known_to_come_together() -> None:
    assert set(EVENTS) == OF_MARKS
