"""The tie to the recorder: a pipe that ends with it, however it ended."""

import os
import sys
import threading
import time

from tracekit.base.errors import InterruptedRunError
from tracekit.workload.worker.loop import Stop

GRACE = 5.0  # seconds for a step to end, the account to be closed, and a recorder to be stopped


def hold(stop: Stop, grace: float = GRACE) -> None:
    """Watch standard input in a thread that sleeps until it ends; then stop, soon for good."""
    threading.Thread(
        target=_watch, args=(sys.stdin.fileno(), stop, grace), name="lifeline", daemon=True
    ).start()


def _watch(pipe: int, stop: Stop, grace: float) -> None:
    while os.read(pipe, 4096):
        pass
    stop.abandoned = True
    stop.requests += 1
    time.sleep(grace)
    os._exit(InterruptedRunError.exit_code)
