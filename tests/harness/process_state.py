"""What a process has beside its objects: a command that ends leaves all of it as it was."""

import atexit
import decimal
import gc
import locale
import logging
import os
import pickle
import random
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pandas._config.config import _global_config


def process_state() -> dict[str, Any]:
    """Return all of it by name: settings of pandas too, and what random generators give next."""
    mask = os.umask(0o77)
    os.umask(mask)
    return {
        **{f"environment of {name}": value for name, value in os.environ.items()},
        **{f"handler of {number.name}": signal.getsignal(number) for number in signal.Signals},
        **dict(_loggers()),
        **{f"options of {name}": repr(value) for name, value in _global_config.items()},
        "blocked signals": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "wakeup descriptor": _wakeup(),
        "warnings filters": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "folder": str(Path.cwd()),
        "umask": mask,
        "sys.path": list(sys.path),
        "meta path": list(sys.meta_path),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "errors of streams": (sys.stdout.errors, sys.stderr.errors),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook, sys.unraisablehook),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "bytecode": sys.dont_write_bytecode,
        "collector": (gc.isenabled(), gc.get_threshold(), list(gc.callbacks)),
        "locale": locale.setlocale(locale.LC_ALL),
        "time zone": time.tzname,
        "temporary folder": tempfile.tempdir,
        "patience of sockets": socket.getdefaulttimeout(),
        "decimal context": str(decimal.getcontext()),
        "numbers of random": hash(random.getstate()),
        "numbers of numpy": pickle.dumps(np.random.get_state()),  # noqa: NPY002
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "calls at exit": atexit._ncallbacks(),
        "descriptors": sorted(_descriptors()),
    }


def changes(
    state_before: dict[str, Any], state_after: dict[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Return what differs, by name, as it was and as it is; loggers that are new do not count."""
    names = [
        name
        for name in {**state_before, **state_after}
        if name in state_before or "logger" not in name
    ]
    pairs = {name: (state_before.get(name), state_after.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _loggers() -> Iterator[tuple[str, Any]]:
    loggers = {"root": logging.getLogger(), **logging.root.manager.loggerDict}
    for name, logger in loggers.items():
        if isinstance(logger, logging.Logger):
            state = (logger.level, logger.disabled, logger.propagate, list(logger.handlers))
            yield f"logger {name}", state
    yield "level that loggers leave out", logging.root.manager.disable


def _wakeup() -> int:
    if threading.current_thread() is not threading.main_thread():
        return -1
    number = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(number)
    return number


def _descriptors() -> Iterator[str]:
    for entry in Path("/proc/self/fd").glob("*"):
        try:
            yield f"{entry.name}: {entry.readlink()}"
        except OSError:  # that of the listing itself
            continue
