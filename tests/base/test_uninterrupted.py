import os
import signal
import threading

import pytest

from tracekit.base.processes import shield_signals


def test_a_signal_comes_when_the_process_is_known() -> None:
    done: list[str] = []

    def start() -> None:
        with shield_signals():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            done.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_no_signal_comes_nothing_is_put_off() -> None:
    seen: list[object] = []

    def work() -> None:
        with shield_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
