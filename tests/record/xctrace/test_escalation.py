"""When which signal is sent, by literal times; and requests to stop, counted."""

import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from signal import SIGINT, SIGKILL, SIGTERM
from typing import Any

import pytest

from tracekit.record.xctrace.progress import Account, State
from tracekit.record.xctrace.recording_process import Deadlines, Escalation, stop_requests

ANNOUNCED, STARTED, STOPPING = State.ANNOUNCED, State.STARTED, State.STOPPING
SAVING, SAVED = State.SAVING, State.SAVED
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
    ("states", "foreign", "grown", "due"),
    [
        ((), False, None, 45),
        (((3, ANNOUNCED),), False, None, 45),
        (((3, ANNOUNCED), (4, STARTED)), False, None, 34),
        (((3, STARTED), (13, STOPPING)), False, None, 73),
        (((3, STARTED), (13, SAVING)), False, None, 313),
        (((3, STARTED), (13, SAVING), (20, SAVED)), False, None, 50),
        (((1, STARTED),), True, None, 391),  # what is not understood may be a saving
        # growth is time to save, and no excuse in any other state
        (((1, STARTED), (11, SAVING)), False, 300, 600),
        (((3, ANNOUNCED),), False, 40, 45),
        (((3, STARTED), (13, STOPPING)), False, 70, 73),
        (((3, STARTED), (13, SAVING), (20, SAVED)), False, 45, 50),
    ],
)
def test_each_state_has_its_own_deadline(
    states: Any, foreign: bool, grown: float | None, due: float
) -> None:
    made = escalation(*states, foreign=foreign)
    if grown is not None:
        made.grow(grown)
    assert made.due(due - 0.001) is None
    assert made.due(due) is SIGINT


def test_signals_come_in_order_each_after_the_time_of_the_one_before() -> None:
    made = escalation((1, STARTED))
    sent = [(now, made.due(now)) for now in (31, 150, 151, 210, 211, 220, 221)]
    assert [(now, number) for now, number in sent if number] == [
        (31, SIGINT),
        (151, SIGINT),
        (211, SIGTERM),
        (221, SIGKILL),
    ]
    assert (made.hopeless(225.9), made.hopeless(226)) == (False, True)
    assert made.due(500) is None


def test_a_state_that_is_reached_after_a_signal_has_its_full_time() -> None:
    made = escalation((1, STARTED))
    assert made.due(31) is SIGINT
    made.hear(replace(Account(), state=SAVING), 100)
    assert (made.due(399), made.due(400)) == (None, SIGINT)


@pytest.mark.parametrize(("done", "due"), [(8, 11), (32, 33)])
def test_a_target_that_is_done_soon_ends_the_recording_and_delays_nothing(
    done: float, due: float
) -> None:
    made = escalation((3, STARTED))
    made.finish(done)
    made.finish(done + 0.5)
    assert made.finished
    assert (made.due(due - 0.1), made.due(due)) == (None, SIGINT)
    made.finish(due + 1)
    assert (made.due(due + 119), made.due(due + 120)) == (None, SIGINT)


def ask(number: int = SIGINT) -> None:
    signal.raise_signal(number)  # to this thread: os.kill may reach another, some time later


@pytest.fixture
def hangups() -> Iterator[None]:
    """Let SIGHUP come through: under nohup it is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangups")
def test_requests_are_taken_once_and_signals_at_once_are_one() -> None:
    before = signal.getsignal(SIGTERM)
    with stop_requests(together=0) as asked:
        for number in (SIGINT, SIGTERM, signal.SIGHUP):
            ask(number)
        assert [asked() for _ in range(4)] == [True, True, True, False]
    with stop_requests(together=60) as asked:
        ask()
        ask(SIGTERM)
        assert [asked() for _ in range(2)] == [True, False]
    assert signal.getsignal(SIGTERM) is before


def test_what_is_ignored_stays_ignored_and_another_thread_changes_no_handlers() -> None:
    before, seen = signal.signal(SIGINT, signal.SIG_IGN), list[object]()

    def enter() -> None:
        with stop_requests():
            seen.append(signal.getsignal(SIGTERM))

    try:
        with stop_requests() as asked:
            ask()
            assert not asked()
            assert signal.getsignal(SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(SIGINT, before)
    handler = signal.getsignal(SIGTERM)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [handler]
