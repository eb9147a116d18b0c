"""Code acts on the beliefs: a learned answer changes its behaviour, within bounds."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import InputError
from tracekit.machine.machine import Machine
from tracekit.record.asking import (
    AskedQuestion,
    BeliefAnswer,
    DoctorReport,
    learn,
    write_report,
)
from tracekit.record.beliefs import (
    AnswerVerdict,
    LearnedAnswer,
    Value,
    choose_seconds,
    describe_changes,
    find_belief,
    list_codes,
    read_beliefs,
    write_beliefs,
)
from tracekit.record.doctor.checks import run_checks
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.ways import choose_way
from tracekit.record.xctrace.command import recognize, target_environment
from tracekit.record.xctrace.counter_template import choose_profile
from tracekit.record.xctrace.judgement import judge
from tracekit.record.xctrace.progress import RecordingState, RecordingTranscript, hear_output
from tracekit.record.xctrace.recording_process import Deadlines, Ended
from tracekit.tables.toc import TocRun
from tracekit.workload.plan import Plan
from tracekit.workload.workload import Step, Workload

BUILD = "17C529"
CHIP = "Apple M4 Max"
Learn = Callable[..., None]


def answer_of(value: Value, **changes: Any) -> LearnedAnswer:
    answer = LearnedAnswer(value, BUILD, "25D", CHIP, virtual=False, asked="2026-11-29")
    return replace(answer, **changes)


@pytest.fixture
def taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Learn:
    """Put a file of beliefs in use that has answers to one belief more with each call."""
    file = tmp_path / "beliefs.toml"
    monkeypatch.setenv("TRACEKIT_BELIEFS", str(file))

    def teach(name: str, *answers: LearnedAnswer) -> None:
        beliefs = read_beliefs()
        beliefs[name] = replace(beliefs[name], answers=answers)
        write_beliefs(beliefs, file)

    return teach


def test_an_answer_counts_for_its_xcode_unless_another_one_contradicts_it() -> None:
    belief = find_belief("failed-target-code")
    other_machine = answer_of(4, chip="Apple M1")
    for answers, xcode, expected in (
        ((), BUILD, 54),
        ((answer_of(3),), BUILD, 3),
        ((answer_of(3),), "27A266a", 54),
        ((answer_of(3),), "", 54),
        ((answer_of(3), replace(other_machine, value=3)), BUILD, 3),
        ((answer_of(3), other_machine), BUILD, 54),
        ((answer_of(3), replace(other_machine, xcode="27A266a")), BUILD, 3),
    ):
        assert replace(belief, answers=answers).choose_value(xcode) == expected, (answers, xcode)


def test_a_capability_counts_for_its_chip_alone() -> None:
    belief = replace(find_belief("launch-gives-rows"), answers=(answer_of(False),))
    assert belief.choose_value(BUILD, CHIP) is False
    assert belief.choose_value(BUILD, "Apple M1") is True


def test_a_deadline_grows_with_the_longest_time_within_its_bounds(taught: Learn) -> None:
    assert (Deadlines().start, Deadlines().saving) == (180, 600)
    for answers, seconds in (
        ((answer_of(5.0),), 180),
        ((answer_of(5.0), answer_of(200.0, chip="Apple M1")), 300),
        ((answer_of(200.0, longer=True),), 300),
        ((answer_of(899.0),), 900),
    ):
        taught("start-seconds", *answers)
        assert Deadlines().start == seconds, answers
        assert choose_seconds("start-seconds") == seconds, answers


def test_a_learned_line_is_recognized_besides_the_expected_one(taught: Learn) -> None:
    german = "Strg-C beendet die Aufnahme"
    assert hear_output(RecordingTranscript(), german).foreign
    taught("line-started", answer_of(german))
    for line in (german, "Ctrl-C to stop the recording"):
        account = hear_output(RecordingTranscript(), line)
        assert (account.state, account.foreign) == (RecordingState.STARTED, False), line
    taught("line-limit", answer_of("Zeitlimit erreicht"))
    assert hear_output(RecordingTranscript(), "Zeitlimit erreicht, Aufnahme endet").is_stopped


def test_a_learned_exit_code_is_a_good_end_with_its_xcode(taught: Learn) -> None:
    stop_line = "Reached specified time limit, ending recording..."
    account = RecordingTranscript(RecordingState.SAVED, stop_line=stop_line)
    taught("failed-target-code", answer_of(3))
    for build, code, is_good in (
        (BUILD, 3, True),
        (BUILD, 54, False),
        ("27A266a", 54, True),
        ("27A266a", 3, False),
    ):
        run = TocRun(1, duration=1.0, instruments_version=f"26.0 ({build})")
        failure = judge(Ended(account, code), run, launched=True)
        assert (failure == "") is is_good, (build, code, failure)


def test_codes_of_known_failures_come_from_the_beliefs(taught: Learn) -> None:
    text = "Instrument with name 'X' cannot be found"
    assert recognize(56, text) is not None
    assert recognize(99, text) is None
    taught("unknown-instrument-code", answer_of(99))
    assert list_codes("unknown-instrument-code") == {56, 99}
    for code in (56, 99):
        assert recognize(code, text) is not None, code


def test_the_counter_profile_follows_the_chip_and_its_answers(taught: Learn) -> None:
    for chip, profile in (
        ("Apple M1 Pro", None),
        ("Apple M2", None),
        (CHIP, 13),
        ("Apple M5", 13),
        ("Apple M4 (Virtual)", None),
        ("AMD EPYC", None),
    ):
        assert choose_profile(chip, BUILD) == profile, chip
    taught("late-chip-profile", answer_of(14))
    assert choose_profile(CHIP, BUILD) == 14
    assert choose_profile("Apple M5", BUILD) == choose_profile(CHIP, "27A266a") == 13
    taught("counters-come", answer_of(True))
    assert choose_profile(CHIP, BUILD) is None


def test_variables_are_not_named_if_the_environment_is_inherited(taught: Learn) -> None:
    environment = {"HOME": "/Users/ada", "PATH": "/bin", "COLOR": "1"}
    asked = {"MODEL": "x"}
    named = target_environment(asked, environment, BUILD)
    assert named == {"HOME": "/Users/ada", "MODEL": "x", "PATH": "/bin"}
    taught("environment-inherited", answer_of(True))
    assert target_environment(asked, environment, BUILD) == asked
    assert target_environment(asked, environment, "27A266a") == named


class SomeRecorder:
    """A recorder of the name and version of xctrace."""

    name = "xctrace"

    def version(self) -> str:
        return f"xctrace version 26.0 ({BUILD})"


def test_a_workload_is_attached_to_if_machines_like_this_got_no_rows(taught: Learn) -> None:
    recorder: Any = SomeRecorder()
    workload = Workload("w", Path("w.py"), lambda: Step(lambda: None, lambda _: None, "cpu"))
    here = DoctorSurroundings().machine.chip
    assert choose_way(Plan(workload=workload), recorder, None)[0].method == "auto"
    taught("launch-gives-rows", answer_of(False, chip=here))
    plan, notes, is_open = choose_way(Plan(workload=workload), recorder, None)
    assert (plan.method, is_open) == ("attach", True)
    assert "launching gives no rows" in notes[0]
    chosen, _, _ = choose_way(Plan(workload=workload, method="launch"), recorder, None)
    assert chosen.method == "launch", "an explicit choice stays"
    taught("attach-gives-rows", answer_of(False, chip=here))
    assert choose_way(Plan(workload=workload), recorder, None)[0].method == "auto"


def report_of(belief: str, value: Value, **changes: Any) -> DoctorReport:
    answer = BeliefAnswer(belief, 0, AnswerVerdict.DIFFERS, value)
    fields: dict[str, Any] = {
        "tracekit": "0.1.0", "asked": "2026-11-29T10:00:00+00:00", "machine": {"chip": CHIP},
        "virtual": False, "system_build": "25D2128", "xcode_build": BUILD,
        "xctrace": f"xctrace version 26.0 ({BUILD})",
        "questions": (AskedQuestion("q", "A question?", (answer,)),),
    }  # fmt: skip
    return DoctorReport(**(fields | changes))


def test_answers_that_cannot_be_true_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "beliefs.toml"
    for belief, value, reason in (
        ("failed-target-code", 4711, "4711 is outside of 0 to 255"),
        ("failed-target-code", -1, "-1 is outside of 0 to 255"),
        ("failed-target-code", True, "true is not of the kind of 54"),
        ("failed-target-code", "54", '"54" is not of the kind of 54'),
        ("environment-inherited", 1, "1 is not of the kind of false"),
        ("start-seconds", 5e6, "5000000.0 is outside of 0 to 900"),
        ("line-started", "C", '"C" is outside of 5 to 100 characters'),
        ("line-started", "Strg-C\nund mehr", "is not one printable line"),
    ):
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        write_report(report_of(belief, value), report)
        file.unlink(missing_ok=True)
        write_beliefs(read_beliefs(), file)
        lesson = learn([report], file)
        assert (lesson.added, lesson.changes) == (0, ()), (belief, value)
        assert reason in lesson.refused[0], (belief, value)
        assert read_beliefs(file) == read_beliefs(), (belief, value)


def test_a_file_of_beliefs_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "beliefs.toml"
    monkeypatch.setenv("TRACEKIT_BELIEFS", str(file))
    beliefs = read_beliefs()
    assert beliefs["failed-target-code"].expected == 54, "without a file, those of tracekit"
    wrong = replace(beliefs["failed-target-code"], answers=(answer_of(4711),))
    write_beliefs({"failed-target-code": wrong}, file)
    with pytest.raises(InputError, match="failed-target-code: 4711 is outside of 0 to 255"):
        read_beliefs()
    write_beliefs({}, file)
    with pytest.raises(InputError, match="has no belief 'start-seconds'"):
        Deadlines()


def test_the_doctor_shows_learned_values_and_contradictions(taught: Learn) -> None:
    def look() -> tuple[str, str]:
        (fact,) = run_checks(replace(DoctorSurroundings(), machine=Machine("Darwin")), "beliefs")
        return fact.verdict, fact.words

    assert look() == ("ok", f"{len(read_beliefs())} about xctrace, with their expected values")
    taught("failed-target-code", answer_of(3))
    verdict, words = look()
    assert (verdict, "failed-target-code: 3 instead of 54" in words) == ("ok", True)
    taught("failed-target-code", answer_of(3), answer_of(54, chip="Apple M1"))
    verdict, words = look()
    assert verdict == "warning"
    assert all(side in words for side in ("3 on Apple M4 Max", "54 on Apple M1")), words
    taught("failed-target-code", answer_of(4711))
    assert look()[0] == "failed"


def test_changes_name_the_value_its_predecessor_and_the_place(taught: Learn) -> None:
    assert list(describe_changes(read_beliefs())) == []
    taught("failed-target-code", answer_of(3), answer_of(54, xcode="27A266a"))
    taught("late-chip-profile", answer_of(14))
    taught("start-seconds", answer_of(200.0))
    assert list(describe_changes(read_beliefs())) == [
        "failed-target-code: 3 instead of 54 with Xcode 17C529.",
        "start-seconds: 300 s instead of 180 s.",
        "late-chip-profile: 14 instead of 13 with Xcode 17C529 on Apple M4 Max.",
    ]


@pytest.mark.processes
def test_learning_changes_a_recording_and_a_contradiction_takes_it_back(
    scenario: Callable[..., None], tracekit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario()
    monkeypatch.setenv("TRACEKIT_BELIEFS", str(tmp_path / "beliefs.toml"))
    reports = [tmp_path / "first.json", tmp_path / "second.json"]
    write_report(report_of("failed-target-code", 3), reports[0])
    write_report(report_of("failed-target-code", 54, machine={"chip": "Apple M1"}), reports[1])

    def record(name: str) -> str:
        options = ("--recorder", "xctrace", "--time-limit", "1s", "--output", tmp_path / name)
        tracekit("record", *options, "--", "/bin/sleep", "20")
        provenance = json.loads((tmp_path / name / "recording.json").read_text())
        return provenance["stages"]["record"]["message"]

    assert "exit code" not in record("before")
    learned = tracekit("doctor", "--learn", reports[0])
    assert learned.out.splitlines() == [
        "1 answers are new.",
        "changed: failed-target-code: 3 instead of 54 with Xcode 17C529.",
    ]
    assert "xctrace ended with exit code 54" in record("after")
    contradicted = tracekit("doctor", "--learn", reports[1])
    added, contradiction = contradicted.out.splitlines()
    assert added == "1 answers are new."
    assert contradiction.startswith("contradiction: failed-target-code: ")
    for side in ("54 on Apple M1, macOS", "3 on Apple M4 Max, macOS"):
        assert side in contradiction, side
    assert "exit code" not in record("again")
