"""The command line: what it prints, and what it tells a script."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Xml = Callable[..., str]
Run = Callable[..., Any]
SMALL = [
    "--batch",
    "2",
    "--q-heads",
    "4",
    "--kv-heads",
    "2",
    "--head-dim",
    "64",
    "--block-size",
    "16",
    "--max-blocks",
    "4",
    "--active-blocks",
    "2",
    "--dtype",
    "float32",
]


@pytest.fixture
def imported(tmp_path: Path, toc_xml: Xml, intervals_xml: Xml, tracekit: Run) -> Path:
    """A run made of a small trace: three intervals of the target, one of another process."""
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "toc.xml").write_text(toc_xml())
    rows = [(0, 10, 4711, "python3"), (100, 10, 4711, "python3"), (50, 1, 420, "WindowServer")]
    (folder / "intervals.xml").write_text(intervals_xml(rows))
    assert tracekit("import", folder, "--output", tmp_path / "run").code == 0
    return tmp_path / "run"


def test_help_names_every_command_in_a_line(tracekit: Run) -> None:
    shown = tracekit("--help")
    assert shown.code == 0
    listed = shown.out.split("Commands:")[1].strip().splitlines()
    assert [line.split()[0] for line in listed] == [
        "capture",
        "record",
        "export",
        "analyze",
        "report",
        "import",
        "tables",
        "convert",
        "workloads",
        "rules",
        "doctor",
        "chip",
        "open",
        "bench",
        "parity",
        "verify-kernel",
        "templates",
    ]
    assert "..." not in shown.out.split("Commands:")[1]


def test_help_imports_nothing_heavy() -> None:
    """Pandas alone takes longer than help may take."""
    program = (
        "import sys; sys.argv = ['tracekit', '--help']\n"
        "from tracekit.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'numpy', 'lxml', 'mlx', 'mlx.core', 'pyarrow', 'jinja2', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[]"


def test_the_version_is_told(tracekit: Run) -> None:
    shown = tracekit("--version")
    assert shown.code == 0
    assert shown.out.startswith("tracekit 0.")


def test_no_command_shows_help_and_is_a_usage_error(tracekit: Run) -> None:
    shown = tracekit()
    assert shown.code == 2
    assert "Commands:" in shown.out + shown.err


def test_a_workloads_parameters_are_options_with_help(tracekit: Run) -> None:
    shown = tracekit("capture", "--workload", "paged", "--help")
    assert shown.code == 0
    for option in ("--batch", "--q-heads", "--kv-heads", "--head-dim", "--block-size", "--dtype"):
        assert option in shown.out
    assert "Sequences of a step." in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--batch", "many"], "--batch", id="wrong-type"),
        pytest.param(["--batch", "0"], "--batch", id="out-of-bounds"),
        pytest.param(["--dtype", "int3"], "--dtype", id="no-choice"),
        pytest.param(["--size", "3"], "--size", id="no-option"),
        pytest.param(["--time-limit", "soon"], "not a time limit", id="time-limit"),
        pytest.param(["--q-heads", "3", "--kv-heads", "2"], "heads", id="they-do-not-fit"),
        pytest.param(["--", "ls"], "one of them, not several", id="workload-and-command"),
    ],
)
def test_a_bad_parameter_is_a_usage_error_that_names_it(
    arguments: list[str], said: str, tracekit: Run, tmp_path: Path
) -> None:
    output = ["--output", tmp_path / "run", "--recorder", "host"]
    ran = tracekit("capture", "--workload", "paged", *output, *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "run").exists()


def test_a_workload_that_is_not_there_is_said_with_those_that_are(
    tracekit: Run,
) -> None:
    ran = tracekit("capture", "--workload", "page")
    assert ran.code == 2
    assert "There is no workload 'page'" in ran.err
    assert "paged" in ran.err


def test_nothing_to_record_is_a_usage_error(tracekit: Run) -> None:
    ran = tracekit("capture")
    assert ran.code == 2
    assert "Say what to record" in ran.err


def test_xctrace_asked_for_where_it_is_not_fails(
    tracekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = tracekit("record", "--recorder", "xctrace", "--", sys.executable, "-V")
    assert ran.code == 3
    assert "no xctrace" in ran.err
    assert "--recorder host" in ran.err


def test_capture_says_in_words_what_it_found_and_where_it_is(tracekit: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ["--recorder", "host", "--repeats", "30", "--output", folder]
    ran = tracekit("capture", "--workload", "paged", *options, *SMALL)
    assert ran.code == 0, ran.err
    assert "tokens_per_second" in ran.out
    assert "not checked  low-occupancy: the work ran on the CPU" in ran.out
    assert str(folder / "report.html") in ran.out
    assert (folder / "report.html").stat().st_size < 250_000
    for export in (folder / "exports").glob("host-*.xml"):
        out = tmp_path / f"{export.stem}.parquet"
        assert tracekit("convert", export, out).code == 0
        assert len(pd.read_parquet(out)) == export.read_text().count("<row>")


def test_json_prints_the_result_and_nothing_else(tracekit: Run, tmp_path: Path) -> None:
    options = ["--recorder", "host", "--repeats", "30", "--output", tmp_path / "run", "--json"]
    ran = tracekit("capture", "--workload", "paged", *options, *SMALL)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == json.loads((tmp_path / "run" / "result.json").read_text())


def test_the_stages_alone_make_the_same_run(tracekit: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ["--recorder", "host", "--repeats", "10", "--output", folder]
    recorded = tracekit("record", "--workload", "paged", *options, *SMALL)
    assert (recorded.code, recorded.out.strip()) == (0, str(folder))
    assert f"tracekit export {folder}" in recorded.err
    assert tracekit("export", folder).code == 0
    assert tracekit("analyze", folder).code == 0
    reported = tracekit("report", folder)
    assert (reported.code, reported.out.strip()) == (0, str(folder / "report.html"))
    assert tracekit("tables", folder).err == "", "tracekit knows every column it writes"


def test_a_program_is_sampled_and_its_load_shown(tracekit: Run, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ["--", sys.executable, "-c", "import time; time.sleep(30)"]
    options = ["--recorder", "host", "--time-limit", "500ms", "--output", run]
    recorded = tracekit("record", *options, *command)
    assert recorded.code == 0, recorded.err
    early = tracekit("analyze", run)
    assert (early.code, "has no exports to analyze" in early.err) == (3, True)
    assert f"tracekit export {run}" in early.err
    assert tracekit("export", run).code == 0
    assert "memory_peak" in tracekit("analyze", run).out


def test_after_a_failure_what_was_measured_can_be_exported(tracekit: Run, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ["--", sys.executable, "-c", "import sys, time; time.sleep(0.3); sys.exit(3)"]
    recorded = tracekit("record", "--recorder", "host", "--output", run, *command)
    assert (recorded.code, "ended with exit status 3" in recorded.err) == (3, True)
    assert f"Go on with `tracekit export {run}`." in recorded.err
    assert tracekit("export", run).code == 0


def test_an_old_folder_is_never_recorded_over(tracekit: Run, imported: Path) -> None:
    before = (imported / "recording.json").read_bytes()
    ran = tracekit("capture", "--workload", "paged", "--output", imported)
    assert ran.code == 2
    assert "not an empty folder" in ran.err
    assert (imported / "recording.json").read_bytes() == before


def test_a_workload_of_ones_own_is_found_in_its_folder(tracekit: Run, tmp_path: Path) -> None:
    (tmp_path / "nap.py").write_text(
        "import time\n"
        "from pathlib import Path\n"
        "from tracekit.workload import Step, workload\n\n"
        "@workload\n"
        "def nap(milliseconds: int = 5, places: list[Path] = []) -> Step:\n"
        "    '''Sleep.'''\n"
        "    seconds = milliseconds / 1000\n"
        "    return Step(lambda: time.sleep(seconds), lambda _: None, 'cpu', tokens=1)\n"
    )
    listed = tracekit("workloads", "--workloads", tmp_path)
    assert "nap\tSleep." in listed.out
    options = ["--recorder", "host", "--repeats", "5", "--output", tmp_path / "run", "--json"]
    own = ["--workloads", tmp_path, "--milliseconds", "7", "--places", "a", "--places", "b"]
    ran = tracekit("capture", "--workload", "nap", *options, *own)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["provenance"]["parameters"] == {
        "milliseconds": 7,
        "places": ["a", "b"],
    }


def test_a_workload_with_an_option_of_ours_is_refused(tracekit: Run, tmp_path: Path) -> None:
    (tmp_path / "clash.py").write_text(
        "from tracekit.workload import Step, workload\n\n"
        "@workload\n"
        "def clash(output: int = 5) -> Step:\n"
        "    '''Clash.'''\n"
    )
    ran = tracekit("capture", "--workload", "clash", "--workloads", tmp_path)
    assert ran.code == 3
    assert "'output', which is an option of tracekit itself" in ran.err


def test_analyze_shows_findings_with_advice(tracekit: Run, imported: Path) -> None:
    ran = tracekit("analyze", imported)
    assert ran.code == 0
    assert "gpu_busy" in ran.out
    assert "passed       capture-empty" in ran.out


def test_a_recording_that_was_cut_short_is_said_again_after_its_analysis(
    tracekit: Run, imported: Path
) -> None:
    file = imported / "recording.json"
    document = json.loads(file.read_text())
    document["stages"] = {"record": {"state": "running", "at": "t"}}
    file.write_text(json.dumps(document))
    assert "warning: The stage record was not completed." in tracekit("analyze", imported).err
    tracekit("report", imported)
    assert "The stage record was not completed." in (imported / "report.html").read_text()


def test_a_recording_without_rows_of_its_target_is_no_success(
    tracekit: Run, tmp_path: Path, toc_xml: Xml, intervals_xml: Xml
) -> None:
    (tmp_path / "toc.xml").write_text(toc_xml())
    (tmp_path / "t.xml").write_text(intervals_xml([(0, 1, 420, "WindowServer")]))
    tracekit("import", tmp_path / "toc.xml", tmp_path / "t.xml", "--output", tmp_path / "run")
    ran = tracekit("analyze", tmp_path / "run")
    assert ran.code == 4
    assert "no device interval of python3 (4711): all 1 belong to others" in ran.err
    assert "tracekit rules capture-empty" in ran.err


def test_tables_are_listed_shown_and_written(tracekit: Run, imported: Path, tmp_path: Path) -> None:
    listed = tracekit("tables", imported)
    assert listed.out.startswith("gpu_intervals\t3\t")
    shown = tracekit("tables", imported, "gpu_intervals", "--rows", "2")
    head, *rows = shown.out.splitlines()
    assert head.startswith("start\tduration\tchannel")
    assert len(rows) == 2
    assert "1 more rows" in shown.err
    written = tracekit("tables", imported, "gpu_intervals", "--output", tmp_path / "t.csv")
    assert written.code == 0
    assert pd.read_csv(tmp_path / "t.csv")["target"].tolist() == [True, True, False]


def test_a_table_that_is_not_there_says_where_it_comes_from(tracekit: Run, imported: Path) -> None:
    ran = tracekit("tables", imported, "gpu_counters")
    assert ran.code == 3
    assert "metal-gpu-counter-intervals" in ran.err
    mistyped = tracekit("tables", imported, "gpu_interval")
    assert "gpu_intervals" in mistyped.err


def test_convert_writes_the_rows_before_damage_and_fails(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 1, "a"), (20, 10, 1, "a"), (40, 10, 1, "a")])
    (tmp_path / "cut.xml").write_text(text[: text.rindex("<row>") + 30])
    ran = tracekit("convert", tmp_path / "cut.xml", tmp_path / "out.csv")
    assert ran.code == 3
    assert "cut.xml" in ran.err
    assert pd.read_csv(tmp_path / "out.csv")["start"].tolist() == [0, 20]


def _two_tables(text: str) -> str:
    """Give an export its table twice, as those of two places and two lengths."""
    begin, end = text.index("<node"), text.index("</trace-query-result>")
    node = text[begin:end]
    rows = node.partition("</schema>")[2]
    again = node.replace("table[1]", "table[2]").replace(rows, rows.partition("</row>")[0])
    return text[:begin] + node + again + "</row></node>" + text[end:]


def test_convert_takes_the_table_that_is_chosen(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml, toc_xml: Callable[..., str]
) -> None:
    text = intervals_xml([(0, 10, 1, "a"), (20, 10, 1, "a")])
    (tmp_path / "two.xml").write_text(_two_tables(text))
    (tmp_path / "toc.xml").write_text(toc_xml(tables=2).replace('"ALL"', '"SINGLE"', 1))
    out = tmp_path / "out.csv"
    unclear = tracekit("convert", tmp_path / "two.xml", out)
    assert unclear.code == 3
    assert "run 1 table 1 (target-pid=SINGLE), with 2 rows" in unclear.err
    assert "run 1 table 2 (target-pid=ALL), with 1 row" in unclear.err
    assert "--table" in unclear.err
    assert not out.exists()
    assert tracekit("convert", tmp_path / "two.xml", out, "--table", "2").code == 0
    assert pd.read_csv(out)["start"].tolist() == [0]
    assert tracekit("convert", tmp_path / "two.xml", out, "--run", "2").code == 3


def test_convert_names_the_files_of_stacks_and_what_drifted(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 1, "a")])
    stack = '<backtrace id="901"><frame id="902" name="leaf" addr="0x1"/></backtrace>'
    text = text.replace("formatted-label</eng", "backtrace</eng").replace(">10<", ">ten<")
    begin, end = text.index("<formatted-label id"), text.index("</formatted-label>")
    text = text[:begin] + stack + text[end:].removeprefix("</formatted-label>")
    (tmp_path / "stacks.xml").write_text(text)
    ran = tracekit("convert", tmp_path / "stacks.xml", tmp_path / "out.parquet")
    assert ran.code == 0, ran.err
    names = ["out.parquet", "out.frames.parquet", "out.stacks.parquet"]
    assert ran.out.split() == [str(tmp_path / name) for name in names]
    assert "event-label.stack" in pd.read_parquet(tmp_path / "out.parquet")
    assert "NAME.stack" in ran.err
    assert "duration is declared as duration and holds what is no integer" in ran.err


def test_tables_shows_a_line_for_each_repeat(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml
) -> None:
    text = intervals_xml([(0, 10, 7, "a"), (20, 10, 7, "a")])
    (tmp_path / "two.xml").write_text(_two_tables(text))
    folder = tmp_path / "run"
    assert tracekit("import", tmp_path / "two.xml", "--target", "7", "--output", folder).code == 0
    ran = tracekit("tables", folder)
    lines = [line.split("\t")[:2] for line in ran.out.splitlines()]
    assert ["gpu_intervals (run 1 table 1 in metal-gpu-intervals.xml)", "2"] in lines
    assert ["gpu_intervals (run 1 table 2 in metal-gpu-intervals.xml)", "1"] in lines
    unclear = tracekit("tables", folder, "gpu_intervals")
    assert unclear.code == 3
    assert "2 exports of metal-gpu-intervals" in unclear.err
    shown = tracekit("tables", folder, "gpu_intervals", "--table", "2")
    assert shown.code == 0
    assert len(shown.out.splitlines()) == 2
    analyzed = tracekit("analyze", folder)
    assert "not checked  bubbles: " in analyzed.out
    assert "2 exports of metal-gpu-intervals" in analyzed.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("Export failed: Document Missing Template Error\n", "", id="words"),
        pytest.param(
            '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><trace-query-result/>',
            "document type",
            id="entities",
        ),
    ],
)
def test_convert_refuses_what_is_no_export(
    content: str, said: str, tracekit: Run, tmp_path: Path
) -> None:
    (tmp_path / "bad.xml").write_text(content)
    ran = tracekit("convert", tmp_path / "bad.xml", tmp_path / "out.csv")
    assert ran.code == 3
    assert "bad.xml" in ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out.csv").exists()


def test_convert_does_not_know_every_suffix(
    tracekit: Run, tmp_path: Path, intervals_xml: Xml
) -> None:
    (tmp_path / "a.xml").write_text(intervals_xml([]))
    ran = tracekit("convert", tmp_path / "a.xml", tmp_path / "out.xlsx")
    assert ran.code == 2
    assert ".parquet" in ran.err


def test_rules_are_listed_and_explained(tracekit: Run) -> None:
    assert "bubbles\t" in tracekit("rules").out
    explained = tracekit("rules", "bubbles")
    for head in ("What it looks for", "Why it matters", "What to do", "When it abstains"):
        assert head in explained.out
    unknown = tracekit("rules", "bubble")
    assert unknown.code == 2
    assert "bubbles" in unknown.err


def test_a_folder_that_is_no_run_is_told_in_a_sentence(tracekit: Run, tmp_path: Path) -> None:
    for command in ("export", "analyze", "report", "tables"):
        ran = tracekit(command, tmp_path)
        assert ran.code == 3, command
        assert "no recording.json" in ran.err


def test_a_full_disk_is_told_in_a_sentence(
    tracekit: Run, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    (imported / "report.html").unlink(missing_ok=True)
    tracekit("analyze", imported)
    ran = tracekit("tables", imported, "gpu_intervals", "--output", "/dev/full/t.csv")
    assert ran.code == 3
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["import", "x" * 300], id="path"),
        pytest.param(["tables", "x" * 300], id="run"),
        pytest.param(["capture", "--workload", "x" * 300], id="workload"),
    ],
)
def test_a_name_that_is_too_long_is_told_in_a_sentence(tracekit: Run, arguments: list[str]) -> None:
    ran = tracekit(*arguments)
    assert ran.code == 3
    assert "File name too long" in ran.err
    assert "Traceback" not in ran.err


def test_bytes_that_are_no_text_are_refused(tracekit: Run) -> None:
    ran = tracekit("tables", "bad\udcff")
    assert ran.code == 2
    assert "is no text in UTF-8" in ran.err


def test_letters_that_a_terminal_has_not_do_no_harm() -> None:
    argv = [sys.executable, "-m", "tracekit", "capture", "--help"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(argv, check=False, env=env, capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert b"COMMAND" in ran.stdout


def test_a_closed_stdout_does_no_harm() -> None:
    argv = ["sh", "-c", f"'{sys.executable}' -m tracekit rules >&-"]
    ran = subprocess.run(argv, check=False, capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
