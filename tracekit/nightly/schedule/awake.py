"""A Mac that stays awake while a night runs."""

import logging
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)

_CAFFEINATE = Path("/usr/bin/caffeinate")
_SECONDS = 5.0


@contextmanager
def awake(program: Path = _CAFFEINATE, system: str = sys.platform) -> Generator[None]:
    """Keep a Mac from sleeping until this ends; elsewhere do nothing.

    As caffeinate(8) says, `-i` keeps the system from idle sleep, `-s` from all sleep while on
    mains, and `-w` lets it end with this process, even if that is killed.
    """
    if system != "darwin" or not program.exists():
        yield
        return
    argv = (str(program), "-i", "-s", "-w", str(os.getpid()))
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        log.warning("%s cannot be started, so this Mac may fall asleep: %s", program, error)
        yield
        return
    try:
        yield
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS)
        return
    process.kill()
    process.wait()
