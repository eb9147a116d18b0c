"""Commands that read exports, bundles and runs: tables, convert, export, import, analyze, query."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tracekit as library
from bundle_writer import Encoder, Process, Run, RunInfo, write_bundle, write_runs
from command_line import assert_error, join_stderr
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.recording import Recording
from tracekit.tables.tables import Tables

Xml = Callable[..., str]


def test_a_recording_that_was_cut_short_is_said_after_analysis(
    tracekit: Any, imported: Path
) -> None:
    file = imported / "recording.json"
    document = json.loads(file.read_text())
    document["stages"] = {"record": {"state": "running", "at": "t"}}
    file.write_text(json.dumps(document))
    assert "warning: The stage record was not completed." in tracekit("analyze", imported).err
    tracekit("report", imported)
    assert "The stage record was not completed." in (imported / "report.html").read_text()


def test_a_recording_without_rows_of_its_target_fails(
    tracekit: Any, tmp_path: Path, toc_xml: Xml, intervals_xml: Xml
) -> None:
    (tmp_path / "toc.xml").write_text(toc_xml())
    (tmp_path / "t.xml").write_text(intervals_xml([(0, 1, 420, "WindowServer")]))
    tracekit("import", tmp_path / "toc.xml", tmp_path / "t.xml", "--output", tmp_path / "run")
    nobody = "no device interval of python3 (4711): all 1 belong to others"
    assert_error(
        tracekit("analyze", tmp_path / "run"), 4, nobody, "tracekit list rules capture-empty"
    )


def test_tables_are_listed_shown_and_written(tracekit: Any, imported: Path, tmp_path: Path) -> None:
    assert "\ngpu_intervals\t3\t" in tracekit("tables", imported).out
    result = tracekit("tables", imported, "gpu_intervals", "--rows", "2")
    head, *rows = result.out.splitlines()
    assert head.startswith("start\tduration\tchannel")
    assert len(rows) == 2
    assert "1 more rows" in result.err
    assert "more rows" not in tracekit("tables", imported, "gpu_intervals", "--rows", "3").err
    tracekit("tables", imported, "gpu_intervals", "--output", tmp_path / "t.csv")
    assert pd.read_csv(tmp_path / "t.csv")["target"].tolist() == [True, True, False]


def test_convert_names_the_files_of_stacks_and_drifted_schemas(
    tracekit: Any, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 1, "a")])
    stack = '<backtrace id="901"><frame id="902" name="leaf" addr="0x1"/></backtrace>'
    text = text.replace("formatted-label</eng", "backtrace</eng").replace(">10<", ">ten<")
    begin, end = text.index("<formatted-label id"), text.index("</formatted-label>")
    text = text[:begin] + stack + text[end:].removeprefix("</formatted-label>")
    (tmp_path / "stacks.xml").write_text(text)
    result = tracekit("convert", tmp_path / "stacks.xml", tmp_path / "out.parquet")
    assert result.code == 0, result.err
    names = ["out.parquet", "out.frames.parquet", "out.stacks.parquet"]
    assert result.out.splitlines() == [str(tmp_path / name) for name in names]
    assert "event-label.stack" in pd.read_parquet(tmp_path / "out.parquet")
    assert "NAME.stack" in result.err
    assert "duration is declared as duration and holds values other than integer" in result.err


def test_convert_writes_the_rows_before_damage_and_fails(
    tracekit: Any, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 1, "a"), (20, 10, 1, "a"), (40, 10, 1, "a")])
    (tmp_path / "cut.xml").write_text(text[: text.rindex("<row>") + 30])
    result = tracekit("convert", tmp_path / "cut.xml", tmp_path / "out.csv")
    assert_error(result, 3, "cut.xml")
    assert pd.read_csv(tmp_path / "out.csv")["start"].tolist() == [0, 20]


@pytest.fixture
def two_tables(tmp_path: Path, intervals_xml: Xml) -> Path:
    """An export that has its table twice, as those of two places and two lengths."""
    text = intervals_xml([(0, 10, 7, "a"), (20, 10, 7, "a")])
    begin, end = text.index("<node"), text.index("</trace-query-result>")
    node = text[begin:end]
    rows = node.partition("</schema>")[2]
    again = node.replace("table[1]", "table[2]").replace(rows, rows.partition("</row>")[0])
    file = tmp_path / "two.xml"
    file.write_text(text[:begin] + node + again + "</row></node>" + text[end:])
    return file


def test_convert_takes_the_table_that_is_chosen(
    tracekit: Any, tmp_path: Path, two_tables: Path, toc_xml: Xml
) -> None:
    (tmp_path / "toc.xml").write_text(toc_xml(tables=2).replace('"ALL"', '"SINGLE"', 1))
    output_file = tmp_path / "out.csv"
    first_choice = "run 1 table 1 (target-pid=SINGLE), with 2 rows"
    second = "run 1 table 2 (target-pid=ALL), with 1 row"
    assert_error(tracekit("convert", two_tables, output_file), 3, first_choice, second, "--table")
    assert not output_file.exists()
    assert tracekit("convert", two_tables, output_file, "--table", "2").code == 0
    assert pd.read_csv(output_file)["start"].tolist() == [0]
    assert tracekit("convert", two_tables, output_file, "--run", "2").code == 3


def test_tables_shows_a_line_a_repeat(tracekit: Any, tmp_path: Path, two_tables: Path) -> None:
    folder = tmp_path / "run"
    assert tracekit("import", two_tables, "--target", "7", "--output", folder).code == 0
    lines = [line.split("\t")[:2] for line in tracekit("tables", folder).out.splitlines()]
    assert ["gpu_intervals (run 1 table 1 in metal-gpu-intervals.xml)", "2"] in lines
    assert ["gpu_intervals (run 1 table 2 in metal-gpu-intervals.xml)", "1"] in lines
    message = "2 tables of metal-gpu-intervals"
    assert_error(tracekit("tables", folder, "gpu_intervals"), 3, message)
    result = tracekit("tables", folder, "gpu_intervals", "--table", "2")
    assert (result.code, result.out.count("\n")) == (0, 2)
    analyzed = tracekit("analyze", folder)
    assert "bubbles" in analyzed.out.partition("not judged  ")[2]
    assert message in analyzed.out


TABLES = [
    ticks([1]),
    intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER)),
    ticks([7, 8], {"frequency": 10}),
]
STORE = "corespace/run1/core/stores/indexed-store"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "mine.trace", TABLES, info=RunInfo())


@pytest.fixture
def run(bundle: Path, tmp_path: Path, tracekit: Any) -> Path:
    assert tracekit("import", bundle, "--output", tmp_path / "run").code == 0
    return tmp_path / "run"


def test_tables_of_a_bundle_are_read(bundle: Path, tmp_path: Path, tracekit: Any) -> None:
    files_before = sorted(tmp_path.rglob("*"))
    assert "gpu_intervals" in tracekit("tables", bundle).out
    result = tracekit("tables", bundle, "gpu_intervals")
    assert [line.split("\t")[0] for line in result.out.splitlines()] == ["start", "0", "5", "40"]
    assert tracekit("tables", bundle, "ticks", "--table", 3).out.count("\n") == 3
    assert sorted(tmp_path.rglob("*")) == files_before
    file = tmp_path / "x.parquet"
    assert tracekit("convert", bundle, file, "--schema", "metal-gpu-intervals").code == 0
    assert len(pd.read_parquet(file)) == 3
    assert tracekit("convert", bundle, file, "--schema", "tick", "--table", 3).code == 0
    assert pd.read_parquet(file)["time"].tolist() == [7, 8]
    (bundle / f"{STORE}-1/bulkstore").write_bytes(b"nonsense")
    listed = tracekit("tables", bundle)
    assert listed.code == 3
    assert "not available" in listed.out
    assert "bulkstore" in listed.out


def test_a_conversion_that_makes_no_sense_is_refused(
    bundle: Path, tmp_path: Path, tracekit: Any
) -> None:
    for words, code, reason in (
        ("OUT --to csv --schema tick", 2, "name OUT, and one table"),
        ("OUT --to csv --table 1", 2, "name OUT, and one table"),
        ("--to csv", 2, "name OUT, and one table"),
        ("OUT.csv", 2, "name OUT, and one table"),
        ("OUT.txt --schema metal-gpu-intervals", 2, "suffix that says no format"),
        ("OUT.csv --schema tick", 3, "has 2 tables of tick: run 1 table 1; run 1"),
        ("OUT.csv --schema tock", 3, "There are tick"),
    ):
        arguments = [word.replace("OUT", f"{tmp_path}/out") for word in words.split()]
        assert_error(tracekit("convert", bundle, *arguments), code, reason)


def test_a_refused_conversion_names_the_kind_of_its_input(
    imported: Path, two_tables: Path, tmp_path: Path, toc_xml: Xml, tracekit: Any
) -> None:
    exports = tmp_path / "several"
    exports.mkdir()
    empty_folder = tmp_path / "empty"
    empty_folder.mkdir()
    (exports / "toc.xml").write_text(toc_xml())
    shutil.copy(two_tables, exports)
    for place, code, reason in (
        (tmp_path / "nowhere.xml", 2, "nowhere.xml does not exist"),
        (empty_folder, 3, "empty is not a run's folder"),
        (exports, 2, "several is not a single export and is converted as a whole"),
        (imported, 2, f"{imported.name} is a run and is converted as a whole"),
    ):
        assert_error(tracekit("convert", place, tmp_path / "out.parquet"), code, reason)
        assert not (tmp_path / "out.parquet").exists(), place


def test_a_bundle_is_exported_next_to_another_and_imported_like_any_export(
    tracekit: Any, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = tracekit("export", bundle)
    assert (result.code, result.out, result.err) == (0, "mine-exports\n", "")
    assert_error(tracekit("export", bundle), 3, "mine-exports is there already.")
    assert tracekit("export", bundle, "out", "--tables", "needed").code == 0
    names = sorted(file.name for file in Path("out").iterdir())
    assert names == ["metal-gpu-intervals.xml", "toc.xml"]
    partial_export = tracekit("export", bundle, "other", "--tables", "tick,nonsense")
    warning = "warning: The recording has no table nonsense.\n"
    assert (partial_export.code, partial_export.err) == (0, warning)
    assert tracekit("import", "out", "--output", "imported").code == 0
    assert "\ngpu_intervals\t3\t" in tracekit("tables", "imported").out


def test_missing_parts_of_a_bundle_are_said(tracekit: Any, bundle: Path, tmp_path: Path) -> None:
    shutil.rmtree(bundle / f"{STORE}-0")
    for command, options in (("convert", ["--to", "csv"]), ("export", [])):
        result = tracekit(command, bundle, tmp_path / command, *options)
        assert_error(result, 3, "indexed-store-0 is missing")
        assert list((tmp_path / command).glob("metal-gpu-intervals.*"))
    listed = tracekit("tables", bundle)
    assert listed.code == 3
    assert "tick (store 0) of run 1 is left out" in listed.err
    (bundle / "corespace/run1/core/table-manager/tables.plist").unlink()
    assert "could not be checked" in join_stderr(tracekit("tables", bundle))


def test_an_unknown_or_packed_bundle_is_refused_with_the_way_out(
    tmp_path: Path, tracekit: Any
) -> None:
    packed, old = tmp_path / "mine.trace.zip", tmp_path / "old.trace"
    packed.write_bytes(b"PK\3\4")
    old.mkdir()
    for command, words, *options in (
        ("tables", "is not a readable zip file"),
        ("export", f"`tracekit import {packed}` unpacks"),
        ("convert", "is not a readable zip file", "out", "--to", "csv"),
    ):
        result = tracekit(command, packed, *options)
        assert result.code == 3, command
        assert words in result.err.replace("\n", ""), command
        if command != "export":
            assert_error(tracekit(command, old, *options), 3, "xctrace export")


@pytest.mark.skipif(shutil.which("xcrun") is not None, reason="xctrace would export it")
def test_a_run_of_a_bundle_needs_it_and_no_export(bundle: Path, run: Path, tracekit: Any) -> None:
    assert_error(tracekit("export", run), 3, "needs no export", "tracekit analyze")
    bundle.rename(bundle.with_name("elsewhere"))
    assert_error(tracekit("analyze", run), 3, "which is not there", "Put the bundle back")


def prune_run(run: Path, bundle: Path, tracekit: Any) -> str:
    """Give a run a bundle of its own, analyse it, and prune it; return what was printed."""
    (run / "recording.trace").unlink()
    shutil.copytree(bundle, run / "recording.trace")
    assert tracekit("analyze", run).code == 0
    return " ".join(
        tracekit("runs", "prune", run.parent, "--keep", "0d", "--newest", 0).out.split()
    )


def test_kept_tables_replace_a_pruned_bundle(run: Path, bundle: Path, tracekit: Any) -> None:
    tables_before = Tables(run / "exports", frozenset({4711}))
    intervals, ticks = tables_before["gpu_intervals"], tables_before.raw("tick", table=3)
    prune_run(run, bundle, tracekit)
    assert not (run / "recording.trace").exists()
    assert sorted(file.name for file in (run / "exports").iterdir()) == ["pruned.json", "toc.xml"]
    tables_after = Tables(run / "exports", frozenset({4711}), cache=run / "tables")
    pd.testing.assert_frame_equal(tables_after["gpu_intervals"], intervals)
    pd.testing.assert_frame_equal(tables_after.raw("tick", table=3), ticks)
    pd.testing.assert_frame_equal(tables_after.raw("tick", attributes={"frequency": "10"}), ticks)
    assert tracekit("analyze", run).code == 0
    assert "was pruned" in tracekit("export", run).err


def test_a_bundle_of_unreadable_tables_is_not_pruned(
    run: Path, bundle: Path, tracekit: Any
) -> None:
    (bundle / f"{STORE}-2/bulkstore").write_bytes(b"nonsense")
    reason = "tick, which is read from it: it cannot be read"
    assert reason in prune_run(run, bundle, tracekit)
    assert (run / "recording.trace").is_dir()
    assert tracekit("tables", run, "gpu_intervals").out.count("\n") == 4


def test_a_runs_folder_that_is_called_like_a_bundle_is_one_of_a_run(
    bundle: Path, tmp_path: Path, tracekit: Any
) -> None:
    run = tmp_path / "out.trace"
    assert tracekit("import", bundle, "--output", run).code == 0
    assert tracekit("tables", run, "gpu_intervals").out.count("\n") == 4
    assert "is not a .trace bundle" in tracekit("export", run, tmp_path / "x").err
    assert tracekit("convert", run, tmp_path / "run.json", "--to", "chrome").code == 0
    query_result = tracekit("query", "select state from runs", run, "--format", "csv")
    assert query_result.out == "state\nnot analyzed\n"


HELPER = Process(PYTHON.pid, "helper")  # in the second run, that pid is another's
OWNER = Process(88, "server")
FIRST = RunInfo(process="python3", pid=4711, template_name="Blank", duration=1.5)
SECOND = RunInfo(process="server", pid=88, start=1774904000.0, duration=2.5)
CHOSEN = "Run 2, the last one, is read"


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """A bundle of two runs: `python3` is the target of the first, `server` that of the second."""
    first_tables = [ticks([1]), intervals((0, 10, PYTHON), (20, 10, PYTHON))]
    second = [intervals((5, 30, OWNER), (50, 10, HELPER)), ticks([2]), ticks([3], {"frequency": 9})]
    runs = {1: Run(first_tables, Encoder(), FIRST), 2: Run(second, Encoder(), SECOND)}
    return write_runs(tmp_path / "two.trace", runs)


@pytest.fixture
def exported(two_runs: Path, tmp_path: Path, tracekit: Any) -> Path:
    """The exports of both runs in one folder, with one table of contents."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for number in (1, 2):
        run_exports = tmp_path / f"of-{number}"
        assert tracekit("export", two_runs, run_exports, "--run", number).code == 0
        shutil.copy(run_exports / "toc.xml", folder)
        for table in run_exports.glob("[!toc]*.xml"):
            shutil.copy(table, folder / f"{table.stem}-{number}.xml")
    return folder


@pytest.mark.parametrize(
    ("line", "last", "first"),
    [
        ("tables BUNDLE gpu_intervals", "start 5 50", "start 0 20"),
        ("convert BUNDLE OUT.csv --schema metal-gpu-intervals --force", "start 5 50", "start 0 20"),
        ("query select+start+from+gpu_intervals+where+target BUNDLE", "start 5", "start 0 20"),
    ],
)
def test_the_last_run_is_read_unless_another_is_named(
    two_runs: Path, tmp_path: Path, tracekit: Any, line: str, last: str, first: str
) -> None:
    output_file = tmp_path / "out.csv"
    places = {"BUNDLE": two_runs, "OUT.csv": output_file}
    words = [places.get(word, word.replace("+", " ")) for word in line.split()]
    for options, starts in (([], last), (["--run", 1], first)):
        result = tracekit(*words, *options)
        assert result.code == 0, (options, result.err)
        assert (CHOSEN in join_stderr(result)) is (options == [])
        text = output_file.read_text().replace(",", "\t") if output_file.exists() else result.out
        assert " ".join(row.split("\t")[0] for row in text.splitlines()) == starts


def test_a_list_of_tables_is_of_one_run_and_of_one_place(two_runs: Path, tracekit: Any) -> None:
    def list_tables(*words: object) -> list[list[str]]:
        result = tracekit("tables", two_runs, *words)
        assert result.code == 0
        rows = [line.split("\t")[:2] for line in result.out.splitlines()]
        return [row for row in rows if row[0].startswith(("gpu_intervals", "ticks"))]

    assert list_tables("--run", 1) == [["gpu_intervals", "2"], ["ticks", "1"]]
    tick_rows = [["ticks (run 2 table 2)", "1"], ["ticks (run 2 table 3 (frequency=9))", "1"]]
    assert list_tables("--run", 2) == list_tables() == [["gpu_intervals", "2"], *tick_rows]
    assert list_tables("--run", 2, "--table", 1) == [["gpu_intervals", "2"]]
    assert list_tables("--table", 3) == [["ticks", "1"]]
    missing_table = tracekit("tables", two_runs, "--table", 9)
    assert_error(missing_table, 3, "has no table that is run 2, table 9")


def test_a_missing_run_is_answered_with_those_that_are(two_runs: Path, tracekit: Any) -> None:
    for words in (("tables",), ("export",), ("convert", "out", "--to", "csv")):
        result = tracekit(words[0], two_runs, *words[1:], "--run", 3)
        assert_error(result, 2, "two.trace has no run 3.", "It has run 1 (python3 4711, ")


@pytest.mark.parametrize("source", ["two_runs", "exported"])
def test_an_import_is_of_one_run_and_is_judged_as_such(
    source: str,
    tmp_path: Path,
    tracekit: Any,
    request: pytest.FixtureRequest,
    subtests: pytest.Subtests,
) -> None:
    for options, pid, busy in (([], 88, 30), (["--run", 1], 4711, 20)):
        with subtests.test(options=options):
            run = tmp_path / f"run-of-{pid}"
            command_result = tracekit(
                "import", request.getfixturevalue(source), "--output", run, *options
            )
            assert (command_result.code, CHOSEN in join_stderr(command_result)) == (
                0,
                options == [],
            )
            command_result = tracekit("analyze", run, "--json")
            assert command_result.code == 0
            result = json.loads(command_result.out)
            assert [target["pid"] for target in result["provenance"]["targets"]] == [pid]
            assert "tables of metal-gpu-intervals" not in str(result["metrics"])
            table = library.open(run).tables["gpu_intervals"]
            assert table.loc[table["target"], "duration"].sum() == busy


def test_an_analysis_and_its_report_can_be_of_another_run(
    two_runs: Path, tmp_path: Path, tracekit: Any
) -> None:
    run = tmp_path / "run"
    for words in (("import", two_runs, "--output", run), ("analyze", run), ("report", run)):
        assert tracekit(*words).code == 0
    assert tracekit("analyze", run, "--run", 1).code == 0
    provenance = Recording(run).provenance()
    assert (provenance.run, provenance.templates, provenance.duration) == (1, ("Blank",), 1.5)
    assert [target.pid for target in provenance.targets] == [4711]
    assert not any("has 2 runs" in warning for warning in provenance.warnings)
    assert not (run / "report.html").exists()
    for options, starts in (([], ["0", "20"]), (["--run", 2], ["5", "50"])):
        rows = tracekit("tables", run, "gpu_intervals", *options).out.splitlines()
        assert [row.split("\t")[0] for row in rows] == ["start", *starts]
    query_result = tracekit("query", "select start from gpu_intervals", run)
    assert query_result.out.split() == ["start", "0", "20"], (
        "kept tables of two runs are told apart"
    )
    assert tracekit("analyze", run, "--run", 3).code == 2
    assert Recording(run).provenance() == provenance


def test_a_bundle_is_converted_whole_or_a_run(
    two_runs: Path, tmp_path: Path, tracekit: Any
) -> None:
    runs, names = ["run1", "run2"], ["metal-gpu-intervals.csv", "tick.csv"]
    for options, expected in (([], runs), (["--run", 1], names)):
        output_folder = tmp_path / f"out-{len(options)}"
        assert tracekit("convert", two_runs, output_folder, "--to", "csv", *options).code == 0
        assert sorted(place.name for place in output_folder.iterdir()) == expected
