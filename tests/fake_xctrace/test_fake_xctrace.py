"""The fake prints what people have seen the real one print, and ends as it ended."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lxml import etree

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
Call = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]

SLEEP = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(30)")
QUICK = (sys.executable, "-I", "-S", "-c", "pass")
FAILING = (sys.executable, "-I", "-S", "-c", "raise SystemExit(3)")
STARTING = "Starting recording with the Metal System Trace template."
MST = ("--template", "Metal System Trace")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP) as process:
        yield process
        process.kill()


@pytest.fixture
def start(scenario: Scenario) -> Iterator[Start]:
    """Start `xctrace record` and wait until it records; whatever is left is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*argv: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ("xctrace", "record", *argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        while "Ctrl-C" not in process.stdout.readline():
            assert process.poll() is None
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def export(call: Call, bundle: Path, *what: str) -> subprocess.CompletedProcess[str]:
    return call("xctrace", "export", "--input", str(bundle), *what)


def table(schema: str) -> str:
    return f'/trace-toc/run[@number="1"]/data/table[@schema="{schema}"]'


def test_attach_until_the_limit_prints_these_five_lines(
    call: Call, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    bundle = tmp_path / "metal-system-trace.trace"
    ended = call(
        "xctrace", "record", *MST, "--attach", str(sleeper.pid), "--time-limit", "1s",
        "--output", str(bundle), "--no-prompt",
    )  # fmt: skip
    name = Path(f"/proc/{sleeper.pid}/comm").read_text().strip()
    assert ended.stdout.splitlines() == [
        f"{STARTING} Attaching to: {name} ({sleeper.pid}). Time limit: 1.0 s",
        "Ctrl-C to stop the recording",
        "Reached specified time limit, ending recording...",
        "Recording completed. Saving output file...",
        "Output file saved as: metal-system-trace.trace",
    ]
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sleeper.poll() is None


def test_launch_until_the_program_ends(call: Call, tmp_path: Path) -> None:
    ended = call(
        "xctrace", "record", *MST, "--output", str(tmp_path / "a.trace"), "--launch", "--", *QUICK
    )
    assert ended.stdout.splitlines() == [
        f"{STARTING} Launching process: {Path(sys.executable).name}.",
        "Ctrl-C to stop the recording",
        "Target app exited, ending recording...",
        "Recording completed. Saving output file...",
        "Output file saved as: a.trace",
    ]
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("command", "limit", "line"),
    [
        (FAILING, "10s", "Target app exited, ending recording..."),
        (SLEEP, "200ms", "Reached specified time limit, ending recording..."),
    ],
)
def test_a_program_that_does_not_end_well_makes_54(
    call: Call, tmp_path: Path, command: tuple[str, ...], limit: str, line: str
) -> None:
    ended = call(
        "xctrace", "record", "--time-limit", limit, "--output", str(tmp_path / "a.trace"),
        "--launch", "--", *command,
    )  # fmt: skip
    assert ended.returncode == 54
    assert ended.stdout.splitlines()[2] == line


def test_interrupt_stops_and_saves(
    start: Start, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    bundle = tmp_path / "a.trace"
    process = start(*MST, "--attach", str(sleeper.pid), "--output", str(bundle))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert output.splitlines() == [
        "Stopping recording...",
        "Recording completed. Saving output file...",
        "Output file saved as: a.trace",
    ]
    assert process.returncode == 0


def test_terminate_is_ignored_while_recording(
    start: Start, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    process = start("--attach", str(sleeper.pid), "--output", str(tmp_path / "a.trace"))
    process.terminate()
    time.sleep(0.2)
    assert process.poll() is None


def test_a_bundle_is_there_early_but_cannot_be_exported(
    start: Start, call: Call, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    bundle = tmp_path / "a.trace"
    start("--attach", str(sleeper.pid), "--output", str(bundle))
    assert bundle.is_dir()
    ended = export(call, bundle, "--toc")
    assert ended.returncode == 10
    assert ended.stderr == "Export failed: Document Missing Template Error\n"


def test_a_killed_recorder_leaves_a_bundle_without_its_template(
    start: Start, call: Call, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    bundle = tmp_path / "a.trace"
    process = start("--attach", str(sleeper.pid), "--output", str(bundle))
    process.kill()
    process.wait()
    assert bundle.is_dir()
    assert export(call, bundle, "--toc").returncode == 10


def test_two_recorders_at_once(
    start: Start, call: Call, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    start("--attach", str(sleeper.pid), "--output", str(tmp_path / "a.trace"))
    second = call(
        "xctrace", "record", "--attach", str(sleeper.pid), "--output", str(tmp_path / "b.trace")
    )
    assert second.returncode == 2
    assert "_lockKPerf: could not lock kperf." in second.stderr


def test_run_issues_are_told_on_standard_error_and_end_with_2(
    scenario: Scenario, call: Call, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    wrong = "Recording of 'Network Connections' is not supported in the Simulator."
    advice = "Recovery Suggestion: Remove the `Network Connections` instrument and try again."
    scenario(issues=[["Error", f"{wrong}\n{advice}"]])
    ended = call(
        "xctrace", "record", "--template", "System Trace", "--attach", str(sleeper.pid),
        "--time-limit", "100ms", "--output", str(tmp_path / "network.trace"),
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stdout.splitlines()[-2:] == [
        "Recording failed with errors. Saving output file...",
        "Output file saved as: network.trace",
    ]
    assert ended.stderr == (
        "Run issues were detected (trace is still ready to be viewed):\n"
        f"* [Error] {wrong}\n\n\t* [Error] {advice}\n"
    )
    toc = export(call, tmp_path / "network.trace", "--toc")
    assert toc.returncode == 0
    root = etree.fromstring(toc.stdout.encode())
    assert root.find("run/info/target/all-processes") is not None
    assert root.findtext("run/info/summary/duration") == "0.000000"


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (("--attach", "999999999"), 21, "Cannot find process for provided pid: 999999999\n"),
        (("--attach", "Foo"), 19, "Cannot find process matching name: Foo\n"),
        (
            ("--instrument", "System Trace", "--all-processes"),
            56,
            "Instrument with name 'System Trace' cannot be found\n",
        ),
    ],
)
def test_arguments_that_are_refused(
    call: Call, tmp_path: Path, options: tuple[str, ...], code: int, text: str
) -> None:
    ended = call("xctrace", "record", "--output", str(tmp_path / "a.trace"), *options)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", text)
    assert not (tmp_path / "a.trace").exists()


def test_a_launched_program_gets_only_what_env_names(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    seen = tmp_path / "seen.txt"
    code = f"import os; open({str(seen)!r}, 'w').write(repr(sorted(os.environ)))"
    call(
        "xctrace", "record", "--output", str(tmp_path / "a.trace"), "--env", "KEY=a=b",
        "--launch", "--", sys.executable, "-I", "-S", "-c", code,
    )  # fmt: skip
    assert "'KEY'" in seen.read_text()
    assert "SECRET" not in seen.read_text()


def test_it_waits_at_a_prompt_unless_told_not_to(
    scenario: Scenario, call: Call, tmp_path: Path
) -> None:
    scenario(prompts=True)
    ended = call(
        "xctrace", "record", "--output", str(tmp_path / "a.trace"), "--launch", "--", *QUICK,
        stdin="\n",
    )  # fmt: skip
    assert ended.returncode == 0


@pytest.fixture
def bundle(call: Call, tmp_path: Path) -> Path:
    """Record a program that ends at once."""
    bundle = tmp_path / "a.trace"
    call("xctrace", "record", *MST, "--output", str(bundle), "--launch", "--", *QUICK)
    return bundle


def test_toc_names_target_template_and_end(call: Call, bundle: Path) -> None:
    run = etree.fromstring(export(call, bundle, "--toc").stdout.encode()).find("run")
    process = run.find("info/target/process").attrib
    assert process["type"] == "launched"
    assert process["return-exit-status"] == "0"
    assert process["termination-reason"] == "exit(0)"
    summary = run.find("info/summary")
    assert summary.findtext("template-name") == "Metal System Trace"
    assert summary.findtext("end-reason") == "Target app exited"
    assert float(summary.findtext("duration")) > 0
    assert "Counter Set: (null)" in etree.tostring(summary, encoding="unicode")


def test_a_table_is_positional_with_ids_in_order(call: Call, bundle: Path) -> None:
    text = export(call, bundle, "--xpath", table("metal-gpu-intervals")).stdout
    assert text.startswith('<?xml version="1.0"?>\n<trace-query-result>\n<node xpath=')
    root = etree.fromstring(text.encode())
    columns = root.findall("node/schema/col")
    rows = root.findall("node/row")
    assert rows
    assert {len(row) for row in rows} == {len(columns)} == {18}
    ids = [int(one.get("id")) for one in root.iter() if one.get("id")]
    assert ids == list(range(1, len(ids) + 1))


def test_nothing_matches(call: Call, bundle: Path) -> None:
    ended = export(call, bundle, "--xpath", table("no-such-table"))
    assert ended.returncode == 0
    assert ended.stdout == ('<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n')


def test_repeated_schemas_are_chosen_by_place(call: Call, bundle: Path) -> None:
    places = [
        re.search(r"table\[(\d+)\]", export(call, bundle, "--xpath", path).stdout).group(1)
        for path in (table("gpu-counter-info") + "[1]", table("gpu-counter-info") + "[2]")
    ]
    assert places == ["2", "3"]


def test_a_bundle_may_become_exportable_only_later(
    scenario: Scenario, call: Call, bundle: Path
) -> None:
    scenario(missing_template=2)
    assert [export(call, bundle, "--toc").returncode for _ in range(3)] == [10, 10, 0]
