"""The guardian: `python -m tracekit.record.guardian SOCKET FOLDER`; tracekit starts it."""

import os
import signal
import socket
import sys
from pathlib import Path

from tracekit.record.guardian.care import decode
from tracekit.record.guardian.rescue import Charge, rescue

_CHUNK = 1 << 16
_MOST_HANDLES = 16


def main(arguments: list[str]) -> int:
    """Listen until tracekit says that all is done, or is gone; then stop what it left."""
    handle, folder = arguments
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    charge = Charge()
    with socket.socket(fileno=int(handle)) as line:
        if not _listen(line, charge):
            rescue(charge, Path(folder))
    return 0


def _listen(line: socket.socket, charge: Charge) -> bool:
    """Take orders; return whether the last one said that all is done."""
    rest = b""
    while True:
        try:
            chunk, handles, _, _ = socket.recv_fds(line, _CHUNK, _MOST_HANDLES)
        except ConnectionResetError:
            return False
        if not chunk:
            return False
        for one in handles:
            os.set_inheritable(one, False)
        charge.handles += handles
        *lines, rest = (rest + chunk).split(b"\n")
        for text in lines:
            order = decode(text)
            if order.done:
                return True
            charge.take(order)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
