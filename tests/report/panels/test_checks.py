from typing import Any

from tracekit.analysis.result import Check, Status
from tracekit.report.panels.checks import checks


def test_checks_are_sorted_by_how_they_ended(bare: Any) -> None:
    given = (
        Check("a", Status.PASSED),
        Check("b", Status.FAILED, "ZeroDivisionError"),
        Check("c", Status.ABSTAINED, "no counters"),
        Check("d", Status.FOUND),
        Check("e", Status.PASSED),
    )
    context = checks.context(bare.having(checks=given).result, {})
    assert [one.rule for one in context["passed"]] == ["a", "e"]
    assert context["failed"] == [given[1]]
    assert context["abstained"] == [given[2]]
    assert context["found"] == [given[3]]


def test_what_would_help_stands_above_reasons_and_equal_reasons_stand_once(bare: Any) -> None:
    cpu = "the work ran on the CPU; only a recording of xctrace, on a Mac, shows what a GPU does."
    given = tuple(
        Check(rule, Status.ABSTAINED, reason)
        for rule, reason in [
            ("low-occupancy", "the recording has no counter samples."),
            ("gpu-contended", cpu),
            ("late-start", cpu),
            ("odd", "the moon is full"),
            ("silent", ""),
            ("step-spikes", "3 steady steps are too few to have a rhythm"),
        ]
    )
    helps = checks.context(bare.having(checks=given).result, {})["helps"]
    assert [(one.title, [reason.rules for reason in one.reasons]) for one in helps] == [
        ("A recording on a Mac with Xcode", [("gpu-contended", "late-start")]),
        ("A recording with GPU counters", [("low-occupancy",)]),
        ("A longer run, or a longer steady window", [("step-spikes",)]),
        ("Other things", [("odd",), ("silent",)]),
    ]
    assert helps[-1].reasons[1].words == "no reason is given"


def test_no_checks_are_empty_lists(bare: Any) -> None:
    assert set(checks.context(bare.result, {})) == {
        "passed",
        "found",
        "abstained",
        "helps",
        "failed",
    }
    assert not any(checks.context(bare.result, {}).values())
