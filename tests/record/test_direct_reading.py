"""Tables are exported once and compared with what is read directly; then the bundle is read."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGTRAP

import pandas as pd
import pytest

from bundle_writer import RunInfo, Table, write_bundle
from bundle_writer.examples import profile
from command_line import run as command
from gpu_jobs import program_of
from recording_fakes import Scenario
from small_bundle import PYTHON, SERVER, intervals, ticks
from table_of_types import TABLE
from tracekit import open as open_run
from tracekit.base.errors import InputError, ToolError
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record import direct_reading as reading
from tracekit.record.known_bundles import Checked, KnownBundles, recall, shape
from tracekit.record.progress import quiet
from tracekit.record.target_rows import rows_of_target
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.exporting import NO_ROWS, choose_only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import ToolTimeouts, Xctrace
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import StoreColumn, TableStore
from tracekit.tables.bundle_xml import write_exports
from tracekit.tables.comparing import compare_with_export
from tracekit.tables.direct import Stored
from tracekit.tables.notes import DirectNote
from tracekit.tables.tables import Tables
from tracekit.tables.toc import Toc, read_toc

INTERVALS, STATES, TIME = "metal-gpu-intervals", "metal-gpu-state-intervals", "time-info"
WORK = intervals((5, 7, PYTHON), (6, 8, SERVER))
TABLES = (WORK, replace(ticks([]), schema=STATES), replace(ticks([1]), schema=TIME))


def make_recording(folder: Path, *tables: Table, build: str = "17C529") -> Recording:
    """Make a run with a bundle of these tables, and in "made" what xctrace exports of it."""
    recording = Recording(folder)
    info = RunInfo(instruments_version=f"26.0 ({build})")
    folder.mkdir()
    write_bundle(recording.bundle, list(tables), info=info)
    write_exports(Bundle(recording.bundle), folder / "made", lambda names: names, quiet)
    return recording


@dataclass
class Xcode:
    """A `Run` that exports what was made, with a text in place of another, or fails."""

    lie: tuple[str, str] = ("", "")
    fails: tuple[str, ...] = ()
    exported: list[str] = field(default_factory=list[str])

    def __call__(self, argv: tuple[str, ...], _timeout: float) -> Completed:
        """Export the TOC, or a table that is noted."""
        bundle, output = (Path(argv[argv.index(word) + 1]) for word in ("--input", "--output"))
        name = "toc" if "--toc" in argv else argv[-1].split('"')[3]
        self.exported += {name} - {"toc"}
        text = (bundle.parent / "made" / f"{name}.xml").read_text()
        output.write_text(text.replace(*self.lie) if self.lie[0] else text)
        return Completed(argv, -SIGTRAP if name in self.fails else 0)

    def read(
        self, recording: Recording, xml: reading.Xml = "unchecked", *schemas: str
    ) -> tuple[list[str], list[str]]:
        """Make tables readable; return what is said of it, and what was exported for it."""
        self.exported.clear()
        recorder = XctraceRecorder(
            Xctrace("/X/xctrace", self, ToolTimeouts(pauses=())), choose_only()
        )
        chosen = frozenset(schemas or (INTERVALS, STATES))
        remarks = reading.export(recorder, recording, lambda _: chosen, quiet, xml=xml)
        return list(remarks), sorted(self.exported)


def read_back(recording: Recording) -> pd.DataFrame:
    return Tables(recording.exports, frozenset({4711}))["gpu_intervals"]


def test_compared_tables_are_not_exported_again(tmp_path: Path) -> None:
    xcode = Xcode()
    first_run, second = (
        make_recording(tmp_path / "1", *TABLES),
        make_recording(tmp_path / "2", *TABLES),
    )
    assert xcode.read(first_run) == ([], [INTERVALS, TIME])
    compared_tables = recall("17C529", notes_folder()).tables.values()
    rows = {table.schema: (table.rows, table.difference) for table in compared_tables}
    assert rows == {INTERVALS: (2, ""), TIME: (1, "")}
    assert xcode.read(second) == ([], [])
    assert {file.name for file in second.exports.iterdir()} == {"direct.json", "toc.xml"}
    pd.testing.assert_frame_equal(read_back(second), read_back(first_run))
    other_run = make_recording(tmp_path / "3", *TABLES, build="17E999")
    assert xcode.read(other_run) == ([], [INTERVALS, TIME])
    # what is asked for is exported always
    absent_message = "The recording has no table no-such."
    assert xcode.read(second, "asked", INTERVALS, "no-such") == (
        [absent_message],
        [INTERVALS, TIME],
    )
    assert (second.exports / f"{INTERVALS}.xml").exists()


def test_the_first_recording_of_a_build_compares_its_ten_smallest_tables(tmp_path: Path) -> None:
    names = [f"points-{number}" for number in range(14)]
    tables = [
        replace(ticks(list(range(1, number + 2))), schema=name) for number, name in enumerate(names)
    ]
    twins = [replace(ticks([1]), schema="points-of-two")] * 2  # their order is not known
    xcode = Xcode()
    recordings = [
        make_recording(tmp_path / name, *tables, *twins, replace(ticks([1]), schema=TIME))
        for name in ("1", "2")
    ]
    notes, exported = xcode.read(recordings[0], "unchecked", *names, "points-of-two")
    assert exported == sorted([*names[:9], TIME])
    assert all(name in notes[-1] for name in (*names[9:], "points-of-two"))
    assert xcode.read(recordings[1], "unchecked", *names, "points-of-two") == (notes, [])
    # to ask for exports compares all of them
    _, exported = xcode.read(recordings[1], "asked", *names)
    assert exported == sorted([*names, TIME])
    assert xcode.read(recordings[0], "unchecked", *names) == (notes[:-1], [])


def test_an_export_that_differs_is_used_and_reported(tmp_path: Path) -> None:
    xcode = Xcode(lie=(">8</duration>", ">9</duration>"))
    difference_message = (
        f"{INTERVALS} is read otherwise than xctrace exports it (row 2, duration: 8 directly, "
        "9 exported): only its export is used, which `tracekit export` writes. "
        "`tracekit doctor` shows it again, to be reported with the build of Xcode."
    )
    assert xcode.read(make_recording(tmp_path / "1", *TABLES)) == (
        [difference_message],
        [INTERVALS, TIME],
    )
    again = make_recording(tmp_path / "2", *TABLES)
    assert xcode.read(again) == ([difference_message], [INTERVALS, TIME])
    assert read_back(again)["duration"].tolist() == [7, 9]
    assert DirectNote.read(again.exports) == DirectNote("../recording.trace", (STATES, TIME))
    unread_run = make_recording(tmp_path / "3", *TABLES)
    assert xcode.read(unread_run, "none") == ([difference_message], [])
    assert Tables(unread_run.exports, frozenset()).get("gpu_intervals") is None


def test_a_bundle_of_unknown_layout_is_exported(tmp_path: Path) -> None:
    xcode = Xcode()
    recording = make_recording(tmp_path / "1", *TABLES)
    xcode.read(recording, "none")
    assert DirectNote.read(recording.exports) is not None
    requirements = recording.bundle / "open.creq"
    text = requirements.read_text().replace("<integer>5<", "<integer>6<", 1)
    requirements.write_text(text)
    [remark], exported = xcode.read(recording)
    assert remark.startswith("recording.trace is not read directly: its com.apple.dt.trace is 6")
    assert remark.endswith("Its tables were exported instead.")
    assert exported == [INTERVALS, STATES, TIME]
    assert DirectNote.read(recording.exports) is None


def test_failed_and_missing_exports_are_read_directly(tmp_path: Path) -> None:
    xcode = Xcode()
    recording = make_recording(tmp_path / "1", *TABLES)
    new = "Read directly, and never compared with an export of build 17C529:"
    compares = "`tracekit export RUN` compares them."
    assert xcode.read(recording, "none") == ([f"{new} {INTERVALS}, {TIME}. {compares}"], [])
    xcode.fails = (INTERVALS,)
    [failed, unchecked], _ = xcode.read(recording)
    assert ("SIGTRAP" in failed, unchecked) == (True, f"{new} {INTERVALS}. {compares}")
    assert read_back(recording)["duration"].tolist() == [7, 8]
    xcode.fails = (INTERVALS, TIME)
    with pytest.raises(ToolError, match="SIGTRAP"):
        xcode.read(recording, "asked", INTERVALS)
    other_build = make_recording(tmp_path / "3", *TABLES, build="17E999")
    [failed, _], _ = xcode.read(other_build, "unchecked", INTERVALS)
    assert failed.startswith("Nothing was exported; the bundle is read directly: ")
    remarks, _ = xcode.read(make_recording(tmp_path / "2", TABLES[2]), "none", TIME)
    assert remarks[0].startswith(
        f"The recording has no table {INTERVALS}: its template does not trace"
    )


def test_comparing_needs_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "file"))
    for name in ("1", "2"):
        recording = make_recording(tmp_path / name, *TABLES)
        assert Xcode().read(recording) == ([], [INTERVALS, TIME]), name


def test_the_second_capture_of_a_build_exports_nothing(scenario: Scenario, tmp_path: Path) -> None:
    scenario(tables="all")
    exported = list[int]()
    for name in ("first", "second"):
        folder, transcript_file = tmp_path / name, tmp_path / "scenario.said"
        transcript_file.unlink(missing_ok=True)
        assert command("capture", "--output", folder, "--", *program_of(50)) == 0, name
        calls = transcript_file.read_text().splitlines()
        exported.append(calls.count("Exporting"))  # each call of xctrace, for the TOC as well
    assert (0 < exported[0] <= 11, exported[1]) == (True, 0)
    names = {file.name for file in (tmp_path / "second" / "exports").iterdir()}
    assert names == {"direct.json", "host-results.parquet", "toc.xml"}
    opened = open_run(tmp_path / "second")
    assert opened.tables["gpu_intervals"]["target"].any()
    assert opened.provenance.target_rows is True
    assert not any("xport" in warning for warning in opened.provenance.warnings)
    assert "gpu_busy" in {
        metric.name for metric in opened.result.metrics if metric.value is not None
    }
    assert "<canvas" in (tmp_path / "second" / "report.html").read_text()


Made = tuple[Path, Stored, Toc]


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Made]:
    """Write a table as a bundle and as an export in which some text is another."""

    def make(table: Table | None = None, old: str = "", new: str = "") -> Made:
        whole_table = intervals((5, 7, PYTHON), (6, 8, SERVER), (9, 1, PYTHON))
        recording = make_recording(tmp_path / f"run-{table and table.schema}", table or whole_table)
        toc = recording.folder / "made" / "toc.xml"
        [export] = {*toc.parent.iterdir()} - {toc}
        text = export.read_text()
        assert old in text
        export.write_text(text.replace(old, new, 1) if old else text)
        return export, Stored(recording.bundle, 1, 0), read_toc(toc)

    return make


def test_values_of_all_types_and_stacks_are_equal(made: Callable[..., Made]) -> None:
    for table, rows in ((TABLE, 3), (profile(), 2)):
        comparison = compare_with_export(*made(table))
        assert (comparison.rows, comparison.difference) == (rows, ""), table.schema
        assert comparison.cells % rows == 0, table.schema


def test_a_thread_in_the_words_of_xcode_27_is_the_same_thread(made: Callable[..., Made]) -> None:
    words = ("Main Thread 0x18b429 (python3", "Main Thread (0x18b429) (python3")
    comparison = compare_with_export(*made(profile(), *words))
    assert (comparison.rows, comparison.difference) == (2, "")


@pytest.mark.parametrize(
    ("table", "old", "new", "difference"),
    [
        (None, ">7</duration>", ">8</duration>", "row 1, duration: 7 directly, 8 exported"),
        (
            None, ">Active</gpu-state>", ">Idle</gpu-state>",
            "row 1, state: 'Active' directly, 'Idle' exported",
        ),
        (None, ">420</pid>", ">421</pid>", "row 2, process.pid: 420 directly, 421 exported"),
        (
            None, '<duration id="12" fmt="8 ns">8</duration>', "<sentinel/>",
            "row 2, duration: 8 directly, nothing exported",
        ),
        # stacks by their frames
        (profile(), 'name="0x195436d0d"', 'name="main"', "row 1, stack: "),
        (profile(), 'addr="0x1954a35fc"', 'addr="0x1954a35fd"', "row 1, stack.stack: "),
        (profile(), ">4096</text-address>", ">4097</text-address>", "row 2, cp-user-callstack"),
    ],
)  # fmt: skip
def test_the_first_cell_that_differs_is_named(
    made: Callable[..., Made], table: Table | None, old: str, new: str, difference: str
) -> None:
    comparison = compare_with_export(*made(table, old, new))
    assert comparison.rows == (2 if table else 3)
    assert comparison.difference.startswith(difference)


def test_rows_and_columns_that_are_not_there_are_differences(made: Callable[..., Made]) -> None:
    export, table, toc = made()
    text = export.read_text()
    head, _, later_rows = text.rpartition("<row>")
    export.write_text(head + later_rows.partition("</row>\n")[2])
    comparison = compare_with_export(export, table, toc)
    assert comparison.difference == "it has 3 rows, exported 2"
    assert compare_with_export(export, table, toc, max_rows=2) == replace(comparison, difference="")
    export.write_text(text.replace("<mnemonic>state<", "<mnemonic>mood<"))
    comparison = compare_with_export(export, table, toc)
    assert (comparison.rows, comparison.cells) == (0, 0)
    assert "state" in comparison.difference
    assert "mood" in comparison.difference


def test_a_cut_export_is_not_compared_and_a_damaged_one_differs(made: Callable[..., Made]) -> None:
    export, table, toc = made()
    whole_text = export.read_text()
    export.write_text(whole_text[:-60])
    with pytest.raises(InputError):
        compare_with_export(export, table, toc)
    export.write_text(whole_text)
    table.file.write_bytes(b"x\x9c\0")
    difference = compare_with_export(export, table, toc).difference
    assert difference.startswith("it cannot be read directly: recording.trace: corespace/")


START = StoreColumn("start", "Start", "XRStartTime", Field(0, 8))
STORE = TableStore(1, 7, "t", {}, (START,), 5, 16)
EMPTY = replace(STORE, rows=0)


def test_a_table_has_the_form_of_its_columns_whatever_its_number_rows_and_attributes() -> None:
    assert shape(STORE) == shape(replace(EMPTY, number=8, attributes={"a": 1}))
    other_stores = [
        replace(STORE, schema="u"),
        replace(STORE, columns=(START, START)),
        replace(STORE, columns=(replace(START, type_id="XRDuration"),)),
        replace(STORE, columns=(replace(START, field=Field(8, 8)),)),
    ]
    assert len({shape(store) for store in (STORE, *other_stores)}) == 5


def test_comparing_no_rows_says_nothing_of_rows(subtests: pytest.Subtests) -> None:
    for rows, difference, is_known in ((5, "", True), (0, "", False), (0, "no", True)):
        with subtests.test(rows=rows, difference=difference):
            checked = Checked("t", rows, "now", difference)
            memory = KnownBundles("17C529", {shape(STORE): checked})
            assert memory.find_checked_table(STORE) == (checked if is_known else None)
            assert memory.find_checked_table(EMPTY) == checked
            assert memory.difference(STORE) == difference
            assert memory.find_checked_table(replace(STORE, schema="u")) is None


def test_unreadable_notes_are_forgotten(tmp_path: Path) -> None:
    for content in ("{", "[]", '{"build": "17C529", "format": 2}'):
        (tmp_path / "direct-reading-17C529.json").write_text(content)
        assert recall("17C529", tmp_path) == KnownBundles("17C529"), content


def with_toc(folder: Path, table: Table) -> Recording:
    recording = make_recording(folder, table)
    (recording.folder / "made").rename(recording.exports)
    (recording.exports / f"{table.schema}.xml").unlink()
    return recording


def test_the_target_has_rows_or_only_others_have_or_it_is_not_known(tmp_path: Path) -> None:
    others_only = "has rows of other processes only: no GPU work of the target (process 99)"
    cases: tuple[tuple[Table | None, list[int], bool | None, str], ...] = (
        (None, [4711], None, ""),
        (ticks([1]), [4711], None, ""),
        (WORK, [4711], True, ""),
        (WORK, [99, 4711], True, ""),
        (WORK, [99], False, others_only),
        (WORK, [], None, ""),
        (intervals(), [4711], False, NO_ROWS),
    )
    for number, (table, pids, expected_rows, warning) in enumerate(cases):
        folder = tmp_path / str(number)
        recording = Recording(folder) if table is None else with_toc(folder, table)
        rows, warnings = rows_of_target(recording, pids)
        assert (rows, warning in "".join(warnings), len(warnings)) == (
            expected_rows,
            True,
            bool(warning),
        ), number


def test_an_export_counts_first(tmp_path: Path, intervals_xml: Callable[..., str]) -> None:
    recording = with_toc(tmp_path / "run", WORK)
    export = recording.exports / f"{INTERVALS}.xml"
    export.write_text(intervals_xml([(1, 1, 99, "other")]))
    assert rows_of_target(recording, [99]) == (True, ())
    assert rows_of_target(recording, [4711])[0] is False
