"""A terminal that a command in this process prints on, and all that reached it."""

import os
import pty
import sys
import threading
from pathlib import Path

from command_line import run

_END = b"\x04end"


def on_terminal(*arguments: str | Path) -> tuple[int, str]:
    """Run a command whose standard streams are one terminal; return its exit code and its text."""
    leader, follower = pty.openpty()
    received: list[bytes] = []

    def receive() -> None:
        # Not until its end: a process that goes on, as multiprocessing's own, has it open.
        while not (received and received[-1].endswith(_END)):
            received.append(os.read(leader, 1 << 16))

    reader = threading.Thread(target=receive)
    reader.start()
    before = sys.stdout, sys.stderr
    try:
        with (
            os.fdopen(os.dup(follower), "w", encoding="utf-8") as out,
            os.fdopen(follower, "w", encoding="utf-8") as err,
        ):
            sys.stdout, sys.stderr = out, err
            code = run(*arguments)
            sys.stdout, sys.stderr = before
            os.write(out.fileno(), _END)
            reader.join()
    finally:
        sys.stdout, sys.stderr = before
        os.close(leader)
    return code, b"".join(received).removesuffix(_END).decode()
