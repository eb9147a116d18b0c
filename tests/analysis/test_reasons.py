"""Equal reasons stand once."""

from tracekit.analysis.result import Check, Reason, Status, reasons

CHECKS = (
    Check("bubbles", Status.PASSED),
    Check("late-start", Status.ABSTAINED, "no steps."),
    Check("low-occupancy", Status.ABSTAINED, "no counters."),
    Check("broken", Status.FAILED, "no counters."),
    Check("memory-bound", Status.ABSTAINED, "no counters."),
    Check("quiet", Status.ABSTAINED),
)


def test_rules_with_one_reason_stand_together_the_most_first() -> None:
    assert reasons(CHECKS, Status.ABSTAINED) == (
        Reason("no counters.", ("low-occupancy", "memory-bound")),
        Reason("no steps.", ("late-start",)),
        Reason("no reason is given", ("quiet",)),
    )


def test_only_the_states_that_are_asked_for_count() -> None:
    assert reasons(CHECKS, Status.FAILED) == (Reason("no counters.", ("broken",)),)
    assert reasons(CHECKS) == ()
