"""The fake in the manner of several Xcodes, chips and machines; and its rarer moods."""

import json
import os
import plistlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
Call = Callable[..., subprocess.CompletedProcess[str]]

QUICK = (sys.executable, "-I", "-S", "-c", "pass")
MST = ("--template", "Metal System Trace")
COUNTERS = ("--instrument", "Metal GPU Counters")
INTERVALS = '/trace-toc/run[@number="1"]/data/table[@schema="metal-gpu-intervals"]'
COUNTER_ROWS = INTERVALS.replace("intervals", "counter-intervals")
REJECTED = "GPU Service reported error: Selected counter profile is not supported on target device"
PATIENCE = 30.0


def record(call: Call, bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return call("xctrace", "record", "--output", str(bundle), *options, "--launch", "--", *QUICK)


def export(call: Call, bundle: Path, *what: str) -> subprocess.CompletedProcess[str]:
    return call("xctrace", "export", "--input", str(bundle), *what)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "a.trace"


@pytest.mark.parametrize(
    ("xcode", "version"),
    [
        ("16.2", "xctrace version 16.0 (16C5032a)"),
        ("26.3", "xctrace version 26.0 (17C529)"),
        ("26.6", "xctrace version 16.0 (17F113)"),
        ("27.0", "xctrace version 27.0 (27A5194q)"),
    ],
)
def test_versions(scenario: Scenario, call: Call, xcode: str, version: str) -> None:
    scenario(xcode=xcode)
    assert call("xctrace", "version").stdout == f"{version}\n"


@pytest.mark.parametrize(
    ("xcode", "has", "lacks"),
    [
        ("12.0", "Energy Log", "CPU Profiler"),
        ("15.0", "Core ML", "Foundation Models"),
        ("26.3", "Power Profiler", "Energy Log"),
        ("27.0", "Foundation Models", "Core ML"),
    ],
)
def test_templates_come_and_go(
    scenario: Scenario, call: Call, xcode: str, has: str, lacks: str
) -> None:
    scenario(xcode=xcode)
    listed = call("xctrace", "list", "templates")
    lines = (listed.stdout or listed.stderr).splitlines()
    assert lines[0] == "== Standard Templates =="
    assert {has, "Metal System Trace", "Time Profiler"} <= set(lines)
    assert lacks not in lines
    assert bool(listed.stderr) == (xcode == "12.0")


def test_xcode_26_3_has_25_templates(scenario: Scenario, call: Call) -> None:
    scenario(xcode="26.3")
    assert len(call("xctrace", "list", "templates").stdout.splitlines()) == 26


def test_xcode_27_has_64_instruments(scenario: Scenario, call: Call) -> None:
    scenario(xcode="27.0")
    lines = call("xctrace", "list", "instruments").stdout.splitlines()
    assert lines[0] == "== Standard Instruments =="
    assert len(lines) == 65
    assert "Metal GPU Counters" in lines


def test_old_xcodes_have_no_list_of_instruments(scenario: Scenario, call: Call) -> None:
    scenario(xcode="13.2")
    assert call("xctrace", "list", "instruments").returncode != 0


@pytest.mark.parametrize("heading", ["User", "Custom"])
def test_own_templates_have_a_section(scenario: Scenario, call: Call, heading: str) -> None:
    scenario(own_templates={heading: ["Mine"]})
    text = call("xctrace", "list", "templates").stdout
    assert text.endswith(f"\n\n== {heading} Templates ==\nMine\n")
    assert call("xctrace", "record", "--template", "Mine").stderr == "no target\n"


def test_devices_are_these_lines(call: Call) -> None:
    assert call("xctrace", "list", "devices").stdout == (
        "== Devices ==\n"
        "Simon's MacBook Air (32D0933B-4ACF-5447-843D-08EDBE1B1471)\n"
        "Test iPhone (17.0) (00008130-AAAAAAAAAAAAAAAA)\n"
        "\n"
        "== Devices Offline ==\n"
        "Simon (26.5) (00008130-00045D9E30E1401C)\n"
        "\n"
        "== Simulators ==\n"
        "iPhone 17 Pro Simulator (27.0) (74D241BA-A90B-43CD-9A3C-EC05D55DA5FE)\n"
        "iPhone 17 Simulator (27.0) + Apple Watch Ultra 3 (49mm) (27.0) "
        "(DE78AB78-3644-492A-ACE0-8A12799FDF5C)\n"
    )


def test_a_host_may_have_any_name(scenario: Scenario, call: Call) -> None:
    scenario(host="Zoë's Mac (日本)")
    assert "Zoë's Mac (日本) (32D0933B" in call("xctrace", "list", "devices").stdout


@pytest.mark.parametrize(
    ("xcode", "known", "unknown"),
    [
        ("12.0", "--time-limit", "--no-prompt"),
        ("13.0", "--no-prompt", "--instrument"),
        ("16.2", "--instrument", "--run-name"),
        ("26.3", "--run-name", "--recording-options"),
        ("27.0", "--recording-options", "--target-stderr"),
    ],
)
def test_flags_come_with_their_xcode(
    scenario: Scenario, call: Call, bundle: Path, *, xcode: str, known: str, unknown: str
) -> None:
    scenario(xcode=xcode)
    text = call("xctrace", "help", "record").stdout
    assert known in text
    assert unknown not in text
    assert record(call, bundle, unknown, "a").returncode == 64


def test_help_is_this_text(call: Call) -> None:
    assert call("xctrace", "help").stdout == (
        "usage:\n"
        "    xctrace <command> [options]\n"
        "\n"
        "global options:\n"
        "    -q, --quiet\n"
        "\n"
        "commands:\n"
        "    record                                      "
        "Perform new recording using specified template\n"
        "    import                                      "
        "Import file of a supported format into .trace file\n"
        "    export                                      "
        "Export .trace file content to an external format\n"
        "    remodel                                     "
        "Remodel .trace using currently installed modelers\n"
        "    symbolicate                                 "
        "Symbolicate .trace file using specified dSYM\n"
        "    list [devices|templates|instruments]        "
        "List capabilities of the current running environment\n"
        "    version                                     Print version of the tool\n"
        "\n"
        "further help:\n"
        "     xctrace help <command>\n"
    )


def test_a_part_of_a_device_s_name_may_fit_several(call: Call, bundle: Path) -> None:
    ended = record(call, bundle, "--device", "simon")
    assert (ended.returncode, ended.stderr) == (
        28, "Provided device parameter 'simon' is ambiguous\n",
    )  # fmt: skip


def test_recording_options_must_be_whole(
    scenario: Scenario, call: Call, bundle: Path, tmp_path: Path
) -> None:
    scenario(xcode="27.0")
    options = tmp_path / "options.json"
    options.write_text(json.dumps({"Hangs": {}}))
    ended = record(call, bundle, "--recording-options", str(options))
    assert ended.returncode == 57
    assert ended.stderr == "The data couldn't be read because it is missing\n"
    options.write_text(json.dumps({"Hangs": {"threshold": 1}, "Other": {}}))
    assert record(call, bundle, "--recording-options", str(options)).returncode == 0


@pytest.mark.parametrize(
    ("chip", "options", "rejected", "rows"),
    [
        ("M1", (), False, False),
        ("M1", COUNTERS, False, True),
        ("M3", (), False, False),
        ("M3", COUNTERS, True, False),
    ],
)
def test_the_chip_decides_over_counters(
    scenario: Scenario,
    call: Call,
    bundle: Path,
    chip: str,
    options: tuple[str, ...],
    *,
    rejected: bool,
    rows: bool,
) -> None:
    scenario(chip=chip)
    ended = record(call, bundle, *MST, *options)
    assert ended.returncode == 0
    assert "Recording completed. Saving output file..." in ended.stdout
    warning = (
        f"Run issues were detected (trace is still ready to be viewed):\n* [Warning] {REJECTED}\n\n"
    )
    assert ended.stderr == (warning if rejected else "")
    toc = export(call, bundle, "--toc").stdout
    assert (f"Counter Set: {'Performance Limiters' if options else '(null)'}") in toc
    assert (f"Shader Timeline: {'Enabled' if options else 'Disabled'}") in toc
    table = export(call, bundle, "--xpath", COUNTER_ROWS).stdout
    assert ("<row>" in table) == rows


@pytest.mark.parametrize(("chip", "profile", "rows"), [("M3", 13, True), ("M3", 1, False)])
def test_a_template_s_profile_decides_too(
    scenario: Scenario, call: Call, bundle: Path, chip: str, profile: int, *, rows: bool
) -> None:
    scenario(chip=chip)
    template = bundle.with_name("Mine.tracetemplate")
    template.write_bytes(plistlib.dumps({"GPU": {"counterprofile": profile}}))
    ended = record(call, bundle, "--template", str(template))
    assert (REJECTED in ended.stderr) != rows
    table = export(call, bundle, "--xpath", COUNTER_ROWS).stdout
    assert ("<row>" in table) == rows


def test_attributes_come_in_either_order(scenario: Scenario, call: Call, bundle: Path) -> None:
    record(call, bundle, *MST)
    plain = export(call, bundle, "--toc").stdout
    scenario(toc_order="reversed")
    other = export(call, bundle, "--toc").stdout
    assert '<process type="launched" name=' in plain
    assert '<process termination-reason="exit(0)" return-exit-status="0" pid=' in other

    def content(text: str) -> list[object]:
        root = etree.fromstring(text.encode())
        return [(one.tag, dict(one.attrib), (one.text or "").strip()) for one in root.iter()]

    assert content(plain) == content(other)


def test_the_password_prompt_waits_for_an_answer(
    scenario: Scenario, call: Call, bundle: Path
) -> None:
    scenario(password=True)
    argv = ("xctrace", "record", "--output", str(bundle), "--launch", "--", *QUICK)
    answered = call(*argv, stdin="me\nsecret\n")
    assert (
        "xctrace: Instruments wants permission to analyze other processes. Please enter an "
        "administrator username and password to allow this.\nUsername (me): Password: "
    ) in answered.stdout
    assert answered.returncode == 0


def test_without_an_answer_there_is_no_authorization(
    scenario: Scenario, call: Call, bundle: Path
) -> None:
    scenario(password=True)
    ended = record(call, bundle)
    assert ended.returncode == 2
    needs = "Target binary needs to be debuggable and signed with 'get-task-allow"
    assert ended.stderr.splitlines()[1:] == [
        "* [Error] Failed to gain authorization",
        "",
        f"\t* [Error] Recovery Suggestion: {needs}",
    ]


def test_a_full_disk_leaves_half_a_bundle(scenario: Scenario, call: Call, bundle: Path) -> None:
    scenario(disk_full=True)
    ended = record(call, bundle)
    assert ended.returncode == 1
    assert "Output file saved as" not in ended.stdout
    assert bundle.is_dir()
    assert export(call, bundle, "--toc").returncode == 10


def test_a_sleeping_target_has_tables_but_no_rows(
    scenario: Scenario, call: Call, bundle: Path
) -> None:
    scenario(asleep=True)
    assert record(call, bundle, *MST, "--time-limit", "200ms").returncode == 54
    text = export(call, bundle, "--xpath", INTERVALS).stdout
    assert "WindowServer (420)" in text
    assert Path(sys.executable).name not in text


def test_an_export_may_die_of_a_bad_address(scenario: Scenario, call: Call, bundle: Path) -> None:
    record(call, bundle, *MST)
    scenario(segv=["metal-gpu-intervals"])
    output = bundle.with_name("a.xml")
    ended = export(call, bundle, "--output", str(output), "--xpath", INTERVALS)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-11, "", "")
    assert output.stat().st_size > 0


def test_large_exports_are_written_piece_by_piece(
    scenario: Scenario, call: Call, bundle: Path
) -> None:
    record(call, bundle, *MST)
    scenario(megabytes={"metal-gpu-intervals": 20})
    output = bundle.with_name("a.xml")
    export(call, bundle, "--output", str(output), "--xpath", INTERVALS)
    assert 20_000_000 < output.stat().st_size < 25_000_000
    rows = sum(1 for _ in etree.iterparse(output, tag="row"))
    assert rows > 1000


@pytest.mark.parametrize(
    "options", [("--time-start", "1s"), ("--time-end", "500ms"), ("--duration", "10us")]
)
def test_time_filters_are_accepted_and_ignored(
    scenario: Scenario, call: Call, bundle: Path, options: tuple[str, str]
) -> None:
    record(call, bundle, *MST)
    scenario(xcode="27.0")
    whole = export(call, bundle, "--xpath", INTERVALS)
    assert export(call, bundle, *options, "--xpath", INTERVALS).stdout == whole.stdout
    unitless = export(call, bundle, options[0], "5", "--xpath", INTERVALS)
    assert unitless.returncode != 0
    scenario(xcode="26.3")
    assert export(call, bundle, *options, "--xpath", INTERVALS).returncode != 0


def test_the_input_may_stand_alone_from_27_on(scenario: Scenario, call: Call, bundle: Path) -> None:
    record(call, bundle)
    assert call("xctrace", "export", str(bundle), "--toc").returncode != 0
    scenario(xcode="27.0")
    assert call("xctrace", "export", str(bundle), "--toc").returncode == 0


def test_there_is_nothing_for_har(call: Call, bundle: Path) -> None:
    record(call, bundle)
    ended = export(call, bundle, "--har")
    assert ended.returncode != 0
    assert ended.stdout == ""
    assert export(call, bundle, "--har", "--toc").returncode != 0
    assert export(call, bundle).returncode != 0


def test_a_file_stands_for_the_notification(
    scenario: Scenario, call: Call, bundle: Path, tmp_path: Path
) -> None:
    scenario(notify_file=str(tmp_path / "started"))
    record(call, bundle)
    assert not (tmp_path / "started").exists()
    record(call, bundle.with_name("b.trace"), "--notify-tracing-started", "com.example.started")
    assert (tmp_path / "started").exists()


@pytest.mark.parametrize(("keys", "code"), [({}, 54), ({"interrupt_code": 0}, 0)])
def test_an_interrupted_launch(
    scenario: Scenario, bundle: Path, keys: dict[str, int], code: int
) -> None:
    scenario(**keys)
    argv = ("xctrace", "record", "--output", str(bundle), "--launch", "--", "/bin/sleep", "60")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        while "Ctrl-C" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
    assert output.startswith("Stopping recording...\n")
    assert process.returncode == code


def test_the_target_of_a_killed_recorder_runs_on_and_is_deaf(
    scenario: Scenario, bundle: Path, tmp_path: Path
) -> None:
    scenario(deaf_target=True)
    pid_file = tmp_path / "pid"
    code = f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 60"
    argv = ("xctrace", "record", "--output", str(bundle), "--launch", "--", "/bin/sh", "-c", code)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + PATIENCE
        while not pid_file.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    target = int(pid_file.read_text())
    os.kill(target, signal.SIGTERM)
    time.sleep(0.2)
    os.kill(target, 0)
    os.kill(target, signal.SIGKILL)
