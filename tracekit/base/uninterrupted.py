"""Work that no signal may cut in two, such as the start of a process."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Generator[None]:
    """Put off what signals ask for, so that no process is started that nobody knows of.

    The first of them is served as the context ends.
    """
    if threading.current_thread() is not threading.main_thread():  # signals do not come there
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def keep(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {one: found for one in asking if callable(found := signal.getsignal(one))}
    for one in before:
        signal.signal(one, keep)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for number, frame in came[:1]:
            before[signal.Signals(number)](number, frame)
