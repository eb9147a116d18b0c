"""The fake prints what people have seen the real one print, and ends as it ended."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

Scenario = Callable[..., None]
Call = Callable[..., subprocess.CompletedProcess[str]]

SLEEP, QUICK, FAILING = (
    (sys.executable, "-I", "-S", "-c", code)
    for code in ("import time; time.sleep(30)", "pass", "raise SystemExit(3)")
)
STARTING = "Starting recording with the Metal System Trace template."
MST = ("--template", "Metal System Trace")
LIMIT, EXITED = "Reached specified time limit, ", "Target app exited, "


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP) as process:
        yield process
        process.kill()


@pytest.fixture
def call(scenario: Scenario) -> Call:
    def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, input=stdin, capture_output=True, text=True, timeout=20, check=False
        )

    return run


def export(call: Call, bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return call("xctrace", "export", "--input", str(bundle), *options)


def table(schema: str) -> str:
    return f'/trace-toc/run[@number="1"]/data/table[@schema="{schema}"]'


@pytest.mark.parametrize(
    ("command", "limit", "end", "code"),
    [
        ((), "1s", LIMIT, 0),
        (QUICK, "10s", EXITED, 0),
        (FAILING, "10s", EXITED, 54),
        (SLEEP, "1s", LIMIT, 54),
    ],
)
def test_a_recording_prints_these_five_lines(
    *, command: tuple[str, ...], limit: str, end: str, code: int,
    call: Call, sleeper: subprocess.Popen[bytes], tmp_path: Path,
) -> None:  # fmt: skip
    target = ("--launch", "--", *command) if command else ("--attach", str(sleeper.pid))
    output = ("--output", str(tmp_path / "a.trace"), "--no-prompt")
    result = call("xctrace", "record", *MST, "--time-limit", limit, *output, *target)
    name = Path(f"/proc/{sleeper.pid}/comm").read_text().strip()
    attached = f"Attaching to: {name} ({sleeper.pid})."
    target_text = f"Launching process: {Path(sys.executable).name}." if command else attached
    assert result.stdout.splitlines() == [
        f"{STARTING} {target_text} Time limit: {float(limit[:-1])} s",
        "Ctrl-C to stop the recording",
        f"{end}ending recording...",
        "Recording completed. Saving output file...",
        "Output file saved as: a.trace",
    ]
    assert (result.returncode, result.stderr) == (code, "")
    assert sleeper.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_while_it_records_and_once_it_was_stopped(
    number: signal.Signals, call: Call, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """SIGTERM is ignored, the bundle is there early, another is refused, SIGINT stops and saves."""
    saves, bundle = number is signal.SIGINT, tmp_path / "a.trace"
    record = ("xctrace", "record", *MST, "--attach", str(sleeper.pid), "--output")
    with subprocess.Popen((*record, str(bundle)), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "Ctrl-C" not in process.stdout.readline():
            assert process.poll() is None
        process.terminate()
        result = export(call, bundle, "--toc")
        message = "Export failed: Document Missing Template Error\n"
        assert (result.returncode, result.stderr) == (10, message)
        second = call(*record, str(tmp_path / "b.trace"))
        assert second.returncode == 2
        assert "_lockKPerf: could not lock kperf." in second.stderr
        process.send_signal(number)
        printed, _ = process.communicate(timeout=20)
    lines = ["Stopping recording...", "Output file saved as: a.trace"]
    assert printed.splitlines()[::2] == (lines if saves else [])
    assert process.returncode == (0 if saves else -signal.SIGKILL)
    assert export(call, bundle, "--toc").returncode == (0 if saves else 10)


def test_saved_tables_are_exported(
    scenario: Scenario, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario(prompts=True, busy=True, counter_set="Performance Limiters")
    monkeypatch.setenv("SECRET", "x")
    bundle, environment_file = tmp_path / "a.trace", tmp_path / "seen.txt"
    code = f"import os; open({str(environment_file)!r}, 'w').write(repr(sorted(os.environ)))"
    target = ("--env", "KEY=a=b", "--launch", "--", *QUICK[:-1], code)
    record = ("xctrace", "record", *MST, "--output", str(bundle), *target)
    assert call(*record, stdin="\n").returncode == 0
    # a launched program gets only what --env names
    assert ("'KEY'" in environment_file.read_text(), "SECRET" in environment_file.read_text()) == (
        True,
        False,
    )
    scenario(missing_template=2)
    *early, late = (export(call, bundle, "--toc") for _ in range(3))
    assert [result.returncode for result in (*early, late)] == [10, 10, 0]
    run: Any = etree.fromstring(late.stdout.encode()).find("run")
    process, summary = run.find("info/target/process").attrib, run.find("info/summary")
    process_facts = [process[name] for name in ("type", "return-exit-status", "termination-reason")]
    assert process_facts == ["launched", "0", "exit(0)"]
    summary_texts = [summary.findtext(name) for name in ("template-name", "end-reason")]
    assert summary_texts == ["Metal System Trace", "Target app exited"]
    assert float(summary.findtext("duration")) > 0
    assert "Counter Set: Performance Limiters" in etree.tostring(summary, encoding="unicode")
    # a table is positional, with ids in order
    text = export(call, bundle, "--xpath", table("metal-gpu-intervals")).stdout
    assert text.startswith('<?xml version="1.0"?>\n<trace-query-result>\n<node xpath=')
    root: Any = etree.fromstring(text.encode())
    rows = root.findall("node/row")
    assert {len(row) for row in rows} == {len(root.findall("node/schema/col"))} == {18}
    ids = [int(cell.get("id")) for cell in root.iter() if cell.get("id")]
    assert ids == list(range(1, len(ids) + 1))
    # where nothing matches it ends well
    result = export(call, bundle, "--xpath", table("no-such-table"))
    empty = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'
    assert (result.returncode, result.stdout) == (0, empty)
    # repeated schemas are chosen by place
    infos = (table("gpu-counter-info") + nth for nth in ("[1]", "[2]"))
    table_texts = [export(call, bundle, "--xpath", path).stdout for path in infos]
    assert [re.findall(r"table\[(\d+)\]", text) for text in table_texts] == [["6"], ["7"]]


def test_run_issues_are_on_standard_error_and_end_with_2(
    scenario: Scenario, call: Call, tmp_path: Path
) -> None:
    wrong = "Recording of 'Network Connections' is not supported in the Simulator."
    advice = "Recovery Suggestion: Remove the `Network Connections` instrument and try again."
    scenario(issues=[["Error", f"{wrong}\n{advice}"]])
    bundle = tmp_path / "network.trace"
    options = ("--time-limit", "100ms", "--output", str(bundle), "--attach", str(os.getpid()))
    result = call("xctrace", "record", "--template", "System Trace", *options)
    assert result.returncode == 2
    assert result.stdout.splitlines()[-2:] == [
        "Recording failed with errors. Saving output file...",
        "Output file saved as: network.trace",
    ]
    assert result.stderr == (
        "Run issues were detected (trace is still ready to be viewed):\n"
        f"* [Error] {wrong}\n\n\t* [Error] {advice}\n"
    )
    root: Any = etree.fromstring(export(call, bundle, "--toc").stdout.encode())
    assert root.find("run/info/target/all-processes") is not None
    assert root.findtext("run/info/summary/duration") == "0.000000"


def test_arguments_that_are_refused(call: Call, tmp_path: Path) -> None:
    for options, code, text in (
        (("--attach", "999999999"), 21, "Cannot find process for provided pid: 999999999"),
        (("--attach", "Foo"), 19, "Cannot find process matching name: Foo"),
        (
            ("--instrument", "System Trace"),
            56,
            "Instrument with name 'System Trace' cannot be found",
        ),
    ):
        result = call("xctrace", "record", "--output", str(tmp_path / "a.trace"), *options)
        assert (result.returncode, result.stdout, result.stderr) == (code, "", f"{text}\n")
    assert not list(tmp_path.glob("*.trace"))
