"""The first contact with a Mac, played through the command line: what goes wrong there first.

Commands run in the process of the tests, and those that take Linux for a Mac in one of their own.
`FIRST_CONTACT_PYTHON` names the Python of another environment, whose tracekit is played instead, in
processes. With 9aaf1824 each of these tests fails. `FIRST_CONTACT_MINUTES=1` plays waits in full
length.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from every_command import stock_template
from gpu_jobs import program_of, write_jobs

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("nothing_is_left_running")]

Scenario = Callable[..., None]
OTHER_PYTHON = os.environ.get("FIRST_CONTACT_PYTHON")
IN_FULL = bool(os.environ.get("FIRST_CONTACT_MINUTES"))
AS_MAC = Path(__file__).parents[2] / "harness" / "as_mac.py"
SHARE = 1.0 if IN_FULL else 0.03  # of all waits
METHODS = ("launch", "attach")


@dataclass(frozen=True)
class Answer:
    """The end of a command."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """All that it printed, in one line."""
        return " ".join(f"{self.out} {self.err}".split())


@dataclass(frozen=True)
class Player:
    """Runs tracekit in a folder of its own."""

    folder: Path
    tracekit: Callable[..., Any]

    def play(self, *arguments: object, mac: bool = False, **variables: str) -> Answer:
        """Run tracekit to its end."""
        words = [str(argument) for argument in arguments]
        settings = {"TRACEKIT_PATIENCE": str(SHARE), **variables}
        if mac or OTHER_PYTHON:
            return self._play_in_process(words, settings, mac=mac)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            for name, value in settings.items():
                patch.setenv(name, value)
            done = self.tracekit(*words)
        return Answer(done.code, done.out, done.err)

    def _play_in_process(self, words: list[str], settings: dict[str, str], *, mac: bool) -> Answer:
        program = (str(AS_MAC),) if mac else ("-m", "tracekit")
        done = subprocess.run(
            (OTHER_PYTHON or sys.executable, "-P", *program, *words),
            cwd=self.folder,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    def record(self, *options: object, command: str = "record", **more: Any) -> Answer:
        """Record the workload that plays a GPU into the folder `run`."""
        workload = write_jobs(self.folder / "workloads")
        common = ("--telemetry", "off", "--warmup", "2", "--output", "run")
        return self.play(command, *workload, *common, *options, **more)

    def read(self, name: str, run: str = "run") -> dict[str, Any]:
        """Return a document of a run."""
        return json.loads((self.folder / run / name).read_text())

    def count_said(self, words: str) -> int:
        """Return how often the fake said something."""
        file = self.folder / "scenario.said"
        return sum(line.startswith(words) for line in file.read_text().splitlines())


@pytest.fixture
def player(
    scenario: Scenario,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tracekit: Callable[..., Any],
) -> Player:
    """A Mac with an M1, for those who ask, whose home is the test's folder."""
    monkeypatch.setenv("FAKE_XCTRACE_PYTHON", sys.executable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "notes"))
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("MAC_PROGRAMS", str(programs))
    sysctl = programs / "sysctl"
    sysctl.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        '*brand_string*) echo "${CHIP:-Apple M1}" ;;\n'
        '*hv_vmm_present*) echo "${VIRTUAL:-0}" ;;\n*) exit 1 ;;\nesac\n'
    )
    sysctl.chmod(0o755)
    return Player(tmp_path, tracekit)


@pytest.mark.parametrize("method", METHODS)
def test_a_start_of_a_minute_is_whole(method: str, player: Player, scenario: Scenario) -> None:
    scenario(start_delay=60 * SHARE)
    done = player.record("--method", method, "--repeats", "20", command="capture")
    assert done.code == 0, done.words
    assert player.count_said("Starting recording") == 1
    assert player.read("workload.json")["steps"], "the steady phase was recorded"


@pytest.mark.parametrize("method", METHODS)
def test_a_start_of_200_seconds_is_given_up_after_a_second_one(
    method: str, player: Player, scenario: Scenario
) -> None:
    scenario(start_delay=200 * SHARE)
    done = player.record("--method", method, "--repeats", "20", command="capture")
    assert (done.code, player.count_said("Starting recording")) == (3, 2), done.words
    assert "xctrace was started twice, did not begin to record in time" in done.words


def test_a_workload_that_was_left_asleep_is_an_error_and_no_rule_passes(
    player: Player, scenario: Scenario
) -> None:
    scenario(asleep=True)
    done = player.record("--method", "launch", "--time-limit", "1s", command="capture")
    assert done.code == 3, done.words
    for stage in ("analyze", "report"):
        player.play(stage, "run")
    checks = player.read("result.json")["checks"]
    assert not [check["rule"] for check in checks if check["status"] == "passed"]


def test_the_limit_begins_when_the_workload_is_ready(player: Player) -> None:
    seconds = 35 if IN_FULL else 4
    options = ("--method", "launch", "--time-limit", "2s", "--prepare", seconds)
    done = player.record(*options, TRACEKIT_PATIENCE="1")
    assert done.code == 0, done.words
    used = player.read("recording.json")["used"]
    assert used["time_limit"] > seconds, "what xctrace was given"
    steps = player.read("workload.json")["steps"]
    steady = [step for step in steps if step["phase"] == "steady"]
    assert steady[-1]["start"] - steady[0]["start"] > 1_500_000_000


def test_saving_may_take_400_seconds_without_growth(player: Player, scenario: Scenario) -> None:
    share = 1.0 if IN_FULL else 0.02
    scenario(save_pause=400 * share)
    done = player.record("--method", "launch", "--repeats", "20", TRACEKIT_PATIENCE=str(share))
    assert done.code == 0, done.words
    assert "SIGINT" not in done.words, "it was stopped while it saved"


def test_a_gpu_works_for_half_a_second_after_an_attach_before_a_step_counts(
    player: Player,
) -> None:
    done = player.record("--method", "attach", "--repeats", "20")
    assert done.code == 0, done.words
    worked = 0
    for step in player.read("workload.json")["steps"]:
        if step["phase"] == "wake-up":
            worked += step["completed"] - step["start"]
    assert worked >= 500_000_000


@pytest.mark.parametrize("share", [0.6, 0])
def test_missing_rows_come_before_all_else_and_there_is_no_rate(
    share: float, player: Player, scenario: Scenario
) -> None:
    scenario(rows={"share": share})
    player.record("--method", "launch", "--repeats", "200", command="capture")
    result = player.read("result.json")
    assert result["findings"][0]["rule"] == "rows-missing"
    values = {metric["name"]: metric.get("value") for metric in result["metrics"]}
    for name in ("tokens_per_second", "step_rate", "idle_ratio"):
        assert values.get(name) is None, name


def test_the_other_way_is_tried_once_and_kept(player: Player, scenario: Scenario) -> None:
    scenario(rows={"launch": {"most": 87}, "attach": {"share": 1}})
    done = player.record("--repeats", "200")
    assert done.code == 0, done.words
    assert player.read("recording.json")["used"]["method"] == "attach"
    assert player.count_said("Starting recording") == 2
    assert player.record("--repeats", "200", "--output", "again").code == 0
    assert player.count_said("Starting recording") == 3


def test_few_tables_are_exported_once_and_none_the_second_time(
    player: Player, scenario: Scenario
) -> None:
    scenario(tables="all")
    player.record("--method", "launch", "--repeats", "20", command="capture")
    first = player.count_said("Exporting ")
    assert 0 < first <= 10, "the smallest tables with rows"
    player.record("--method", "launch", "--repeats", "20", "--output", "again", command="capture")
    assert player.count_said("Exporting ") == first


def test_instruments_are_chosen_and_written_down(player: Player) -> None:
    done = player.record("--light", "--instrument", "Hangs", "--repeats", "20")
    assert done.code == 0, done.words
    light = ["GPU", "Metal Application", "Metal Resource Events"]
    assert player.read("recording.json")["used"]["instruments"] == [*light, "Hangs"]


@pytest.mark.parametrize(("chip", "profile"), [("M1 Pro", None), ("M3", 13), ("M5", 13)])
def test_counters_come_on_each_chip(
    chip: str, profile: int | None, player: Player, scenario: Scenario
) -> None:
    scenario(chip=chip)
    folder = player.folder / "Library" / "Application Support" / "Instruments" / "Templates"
    folder.mkdir(parents=True)
    (folder / "Metal System Trace.tracetemplate").write_bytes(stock_template())
    done = player.record(
        *("--method", "launch", "--counters", "on", "--repeats", "100"),
        mac=True, command="capture", CHIP=f"Apple {chip}",
    )  # fmt: skip
    assert done.code in {0, 4}, done.words
    used = player.read("recording.json")["used"]
    assert (used["counters"], used["counter_profile"]) == (True, profile)
    assert used["counter_set"] == "Performance Limiters"
    checks = player.read("result.json")["checks"]
    (occupancy,) = [check for check in checks if check["rule"] == "low-occupancy"]
    assert occupancy["status"] in {"passed", "found"}, occupancy


def test_the_method_and_the_limit_that_were_used_are_in_the_record(player: Player) -> None:
    player.record("--repeats", "20")
    document = player.read("recording.json")
    assert document["used"]["method"] in METHODS
    assert document["used"]["time_limit"] > 10


def test_a_warm_up_that_has_no_effect_is_refused(player: Player) -> None:
    done = player.play("record", "--warmup", "3", "--output", "run", "--", *program_of(20))
    assert done.code == 2, done.words
    assert "--after" in done.words


def test_options_without_effect_on_a_frame_capture_are_refused_by_name(player: Player) -> None:
    workload = write_jobs(player.folder / "workloads")
    for option in (
        ("--export", "all"),
        ("--no-redact",),
        ("--telemetry", "off"),
        ("--counters", "off"),
    ):
        done = player.play("capture", *workload, "--gputrace", *option, "--output", "run")
        assert done.code == 2, (option, done.words)
        assert f"so {option[0]} has no meaning" in done.words, (option, done.words)


def test_a_killed_recording_can_be_recovered(player: Player, scenario: Scenario) -> None:
    scenario(hang="saving")
    share = "0.003" if not IN_FULL else "0.01"
    done = player.record("--method", "launch", "--repeats", "20", TRACEKIT_PATIENCE=share)
    assert done.code == 3, done.words
    assert "tracekit runs recover run" in done.words
    scenario()
    assert player.play("runs", "recover", "run").code == 0


def test_an_xcode_that_was_never_opened_is_named_with_its_repair(
    player: Player, scenario: Scenario
) -> None:
    scenario(toolchain="first_launch")
    done = player.record("--recorder", "xctrace", "--repeats", "20")
    assert done.code == 3, done.words
    assert "Xcode has not been started yet, so parts of it are not installed." in done.words
    assert "`sudo xcodebuild -runFirstLaunch` installs them" in done.words


def test_developer_mode_that_is_off_is_announced_with_its_dialog(
    player: Player, scenario: Scenario
) -> None:
    scenario(developer_mode=False)
    done = player.record("--method", "launch", "--repeats", "20", mac=True)
    assert "sudo DevToolsSecurity -enable" in done.words


def test_an_attached_run_is_opened_by_the_instruments_that_recorded_it(player: Player) -> None:
    """Two Xcodes: the recording one is not the selected one."""
    assert player.record("--method", "attach", "--repeats", "20").code == 0
    contents = player.folder / "Xcode beta.app" / "Contents"
    instruments = contents / "Applications" / "Instruments.app"
    instruments.mkdir(parents=True)
    document = player.read("recording.json")
    text = json.dumps(document)
    (recorder,) = {line[0] for line in document["command_lines"] if Path(line[0]).name == "xctrace"}
    tool = contents / "Developer" / "usr" / "bin" / "xctrace"
    (player.folder / "run" / "recording.json").write_text(text.replace(recorder, str(tool)))
    opener = player.folder / "bin" / "open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$@" >"{player.folder}/opened"\n')
    opener.chmod(0o755)
    path = f"{opener.parent}:{os.environ['PATH']}"
    done = player.play("open", "run", "--trace", mac=True, MAC_PLATFORM="1", PATH=path)
    assert (player.folder / "opened").read_text().startswith(f"-a {instruments} "), done.words


def test_a_virtual_gpu_is_recorded_as_one_and_warned_of(player: Player) -> None:
    variables = {"CHIP": "Apple M1 (Virtual)", "VIRTUAL": "1"}
    done = player.record("--method", "launch", "--repeats", "20", mac=True, **variables)
    assert done.code == 0, done.words
    assert player.read("recording.json")["machine"]["virtual"] is True
    told = player.play("doctor", mac=True, **variables)
    assert "virtual machine" in told.words
    assert player.play("doctor", "--probe", mac=True, **variables).code == 3
