"""What is given beside the tables of a recording: what is made of them, and what exports lack."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analysed import intervals
from tracekit.analysis import given
from tracekit.analysis.analyze import analyze, used_tables
from tracekit.analysis.given import GIVEN, Given, recorded_tables, remarks_table, settings_table
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.result import Status
from tracekit.analysis.rule import Severity
from tracekit.base.recording import Process, Provenance
from tracekit.tables.tables import Tables

Make = Callable[..., pd.DataFrame]
OURS = Provenance(targets=(Process(4711, "python3"),))


def doubled(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> pd.DataFrame:
    """Make a table of other tables."""
    if gpu_intervals.empty:
        raise Unavailable("there is nothing to double.")
    return pd.concat([gpu_intervals] * 2 * len(targets))


def quadrupled(doubled: pd.DataFrame, steps: pd.DataFrame | None) -> pd.DataFrame:
    """Make a table of one that is made itself."""
    assert steps is None
    return pd.concat([doubled] * 2)


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "DERIVED", {"doubled": doubled, "quadrupled": quadrupled})


def test_what_the_provenance_tells_is_asked_for_like_a_table() -> None:
    tables = Given({}, OURS)
    assert {"targets", "machine"} <= set(tables)
    assert len(tables) == len(list(tables))
    assert tables["targets"] == (Process(4711, "python3"),)
    assert tables["machine"] == {}


@pytest.mark.usefixtures("derived")
def test_a_derived_table_is_made_of_others_once() -> None:
    tables = Given({"gpu_intervals": intervals([(0, 5)])}, OURS)
    assert len(tables["quadrupled"]) == 4
    assert tables["doubled"] is tables["doubled"]


@pytest.mark.usefixtures("derived")
def test_a_table_that_cannot_be_made_says_why_each_time() -> None:
    tables = Given({"gpu_intervals": intervals([])}, OURS)
    for _ in range(2):
        with pytest.raises(Unavailable, match="nothing to double"):
            tables["quadrupled"]


@pytest.mark.usefixtures("derived")
def test_what_a_derived_table_needs_is_exported_too() -> None:
    def judge(quadrupled: pd.DataFrame, phases: pd.DataFrame | None, machine: pd.DataFrame) -> None:
        """Ask for tables of all three kinds."""

    assert recorded_tables(judge) == {"gpu_intervals", "steps", "phases"}


PROLOG = '<?xml version="1.0"?>\n<trace-query-result>\n'


def export(folder: Path, schema: str, columns: str, rows: str, end: str = "") -> None:
    header = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for name, kind in (one.split(":") for one in columns.split())
    )
    node = f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"{schema}\">"
    (folder / f"{schema}.xml").write_text(
        f"{PROLOG}{node}{header}</schema>{rows}{end}", encoding="utf-8"
    )


def test_used_tables_are_read_for_their_remarks(tmp_path: Path) -> None:
    row = '<row><start-time id="1">1</start-time><duration id="2">2</duration><name id="3">a</name>'
    columns = "start:start-time duration:duration state:name mood:name"
    rows = f'{row}<name id="4">b</name></row><row><start-time id="9">'
    export(tmp_path, "metal-gpu-state-intervals", columns, rows)
    export(tmp_path, "metal-gpu-intervals", "start:start-time", "", "</node></trace-query-result>")
    tables = Tables(tmp_path, frozenset())
    found = remarks_table(tables, {"gpu_states", "gpu_intervals", "steps"})
    listed = set(zip(found["flaw"], found["table"], strict=True))
    assert {("damaged", ""), ("unknown", "gpu_states"), ("lacking", "gpu_states")} <= listed
    assert ("unreadable", "gpu_intervals") in listed
    lacking = found[(found["flaw"] == "lacking") & (found["table"] == "gpu_states")]
    assert lacking["columns"].tolist() == ["label, num-events, gpu"]


def test_remarks_are_given_once_and_only_of_exports(tmp_path: Path) -> None:
    given = Given(Tables(tmp_path, frozenset()), Provenance(), used={"gpu_states"})
    for name in ("remarks", "settings"):
        assert given[name].empty
        assert given[name] is given[name]
        with pytest.raises(KeyError):
            Given({}, Provenance())[name]
    (tmp_path / "a.xml").write_text(f"{PROLOG}<node><schema name='metal-gpu-intervals'>")
    found = remarks_table(Tables(tmp_path, frozenset()), {"gpu_intervals"})
    assert found[["flaw", "table"]].to_numpy().tolist() == [["damaged", "gpu_intervals"]]


TOC = (
    '<trace-toc><run number="1"><info><summary><intruments-recording-settings>'
    '<instrument name="Metal GPU Counters"><options><option key="Counter Set" value="{0}"/>'
    '<option key="Shader Timeline" value="Enabled"/></options></instrument>'
    "</intruments-recording-settings></summary></info></run></trace-toc>"
)


def test_settings_are_rows_in_the_words_of_the_table_of_contents(tmp_path: Path) -> None:
    (tmp_path / "toc.xml").write_text(TOC.format("Performance Limiters"), encoding="utf-8")
    found = settings_table(Tables(tmp_path, frozenset()))
    assert found.to_dict("list") == {
        "instrument": ["Metal GPU Counters", "Metal GPU Counters"],
        "setting": ["Counter Set: Performance Limiters", "Shader Timeline: Enabled"],
    }


def test_what_is_used_is_recorded() -> None:
    assert "gpu_intervals" in used_tables()
    assert not used_tables() & GIVEN


STATE = (
    '<row><start-time id="{0}1">{1}</start-time><duration id="{0}2">5</duration>'
    '<thermal-state id="{0}3">Fair</thermal-state></row>'
)
HEAT = "start:start-time duration:duration thermal-state:thermal-state"


def test_a_result_tells_of_damage_and_of_columns_that_are_not_there(tmp_path: Path) -> None:
    rows = STATE.format(1, 10) + STATE.format(2, 20) + "<row><start-time id='9'>3"
    export(tmp_path, "device-thermal-state-intervals", HEAT, rows)
    result = analyze(Tables(tmp_path, frozenset({4711})), Provenance())
    listed = {one.rule: one for one in result.findings}
    assert set(listed) == {"capture-truncated", "schema-drift"}
    assert listed["capture-truncated"].severity is Severity.ERROR
    assert "is damaged after row 2" in listed["capture-truncated"].message
    assert listed["schema-drift"].severity is Severity.WARNING
    assert (
        "lacks end, is-induced, track-label, narrative, so that" in listed["schema-drift"].message
    )
    assert "induced" in listed["schema-drift"].message.partition("so that")[2]


def test_a_whole_export_of_known_columns_is_passed(tmp_path: Path) -> None:
    columns = "start:start-time duration:duration state:name label:name num-events:uint32 gpu:name"
    end = "</node></trace-query-result>"
    export(tmp_path, "metal-gpu-state-intervals", f"{columns} color:name", "", end)
    result = analyze(Tables(tmp_path, frozenset({4711})), Provenance())
    assert not result.findings
    passed = {one.rule for one in result.checks if one.status is Status.PASSED}
    assert {"capture-truncated", "schema-drift"} <= passed
