"""When which signal is sent; the times are literal, nothing waits."""

from dataclasses import replace
from signal import SIGINT, SIGKILL, SIGTERM

import pytest

from tracekit.record.xctrace.progress import Account, State
from tracekit.record.xctrace.recording_process import Deadlines, Escalation

DEADLINES = Deadlines(
    start=45, slack=20, stopping=60, saving=300, exit=30, signals=(120, 60, 10, 5)
)


def escalation(*states: tuple[float, State], foreign: bool = False) -> Escalation:
    """Make one for a recording of 10 s, launched at 0, that heard states at times."""
    made = Escalation(DEADLINES, 10, 0)
    for at, state in states:
        made.hear(replace(Account(), state=state, foreign=foreign), at)
    return made


@pytest.mark.parametrize(
    ("states", "last_quiet", "due"),
    [
        ((), 44, 45),
        (((3, State.ANNOUNCED),), 44, 45),
        (((3, State.ANNOUNCED), (4, State.STARTED)), 33, 34),
        (((3, State.STARTED), (13, State.STOPPING)), 72, 73),
        (((3, State.STARTED), (13, State.SAVING)), 312, 313),
        (((3, State.STARTED), (13, State.SAVING), (20, State.SAVED)), 49, 50),
    ],
)
def test_each_state_has_its_own_deadline(
    states: tuple[tuple[float, State], ...], last_quiet: float, due: float
) -> None:
    made = escalation(*states)
    assert made.due(last_quiet) is None
    assert made.due(due) is SIGINT


def test_signals_come_in_order_each_after_the_time_of_the_one_before() -> None:
    made = escalation((1, State.STARTED))
    sent = [(now, made.due(now)) for now in (31, 150, 151, 211, 220, 221, 226, 500)]
    assert [(now, number) for now, number in sent if number] == [
        (31, SIGINT),
        (151, SIGINT),
        (211, SIGTERM),
        (221, SIGKILL),
    ]
    assert made.exhausted
    assert made.hopeless(226)


def test_a_state_that_is_reached_after_a_signal_has_its_full_time() -> None:
    made = escalation((1, State.STARTED))
    assert made.due(31) is SIGINT
    made.hear(replace(Account(), state=State.SAVING), 100)
    assert made.due(399) is None
    assert made.due(400) is SIGINT
    assert made.sent == (SIGINT, SIGINT)


def test_a_bundle_that_grows_while_it_is_saved_is_given_time() -> None:
    made = escalation((1, State.STARTED), (11, State.SAVING))
    made.grow(300)
    assert made.due(599) is None
    assert made.due(600) is SIGINT


@pytest.mark.parametrize("state", [State.ANNOUNCED, State.STARTED, State.STOPPING, State.SAVED])
def test_growth_is_no_excuse_in_any_other_state(state: State) -> None:
    made, grown = escalation((1, state)), escalation((1, state))
    grown.grow(2)
    times = range(1, 200)
    assert [made.due(now) for now in times] == [grown.due(now) for now in times]


def test_lines_that_are_not_understood_leave_time_to_save() -> None:
    made = escalation((1, State.STARTED), foreign=True)
    assert made.due(390) is None
    assert made.due(391) is SIGINT


def test_a_target_that_is_done_soon_ends_the_recording() -> None:
    made = escalation((3, State.STARTED))
    made.finish(8)
    made.finish(9)
    assert made.finished
    assert made.due(10) is None
    assert made.due(11) is SIGINT
    assert made.due(130) is None


def test_a_target_that_is_done_delays_nothing() -> None:
    made = escalation((3, State.STARTED))
    made.finish(32)
    assert made.due(33) is SIGINT
    made.finish(34)
    assert made.due(152) is None
    assert made.due(153) is SIGINT


def test_it_is_not_hopeless_while_the_last_signal_may_still_help() -> None:
    made = escalation((1, State.STARTED))
    for now in (31, 151, 211, 221):
        made.due(now)
    assert not made.hopeless(225)
