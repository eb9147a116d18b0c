"""A trace of two runs, in which one pid is two processes: every command reads one of them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tracekit as library
from bundle_writer import Encoder, Process, RunInfo, write_runs
from bundle_writer import Run as WrittenRun
from small_bundle import PYTHON, intervals, ticks
from tracekit.base.recording import Recording

Tracekit = Callable[..., Any]
HELPER = Process(PYTHON.pid, "helper")  # in the second run, that pid is another's
SERVER = Process(88, "server")
FIRST = RunInfo(process="python3", pid=4711, template_name="Blank", duration=1.5)
SECOND = RunInfo(process="server", pid=88, start=1774904000.0, duration=2.5)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Two runs: `python3` is the target of the first, `server` that of the second."""
    first = [ticks([1]), intervals((0, 10, PYTHON), (20, 10, PYTHON))]
    second = [
        intervals((5, 30, SERVER), (50, 10, HELPER)),
        ticks([2]),
        ticks([3], {"frequency": 9}),
    ]
    runs = {1: WrittenRun(first, Encoder(), FIRST), 2: WrittenRun(second, Encoder(), SECOND)}
    return write_runs(tmp_path / "two.trace", runs)


@pytest.fixture
def exported(bundle: Path, tmp_path: Path, tracekit: Tracekit) -> Path:
    """The exports of both runs in one folder, with one table of contents."""
    folder = tmp_path / "exports"
    for number in (1, 2):
        out = tmp_path / f"of-{number}"
        assert tracekit("export", bundle, out, "--run", number).code == 0
        folder.mkdir(exist_ok=True)
        shutil.copy(out / "toc.xml", folder)
        for table in out.glob("[!toc]*.xml"):
            shutil.copy(table, folder / f"{table.stem}-{number}.xml")
    return folder


def chosen(ran: Any) -> bool:
    """Tell whether a command says that it took the last of two runs."""
    told = " ".join(ran.err.split())
    return "has 2 runs: run 1 (python3 4711" in told and "Run 2, the last one, is read" in told


def starts(ran: Any) -> list[tuple[str, str]]:
    """Return start and target of the rows that are shown."""
    rows = [line.split("\t") for line in ran.out.splitlines()]
    at = rows[0].index("target")
    return [(row[0], row[at].lower()) for row in rows[1:]]


def test_tables_are_those_of_the_last_run_unless_another_is_named(
    bundle: Path, tracekit: Tracekit
) -> None:
    last = tracekit("tables", bundle, "gpu_intervals")
    assert (starts(last), chosen(last)) == ([("5", "true"), ("50", "false")], True)
    first = tracekit("tables", bundle, "gpu_intervals", "--run", 1)
    assert (starts(first), chosen(first)) == ([("0", "true"), ("20", "true")], False)


def test_a_list_of_tables_is_of_one_run_and_of_one_place(bundle: Path, tracekit: Tracekit) -> None:
    def listed(*words: object) -> list[list[str]]:
        ran = tracekit("tables", bundle, *words)
        assert ran.code == 0
        rows = [line.split("\t")[:2] for line in ran.out.splitlines()]
        return [row for row in rows if row[0].startswith(("gpu_intervals", "ticks"))]

    assert listed("--run", 1) == [["gpu_intervals", "2"], ["ticks", "1"]]
    both = [["ticks (run 2 table 2)", "1"], ["ticks (run 2 table 3 (frequency=9))", "1"]]
    assert listed("--run", 2) == [["gpu_intervals", "2"], *both]
    assert listed() == listed("--run", 2)
    assert listed("--run", 2, "--table", 1) == [["gpu_intervals", "2"]]
    assert listed("--table", 3) == [["ticks", "1"]]
    lacking = tracekit("tables", bundle, "--table", 9)
    assert (lacking.code, "has no table that is run 2, table 9" in lacking.err) == (3, True)


@pytest.mark.parametrize("words", [("tables",), ("export",), ("convert", "out", "--to", "csv")])
def test_a_run_that_is_not_there_is_answered_with_those_that_are(
    words: tuple[str, ...], bundle: Path, tracekit: Tracekit
) -> None:
    ran = tracekit(words[0], bundle, *words[1:], "--run", 3)
    assert ran.code == 2
    told = " ".join(ran.err.split())
    assert "two.trace has no run 3." in told
    assert "It has run 1 (python3 4711, " in told


@pytest.mark.parametrize("of", ["bundle", "exported"])
def test_an_import_is_of_one_run_and_is_judged_as_such(
    of: str, tmp_path: Path, tracekit: Tracekit, request: pytest.FixtureRequest
) -> None:
    source: Path = request.getfixturevalue(of)
    last = tracekit("import", source, "--output", tmp_path / "last")
    assert (last.code, chosen(last)) == (0, True)
    named = tracekit("import", source, "--output", tmp_path / "first", "--run", 1)
    assert (named.code, chosen(named)) == (0, False)
    for name, pid, busy in (("last", 88, 30), ("first", 4711, 20)):
        ran = tracekit("analyze", tmp_path / name, "--json")
        assert ran.code == 0
        result = json.loads(ran.out)
        assert [one["pid"] for one in result["provenance"]["targets"]] == [pid]
        assert not any("tables of metal-gpu-intervals" in str(one) for one in result["metrics"])
        table = library.open(tmp_path / name).tables["gpu_intervals"]
        assert table.loc[table["target"], "duration"].sum() == busy


def test_an_analysis_can_be_of_another_run_and_what_follows_is_too(
    bundle: Path, tmp_path: Path, tracekit: Tracekit
) -> None:
    run = tmp_path / "run"
    assert tracekit("import", bundle, "--output", run).code == 0
    assert tracekit("analyze", run).code == 0
    assert tracekit("report", run).code == 0
    assert tracekit("analyze", run, "--run", 1).code == 0
    provenance = Recording(run).provenance()
    assert (provenance.run, provenance.templates, provenance.duration) == (1, ("Blank",), 1.5)
    assert [one.pid for one in provenance.targets] == [4711]
    assert not any("has 2 runs" in one for one in provenance.warnings)
    assert not (run / "report.html").exists()
    assert starts(tracekit("tables", run, "gpu_intervals")) == [("0", "true"), ("20", "true")]
    other = tracekit("tables", run, "gpu_intervals", "--run", 2)
    assert starts(other) == [("5", "true"), ("50", "false")]
    asked = tracekit("query", "select start from gpu_intervals", run)
    assert asked.out.split() == ["start", "0", "20"], "kept tables of two runs are told apart"
    absent = tracekit("analyze", run, "--run", 3)
    assert (absent.code, Recording(run).provenance()) == (2, provenance)


def test_exports_of_the_first_run_alone_are_of_that_run(
    exported: Path, tmp_path: Path, tracekit: Tracekit
) -> None:
    for table in exported.glob("*-2*.xml"):
        table.unlink()
    ran = tracekit("import", exported, "--output", tmp_path / "run")
    told = " ".join(ran.err.split())
    assert "Run 1, the last one with tables, is read" in told
    assert Recording(tmp_path / "run").provenance().run == 1


def test_a_bundle_is_converted_whole_or_one_run_of_it(
    bundle: Path, tmp_path: Path, tracekit: Tracekit
) -> None:
    assert tracekit("convert", bundle, tmp_path / "all", "--to", "csv").code == 0
    assert sorted(one.name for one in (tmp_path / "all").iterdir()) == ["run1", "run2"]
    assert tracekit("convert", bundle, tmp_path / "one", "--to", "csv", "--run", 1).code == 0
    names = sorted(one.name for one in (tmp_path / "one").iterdir())
    assert names == ["metal-gpu-intervals.csv", "tick.csv"]
    table = tmp_path / "gpu.csv"
    last = tracekit("convert", bundle, table, "--schema", "metal-gpu-intervals")
    assert (pd.read_csv(table)["start"].tolist(), chosen(last)) == ([5, 50], True)
    first = tracekit("convert", bundle, table, "--schema", "metal-gpu-intervals", "--run", 1)
    assert (pd.read_csv(table)["start"].tolist(), chosen(first)) == ([0, 20], False)


def test_a_question_is_asked_of_one_run(bundle: Path, tracekit: Tracekit) -> None:
    sql = "select sum(duration)::bigint as busy from gpu_intervals where target"
    last = tracekit("query", sql, bundle)
    assert (last.out.split(), chosen(last)) == (["busy", "30"], True)
    first = tracekit("query", sql, bundle, "--run", 1)
    assert (first.out.split(), chosen(first)) == (["busy", "20"], False)
