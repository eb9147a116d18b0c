"""Questions to a machine that answers as believed, otherwise, with garbage, or never."""

import getpass
import json
import plistlib
import re
import socket
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import jsonschema
import pytest

from children import running, started_since
from every_command import stock_template
from tracekit.base import InputError, UsageError
from tracekit.base.capabilities import Capabilities, Combination
from tracekit.record.asking import (
    ALL_QUESTIONS,
    AskedQuestion,
    BeliefAnswer,
    DoctorReport,
    ask,
    choose_questions,
    learn,
    read_report,
    report_schema,
    write_report,
)
from tracekit.record.beliefs import (
    BELIEFS_FILE,
    AnswerVerdict,
    Grade,
    LearnedAnswer,
    ToolBelief,
    add_answers,
    find_contradictions,
    read_beliefs,
    render_beliefs,
    render_value,
    write_beliefs,
)
from tracekit.record.doctor.examine import keep
from tracekit.record.doctor.interview import CommandRecord, GpuExperiment
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.progress import quiet

Scenario = Callable[..., None]

AS_BELIEVED, DIFFERS, NOT_ANSWERED = AnswerVerdict
REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
# The fake has no --quiet, no Instruments with templates, no two templates of one name, and Xcode
# 26 has no --recording-options; there is no GPU.
UNKNOWN = {
    *("quiet", "template-keys", "probe", "ambiguous-template", "partial-options"),
    *("rows", "interpreters", "profiles", "clock-ramp"),
}


def verdicts(report: DoctorReport) -> dict[str, AnswerVerdict]:
    answers = (answer for question in report.questions for answer in question.answers)
    return {answer.belief: answer.verdict for answer in answers}


@pytest.mark.processes
def test_every_question_is_answered_as_believed(scenario: Scenario, tmp_path: Path) -> None:
    scenario(start_delay=0.5, notices_end=True)
    before = running()
    report = ask((), DoctorSurroundings(), tmp_path / "notes", quiet)
    assert started_since(before) == []
    unanswered = {
        question.name
        for question in report.questions
        for answer in question.answers
        if answer.verdict is NOT_ANSWERED
    }
    assert unanswered == UNKNOWN
    assert set(verdicts(report).values()) == {AS_BELIEVED, NOT_ANSWERED}
    assert report.xcode_build == "17C529"
    assert [question.name for question in report.questions[:-1]] == [
        question.name for question in ALL_QUESTIONS
    ]
    assert all(len(command.stdout) <= 4096 for q in report.questions for command in q.commands)


# An xctrace that answers `version`, and all else as a test says; `export` writes a file.
OTHER = """import os, sys, time
words = sys.argv[1:]
if words[:1] == ["version"]:
    print("{version}")
    sys.exit(0)
{body}
"""
OTHERWISE = """
if "--output" in words:
    place = words[words.index("--output") + 1]
    if place.endswith(".trace"):
        os.makedirs(os.path.join(place, "x"))
print("Starting recording with", flush=True)
print("Ctrl-C to stop the recording", flush=True)
import signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: (print("ending recording", flush=True), os._exit(7)))
time.sleep(0.3)
print("ending recording. Output file saved")
sys.exit(7)
"""
GARBAGE = (
    "sys.stdout.buffer.write(bytes(range(256)) * 400); sys.stderr.write('x' * 9000); sys.exit(3)"
)
NEVER = "time.sleep(600)"
# It takes no SIGINT while it starts, and stops the process that it attaches to.
STUBBORN = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("Starting recording with", flush=True)
time.sleep(0.5)
if "--attach" in words:
    os.kill(int(words[words.index("--attach") + 1]), signal.SIGSTOP)
print("Ctrl-C to stop the recording", flush=True)
time.sleep(0.2)
print("Reached specified time limit, ending recording...")
"""

# It launches what it is given, and ends, saves, answers and imports in no way that is believed.
CONTRARY = """
import signal, subprocess
command = words[0]
if command == "help":
    print("--recording-options")
if command == "list":
    print("== Standard Instruments ==\\nThermometer")
if command == "export":
    sys.exit(0 if "killed.trace" in " ".join(words) else 7)
if command != "record":
    sys.exit(0 if command in ("help", "list") else 9)
attachments = os.path.join(words[words.index("--output") + 1], "Trace1.run", "Attachments")
os.makedirs(attachments)
with open(os.path.join(attachments, "trace-data.atrc"), "wb") as file:
    file.write(bytes(100))
asked = []
signal.signal(signal.SIGINT, lambda *_: asked.append(True))
print("Es beginnt" if os.environ.get("LANG") == "de_DE.UTF-8" else "Starting recording with")
print("Ctrl-C to stop the recording", flush=True)
if "--attach" in words:
    time.sleep(2)
    print("Recording failed with errors")
    sys.exit(7)
child = subprocess.Popen(words[words.index("--", 1) + 1:])
while child.poll() is None and not asked:
    time.sleep(0.05)
if asked:
    child.kill()
    print("Enough")
    sys.exit(7)
print("The target is gone\\nOutput file saved as: x")
sys.exit(9)
"""


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put an xctrace with a body of Python first on PATH."""

    def make(body: str, version: str = "xctrace version 26.0 (17C529)") -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        tool, finder = folder / "xctrace", folder / "xcrun"
        program = folder / "other.py"
        program.write_text(OTHER.format(body=body, version=version))
        # A process that is called xctrace would refuse the recordings of other tests.
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{program}" "$@"\n')
        finder.write_text(f"#!/bin/sh\necho {tool}\n")
        for file in (tool, finder):
            file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return make


@pytest.mark.processes
def test_other_answers_differ(other: Callable[[str], None], tmp_path: Path) -> None:
    other(OTHERWISE)
    names = [
        *("unknown-names", "unknown-targets", "existing-output", "blank", "composite-limit"),
        *("quiet", "sigterm", "sigint-attach", "two", "kill"),
    ]
    report = ask(names, DoctorSurroundings(), tmp_path, quiet, limit=20)
    answered = verdicts(report)
    assert {name for name, verdict in answered.items() if verdict is DIFFERS} >= {
        *("unknown-template-refused", "unknown-instrument-code", "unknown-process-code"),
        *("unknown-process-words", "unknown-name-code", "existing-output-refused"),
        *("blank-is-a-template", "composite-limit-accepted", "quiet-hides-start"),
        *("sigterm-ignored", "sigint-attached-code", "second-recording-code"),
        "killed-keeps-raw-data",
    }


@pytest.mark.processes
def test_ends_imports_lists_and_lines_of_another_kind_differ(
    other: Callable[..., None], tmp_path: Path
) -> None:
    other(CONTRARY)
    before = running()
    names = (
        *("partial-options", "environment", "sigint-launch", "early-end", "two", "kill"),
        *("language", "answers"),
    )
    report = ask(names, DoctorSurroundings(), tmp_path, quiet, limit=30)
    assert started_since(before) == []
    answered = verdicts(report)
    assert {name for name, verdict in answered.items() if verdict is DIFFERS} == {
        *("partial-options-code", "environment-inherited", "environment-given"),
        *("sigint-saves", "sigint-line", "sigint-launched-code", "line-stopping"),
        *("early-end-code", "early-end-saves", "failed-target-code", "line-exited"),
        *("second-recording-code", "line-failed", "killed-bundle-opens", "import-recovers"),
        *("lines-follow-lang", "instruments-listed"),
    }, report.questions


@pytest.mark.processes
def test_a_version_without_a_build_differs(other: Callable[..., None], tmp_path: Path) -> None:
    for version in ("xctrace version 26.0", "?"):
        other("sys.exit(3)", version)
        report = ask(("version",), DoctorSurroundings(), tmp_path, quiet)
        assert verdicts(report) == {"version-names-build": DIFFERS}, version
        assert (report.xcode_build, report.xctrace) == ("", version)


@pytest.mark.processes
def test_an_export_of_several_paths_differs(scenario: Scenario, tmp_path: Path) -> None:
    for paths, verdict in (("last", AS_BELIEVED), ("all", DIFFERS)):
        scenario(xpaths=paths)
        report = ask(("xpath",), DoctorSurroundings(), tmp_path, quiet)
        assert verdicts(report) == {"repeated-xpath-exports-both": verdict}, paths


@pytest.mark.processes
def test_a_layout_that_cannot_be_read_is_not_a_known_one(
    scenario: Scenario, tmp_path: Path
) -> None:
    for layout, known, unread in (
        ("real", AS_BELIEVED, AS_BELIEVED),
        ("damaged", AS_BELIEVED, DIFFERS),
        ("unknown", DIFFERS, NOT_ANSWERED),
    ):
        scenario(layout=layout)
        report = ask(("layout",), DoctorSurroundings(), tmp_path, quiet)
        assert verdicts(report) == {"layout-known": known, "tables-not-read": unread}, layout


@pytest.mark.processes
def test_the_keys_of_the_stock_template_are_sought_in_its_file(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = tmp_path / "Xcode.app" / "Contents"
    tools = contents / "Developer" / "usr" / "bin"
    tools.mkdir(parents=True)
    fake = Path(which("xctrace") or "").parent
    for name, program in (
        ("xctrace", f'exec "{fake}/xctrace" "$@"'),
        ("xcrun", f"echo {tools}/xctrace"),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{program}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    packages = contents / "Applications" / "Instruments.app" / "Contents" / "Packages"
    templates = packages / "GPU.instrdst" / "Contents" / "Templates"
    templates.mkdir(parents=True)
    keys = ("counterprofile", "shaderprofiler", "_recordingControlState")
    for content, verdict in (
        (plistlib.dumps(dict.fromkeys(keys, 0), fmt=plistlib.FMT_BINARY), AS_BELIEVED),
        (stock_template(), DIFFERS),  # without _recordingControlState
        (bytes(range(256)), DIFFERS),
        (b"", DIFFERS),
    ):
        (templates / "Metal System Trace.tracetemplate").write_bytes(content)
        report = ask(("template-keys",), DoctorSurroundings(), tmp_path, quiet)
        assert verdicts(report) == {"template-keys-known": verdict}, content[:20]


SLOW_PARTS = {"start_delay": 0.6, "stop_delay": 0.6, "save_pause": 0.6, "export_delay": 0.6}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("keys", "name", "limit", "slow"),
    [
        (SLOW_PARTS, "times", 30, "start stopping saving toc table"),
        ({"asleep": True}, "times", 30, "idle"),
        ({"ignores_limit": True}, "times", 5, "limit-slack"),
        ({"hang": "saved"}, "times", 5, "exit"),
        ({"export_delay": {"table": 0.6}}, "exports", 30, "export"),
        ({"start_delay": 0.5, "stuck_for": 3}, "rest", 30, "rest"),
        ({"devices_delay": 2.5}, "answers", 30, "answer"),
    ],
)
def test_times_that_are_too_long_differ(
    keys: dict[str, Any], name: str, limit: float, slow: str,
    scenario: Scenario, beliefs_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each expected time is 0.4 s here, and the machine takes longer.

    That of an answer is 2 s: it is also the limit of `xctrace version`.
    """
    beliefs = read_beliefs()
    for belief, believed in beliefs.items():
        if believed.at_most:
            beliefs[belief] = replace(believed, expected=2 if belief == "answer-seconds" else 0.4)
    write_beliefs(beliefs, beliefs_file)
    monkeypatch.setenv("TRACEKIT_BELIEFS", str(beliefs_file))
    scenario(**keys)
    gpu = GpuExperiment(haste=0.2)
    report = ask((name,), DoctorSurroundings(), tmp_path, quiet, limit=limit, gpu=gpu)
    answers = verdicts(report)
    too_long = {belief for belief, verdict in answers.items() if verdict is DIFFERS}
    assert too_long >= {f"{part}-seconds" for part in slow.split()}, report.questions[0].answers


@pytest.mark.processes
def test_ambiguous_names_and_incomplete_options_are_refused_by_their_codes(
    scenario: Scenario, tmp_path: Path
) -> None:
    scenario(version="27A266a", user_templates=["Time Profiler"], chip="M4", stuck_for=3)
    names = ("ambiguous-device", "ambiguous-template", "partial-options")
    report = ask(names, DoctorSurroundings(), tmp_path, quiet)
    assert set(verdicts(report).values()) == {AS_BELIEVED}, report.questions
    scenario(user_templates=["Time Profiler"], refuse={"code": 7, "text": "no"})
    report = ask(names[:2], DoctorSurroundings(), tmp_path, quiet)
    assert set(verdicts(report).values()) == {DIFFERS}, report.questions


@pytest.mark.processes
def test_the_rest_of_a_stopped_start_is_measured_or_bounded(
    scenario: Scenario, tmp_path: Path
) -> None:
    for stuck_for, limit, longer in ((0, 60, False), (5, 120, False), (600, 30, True)):
        scenario(start_delay=0.5, stuck_for=stuck_for)
        Path(tempfile.gettempdir(), "fake-service-stuck").unlink(missing_ok=True)
        gpu = GpuExperiment(haste=0.2)
        report = ask(("rest",), DoctorSurroundings(), tmp_path, quiet, limit=limit, gpu=gpu)
        (answer,) = report.questions[0].answers
        assert isinstance(answer.value, float), (stuck_for, answer.reason)
        assert (answer.value > 0.5) is (stuck_for > 0), (stuck_for, answer)
        assert answer.longer is longer, (stuck_for, answer)
    scenario(rows="none")
    report = ask(("rest",), DoctorSurroundings(), tmp_path, quiet)
    reason = "a recording of this machine has no rows, with or without a rest"
    assert report.questions[0].answers[0].reason == reason


@pytest.mark.processes
def test_each_schema_is_exported_once_and_its_time_is_in_the_report(
    scenario: Scenario, tracekit: Any, tmp_path: Path
) -> None:
    scenario(export_delay={"toc": 0, "table": 0.2})
    report = ask(("exports",), DoctorSurroundings(), tmp_path, quiet)
    (answer,) = report.questions[0].answers
    assert (answer.belief, answer.verdict) == ("export-seconds", AS_BELIEVED)
    schemas = [export.schema for export in report.exports]
    assert "metal-gpu-intervals" in schemas
    assert len(schemas) == len(set(schemas))
    assert all(export.seconds >= 0.2 for export in report.exports), report.exports
    assert answer.value == max(export.seconds for export in report.exports)
    assert set(schemas) == set(report.schemas)
    rows = [export.rows for export in report.exports]
    assert None not in rows
    assert rows == sorted(rows, key=lambda count: count or 0), "the smallest first"
    scenario(export_delay={"toc": 0, "table": 2})
    report = ask(("exports",), DoctorSurroundings(), tmp_path, quiet, limit=8)
    (answer,) = report.questions[0].answers
    assert (answer.longer, answer.verdict) == (True, NOT_ANSWERED)
    assert re.search(r"after \d of 6 tables", answer.reason), answer.reason
    scenario(layout="unknown")
    printed = tracekit("doctor", "--questions", "exports").out
    assert "metal-gpu-intervals\t0." in printed
    assert "\tunknown\t" in printed, "rows of a bundle that cannot be read directly"


@pytest.mark.processes
def test_standard_lists_are_reported_and_an_unknown_form_is_named(
    scenario: Scenario, tmp_path: Path
) -> None:
    scenario(user_templates=["mine"])
    report = ask(("answers",), DoctorSurroundings(), tmp_path, quiet)
    assert set(verdicts(report).values()) == {AS_BELIEVED}
    lists = {listed.heading: listed for listed in report.lists}
    assert "Metal GPU Counters" in lists["Standard Instruments"].names
    assert (lists["User Templates"].count, lists["User Templates"].names) == (1, ())
    assert lists["Devices"].names == ()
    scenario(lists="unknown")
    report = ask(("answers",), DoctorSurroundings(), tmp_path, quiet)
    answers = {answer.belief: answer for answer in report.questions[0].answers}
    assert answers["answer-seconds"].verdict is AS_BELIEVED
    assert answers["instruments-listed"].reason == (
        "`xctrace list instruments` has no heading of the known form"
    )


@pytest.mark.processes
def test_a_whole_report_names_no_owner_of_devices_and_templates(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "canaryuser")
    monkeypatch.setattr(socket, "gethostname", lambda: "canaryhost.local")
    monkeypatch.setenv("SECRET", "canarysecret")
    scenario(owner="Canaryowner", user_templates=["canarytemplate", "Time Profiler"])
    names = [question.name for question in ALL_QUESTIONS if not question.needs_gpu]
    report = ask(names, DoctorSurroundings(), tmp_path / "notes", quiet)
    write_report(report, tmp_path / "report.json")
    written = (tmp_path / "report.json").read_text()
    assert "Standard Templates" in written
    for canary in ("canary", "00000000-0000", "00008130", "Test Mac", str(tmp_path)):
        assert canary.casefold() not in written.casefold(), canary


@pytest.mark.processes
def test_a_signal_that_is_ignored_and_a_target_that_stops_differ(
    other: Callable[[str], None], tmp_path: Path
) -> None:
    other(STUBBORN)
    report = ask(("sigint-start", "sigint-attach"), DoctorSurroundings(), tmp_path, quiet, limit=20)
    answered = verdicts(report)
    assert answered["sigint-while-starting-ends-it"] is DIFFERS
    assert answered["attached-target-goes-on"] is DIFFERS


@pytest.mark.processes
def test_the_shared_recording_is_made_once_and_listed_once_a_question(
    scenario: Scenario, tmp_path: Path
) -> None:
    scenario()
    report = ask(("blank", "composite-limit"), DoctorSurroundings(), tmp_path, quiet)
    first, second = report.questions
    assert [len(question.commands) for question in report.questions] == [2, 2]
    assert first.commands[-1] == second.commands[-1]


@pytest.mark.processes
def test_garbage_is_kept_short_and_breaks_nothing(
    other: Callable[[str], None], tmp_path: Path
) -> None:
    other(GARBAGE)
    before = running()
    report = ask((), DoctorSurroundings(), tmp_path, quiet, limit=20)
    assert started_since(before) == []
    commands = [command for question in report.questions for command in question.commands]
    assert max(len(command.stderr) for command in commands) == 4096
    assert max(len(command.stdout.encode()) for command in commands) <= 4096
    assert verdicts(report)["unknown-process-code"] is DIFFERS
    answered = verdicts(report)
    for belief in (
        *("start-seconds", "unknown-template-refused", "existing-output-refused"),
        *("blank-is-a-template", "composite-limit-accepted", "lines-follow-lang"),
    ):
        assert answered[belief] is NOT_ANSWERED, belief
    write_report(report, tmp_path / "report.json")
    assert read_report(tmp_path / "report.json").xcode_build == "17C529"


@pytest.mark.processes
def test_a_tool_that_never_answers_costs_the_limit_and_is_ended(
    other: Callable[[str], None], tmp_path: Path
) -> None:
    other(NEVER)
    before = running()
    report = ask((), DoctorSurroundings(), tmp_path, quiet, limit=0.3)
    assert started_since(before) == []
    answers = verdicts(report)
    answers.pop("version-names-build")  # this tool answers `version`
    assert set(answers.values()) == {NOT_ANSWERED}
    blank = next(question for question in report.questions if question.name == "blank")
    assert blank.answers[0].reason == "xctrace record did not end within 0.3 s"


@pytest.mark.processes
def test_another_machine_differs_in_its_environment_lines_and_ends(
    scenario: Scenario, tmp_path: Path
) -> None:
    for keys, names, beliefs in (
        ({"inherits": True}, ("environment",), {"environment-inherited"}),
        (
            {"language": "de"},
            ("lines",),
            {f"line-{part}" for part in ("announced", "started", "limit", "completed", "saved")},
        ),
        ({}, ("early-end",), {"target-end-seconds"}),
        ({"leaves_target": True}, ("sigint-launch",), {"sigint-ends-target"}),
        (
            {"refuse": {"code": 7, "text": "no"}},
            ("unknown-targets", "partial-options"),
            {"unknown-process-code", "unknown-process-words", "unknown-name-code"},
        ),
    ):
        scenario(**keys)
        report = ask(names, DoctorSurroundings(), tmp_path, quiet)
        answers = verdicts(report)
        assert {name for name in answers if answers[name] is DIFFERS} == beliefs, names


@pytest.mark.processes
def test_the_last_probe_answers_for_the_gpu(scenario: Scenario, tmp_path: Path) -> None:
    scenario()
    here = DoctorSurroundings()
    ways = (
        Combination("launch", False, rows=150),
        Combination("attach", False, rows=0),
        Combination("launch", True, rows=150, counter_rows=0),
        Combination("attach", True),
    )
    keep(Capabilities(here.identity, "2026-11-29", ways), tmp_path)
    report = ask((), here, tmp_path, quiet, limit=0.01)
    answered = verdicts(report)
    assert answered["launch-gives-rows"] is AS_BELIEVED
    assert answered["attach-gives-rows"] is DIFFERS
    assert answered["counters-come"] is DIFFERS
    ways = (Combination("launch", False, rows=0), Combination("attach", False, rows=150))
    keep(Capabilities(here.identity, "2026-11-30", ways), tmp_path)
    answered = verdicts(ask((), here, tmp_path, quiet, limit=0.01))
    assert answered["launch-gives-rows"] is DIFFERS
    assert answered["attach-gives-rows"] is AS_BELIEVED
    assert answered["counters-come"] is NOT_ANSWERED


@pytest.mark.processes
def test_a_time_that_is_not_measured_to_its_end_is_a_bound(
    scenario: Scenario, beliefs_file: Path, tmp_path: Path
) -> None:
    for number, (key, belief) in enumerate(
        (("start_delay", "start-seconds"), ("save_delay", "saving-seconds"))
    ):
        scenario(**{key: 60})
        report = ask(("times",), DoctorSurroundings(), tmp_path, quiet, limit=6)
        answers = {answer.belief: answer for answer in report.questions[0].answers}
        answer = answers[belief]
        assert answer.longer, key
        assert isinstance(answer.value, float), key
        assert 0.5 <= answer.value <= 6.5, key
        assert answer.verdict is NOT_ANSWERED, f"{key}: neither long enough, nor measured"
        assert answer.words.startswith("longer than "), key
        lesson = learn([save(tmp_path, f"{number}.json", report)], beliefs_file)
        assert (lesson.refused, lesson.contradictions, lesson.changes) == ((), (), ()), key
        (learned,) = read_beliefs(beliefs_file)[belief].answers
        assert learned.longer, key


def make_report(**changes: Any) -> DoctorReport:
    fields: dict[str, Any] = {
        "tracekit": "0.1.0", "asked": "2026-11-29T10:00:00+00:00", "machine": {"chip": "Apple M1"},
        "virtual": False, "system_build": "25D2128", "xcode_build": "17C529",
        "xctrace": "xctrace version 26.0 (17C529)", "questions": (),
    }  # fmt: skip
    return DoctorReport(**(fields | changes))


def answered(belief: str, value: Any, *commands: CommandRecord) -> tuple[AskedQuestion, ...]:
    answer = BeliefAnswer(belief, 0, DIFFERS, value)
    return (AskedQuestion("q", "A question?", (answer,), commands),)


def test_a_report_names_no_user_host_hardware_path_or_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "canaryuser")
    monkeypatch.setattr(socket, "gethostname", lambda: "canaryhost.local")
    monkeypatch.setenv("HOME", "/Users/canaryuser")
    text = (
        "canaryuser at canaryhost.local and canaryhost, /Users/canaryuser/My Folder/x.trace, "
        f"{sys.executable}, {tmp_path}/out.trace, ~/canarydocs/a, /Volumes/canarydisk/build "
        "564D1E2A-0000-1111-2222-CAFEBABE0000"
    )
    command = CommandRecord(("/Applications/canaryxcode/xctrace", "--env", "A=1"), 2, text, text, 1)
    report = make_report(questions=answered("early-end-code", 3, command))
    write_report(report, tmp_path / "report.json")
    written = (tmp_path / "report.json").read_text()
    assert not re.search("canary|564D1E2A|/Users|/Volumes|/tmp", written), written
    assert sys.executable not in written
    assert read_report(tmp_path / "report.json").questions[0].answers[0].value == 3


HOSTILE = {  # a user, a home folder, a host: what a Mac may call them
    "plain": ("canaryuser", "canaryhome", "canaryhost.local"),
    "accents": ("canäryüser", "canârÿ høme", "Canäry-Höst.local"),
    "other scripts": ("かなりや", "канарейка", "金丝雀的电脑.local"),
    "marks": ("canary.o'user", "canary (old)", "Canary\u2019s-MacBook.local"),
    "patterns": ("canary.*+", "canary[a-z]", "canary$host^.local"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_are_left_out_wherever_xctrace_prints_them(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, home, host = HOSTILE[kind]
    monkeypatch.setattr(getpass, "getuser", lambda: user)
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.setenv("HOME", f"/Users/{home}")
    short_host = host.removesuffix(".local")
    text = "\n".join(
        (
            f"Cannot attach: {user} is not in _developer ({host})",
            f"Launch_{user}_2026-11-29.trace on {short_host.upper()}",
            f"Provided device parameter '{short_host}' is ambiguous",
            f"/Users/{home}/Secret Project/Its Parts/x.trace could not be written",
            f"the folder {home} of {user}",
            unicodedata.normalize("NFD", f"decomposed, as files have it: {user}, {home}"),
            "564d1e2a-0000-1111-2222-cafebabe0000 564D1E2A000011112222CAFEBABE0000",
            "ethernet ca:fe:ba:be:00:01",
        )
    )
    argv = ("/X/xctrace", "record", "--env", f"TOKEN={user} secret-canary", "--launch", "--", user)
    command = CommandRecord(argv, 2, text, text, 1)
    answers = (
        BeliefAnswer("line-started", "Ctrl-C to", DIFFERS, f"{user} hält {host} an"),
        BeliefAnswer("early-end-code", 0, NOT_ANSWERED, None, f"xctrace ended: {text}"),
    )
    asked = AskedQuestion("q", "A question?", answers, (command,))
    machine = {"chip": f"Apple M1 of {user}", "os": f"macOS of {host}"}
    write_report(make_report(questions=(asked,), machine=machine), tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_text())
    written = unicodedata.normalize("NFC", json.dumps(document, ensure_ascii=False)).casefold()
    for name in (user, home, host, short_host, "Secret Project", "Parts", "secret-canary"):
        assert name.casefold() not in written, name
    for hardware in ("564d1e2a", "ca:fe:ba"):
        assert hardware not in written, hardware


def test_the_schema_is_published_and_fits(
    golden: Callable[[Path, str], None], tmp_path: Path
) -> None:
    schema = report_schema()
    golden(REFERENCE / "doctor-report.schema.json", json.dumps(schema, indent=2) + "\n")
    write_report(make_report(questions=answered("early-end-code", 3)), tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    document["virtual"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(document)


@pytest.fixture
def beliefs_file(tmp_path: Path) -> Path:
    file = tmp_path / "beliefs.toml"
    file.write_text(BELIEFS_FILE.read_text())
    return file


def save(tmp_path: Path, name: str, report: DoctorReport) -> Path:
    write_report(report, tmp_path / name)
    return tmp_path / name


def test_contradicting_reports_both_stay(beliefs_file: Path, tmp_path: Path) -> None:
    first = save(tmp_path, "a.json", make_report(questions=answered("sigint-launched-code", 54)))
    second = save(
        tmp_path,
        "b.json",
        make_report(xcode_build="27A266a", questions=answered("sigint-launched-code", 0)),
    )
    lesson = learn([first, second], beliefs_file)
    assert (lesson.added, lesson.refused) == (2, ())
    (contradiction,) = lesson.contradictions
    assert contradiction == (
        "sigint-launched-code: after SIGINT a recording that launched ends with 54: "
        "54 on Apple M1, macOS 25D2128, Xcode 17C529; 0 on Apple M1, macOS 25D2128, Xcode 27A266a."
    )
    assert learn([first], beliefs_file).added == 0
    values = [answer.value for answer in read_beliefs(beliefs_file)["sigint-launched-code"].answers]
    assert values == [54, 0]


def test_a_virtual_machine_proves_no_capability(beliefs_file: Path, tmp_path: Path) -> None:
    questions = (*answered("launch-gives-rows", False), *answered("early-end-code", 0))
    report = save(tmp_path, "virtual.json", make_report(virtual=True, questions=questions))
    lesson = learn([report], beliefs_file)
    assert lesson.added == 1
    assert lesson.refused == (
        "virtual.json: launch-gives-rows is a capability, and the machine is virtual.",
    )
    assert read_beliefs(beliefs_file)["launch-gives-rows"].answers == ()


def test_reports_that_cannot_be_learned_from_are_refused(
    beliefs_file: Path, tmp_path: Path
) -> None:
    before = beliefs_file.read_text()
    unknown = save(tmp_path, "old.json", make_report(questions=answered("no-such-belief", 1)))
    assert learn([unknown], beliefs_file).refused == (
        "old.json: there is no belief 'no-such-belief'.",
    )
    (tmp_path / "bad.json").write_text("{")
    newer = save(tmp_path, "newer.json", make_report(format=2))
    for files, words in (
        ([tmp_path / "bad.json"], "is not a report"),
        ([newer], "has format 2"),
        ([tmp_path / "none.json"], "cannot be read: No such file"),
    ):
        with pytest.raises(InputError, match=words):
            learn(files, beliefs_file)
    with pytest.raises(UsageError, match="Name the reports"):
        learn([], beliefs_file)
    assert beliefs_file.read_text() == before


BELIEF = ToolBelief("it ends", Grade.OPEN, "no source", "waits", "q", 5)


def test_a_belief_judges_values_of_its_type() -> None:
    for belief, value, verdict in (
        (BELIEF, 5, AS_BELIEVED),
        (BELIEF, 6, DIFFERS),
        (BELIEF, None, NOT_ANSWERED),
        (replace(BELIEF, expected=True), 1, DIFFERS),
        (replace(BELIEF, expected=1), True, DIFFERS),
        (replace(BELIEF, at_most=True), 4.9, AS_BELIEVED),
        (replace(BELIEF, at_most=True), 5.1, DIFFERS),
    ):
        assert belief.judge(value) is verdict, (belief, value)
    for seconds, verdict in ((4.9, NOT_ANSWERED), (5, DIFFERS), (6, DIFFERS)):
        timed = replace(BELIEF, at_most=True)
        assert timed.judge(seconds, longer=True) is verdict, seconds


def test_a_machine_has_its_latest_answer_only() -> None:
    old = LearnedAnswer(3, "17C529", "25D", "Apple M1", virtual=False, asked="2026-11-01")
    new = replace(old, value=4, asked="2026-11-02")
    for order in ((old, new), (new, old)):
        belief = add_answers(BELIEF, order)
        assert belief.answers == (new,), order
    timed = replace(BELIEF, at_most=True, answers=(old, replace(new, chip="Apple M4")))
    assert list(find_contradictions({"q": timed})) == []  # both are short enough
    assert len(list(find_contradictions({"q": replace(timed, expected=3)}))) == 1
    bound = replace(old, value=5, longer=True)
    bounded = replace(timed, answers=(bound, replace(new, chip="Apple M4")))
    assert list(find_contradictions({"q": replace(bounded, expected=6)})) == []
    (sides,) = find_contradictions({"q": replace(bounded, expected=4.5)})
    assert "differs on Apple M1" in sides


def test_the_file_of_beliefs_is_whole_and_agrees_with_the_code(tmp_path: Path) -> None:
    beliefs = read_beliefs()
    assert render_beliefs(beliefs) == BELIEFS_FILE.read_text()
    asked = {belief.question for belief in beliefs.values()}
    assert asked == {question.name for question in ALL_QUESTIONS} | {"probe", ""}
    for name, belief in beliefs.items():
        assert bool(belief.question) is not bool(belief.obstacle), name
    learned = LearnedAnswer('"é" \\', "1", "2", "3", virtual=True, asked="4", longer=True)
    belief = replace(BELIEF, expected="text", lower=1, upper=2.5e3, answers=(learned,))
    write_beliefs({"q": belief}, tmp_path / "b.toml")
    assert read_beliefs(tmp_path / "b.toml") == {"q": belief}
    (tmp_path / "b.toml").write_text('[q]\ngrade = "sure"\n')
    with pytest.raises(InputError, match="is not a file of beliefs"):
        read_beliefs(tmp_path / "b.toml")


def test_unknown_questions_are_refused_with_the_nearest() -> None:
    assert [question.name for question in choose_questions(("kill", "blank", "kill"))] == [
        "kill",
        "blank",
    ]
    with pytest.raises(UsageError, match="There is no question 'blanc'") as caught:
        choose_questions(("blanc",))
    assert caught.value.hint == "Did you mean blank?"


EXPLANATION = Path(__file__).parents[2] / "docs" / "explanation"
_HEAD = """\
# Open points about xctrace

tracekit was written without a Mac at hand. Each row is a belief about `xctrace`, with its grade and
its source, and the question of `tracekit doctor --questions` that asks it. The code acts on these
values, which `tracekit/record/beliefs.toml` holds; `tracekit doctor --learn` adds the answers of
[reports](../how-to/check-a-machine.md#answer-the-open-questions).
"""
_TITLES = {
    Grade.OPEN: "Open: sources contradict each other, or there are none",
    Grade.GUESS: "Guesses: they follow from the others, and nobody has seen them",
    Grade.ONE_REPORT: "One report",
    Grade.FIRM: "Firm: kept word for word, or several independent reports",
}


def write_page() -> str:
    lines = [_HEAD]
    beliefs = read_beliefs()
    for grade, title in _TITLES.items():
        lines += [f"## {title}\n", "| belief | expected | source | response | question | answers |"]
        lines.append("|---|---|---|---|---|---|")
        for belief in beliefs.values():
            if belief.grade is grade:
                lines.append(f"| {' | '.join(cells_of(belief))} |")
        lines.append("")
    return "\n".join(lines)


def cells_of(belief: ToolBelief) -> list[str]:
    expected = render_value(belief.expected)
    answers = [f"{answer.words} on {answer.place}" for answer in belief.answers]
    return [
        belief.words,
        f"at most {expected}" if belief.at_most else expected,
        belief.source,
        belief.response,
        f"`{belief.question}`" if belief.question else f"none: {belief.obstacle}",
        "; ".join(answers) or "none yet",
    ]


def test_the_page_of_open_points_agrees_with_the_beliefs(
    golden: Callable[[Path, str], None],
) -> None:
    golden(EXPLANATION / "what-is-not-established.md", write_page())


@pytest.mark.processes
def test_the_command_asks_writes_and_learns(
    scenario: Scenario, tracekit: Any, tmp_path: Path
) -> None:
    scenario()
    report = tmp_path / "report.json"
    result = tracekit("doctor", "--report", report, "blank", "version")
    assert (result.code, result.out.splitlines()) == (
        0,
        [
            "as believed\tblank-is-a-template\tFalse (expected False)",
            "as believed\tversion-names-build\tTrue (expected True)",
        ],
    )
    assert f"Read {report} before you send it" in " ".join(result.err.split())
    assert [question.name for question in read_report(report).questions] == ["blank", "version"]
    notes = tmp_path / "notes.json"
    notes.write_text("{}")
    result = tracekit("doctor", "--report", notes, "version")
    assert (result.code, notes.read_text()) == (2, "{}"), "tracekit did not write this file"
    assert "is not as tracekit wrote it" in " ".join(result.err.split())
    result = tracekit("doctor", "--questions", "--json", "quiet")
    assert result.code == 4
    document = json.loads(result.out)
    assert document["questions"][0]["answers"][0]["verdict"] == "not answered"
    unknown = save(tmp_path, "old.json", make_report(questions=answered("no-such-belief", 1)))
    result = tracekit("doctor", "--learn", "--json", unknown)
    assert json.loads(result.out) == {
        "format": 1,
        "added": 0,
        "refused": ["old.json: there is no belief 'no-such-belief'."],
        "contradictions": [],
        "changes": [],
    }
    for words, said in (
        (("doctor", "blank"), "'blank' is neither asked nor learned from"),
        (("doctor", "--questions", "blanc"), "Did you mean blank?"),
        (("doctor", "--learn"), "Name the reports to learn from."),
        (("doctor", "--learn", "--report", report), "Do one thing at a time"),
        (("doctor", "--probe", "--questions"), "Do one thing at a time"),
    ):
        result = tracekit(*words)
        assert (result.code, said in " ".join(result.err.split())) == (2, True), words
