"""Waits for a byte, then becomes the program: run as `python -I -S gate.py GO SAID COERCED ARGV`.

A program must not begin before its guardian knows its process id; otherwise tracekit could be
killed in between, and the program would run on. GO is a descriptor that brings a byte, or ends
when tracekit is gone; SAID takes the number of an error; COERCED says whether Python has set
LC_CTYPE by itself. Nothing of tracekit is imported here, to be quick.
"""

import os
import signal
import sys

_NOT_STARTED = 127


def main(arguments: list[str]) -> int:
    """Wait, then replace this process by the program; return only if that failed."""
    go, said, coerced, *argv = arguments
    if not os.read(int(go), 1):
        return _NOT_STARTED
    os.close(int(go))
    os.set_inheritable(int(said), False)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; programs do not
        signal.signal(number, signal.SIG_DFL)
    if coerced == "1":
        os.environ.pop("LC_CTYPE", None)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - a command line that the user gave
    except OSError as error:
        os.write(int(said), str(error.errno).encode())
    return _NOT_STARTED


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
