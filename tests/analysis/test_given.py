"""Functions get the tables that they name: recorded ones, and what is made of them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from analysed import TARGETS, intervals, make_named_table, phases, row_of_steps
from tracekit.analysis import given
from tracekit.analysis.analyze import analyze, used_tables
from tracekit.analysis.given import GIVEN, Given, losses_of_used, recorded_tables, settings_table
from tracekit.analysis.inject import (
    ON_THE_CPU,
    NotApplicable,
    Remedy,
    Unavailable,
    explain_absence,
    inject,
    thresholds,
)
from tracekit.analysis.result import Status
from tracekit.analysis.rule import Severity
from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Provenance
from tracekit.tables.tables import Tables

A = pd.DataFrame({"start": [1]})
B = pd.DataFrame({"start": [2]})


def yield_inputs(
    a: pd.DataFrame, b: pd.DataFrame | None, *, limit: float = 0.5
) -> Iterator[object]:
    yield a
    yield b
    yield limit


def test_tables_are_given_by_name_and_optional_ones_may_be_none() -> None:
    first_table, second, limit = inject(yield_inputs, {"a": A, "b": B}, {"limit": 0.1})
    assert (first_table is A, second is B, limit) == (True, True, 0.1)
    _, second, limit = inject(yield_inputs, {"a": A})
    assert (second, limit) == (None, 0.5)
    assert thresholds(yield_inputs) == {"limit": 0.5}


def test_a_missing_table_is_reported_with_its_maker() -> None:
    assert "program tells nothing of the kind" in str(explain_absence("steps", {}))
    reason = str(explain_absence("gpu_intervals", {}))
    assert reason.endswith("which comes from metal-gpu-intervals.")
    # What only a GPU has is not missed in a recording of a CPU.
    on_a_cpu = {"gpu_intervals": pd.DataFrame({"clock": ["host"]})}
    assert str(explain_absence("driver_events", on_a_cpu)) == ON_THE_CPU
    reason = str(explain_absence("cpu_profile", on_a_cpu))
    assert reason.endswith("which comes from time-profile.")
    on_a_gpu = {"gpu_intervals": pd.DataFrame({"clock": ["gpu"]})}
    assert "no table driver_events" in str(explain_absence("driver_events", on_a_gpu))


def test_a_missing_table_is_not_applicable_or_has_a_remedy(subtests: pytest.Subtests) -> None:
    gpu_work = pd.DataFrame({"clock": ["gpu"]})
    by_host = {"provenance": Provenance(recorder="host")}
    workload = {"provenance": Provenance(recorder="xctrace", workload="paged")}
    cases = (
        ("a program without steps", "steps", {}, NotApplicable, Remedy.UNKNOWN),
        ("a workload that lost its steps", "steps", workload, Unavailable, Remedy.UNKNOWN),
        ("a program without requests", "requests", workload, NotApplicable, Remedy.UNKNOWN),
        ("no GPU on a host", "gpu_intervals", by_host, NotApplicable, Remedy.UNKNOWN),
        ("CPU samples", "gpu_intervals", {"cpu_profile": gpu_work}, NotApplicable, Remedy.UNKNOWN),
        ("counters", "gpu_counters", {"gpu_intervals": gpu_work}, Unavailable, Remedy.COUNTERS),
        ("driver", "driver_events", {"gpu_intervals": gpu_work}, Unavailable, Remedy.TRACE),
        ("monitor", "gauges", {"gpu_intervals": gpu_work}, Unavailable, Remedy.MONITOR),
    )
    for name, table, tables, kind, remedy in cases:
        with subtests.test(name):
            answer = explain_absence(table, tables)
            assert (type(answer), answer.remedy) == (kind, remedy)


def test_an_unknown_threshold_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no threshold 'most'") as error:
        inject(yield_inputs, {"a": A}, {"most": 1})
    assert error.value.hint == "There are: limit."


class Unreadable(dict[str, pd.DataFrame]):
    def __getitem__(self, name: str) -> pd.DataFrame:
        if name == "a":
            raise InputError("a.xml holds 2 tables.")
        return super().__getitem__(name)


def test_a_table_that_is_missing_or_cannot_be_read_makes_it_unavailable() -> None:
    with pytest.raises(Unavailable, match="no table a, which comes from nowhere"):
        inject(yield_inputs, {"b": B})
    with pytest.raises(Unavailable, match=r"a\.xml holds 2 tables\."):
        inject(yield_inputs, Unreadable(a=A, b=B))


OURS = Provenance(targets=TARGETS)


def doubled(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> pd.DataFrame:
    if gpu_intervals.empty:
        raise Unavailable("there is nothing to double.")
    return pd.concat([gpu_intervals] * 2 * len(targets))


def quadrupled(doubled: pd.DataFrame, steps: pd.DataFrame | None) -> pd.DataFrame:
    assert steps is None
    return pd.concat([doubled] * 2)


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "DERIVED", {"doubled": doubled, "quadrupled": quadrupled})


def test_provenance_is_requested_like_a_table() -> None:
    tables = Given({}, OURS)
    assert {"targets", "machine"} <= set(tables)
    assert len(tables) == len(list(tables))
    assert (tables["targets"], tables["machine"]) == (TARGETS, {})


@pytest.mark.usefixtures("derived")
def test_a_derived_table_is_made_of_others_once_or_says_why_not_each_time() -> None:
    tables = Given({"gpu_intervals": intervals([(0, 5)])}, OURS)
    assert len(tables["quadrupled"]) == 4
    assert tables["doubled"] is tables["doubled"]
    tables = Given({"gpu_intervals": intervals([])}, OURS)
    for _ in range(2):
        with pytest.raises(Unavailable, match="nothing to double"):
            tables["quadrupled"]


def test_used_tables_are_exported() -> None:
    assert "gpu_intervals" in used_tables()
    assert not used_tables() & GIVEN


@pytest.mark.usefixtures("derived")
def test_sources_of_derived_tables_are_exported() -> None:
    def judge(quadrupled: pd.DataFrame, phases: pd.DataFrame | None, machine: pd.DataFrame) -> None:
        """Ask for tables of all three kinds."""

    assert recorded_tables(judge) == {"gpu_intervals", "steps", "phases"}


def test_rows_of_a_workload_are_gone_where_another_of_its_tables_speaks_of_them() -> None:
    marks, steps, idle = phases(1, 9), row_of_steps([1]), row_of_steps([1], ["idle"])
    for name, tables, expected_end in (
        ("steps", {"phases": marks}, "although the workload came to its steady phase."),
        ("steps", {"phases": marks[:1]}, ""),
        ("steps", {"phases": marks.assign(clock="trace")}, ""),  # a program's own signposts
        ("phases", {"steps": steps}, "although the workload made steps."),
        ("phases", {"steps": steps, "memory_profile": A}, "always writes with its steps."),
        (
            "spans",
            {"steps": idle, "spans": make_named_table(("admit", 1, 1))},
            "the steps without load.",
        ),
        ("spans", {"steps": idle, "spans": make_named_table(("idle", 1, 1))}, ""),
    ):
        reason = given.describe_missing_rows(name, tables)
        assert (reason.endswith(expected_end), bool(reason)) == (True, bool(expected_end)), (
            tables,
            name,
        )


PROLOG = '<?xml version="1.0"?>\n<trace-query-result>\n'


def export(folder: Path, schema: str, columns: str, rows: str, end: str = "") -> None:
    header = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for name, kind in (column.split(":") for column in columns.split())
    )
    node = f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"{schema}\">"
    (folder / f"{schema}.xml").write_text(
        f"{PROLOG}{node}{header}</schema>{rows}{end}", encoding="utf-8"
    )


def test_used_tables_are_read_for_their_losses(tmp_path: Path) -> None:
    row = '<row><start-time id="1">1</start-time><duration id="2">2</duration><name id="3">a</name>'
    columns = "start:start-time duration:duration state:name mood:name"
    rows = f'{row}<name id="4">b</name></row><row><start-time id="9">'
    export(tmp_path, "metal-gpu-state-intervals", columns, rows)
    export(tmp_path, "metal-gpu-intervals", "start:start-time", "", "</node></trace-query-result>")
    tables = Tables(tmp_path, frozenset())
    losses = losses_of_used(tables, {"gpu_states", "gpu_intervals", "steps"})
    listed = set(zip(losses["flaw"], losses["table"].fillna(""), strict=True))
    assert {("damaged", ""), ("unknown", "gpu_states"), ("lacking", "gpu_states")} <= listed
    assert ("unreadable", "gpu_intervals") in listed
    lacking_rows = losses[(losses["flaw"] == "lacking") & (losses["table"] == "gpu_states")]
    assert lacking_rows["column"].tolist() == ["label, num-events, gpu"]


def test_losses_are_given_once_and_only_of_exports(tmp_path: Path) -> None:
    given_tables = Given(Tables(tmp_path, frozenset()), Provenance(), used_tables={"gpu_states"})
    for name in ("losses", "settings"):
        assert given_tables[name].empty, name
        assert given_tables[name] is given_tables[name], name
        with pytest.raises(KeyError):
            Given({}, Provenance())[name]
    (tmp_path / "a.xml").write_text(f"{PROLOG}<node><schema name='metal-gpu-intervals'>")
    losses = losses_of_used(Tables(tmp_path, frozenset()), {"gpu_intervals"})
    assert losses[["flaw", "schema"]].to_numpy().tolist() == [["damaged", "metal-gpu-intervals"]]


TOC = (
    '<trace-toc><run number="1"><info><summary><intruments-recording-settings>'
    '<instrument name="Metal GPU Counters"><options><option key="Counter Set" value="{0}"/>'
    '<option key="Shader Timeline" value="Enabled"/></options></instrument>'
    "</intruments-recording-settings></summary></info></run></trace-toc>"
)


def test_settings_are_rows_in_the_words_of_the_table_of_contents(tmp_path: Path) -> None:
    (tmp_path / "toc.xml").write_text(TOC.format("Performance Limiters"), encoding="utf-8")
    settings = settings_table(Tables(tmp_path, frozenset()))
    assert settings.to_dict("list") == {
        "instrument": ["Metal GPU Counters", "Metal GPU Counters"],
        "setting": ["Counter Set: Performance Limiters", "Shader Timeline: Enabled"],
    }


STATE = (
    '<row><start-time id="{0}1">{1}</start-time><duration id="{0}2">5</duration>'
    '<thermal-state id="{0}3">Fair</thermal-state></row>'
)
HEAT = "start:start-time duration:duration thermal-state:thermal-state"


def test_a_result_tells_of_damage_and_of_columns_that_are_not_there(tmp_path: Path) -> None:
    rows = STATE.format(1, 10) + STATE.format(2, 20) + "<row><start-time id='9'>3"
    export(tmp_path, "device-thermal-state-intervals", HEAT, rows)
    result = analyze(Tables(tmp_path, frozenset({4711})), Provenance())
    listed = {finding.rule: finding for finding in result.findings}
    assert set(listed) == {"capture-truncated", "schema-drift"}
    truncation, drift = listed["capture-truncated"], listed["schema-drift"]
    assert (truncation.severity, drift.severity) == (Severity.ERROR, Severity.WARNING)
    assert "is damaged after row 2" in truncation.message
    assert "lacks end, is-induced, track-label, narrative, so that" in drift.message
    assert "induced" in drift.message.partition("so that")[2]


def test_a_whole_export_of_known_columns_is_passed(tmp_path: Path) -> None:
    columns = "start:start-time duration:duration state:name label:name num-events:uint32 gpu:name"
    end = "</node></trace-query-result>"
    export(tmp_path, "metal-gpu-state-intervals", f"{columns} color:name", "", end)
    result = analyze(Tables(tmp_path, frozenset({4711})), Provenance())
    assert not result.findings
    passed = {check.rule for check in result.checks if check.status is Status.PASSED}
    assert {"capture-truncated", "schema-drift"} <= passed


HARNESS = Path(__file__).parents[1] / "harness"
FREED = """
import gc, weakref
from contextlib import suppress
from analysed import intervals
from tracekit.analysis.given import GIVEN, Given
from tracekit.analysis.inject import Unavailable
from tracekit.base import Provenance, TracekitError

given_tables = Given({"gpu_intervals": intervals([(0, 10), (20, 5)])}, Provenance())
gc.disable()
for name in sorted(GIVEN):
    with suppress(KeyError, Unavailable, TracekitError):
        _ = given_tables[name]
living_tables = weakref.ref(given_tables)
del given_tables
print(living_tables() is None)
"""


def test_tables_are_freed_with_their_last_user() -> None:
    """In a process of its own: what else runs in that of the tests may hold anything."""
    printed = subprocess.run(
        (sys.executable, "-c", FREED),
        env={**os.environ, "PYTHONPATH": str(HARNESS)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    assert printed == "True\n"
