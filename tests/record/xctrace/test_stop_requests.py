"""Requests to stop are counted while something must not be broken off."""

import os
import signal
import threading

import pytest

from tracekit.record.xctrace.recording_process import stop_requests


def ask(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_is_taken_once(number: int) -> None:
    before = signal.getsignal(number)
    with stop_requests() as asked:
        ask(number)
        assert asked()
        assert not asked()
    assert signal.getsignal(number) is before


def test_signals_at_once_are_one_request() -> None:
    with stop_requests(together=60) as asked:
        ask()
        ask()
        ask(signal.SIGTERM)
        assert [asked() for _ in range(3)] == [True, False, False]


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_requests() as asked:
            ask()
            assert not asked()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_changes_no_handlers() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def enter() -> None:
        with stop_requests():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]
