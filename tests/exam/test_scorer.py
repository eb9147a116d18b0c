"""The scorer of the sealed exams, on invented documents."""

from dataclasses import replace
from typing import Any

import pytest

from scorer import Label, read_labels, score, table

LABEL = Label(
    thread="project #1",
    accepted="merged",
    mechanism="slow wait",
    program="a game",
    process="game",
    published="",
    chosen="",
    reads="",
    cause=("host.{0,40}report",),
    lever=("wait.{0,40}once", "fewer waits"),
    shares=(0.65,),
    tolerance=0.05,
    false=("another process",),
    foreign=("token",),
    longest=120,
)
RIGHT = {
    "rule": "round-trips",
    "severity": "warning",
    "message": "For 63 % of the time the host waits after a report.",
    "advice": "Wait once for several.",
}


def make_result(*findings: dict[str, Any]) -> dict[str, Any]:
    return {"format": 1, "findings": list(findings), "checks": []}


def test_score_of_a_right_answer_has_all_parts() -> None:
    exam_score = score(LABEL, make_result(RIGHT))
    assert exam_score.fired == ("round-trips",)
    assert (exam_score.cause, exam_score.lever, exam_score.share) == (True, True, True)
    assert (exam_score.false, exam_score.foreign) == ((), ())
    assert exam_score.length == len("For 63 % of the time the host waits after a report. ") + len(
        "Wait once for several."
    )
    assert exam_score.is_answered
    assert exam_score.is_right


def test_score_without_a_finding_is_not_answered() -> None:
    exam_score = score(LABEL, make_result())
    assert (
        exam_score.fired,
        exam_score.cause,
        exam_score.lever,
        exam_score.share,
        exam_score.length,
    ) == ((), False, False, False, 0)
    assert not exam_score.is_answered


def test_score_of_a_note_alone_is_not_answered() -> None:
    exam_score = score(LABEL, make_result(RIGHT | {"severity": "note"}))
    assert exam_score.cause
    assert not exam_score.is_answered


def test_score_reads_only_the_first_finding(subtests: pytest.Subtests) -> None:
    earlier_finding = {
        "rule": "clock",
        "severity": "error",
        "message": "It is hot.",
        "advice": None,
    }
    for read_count, answered in ((1, False), (2, True), (3, True)):
        with subtests.test(f"within {read_count}"):
            exam_score = score(
                replace(LABEL, within=read_count), make_result(earlier_finding, RIGHT)
            )
            assert exam_score.is_answered == answered
            assert exam_score.fired == ("clock", "round-trips")
            assert exam_score.length == len("It is hot.")


def test_score_of_a_part_that_is_missing(subtests: pytest.Subtests) -> None:
    cases = {
        "cause": (RIGHT | {"message": "For 63 % it is idle."}, (False, True, True)),
        "lever": (RIGHT | {"advice": "Buy a Mac."}, (True, False, True)),
        "share": (
            RIGHT | {"message": "For 6.5 % the host waits after a report."},
            (True, True, False),
        ),
        "percentage": (RIGHT | {"message": "The host waits after a report."}, (True, True, False)),
    }
    for name, (finding, parts) in cases.items():
        with subtests.test(name):
            exam_score = score(LABEL, make_result(finding))
            assert (exam_score.cause, exam_score.lever, exam_score.share) == parts
            assert not exam_score.is_answered


def test_score_of_shares_at_their_bounds(subtests: pytest.Subtests) -> None:
    for words, is_named in (
        ("60.1 %", True),
        ("59.9 %", False),
        ("69.9%", True),
        ("70.1\N{NO-BREAK SPACE}%", False),
        ("66\N{NO-BREAK SPACE}%", True),
        ("3 % and 66 %", True),
        ("0.65", False),
    ):
        with subtests.test(words):
            assert score(LABEL, make_result(RIGHT | {"message": words})).share == is_named


def test_score_without_an_expected_share() -> None:
    exam_score = score(
        replace(LABEL, shares=()), make_result(RIGHT | {"message": "The host waits. A report."})
    )
    assert exam_score.share is None


def test_score_names_words_that_are_false_or_foreign_in_any_finding() -> None:
    later = {
        "rule": "rival",
        "severity": "warning",
        "message": "Another process takes 3 %.",
        "advice": "Use fewer Tokens.",
    }
    exam_score = score(LABEL, make_result(RIGHT, later))
    assert (exam_score.false, exam_score.foreign) == (("Another process",), ("Token",))
    assert exam_score.is_answered
    assert not exam_score.is_right


def test_score_holds_only_untrue_and_foreign_words_against_a_note(
    subtests: pytest.Subtests,
) -> None:
    label = replace(LABEL, untrue=("memory grows",))
    for message, false, foreign in (
        ("Another process takes 3 %.", (), ()),
        ("Memory grows by 3 MB.", ("Memory grows",), ()),
        ("Fewer tokens a second.", (), ("token",)),
    ):
        with subtests.test(message):
            note = {"rule": "rival", "severity": "note", "message": message, "advice": None}
            exam_score = score(label, make_result(RIGHT, note))
            assert (exam_score.false, exam_score.foreign) == (false, foreign)


def test_score_holds_no_word_against_a_sentence_that_denies_it(subtests: pytest.Subtests) -> None:
    for message, false in (
        ("Another process takes 3 %.", ("Another process",)),
        ("No work of another process is in the way.", ()),
        ("It isn't another process.", ()),
        ("Nothing is lost. Another process takes 3 %.", ("Another process",)),
        ("Look at the host rather than at another process.", ()),
    ):
        with subtests.test(message):
            later = {"rule": "rival", "severity": "warning", "message": message, "advice": None}
            assert score(LABEL, make_result(RIGHT, later)).false == false


def test_score_finds_a_share_among_the_facts_of_the_first_finding(
    subtests: pytest.Subtests,
) -> None:
    silent = RIGHT | {"message": "The host waits after a report."}
    for value, unit, is_named in (
        (0.66, "ratio", True),
        (0.5, "ratio", False),
        (0.66, "ns", False),
        ("compute", "ratio", False),
    ):
        with subtests.test(f"{value} {unit}"):
            facts = [{"name": "idle", "value": value, "unit": unit}]
            assert score(LABEL, make_result(silent | {"facts": facts})).share == is_named
            assert score(LABEL, make_result(silent, RIGHT | {"facts": facts})).share is False


def test_score_of_a_first_finding_that_is_too_long() -> None:
    long = RIGHT | {"message": RIGHT["message"] + " " + "x" * 80}
    exam_score = score(LABEL, make_result(long))
    assert exam_score.is_answered
    assert not exam_score.is_right


def test_score_of_a_healthy_program_asks_for_silence(subtests: pytest.Subtests) -> None:
    healthy = replace(LABEL, healthy=True, cause=(), lever=(), shares=())
    note = {"rule": "memory-bound", "severity": "note", "message": "Busy.", "advice": ""}
    for name, document, answered in (
        ("silence", make_result(), True),
        ("a note", make_result(note), True),
        ("a warning", make_result(RIGHT), False),
        ("an error", make_result(RIGHT | {"severity": "error"}), False),
    ):
        with subtests.test(name):
            assert score(healthy, document).is_answered == answered


def test_table_counts_answers_and_names_words() -> None:
    wrong = RIGHT | {"advice": "Close another process."}
    labels = {"first": LABEL, "second": replace(LABEL, thread="project #2")}
    scores = {"first": score(LABEL, make_result(RIGHT)), "second": score(LABEL, make_result(wrong))}
    assert table(labels, scores).splitlines() == [
        "| mechanism | program | thread | cause | lever | share | false or foreign | long |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| slow wait | a game | project #1 | yes | yes | yes |  |  |",
        "| slow wait | a game | project #2 | yes | no | yes | `another process` |  |",
        "",
        "1 of 2 answered, 1 with no word too many.",
    ]


def test_labels_are_read_from_toml(tmp_path: Any) -> None:
    file = tmp_path / "labels.toml"
    texts = ("thread", "accepted", "mechanism", "program", "process", "published", "chosen")
    words = "".join(f'{key} = "{key}"\n' for key in (*texts, "reads"))
    lists = "".join(f'{key} = ["a", "b"]\n' for key in ("cause", "lever", "false", "foreign"))
    file.write_text(f"[one]\n{words}{lists}shares = [0.5]\ntolerance = 0.1\nlongest = 9\n")
    label = read_labels(file)["one"]
    assert (label.cause, label.shares, label.within) == (("a", "b"), (0.5,), 1)
    file.write_text(file.read_text() + 'causes = "none"\n')
    with pytest.raises(TypeError, match="causes"):
        read_labels(file)
