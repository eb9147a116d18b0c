"""What a terminal shows stays readable, and strings of a trace have no effect on it."""

import json
import os
import pty
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import Process, RunInfo, write_bundle
from command_line import run
from small_bundle import intervals, ticks
from tracekit.analysis.result import Better, Measurement, Result
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.recording import Provenance, Recording
from tracekit.cli.console import bisect_code, style_text
from tracekit.cli.results import show_result

_END = b"\x04end"


def on_terminal(*arguments: str | Path) -> tuple[int, str]:
    """Run a command whose standard streams are one terminal; return its exit code and its text."""
    leader, follower = pty.openpty()
    received: list[bytes] = []

    def receive() -> None:
        # Not until its end: a process that goes on, as multiprocessing's own, has it open.
        while not (received and received[-1].endswith(_END)):
            received.append(os.read(leader, 1 << 16))

    reader = threading.Thread(target=receive)
    reader.start()
    saved_streams = sys.stdout, sys.stderr
    try:
        with (
            os.fdopen(os.dup(follower), "w", encoding="utf-8") as stdout,
            os.fdopen(follower, "w", encoding="utf-8") as err,
        ):
            sys.stdout, sys.stderr = stdout, err
            code = run(*arguments)
            sys.stdout, sys.stderr = saved_streams
            os.write(stdout.fileno(), _END)
            reader.join()
    finally:
        sys.stdout, sys.stderr = saved_streams
        os.close(leader)
    return code, b"".join(received).removesuffix(_END).decode()


def test_values_that_a_workload_could_not_measure_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rate = Measurement("step_rate", 45.0, "steps/s", Better.HIGHER)
    goodput = Measurement("goodput", None, "requests/s", Better.HIGHER, "no limit was given.")
    speedup = Measurement("speedup", None, "x", Better.HIGHER, "there was no pair of steps")
    results = (speedup, Measurement("pairs", 0, "count", Better.NEITHER))
    show_result(Result(Provenance(), metrics=(rate, goodput), results=results), Recording(tmp_path))
    numbers = capsys.readouterr().out.partition("\n\n")[0]
    assert [" ".join(line.split()) for line in numbers.splitlines()] == [
        "step_rate 45 steps/s",
        "speedup not available, because there was no pair of steps",
        "pairs 0",
    ]


def test_idle_time_is_that_of_the_window_that_findings_speak_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole_share = Measurement("gpu_idle_ratio", 0.3, "ratio", Better.LOWER)
    steady = Measurement("idle_ratio", 0.1, "ratio", Better.LOWER)
    show_result(Result(Provenance(), metrics=(whole_share, steady)), Recording(tmp_path))
    assert "gpu_idle_ratio" not in capsys.readouterr().out
    show_result(Result(Provenance(), metrics=(whole_share,)), Recording(tmp_path))
    assert "gpu_idle_ratio" in capsys.readouterr().out


def test_effects_are_named_next_to_their_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    effects = ("shallow-queue", "late-start")
    idle = Finding("bubbles", Severity.WARNING, "Idle.", "Wait once.", effects=effects)
    show_result(Result(Provenance(), findings=(idle,)), Recording(tmp_path))
    printed = capsys.readouterr().out
    assert "warning  bubbles (with shallow-queue, late-start)\n" in printed


def test_git_bisect_gets_the_codes_it_understands() -> None:
    bisect_codes = {0: 0, 1: 1, 2: 130, 3: 125, 4: 125, 70: 198, 125: 125, 127: 255, 128: 128}
    assert {code: bisect_code(code) for code in bisect_codes} == bisect_codes


def test_quoted_words_have_no_style() -> None:
    words = style_text(("a\x1b[31mb", "bold"), "[red]c:smile:\u202e")
    assert words.plain == r"a\u001b[31mb[red]c:smile:\u202e"
    assert [(span.start, span.end, span.style) for span in words.spans] == [(0, 12, "bold")]


TITLE = "\x1b]0;owned\x07"
HOSTILE = f"ev{TITLE}il\x9b31m\u202e[bold red]:smile:\x1b[8mhidden"
EVIL = Process(4711, HOSTILE)
# What rich itself sends: styles, and the lines and cursor of a spinner.
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|2K|1A|\?25[lh])|\r")
HARM = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a bundle and of the run that was made of it, called as the process in them."""
    folder = tmp_path_factory.mktemp("evil") / f"a{HOSTILE}b"
    folder.mkdir()
    tables = [ticks([1]), intervals((0, 10, EVIL), (5, 10, EVIL))]
    write_bundle(folder / "evil.trace", tables, info=RunInfo(process=HOSTILE))
    assert run("import", folder / "evil.trace", "--output", folder / "run") == 0
    assert run("analyze", folder / "run") in {0, 4}
    return folder


def fill_places(arguments: tuple[str, ...], folder: Path, out_folder: Path) -> list[str]:
    places = {"BUNDLE": folder / "evil.trace", "RUN": folder / "run", "FOLDER": folder}
    places |= {"OUT": out_folder / HOSTILE, "OUT.csv": out_folder / f"{HOSTILE}.csv"}
    return [str(places.get(argument, argument)) for argument in arguments]


COMMANDS = {
    "a table that is written": ("tables", "BUNDLE", "gpu_intervals", "--output", "OUT.csv"),
    "a table of a bundle": ("tables", "BUNDLE", "gpu_intervals"),
    "a table of a run": ("tables", "RUN", "gpu_intervals"),
    "a table that is not there": ("tables", "RUN", HOSTILE),
    "import": ("import", "BUNDLE", "--output", "OUT"),
    "import of another target": ("import", "BUNDLE", "--output", "OUT", "--target", "nobody"),
    "analyze": ("analyze", "RUN"),
    "report": ("report", "RUN"),
    "convert of a bundle": ("convert", "BUNDLE", "OUT", "--to", "csv"),
    "convert of a run": ("convert", "RUN", "OUT", "--to", "csv"),
    "export": ("export", "BUNDLE", "OUT"),
    "query as CSV": ("query", "select * from gpu_intervals", "RUN", "--format", "csv"),
    "query": ("query", "select process from gpu_intervals", "RUN"),
    "query that is wrong": ("query", f'select "{HOSTILE}"', "RUN"),
    "compare": ("compare", "RUN", "RUN", "--html", "OUT"),
    "index": ("runs", "index", "FOLDER"),
    "batch": ("batch", "FOLDER", "--output", "OUT", "--workers", "1"),
    "an option that is not there": ("tables", f"--{HOSTILE}"),
    "a folder that is not there": ("analyze", f"nowhere{HOSTILE}"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.processes] * (name == "batch")) for name in COMMANDS],
)
def test_no_sequence_of_a_trace_reaches_a_terminal(name: str, folder: Path, tmp_path: Path) -> None:
    _, screen_text = on_terminal(*fill_places(COMMANDS[name], folder, tmp_path))
    assert "owned" in screen_text
    assert "\x1b[8m" not in screen_text
    assert not HARM.search(OURS.sub("", screen_text).replace("\n", "")), ascii(screen_text)


# A document that is asked for is written into a pipe with the bytes of the trace.
@pytest.mark.parametrize("name", [name for name in COMMANDS if name.startswith(("a ", "query"))])
def test_no_sequence_of_a_trace_gets_into_a_pipe(
    name: str, folder: Path, tmp_path: Path, tracekit: Any
) -> None:
    result = tracekit(*fill_places(COMMANDS[name], folder, tmp_path))
    assert (TITLE in result.out) is ("--format" in COMMANDS[name])
    printed = result.err if "--format" in COMMANDS[name] else result.out + result.err
    assert not HARM.search(printed.replace("\n", "")), ascii(printed)


def test_a_document_on_a_terminal_has_the_same_values(folder: Path) -> None:
    code, screen_text = on_terminal("analyze", folder / "run", "--json")
    assert code in {0, 4}
    document = OURS.sub("", screen_text)
    result, _ = json.JSONDecoder().raw_decode(document[document.index("{") :])
    assert result == json.loads((folder / "run" / "result.json").read_text())
    assert not HARM.search(document.replace("\n", ""))


def test_the_purpose_of_a_run_comes_before_its_findings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = {"step_time_paged": 5e6, "step_time_sdpa": 2e6, "speedup": 0.4}
    results = tuple(Measurement(name, value, "ns", Better.LOWER) for name, value in names.items())
    idle = Finding("bubbles", Severity.WARNING, "The GPU was idle.", "Submit ahead.")
    show_result(Result(Provenance(), results=results, findings=(idle,)), Recording(tmp_path))
    first_line, second = capsys.readouterr().out.splitlines()[:2]
    assert first_line.startswith("Which of sdpa and paged is faster is unclear: sdpa is 2.50 times")
    assert second == "The GPU was idle."
