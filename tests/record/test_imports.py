"""Runs made of what someone else recorded."""

import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit import pipeline
from tracekit.analysis.result import Status
from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Process
from tracekit.run import Run

Xml = Callable[..., str]
OURS, OTHER = (4711, "python3"), (420, "WindowServer")


@pytest.fixture
def exports(tmp_path: Path, toc_xml: Xml, intervals_xml: Xml) -> Path:
    """A folder with a TOC and a table of two processes."""
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "mine_toc.xml").write_text(toc_xml())
    rows = [(0, 10, *OURS), (5, 10, *OURS), (40, 10, *OTHER), (100, 20, *OURS)]
    (folder / "mine_intervals.xml").write_text(intervals_xml(rows))
    return folder


def imported(paths: list[Path], output: Path, target: str | None = None) -> Run:
    [recording] = pipeline.import_(paths, output, target)
    return Run(recording)


def test_a_toc_and_its_tables_become_a_run_whose_target_counts_alone(
    exports: Path, tmp_path: Path
) -> None:
    run = imported([exports], tmp_path / "run")
    provenance = run.provenance
    assert (provenance.recorder, provenance.counters) == ("import", "")
    assert provenance.recorder_version == "Instruments 26.0 (17A5295f)"
    assert provenance.targets == (Process(*OURS),)
    assert provenance.templates == ("Metal System Trace",)
    assert (provenance.duration, provenance.end_reason) == (2.123889, "Target app exited")
    machine = {"model": "MacBook Air", "system": "macOS", "release": "26.3.1 (25D2128)"}
    assert provenance.machine == machine
    assert provenance.stages["import"].state == "done"
    names = sorted(file.name for file in run.recording.exports.iterdir())
    assert names == ["metal-gpu-intervals.xml", "toc.xml"]
    values = {found.name: found.value for found in pipeline.analyze(run.recording).metrics}
    assert values["gpu_interval_count"] == 3
    assert (values["gpu_busy"], values["gpu_span"]) == (35, 120)
    assert pipeline.report(run.recording).read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("rows", "target", "found", "said"),
    [
        ([(0, 10, *OURS), (5, 5, *OTHER)], "420", OTHER, "without a TOC"),
        ([(0, 10, *OURS), (5, 5, *OTHER)], "WindowServer", OTHER, "without a TOC"),
        ([(0, 10, *OURS)], None, OURS, "no other has rows"),
        ([(0, 10, *OURS), (5, 5, *OTHER)], None, None, "without a TOC"),
    ],
)
def test_without_a_toc_the_target_is_named_or_the_only_process_or_nobody(
    *, rows: list[tuple[int, int, int, str]], target: str | None, found: tuple[int, str] | None,
    said: str, tmp_path: Path, intervals_xml: Xml,
) -> None:  # fmt: skip
    file = tmp_path / "mine.xml"
    file.write_text(intervals_xml(rows))
    run = imported([file], tmp_path / "run", target)
    assert run.provenance.targets == ((Process(*found),) if found else ())
    assert said in " ".join(run.provenance.warnings)
    if found is None:
        result = pipeline.analyze(run.recording)
        busy = result.metric("gpu_busy")
        assert busy is not None
        assert (busy.value, "--target" in busy.reason) == (None, True)
        judged = {check.rule for check in result.checks if check.status is not Status.ABSTAINED}
        assert judged == {"capture-truncated", "schema-drift"}  # they ask for no target


def test_names_and_files_are_taken_as_they_are_meant(
    exports: Path, tmp_path: Path, toc_xml: Xml, intervals_xml: Xml, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="--target nobody names none") as error:
        imported([exports], tmp_path / "run", "nobody")
    assert "WindowServer (420), python3 (4711)" in error.value.hint
    assert not (tmp_path / "run").exists(), "the same folder can be named in the next try"
    monkeypatch.chdir(exports)
    twice = [Path("mine_intervals.xml"), exports / "mine_intervals.xml", exports]
    assert len(imported(twice, tmp_path / "run").tables["gpu_intervals"]) == 4
    for kind in ("intervals", "toc"):  # "toc" inside of a word is part of a name
        (exports / f"mine_{kind}.xml").rename(exports / f"protocol_{kind}.xml")
    (exports / "other-toc.xml").write_text(toc_xml())
    monkeypatch.chdir(tmp_path)
    names = [recording.provenance().workload for recording in pipeline.import_([exports])]
    assert names == ["other", "protocol"]
    (exports / "strange.xml").write_text(intervals_xml([]))
    with pytest.raises(InputError, match=r"to which of 2 TOCs .*strange\.xml"):
        pipeline.import_([exports], tmp_path / "another")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xml", "<html/>", "root <html>, and no export"),
        ("a.xml", "", "is empty"),
        ("a.txt", "hello", "is not XML"),
        ("", "", "No export and no bundle"),
        ("mine", "", "No export and no bundle"),
    ],
)
def test_what_is_no_export_is_refused(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "mine/corespace").mkdir(parents=True)
    if "." in name:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        pipeline.import_([tmp_path / name], tmp_path / "run")
    assert ("folder ends with .trace" in caught.value.hint) is message.startswith("No export")
    assert not (tmp_path / "run").exists()


def test_several_recordings_in_one_folder_become_several_runs(
    exports: Path, tmp_path: Path, toc_xml: Xml, intervals_xml: Xml, monkeypatch: pytest.MonkeyPatch
) -> None:
    (exports / "mine_heavy_toc.xml").write_text(toc_xml(pid=99, name="heavy"))
    (exports / "x_mine_heavy_intervals.xml").write_text(intervals_xml([(0, 1, 99, "heavy")]))
    monkeypatch.chdir(tmp_path)
    runs = [Run(recording) for recording in pipeline.import_([exports])]
    assert [run.provenance.workload for run in runs] == ["mine_heavy", "mine"]
    assert [len(run.tables["gpu_intervals"]) for run in runs] == [1, 4]
    with pytest.raises(UsageError, match="there are 2 recordings"):
        pipeline.import_([exports], tmp_path / "one")
    shutil.copytree(exports, tmp_path / "again")  # tables belong to the TOC beside them
    assert len(pipeline.import_([exports, tmp_path / "again"])) == 4


def test_of_an_export_that_was_cut_no_number_is_made(exports: Path, tmp_path: Path) -> None:
    table = exports / "mine_intervals.xml"
    text = table.read_text()
    table.write_text(text[: text.rindex("<row>") + 40])
    result = pipeline.analyze(imported([exports], tmp_path / "run").recording)
    assert any("metal-gpu-intervals" in warning for warning in result.provenance.warnings)
    count = result.metric("gpu_interval_count")
    assert count is not None
    assert count.value is None
    assert "rows of the table gpu_intervals are missing" in count.reason
    errors = [finding.rule for finding in result.findings if finding.severity == "error"]
    assert errors == ["capture-truncated"]


def independent(toc: Path, intervals: Path) -> tuple[int, int]:
    """Busy time and count of the TOC's process, by a DOM and a sweep of its own."""
    process = ET.parse(toc).find("run/info/target/process")
    assert process is not None
    defined: dict[str, ET.Element] = {}
    events: list[tuple[int, int]] = []
    count = 0

    def whole(element: ET.Element) -> ET.Element:
        return defined[element.attrib["ref"]] if "ref" in element.attrib else element

    for row in ET.parse(intervals).iter("row"):
        defined |= {cell.attrib["id"]: cell for cell in row.iter() if "id" in cell.attrib}
        cells = [whole(cell) for cell in row]
        owner = cells[10].find("pid")
        if owner is not None and whole(owner).text == process.attrib["pid"]:
            start, length = int(cells[0].text or ""), int(cells[1].text or "")
            events += [(start, 1), (start + length, -1)]
            count += 1
    busy, running, last = 0, 0, 0
    for time, step in sorted(events):
        busy += time - last if running else 0
        running, last = running + step, time
    return busy, count


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["gpu_baseline", "gpu_occupancy_heavy"])
def test_a_real_recording_gives_the_numbers_of_an_independent_count(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    folder = next(corpus.glob("*steinmarder/src/re/apple/results/tranche1_20260330_204856"))
    toc = folder / f"{name}_toc.xml"
    run = imported([toc, *sorted(folder.glob(f"xctrace_{name}_*.xml"))], tmp_path / "run")
    result = pipeline.analyze(run.recording)
    values = {found.name: found.value for found in result.metrics}
    busy, count = independent(toc, folder / f"xctrace_{name}_metal-gpu-intervals.xml")
    assert (values["gpu_busy"], values["gpu_interval_count"]) == (busy, count)
    intervals = run.tables["gpu_intervals"]
    assert len(intervals) > count, "other processes are in the table, and not the target's"
    assert not intervals.loc[intervals["process"] == "WindowServer", "target"].any()
    page = pipeline.report(run.recording).read_text()
    assert "WindowServer" in page
    assert "http:" not in page.lower()
    assert "https:" not in page.lower()
