"""What a recording lacks is said, and never counted as zero.

Each table that metrics and rules read is taken from good recordings: once altogether, once all of
its rows, once half of its export.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tracekit.analysis.analyze import judge, measure, used_tables
from tracekit.analysis.given import OF_MARKS, Given, recorded_tables
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Measurement, Status
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.pipeline import tables_of
from tracekit.record.host.exports import EVENTS
from tracekit.tables.schemas import SCHEMAS
from whole_recordings import KINDS, Judged, Whole, faulty, whole

# Tables of events: that one has no row says that nothing of the kind happened. These numbers are
# then those of a recording in which it did not.
_EMPTY = {"idle_host_late", "idle_after_wait", "idle_encoding"}
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
MARKED = re.compile("These shares are not sure, as time|Time of other causes may count")
IDLE_SHARES = [one for one in METRICS if one.startswith("idle_") and one != "idle_ratio"]
# Each fault with a seed by which it is large enough to be found.
FOUND = {
    **dict.fromkeys(RULES, 0),
    **dict.fromkeys(
        ("bubbles", "shallow-queue", "gpu-contended", "irregular-cadence", "lost-residency"), 1
    ),
    "unfused-attention": 1,
    "memory-growth": 4,
    "low-occupancy": 2,
    "roofline-distance": 2,
}
LIMITS = {"frequent-readback": {"limit": 0.02}}
"""Thresholds for faults that are small in recordings as short as these."""
OF_TABLES = sorted(set(RULES) - {"schema-drift", "trace-overhead"})


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=() if kind in {"metal", "host"} else pytest.mark.campaign)
        for kind in KINDS
    ],
)
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return whole(KINDS[request.param], tmp_path_factory.mktemp("good") / "run")


def without(tables: dict[str, pd.DataFrame], name: str, how: str) -> dict[str, pd.DataFrame]:
    if how == "absent":
        return {one: frame for one, frame in tables.items() if one != name}
    return tables | {name: tables[name].iloc[:0]}


def reads(metric: str, table: str) -> bool:
    return table in recorded_tables(METRICS[metric].measure)


def check_metrics(
    before: dict[str, Measurement], after: dict[str, Measurement], allowed: set[str]
) -> None:
    for name, new in after.items():
        old = before[name]
        assert new.value is not None or new.reason, name
        if new.value is not None and name not in allowed:
            assert new.value == old.value, name
        if name in allowed & COUNTED_AS_NONE:
            assert new.value in {0, None}, name
    shares = [after[one].value for one in IDLE_SHARES if one in after]
    if len(shares) == len(IDLE_SHARES) and None not in shares:
        assert sum(filter(None, shares)) == pytest.approx(after["idle_ratio"].value)


def sentences(findings: list[Finding]) -> set[str]:
    return {part for one in findings for part in re.split(r"(?<=[.:]) ", one.message)}


def check_rule(before: Judged, after: Judged, table: str, how: str) -> None:
    (old, was), (new, said) = before, after
    place = (old.rule, table)
    assert new.status is not Status.ABSTAINED or new.reason, old.rule
    if new.status is Status.ABSTAINED or place == ("capture-empty", "gpu_intervals"):
        return
    if how == "empty" and place in NONE_FOUND:
        return
    # What is not recorded may count for something else: then a finding says that it may.
    marked = any(MARKED.search(one.message) for one in said)
    assert new.status is old.status or (marked and new.status is Status.FOUND), place
    if not marked and old.rule not in CHANGED and place not in RENAMED:
        assert sentences(said) <= sentences(was), place
        assert {one.saving for one in said} <= {None, *(one.saving for one in was)}, place


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_a_table_that_is_missing_changes_no_number_without_a_reason(good: Whole, how: str) -> None:
    for table in sorted(used_tables() & good.tables.keys()):
        if how == "empty" and good.tables[table].empty:
            continue
        left = good.given(without(dict(good.tables), table, how))
        none = NONE_HAPPENED.get(table, set()) if how == "empty" else set[str]()
        after = {name: measure(METRICS[name], left) for name in METRICS if reads(name, table)}
        check_metrics(good.metrics, after, none)
        for name, rule in RULES.items():
            if table in recorded_tables(rule.judge):
                check_rule(good.judged[name], judge(rule, left, {}), table, how)


@pytest.mark.campaign
@pytest.mark.parametrize("name", OF_TABLES)
def test_no_rule_passes_what_it_found_because_a_table_is_missing(name: str, tmp_path: Path) -> None:
    recording = faulty(name, FOUND[name])(tmp_path / "run")
    provenance, rule = recording.provenance(), RULES[name]
    read = tables_of(recording)
    tables = {one: read[one] for one in used_tables() if one in read}
    limits = LIMITS.get(name, {})
    before = judge(rule, Given(tables, provenance), limits)
    assert before[0].status is Status.FOUND
    for table in recorded_tables(rule.judge) & tables.keys():
        for how in ("absent", "empty"):
            if (name, table) == ("frequent-readback", "steps"):
                continue  # groups of command buffers alike may each be a part of an iteration
            left = Given(without(tables, table, how), provenance)
            check_rule(before, judge(rule, left, limits), table, how)


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
        name for name, one in SCHEMAS.items() if schema in {source.schema for source in one.sources}
    }


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore::tracekit.tables.DamagedExportWarning")
@pytest.mark.parametrize("good", ["metal", "host", "host server"], indirect=True)
def test_nothing_is_made_of_half_an_export(good: Whole) -> None:
    exports = [one for one in good.recording.exports.glob("*.*") if one.stem != "toc"]
    provenance = good.recording.provenance()
    cut = [one for one in exports if made_of(one.stem) & used_tables()]
    for export in cut:
        with half_of(export):
            left = Given(tables_of(good.recording), provenance, used_tables())
            for name, metric in METRICS.items():
                new = measure(metric, left)
                known = new.value == good.metrics[name].value  # the workload marks its loop
                if made_of(export.stem) & recorded_tables(metric.measure) and not known:
                    assert (new.value, bool(new.reason)) == (None, True), (name, export.stem)
                elif new.value is not None:
                    assert new.value == good.metrics[name].value, (name, export.stem)
            for name, rule in RULES.items():
                check, found = judge(rule, left, {})
                if name == "capture-truncated":
                    assert "missing" in found[0].message, export.stem
                elif (check, found) == good.judged[name]:
                    continue  # the workload marks its loop: the table was not needed
                elif made_of(export.stem) & recorded_tables(rule.judge):
                    assert check.status in {Status.ABSTAINED, Status.FOUND}, (name, export.stem)
                    # What it found may be whole; what it would save was read off the damaged table.
                    whole = {one.saving for one in good.judged[name][1]} | {None}
                    assert check.reason or {one.saving for one in found} <= whole
                elif check.status is not Status.ABSTAINED and name != "schema-drift":
                    assert check.status is good.judged[name][0].status, (name, export.stem)
    assert len(cut) > 10


_COLUMN = "<col><mnemonic>{0}</mnemonic><engineering-type>{1}</engineering-type></col>"
CUT = (
    '<?xml version="1.0"?><trace-query-result><node><schema name="metal-shader-profiler-intervals">'
    f"{_COLUMN.format('start', 'start-time')}{_COLUMN.format('duration', 'duration')}"
    f"{_COLUMN.format('process', 'process')}</schema><row>"
)


@pytest.mark.filterwarnings("ignore::tracekit.tables.DamagedExportWarning")
@pytest.mark.parametrize(
    ("name", "table", "schema"),
    [
        ("compute-bound", "step_models", "host-step-model"),
        ("compute-bound", "steps", "host-steps"),
        ("memory-bound", "step_models", "host-step-model"),
        ("memory-bound", "steps", "host-steps"),
        ("low-occupancy", "shader_runs", "metal-shader-profiler-intervals"),
        ("performance-cliff", "shader_runs", "metal-shader-profiler-intervals"),
    ],
)
def test_a_rule_abstains_where_a_table_that_it_mentions_is_damaged(
    name: str, table: str, schema: str, tmp_path: Path
) -> None:
    recording = faulty(name, FOUND[name])(tmp_path / "run")

    def judged() -> Judged:
        known = Given(tables_of(recording), recording.provenance(), used_tables())
        return judge(RULES[name], known, {})

    assert judged()[0].status is Status.FOUND
    for export in recording.exports.glob(f"{schema}.*"):
        export.write_bytes(export.read_bytes()[: export.stat().st_size // 2])
    if table == "shader_runs":
        (recording.exports / f"{schema}.xml").write_text(CUT)
    check, found = judged()
    assert (check.status, found) == (Status.ABSTAINED, [])
    assert table in check.reason


def test_all_tables_of_marks_are_known_to_come_together() -> None:
    assert set(EVENTS) == OF_MARKS
