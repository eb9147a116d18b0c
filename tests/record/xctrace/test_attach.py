"""Attaching, from the command line to the page: workloads that are warm, and running processes."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from command_line import run, small
from tracekit.run import open as open_run

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
SMALL = small(200)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the notes of these recordings apart from those of others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACEKIT_DISK_FLOOR", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def ending(folder: Path, tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Start a process that ends once it is recorded, and is waited for after the test alone."""
    started: list[subprocess.Popen[bytes]] = []
    seen = {
        "xctrace": (tmp_path / "scenario.said", "Ctrl-C"),
        "host": (folder / "recording.host" / "samples.jsonl", "cpu"),
    }

    def start(recorder: str) -> int:
        file, text = seen[recorder]
        wait = 'until grep -qs "$2" "$1"; do sleep 0.05; done'
        started.append(subprocess.Popen(("sh", "-c", wait, "sh", str(file), text)))
        return started[-1].pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def option(line: tuple[str, ...], name: str) -> str:
    return line[line.index(name) + 1]


def test_a_warm_workload_from_the_command_line_to_the_page(
    scenario: Scenario, folder: Path
) -> None:
    scenario()
    asked = ("--method", "attach", "--counters", "on")
    assert run("capture", "--workload", "paged", "--output", folder, *SMALL, *asked) == 0
    opened = open_run(folder)
    [target] = opened.provenance.targets
    line = opened.provenance.command_lines[-1]
    assert option(line, "--attach") == str(target.pid)
    assert "--launch" not in line
    assert "Metal GPU Counters" in line
    assert len(opened.tables["gpu_counters"]) > 0
    assert opened.provenance.end_reason == "The target had ended, so xctrace was asked to stop"
    # marks from before the trace are negative and change no number
    phases, steps = opened.tables["phases"], opened.tables["steps"]
    assert phases["name"].tolist() == ["prepare", "warm-up", "waiting", "wake-up", "steady"]
    prepare, warm_up, _, _, begun = (int(one) for one in phases["start"])
    assert prepare < warm_up < 0 <= begun <= (opened.provenance.duration or 0) * 1e9
    assert (steps.loc[steps["phase"] == "warm-up", "start"] < 0).all()
    steady = steps[steps["phase"] == "steady"]
    rate = opened.result.metric("step_rate")
    assert rate is not None
    seconds = int((steady["start"] + steady["duration"]).max() - steady["start"].min()) / 1e9
    assert rate.value == pytest.approx(200 / seconds)
    page = re.sub(r"\s+", " ", (folder / "report.html").read_text())
    assert "--method attach --counters on" in page
    before = opened.tables["phases"]["start"].tolist()
    for command in ("export", "analyze"):
        assert run(command, folder) == 0
    assert open_run(folder).tables["phases"]["start"].tolist() == before


@pytest.mark.parametrize("recorder", ["xctrace", "host"])
def test_a_process_that_has_ended_already_but_was_not_waited_for(
    scenario: Scenario, folder: Path, capsys: pytest.CaptureFixture[str], recorder: str
) -> None:
    scenario()
    with subprocess.Popen(("true",)) as process:
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            pass
        attach = ("--attach", str(process.pid), "--recorder", recorder)
        assert run("record", "--output", folder, *attach) == 2
    assert f"There is no process {process.pid} to attach to." in capsys.readouterr().err


@pytest.mark.parametrize("recorder", ["xctrace", "host"])
def test_a_process_that_ends_early_ends_the_recording(
    scenario: Scenario, folder: Path, ending: Callable[[str], int], recorder: str
) -> None:
    scenario()
    pid = ending(recorder)
    attach = ("--attach", str(pid), "--recorder", recorder, "--time-limit", "10m")
    assert run("record", "--output", folder, "--counters", "off", *attach) == 0
    provenance = open_run(folder).provenance
    assert pid in [one.pid for one in provenance.targets]  # and what it may have started
    if recorder == "xctrace":
        assert provenance.warnings == (f"The process {pid} ended before the recording did.",)
        assert provenance.end_reason == "The target had ended, so xctrace was asked to stop"
    else:
        assert provenance.end_reason == "Target exited"


# A shell that starts a program, tells its pid, and does nothing itself: a wrapper.
WRAPPER = 'sleep {seconds} & echo $! > "{file}"; wait'


def test_what_a_wrapper_starts_counts_as_the_target_s(
    scenario: Scenario, folder: Path, tmp_path: Path,
    toc_xml: Callable[..., str], intervals_xml: Callable[..., str],
) -> None:  # fmt: skip
    scenario()
    told = tmp_path / "child"
    wrapper = ("/bin/sh", "-c", WRAPPER.format(seconds=60, file=told))
    with subprocess.Popen(wrapper, start_new_session=True) as process:
        try:
            while not (told.exists() and told.read_text().endswith("\n")):
                assert process.poll() is None
            limit = ("--counters", "off", "--time-limit", "500ms")
            assert run("record", "--output", folder, *limit, "--attach", process.pid) == 0
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    child = int(told.read_text())
    first, second = open_run(folder).provenance.targets
    assert (first.name, second.name, second.pid) == ("sh", "sleep", child)
    rows = [(0, 5, child, "sleep"), (5, 5, 420, "WindowServer")]
    (tmp_path / "toc.xml").write_text(toc_xml(pid=first.pid, name="sh"))
    (tmp_path / "intervals.xml").write_text(intervals_xml(rows))
    tables = {"metal-gpu-intervals": str(tmp_path / "intervals.xml")}
    scenario(exports={"toc": str(tmp_path / "toc.xml"), "tables": tables})
    assert run("export", folder) == 0
    frame = open_run(folder).tables["gpu_intervals"]
    assert frame.groupby("pid")["target"].all().to_dict() == {child: True, 420: False}
