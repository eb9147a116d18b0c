"""Findings over time."""

from typing import Any

from tracekit.nightly.history.night import Outcome, TracedFinding
from tracekit.nightly.trend.findings import Stretch, finding_rows, looked


def found(rule: str, traces: int = 1, of: int = 1, **facts: Any) -> TracedFinding:
    return TracedFinding(rule, f"{rule} was seen.", "warning", traces, of, **facts)


def night(made: Any, day: int, *findings: TracedFinding, traced: bool = True, **facts: Any) -> Any:
    pairs = (made.traced("candidate-1"),) if traced else ()
    return made.night(day, made.entry(findings=findings, pairs=pairs, **facts))


def test_a_rule_has_a_row_that_says_when_it_came_and_went(made: Any) -> None:
    nights = [
        night(made, 1),
        night(made, 2, found("bubbles")),
        night(made, 3, found("bubbles")),
        night(made, 4),
    ]
    [row] = finding_rows(made.course(nights))
    assert (row.rule, row.severity, row.stands) == ("bubbles", "warning", False)
    assert row.became == "appeared 2 Nov 2026 · gone on 4 Nov 2026"
    assert row.stretches == (
        Stretch(0, 1, 0.0, "1 Nov 2026: not found"),
        Stretch(1, 2, 1.0, "2 Nov 2026 to 3 Nov 2026: found in 1 of 1 trace"),
        Stretch(3, 1, 0.0, "4 Nov 2026: not found"),
    )


def test_a_night_without_traces_says_nothing_of_findings(made: Any) -> None:
    nights = [
        night(made, 1, found("bubbles", 2, 2)),
        night(made, 2, traced=False, outcome=Outcome.FAILED),
        night(made, 3, found("bubbles", 1, 2, in_reference=2)),
    ]
    course = made.course(nights)
    assert [looked(one) for one in course.fared] == [True, False, True]
    [row] = finding_rows(course)
    assert row.became == (
        "since the first night, 1 Nov 2026 · now in 1 of 2 traces · the reference has it in 2"
    )
    assert [(one.share, one.words) for one in row.stretches] == [
        (1.0, "1 Nov 2026: found in 2 of 2 traces"),
        (None, "2 Nov 2026: no traces"),
        (0.5, "3 Nov 2026: found in 1 of 2 traces"),
    ]


def test_rules_that_stand_come_before_those_that_went(made: Any) -> None:
    nights = [night(made, 1, found("alone"), found("zebra")), night(made, 2, found("zebra"))]
    assert [(one.rule, one.stands) for one in finding_rows(made.course(nights))] == [
        ("zebra", True),
        ("alone", False),
    ]


def test_a_finding_of_the_reference_alone_is_none_of_the_candidate(made: Any) -> None:
    nights = [night(made, 1, found("bubbles", 0, 1, in_reference=1))]
    assert finding_rows(made.course(nights)) == ()


def test_of_many_turns_the_last_are_told(made: Any) -> None:
    nights = [night(made, day, *([found("bubbles")] * (day % 2))) for day in range(1, 8)]
    [row] = finding_rows(made.course(nights))
    assert row.became == (
        "3 turns before · gone on 4 Nov 2026 · appeared 5 Nov 2026 · gone on 6 Nov 2026 · "
        "appeared 7 Nov 2026 · now in 1 of 1 trace"
    )
    assert len(row.stretches) == 7


def test_stretches_cover_all_nights_once(made: Any) -> None:
    nights = [night(made, day, *([found("x", day % 3, 2)] * (day % 2))) for day in range(1, 12)]
    for row in finding_rows(made.course(nights)):
        places = [at for one in row.stretches for at in range(one.begin, one.begin + one.nights)]
        assert places == list(range(11))
