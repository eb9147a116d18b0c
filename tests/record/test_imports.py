"""Runs made of what someone else recorded: exports, and bundles that are read where they are."""

import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import Encoder, Issue, RunInfo, write_bundle, write_runs
from bundle_writer import Process as Named
from bundle_writer import Run as Recorded
from recording_fakes import Scenario
from small_bundle import PYTHON, SERVER, intervals, process_info, ticks
from tracekit import app, pipeline
from tracekit.analysis.result import Status
from tracekit.analysis.rules import RULES
from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Process, Recording
from tracekit.record import inputs
from tracekit.record.imports import choose_run
from tracekit.record.inputs import find_profiled_capture
from tracekit.record.requirements import run_and_targets
from tracekit.run import Run
from tracekit.tables.bundle.errors import UnknownBundleError
from tracekit.tables.notes import DirectNote

Xml = Callable[..., str]
COUNTERS = "Index,Encoder FunctionIndex,CommandBuffer Label,Encoder Label,,Calls\n1,9,CB,Enc,,5\n"
OURS, OTHER = (4711, "python3"), (420, "WindowServer")


@pytest.fixture
def exports(tmp_path: Path, toc_xml: Xml, intervals_xml: Xml) -> Path:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "mine_toc.xml").write_text(toc_xml())
    rows = [(0, 10, *OURS), (5, 10, *OURS), (40, 10, *OTHER), (100, 20, *OURS)]
    (folder / "mine_intervals.xml").write_text(intervals_xml(rows))
    return folder


def import_run(path: Path | list[Path], output: Path, **options: Any) -> Run:
    [recording] = pipeline.import_(path if isinstance(path, list) else [path], output, **options)
    return Run(recording)


def starts(run: Run) -> list[int]:
    return run.tables["gpu_intervals"]["start"].tolist()


def describe_run(run: Run) -> dict[str, Any]:
    """Return what the provenance of an import says, but for how long it took."""
    provenance = run.provenance
    assert (provenance.recorder, provenance.counters) == ("import", "")
    assert provenance.recorder_version == "Instruments 26.0 (17A5295f)"
    assert (provenance.targets, provenance.templates) == (
        (Process(*OURS),),
        ("Metal System Trace",),
    )
    assert (provenance.end_reason, provenance.machine["model"]) == (
        "Target app exited",
        "MacBook Air",
    )
    assert provenance.stages["import"].state == "done"
    files = {file.name for file in run.recording.exports.iterdir()}
    return {"name": provenance.workload, "duration": provenance.duration, "files": files}


def test_a_toc_and_its_tables_become_a_run(exports: Path, tmp_path: Path) -> None:
    run = import_run(exports, tmp_path / "run")
    files = {"metal-gpu-intervals.xml", "toc.xml"}
    assert describe_run(run) == {"name": "mine", "duration": 2.123889, "files": files}
    machine = {"model": "MacBook Air", "system": "macOS", "release": "26.3.1 (25D2128)"}
    assert run.provenance.machine == machine
    values = {metric.name: metric.value for metric in pipeline.analyze(run.recording).metrics}
    assert values["gpu_interval_count"] == 3
    assert (values["gpu_busy"], values["gpu_span"]) == (35, 120)


def test_without_a_toc_the_target_is_named_or_the_only_plausible_one_or_nobody(
    tmp_path: Path, intervals_xml: Xml, subtests: pytest.Subtests
) -> None:
    file, all_rows = tmp_path / "mine.xml", [(0, 10, *OURS), (5, 5, *OTHER)]
    rivals = [*all_rows, (6, 7, 900, "Safari")]
    for rows, target, expected_targets, warning_words in (
        (all_rows, "420", (Process(*OTHER),), "without a TOC"),
        (all_rows, "WindowServer", (Process(*OTHER),), "without a TOC"),
        (all_rows[:1], None, (Process(*OURS),), "no other has rows"),
        (all_rows, None, (Process(*OURS),), "no other program comes near"),
        (rivals, None, (), "without a TOC"),
    ):
        with subtests.test(target=target, found=expected_targets, warned=warning_words):
            file.write_text(intervals_xml(rows))
            run = import_run(file, tmp_path / f"run {target} {warning_words}", target=target)
            assert (run.provenance.targets, run.provenance.templates) == (expected_targets, ())
            warned = " ".join(run.provenance.warnings)
            assert "without a TOC" in warned
            assert warning_words in warned
    result = pipeline.analyze(Recording(tmp_path / "run None without a TOC"))
    [busy] = [metric for metric in result.metrics if metric.name == "gpu_busy"]
    assert (busy.value, "--target" in busy.reason) == (None, True)
    unjudged = {Status.ABSTAINED, Status.NOT_APPLICABLE}
    judged = {check.rule for check in result.checks if check.status not in unjudged}
    no_target = {"capture-truncated", "impossible-rows", "schema-drift"}
    assert judged == no_target
    inapplicable = {check.rule for check in result.checks if check.status is Status.NOT_APPLICABLE}
    assert inapplicable == {
        *("rows-missing", "serial-prefill", "trace-overhead", "unsound-dispatches"),
        *(name for name in RULES if name.endswith("-encoders") and name != "tiny-encoders"),
        "shared-replay",
    }


def test_names_and_files_are_taken_as_they_are_meant(
    exports: Path, tmp_path: Path, toc_xml: Xml, intervals_xml: Xml, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="--target nobody names none") as error:
        import_run(exports, tmp_path / "run", target="nobody")
    assert "python3 (4711), 35 ns of GPU time; WindowServer (420)" in error.value.hint
    assert not (tmp_path / "run").exists(), "the same folder can be named in the next try"
    monkeypatch.chdir(exports)
    twice = [Path("mine_intervals.xml"), exports / "mine_intervals.xml", exports]
    assert len(import_run(twice, tmp_path / "run").tables["gpu_intervals"]) == 4
    for kind in ("intervals", "toc"):  # "toc" inside of a word is part of a name
        (exports / f"mine_{kind}.xml").rename(exports / f"protocol_{kind}.xml")
    (exports / "other-toc.xml").write_text(toc_xml())
    monkeypatch.chdir(tmp_path)
    names = [recording.provenance().workload for recording in pipeline.import_([exports])]
    assert names == ["other", "protocol"]
    (exports / "strange.xml").write_text(intervals_xml([]))
    with pytest.raises(InputError, match=r"to which of 2 TOCs .*strange\.xml"):
        pipeline.import_([exports], tmp_path / "another")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine/corespace").mkdir(parents=True)
    for name, content, message in (
        ("a.xml", "<html/>", "root <html>, and no export"),
        ("a.xml", "", "is empty"),
        ("a.txt", "hello", "is not XML"),
        ("mine", None, "No export and no bundle"),
    ):
        if content is not None:
            (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=message) as caught:
            pipeline.import_([tmp_path / name], tmp_path / "run")
        assert ("folder ends with .trace" in caught.value.hint) is (content is None)
        assert not (tmp_path / "run").exists(), content


def test_several_recordings_in_one_folder_become_several_runs(
    exports: Path, tmp_path: Path, toc_xml: Xml, intervals_xml: Xml, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.csv").write_text(COUNTERS)
    with pytest.raises(UsageError, match="there are 2 recordings"):
        pipeline.import_([exports, tmp_path / "mine.csv"], tmp_path / "one")
    (exports / "mine_heavy_toc.xml").write_text(toc_xml(pid=99, name="heavy"))
    (exports / "x_mine_heavy_intervals.xml").write_text(intervals_xml([(0, 1, 99, "heavy")]))
    monkeypatch.chdir(tmp_path)
    runs = [Run(recording) for recording in pipeline.import_([exports])]
    assert [run.provenance.workload for run in runs] == ["mine_heavy", "mine"]
    assert [len(run.tables["gpu_intervals"]) for run in runs] == [1, 4]
    run = import_run(tmp_path / "mine.csv", tmp_path / "replayed")
    provenance, [cells] = run.provenance, run.tables["replay_counters"].to_numpy().tolist()
    assert (provenance.recorder, provenance.workload, provenance.counters) == ("import", "mine", "")
    assert provenance.stages["import"].state == "done"
    assert provenance.target_reason.startswith("a GPU frame capture does not name its program")
    assert "serialized replay" in provenance.warnings[0]
    assert cells[:7] == [1, 9, "CB", "Enc", "Calls", 5.0, ""]
    shutil.copytree(exports, tmp_path / "again")  # tables belong to the TOC beside them
    assert len(pipeline.import_([exports, tmp_path / "again"])) == 4


@pytest.mark.parametrize(
    ("own_names", "strangers"),
    [
        (["mine_intervals"], ["theirs_intervals"]),
        (["metal-gpu-intervals", "x_mine_metal-gpu-intervals"], ["theirs_intervals"]),
        (["metal-gpu-intervals-2", "metal-gpu-intervals"], []),
        (["metal-gpu-intervals", "other"], []),
    ],
)
def test_the_only_toc_does_not_get_tables_with_the_name_of_another_recording(
    own_names: list[str], strangers: list[str], tmp_path: Path, toc_xml: Xml, intervals_xml: Xml
) -> None:
    (tmp_path / "mine_toc.xml").write_text(toc_xml())
    for name in (*own_names, *strangers):
        (tmp_path / f"{name}.xml").write_text(intervals_xml([(0, 10, *OURS)]))
    [recording] = inputs.recordings_of(sorted(tmp_path.iterdir()))
    assert [table.stem for table in recording.tables] == own_names
    assert [table.stem for table in recording.strangers] == strangers


def test_a_run_names_the_exports_that_were_left_out_of_it(
    exports: Path, intervals_xml: Xml
) -> None:
    (exports / "theirs_intervals.xml").write_text(intervals_xml([(7, 10, *OURS)]))
    run = app.functions.open(exports)
    assert starts(run) == [0, 5, 40, 100]
    text = "Left out, because mine_toc.xml is the only table of contents and their names are not of"
    hint = "Import them from a folder of their own."
    assert run.provenance.warnings[-1] == f"{text} mine: theirs_intervals.xml. {hint}"


def test_of_an_export_that_was_cut_no_number_is_made(exports: Path, tmp_path: Path) -> None:
    table = exports / "mine_intervals.xml"
    text = table.read_text()
    table.write_text(text[: text.rindex("<row>") + 40])
    result = pipeline.analyze(import_run(exports, tmp_path / "run").recording)
    [count] = [metric for metric in result.metrics if metric.name == "gpu_interval_count"]
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

    def resolve_element(element: ET.Element) -> ET.Element:
        return defined[element.attrib["ref"]] if "ref" in element.attrib else element

    for row in ET.parse(intervals).iter("row"):
        defined |= {cell.attrib["id"]: cell for cell in row.iter() if "id" in cell.attrib}
        cells = [resolve_element(cell) for cell in row]
        owner = cells[10].find("pid")
        if owner is not None and resolve_element(owner).text == process.attrib["pid"]:
            start, length = int(cells[0].text or ""), int(cells[1].text or "")
            events += [(start, 1), (start + length, -1)]
            count += 1
    busy, running, previous_time = 0, 0, 0
    for time, step in sorted(events):
        busy += time - previous_time if running else 0
        running, previous_time = running + step, time
    return busy, count


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["gpu_baseline", "gpu_occupancy_heavy"])
def test_real_numbers_are_those_of_another_count(name: str, corpus: Path, tmp_path: Path) -> None:
    folder = next(corpus.glob("*steinmarder/src/re/apple/results/tranche1_20260330_204856"))
    toc = folder / f"{name}_toc.xml"
    run = import_run([toc, *sorted(folder.glob(f"xctrace_{name}_*.xml"))], tmp_path / "run")
    result = pipeline.analyze(run.recording)
    values = {metric.name: metric.value for metric in result.metrics}
    busy, count = independent(toc, folder / f"xctrace_{name}_metal-gpu-intervals.xml")
    assert (values["gpu_busy"], values["gpu_interval_count"]) == (busy, count)
    intervals = run.tables["gpu_intervals"]
    assert len(intervals) > count, "other processes are in the table, and not the target's"
    assert not intervals.loc[intervals["process"] == "WindowServer", "target"].any()


TABLES = [
    ticks([1]),
    intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER), (100, 20, PYTHON)),
]
STARTS = [0, 5, 40, 100]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "mine.trace", TABLES, info=RunInfo())


def test_a_bundle_becomes_a_run_that_reads_it_in_place(bundle: Path, tmp_path: Path) -> None:
    run = import_run(bundle, tmp_path / "run")
    files = {"direct.json", "toc.xml"}
    assert describe_run(run) == {"name": "mine", "duration": 0.891228, "files": files}
    assert run.recording.bundle.resolve() == bundle
    assert DirectNote.read(run.recording.exports) == DirectNote("../recording.trace")
    with pytest.raises(UsageError, match=r"mine has no run 2\.") as raised:
        import_run(bundle, tmp_path / "other", run=2)
    assert raised.value.hint.startswith("It has run 1 (python3 4711, ")
    assert not (tmp_path / "other").exists()


def test_an_unknown_document_and_missing_stores_are_said(tmp_path: Path) -> None:
    tables = [*TABLES, process_info(OURS, OTHER)]
    path = write_bundle(tmp_path / "x.trace", tables, info=RunInfo())
    document = (path / "form.template").read_bytes()
    (path / "form.template").write_bytes(document.replace(b"_execname", b"_filename"))
    shutil.rmtree(path / "corespace/run1/core/stores/indexed-store-0")
    run = import_run(path, tmp_path / "run")
    lacks, store = "lacks 2 processes of the recording", "indexed-store-0 is missing"
    assert any(lacks in text for text in run.provenance.warnings)
    [warning] = [text for text in run.provenance.warnings if "left out" in text]
    assert warning.startswith("tick (store 0) of run 1 is left out: ")
    assert set(run.tables["gpu_intervals"].process) == {"python3", "WindowServer"}
    assert starts(run) == STARTS
    assert any(store in text for text in run.tables.warnings)
    result = pipeline.analyze(run.recording)
    [truncation] = [finding for finding in result.findings if finding.rule == "capture-truncated"]
    assert store in truncation.message
    # without a document
    names = [Named(*OURS)]
    path = write_bundle(tmp_path / "y.trace", TABLES, with_document=False, names=names)
    text = " ".join(import_run(path, tmp_path / "other").provenance.warnings)
    assert "form.template" in text
    assert "not verified for its build of Instruments, which it does not name" in text


def test_a_packed_bundle_is_unpacked_into_the_run(bundle: Path, tmp_path: Path) -> None:
    archive = tmp_path / "packed" / "Mine.Trace.ZIP"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as file:
        for path in bundle.rglob("*"):
            file.write(path, f"{bundle.name}/{path.relative_to(bundle).as_posix()}")
    for name, source in (("file", archive), ("folder", archive.parent)):
        run = import_run(source, tmp_path / name)
        assert not run.recording.bundle.is_symlink(), name
        assert (run.provenance.workload, starts(run)) == ("Mine", STARTS), name
    (tmp_path / "file").rename(tmp_path / "elsewhere")
    shutil.rmtree(archive.parent)
    assert starts(Run(Recording(tmp_path / "elsewhere"))) == STARTS


@pytest.mark.skipif(shutil.which("xcrun") is not None, reason="xctrace would export it")
def test_a_refused_import_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "x.trace").mkdir()
    (tmp_path / "y.zip").write_bytes(b"PK")
    with pytest.raises(UnknownBundleError, match=r"x\.trace|recording\.trace") as error:
        import_run(tmp_path / "x.trace", tmp_path / "run")
    assert "xctrace export" in error.value.hint
    with pytest.raises(InputError, match="not a readable zip file"):
        import_run(tmp_path / "y.zip", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_xctrace_exports_unknown_schemas(scenario: Scenario, tmp_path: Path) -> None:
    scenario(layout="unknown")
    folder = tmp_path / "x.trace"
    record = ["xcrun", "xctrace", "record", "--template", "Metal System Trace", "--output", folder]
    subprocess.run([*record, "--launch", "--", "/usr/bin/true"], check=True, capture_output=True)
    run = import_run(folder, tmp_path / "run")
    warnings = run.provenance.warnings
    assert any("Its tables were exported by xctrace." in text for text in warnings)
    assert (run.recording.exports / "metal-gpu-intervals.xml").exists()
    assert DirectNote.read(run.recording.exports) is None


def test_of_several_runs_the_last_is_imported_unless_another_is_named(tmp_path: Path) -> None:
    end_notes = {1: "Recording was cut", 2: "Buffers were full"}
    runs = {
        number: Recorded(
            [intervals((number, 10, who))], Encoder(), RunInfo(pid=4711 + number),
            issues=[Issue(words)],
        )
        for (number, words), who in zip(end_notes.items(), (PYTHON, SERVER), strict=True)
    }  # fmt: skip
    write_runs(tmp_path / "x.trace", runs)
    for number, chosen in ((2, None), (1, 1)):
        run = import_run(tmp_path / "x.trace", tmp_path / f"run-{number}", run=chosen)
        assert [target.pid for target in run.provenance.targets] == [4711 + number]
        assert run.provenance.run == number
        assert starts(run) == [number]
        warning_text = " ".join(run.provenance.warnings)
        assert [words in warning_text for words in end_notes.values()] == [
            number == 1,
            number == 2,
        ], number
        assert ("x has 2 runs: run 1 (python3 4712, 2026-03-30" in warning_text) is (chosen is None)
        assert ("Run 2, the last one, is read; --run chooses another." in warning_text) is (
            chosen is None
        )
    with pytest.raises(UsageError, match="--target WindowServer names none"):
        import_run(tmp_path / "x.trace", tmp_path / "another", target="WindowServer", run=1)
    runs_and_targets = [run_and_targets(run.recording, number) for number in (None, 1, 2)]
    assert runs_and_targets == [
        (run_number, frozenset({4711 + run_number})) for run_number in (1, 1, 2)
    ]
    outcome = (run.recording.result_file, run.recording.report_file)
    for file in outcome:
        file.touch()
    choose_run(run.recording, 1)
    assert all(file.exists() for file in outcome), "it was about this run already"
    choose_run(run.recording, 2)
    reimported_run = Run(run.recording)
    assert (
        [target.pid for target in reimported_run.provenance.targets],
        starts(reimported_run),
    ) == ([4713], [2])
    assert (reimported_run.provenance.run, reimported_run.provenance.workload) == (2, "x")
    assert not any(file.exists() for file in outcome)
    with pytest.raises(UsageError, match="run 3"):
        choose_run(run.recording, 3)


def test_counters_belong_to_the_only_capture_or_to_that_of_their_name(tmp_path: Path) -> None:
    decode, prefill = tmp_path / "decode.gputrace", tmp_path / "prefill.gputrace"
    for bundle in (decode, prefill):
        bundle.mkdir()
    trace, counters = tmp_path / "x.trace", tmp_path / "prefill.csv"
    for bundles, files, profiled in (
        ([decode], [tmp_path / "any.csv"], decode),
        ([decode, prefill], [counters, tmp_path / "tab.txt"], prefill),
        ([decode, prefill], [tmp_path / "any.csv"], None),
        ([trace], [counters], None),
        ([decode], [], None),
    ):
        assert find_profiled_capture(bundles, files) == profiled, (bundles, files)


def test_counters_belong_to_a_packed_capture_too(tmp_path: Path) -> None:
    packed = tmp_path / "decode.gputrace.zip"
    with zipfile.ZipFile(packed, "w") as file:
        for name in ("index", "store0", "metadata"):
            file.writestr(f"decode.gputrace/{name}", "")
    other = tmp_path / "other.gputrace"
    other.mkdir()
    assert find_profiled_capture([packed], [tmp_path / "any.csv"]) == packed
    assert find_profiled_capture([other, packed], [tmp_path / "decode.csv"]) == packed
