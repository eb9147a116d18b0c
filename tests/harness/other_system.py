"""Run tracekit as on a system that has no fcntl, pwd and resource, no groups and few signals.

What Python's own library and other packages need of them is imported before: they have a way of
their own on such a system.
"""

import importlib.abc
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from typing import Any

ABSENT = ("fcntl", "grp", "pwd", "resource", "termios")
NAMES = (
    *("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fork", "getegid", "geteuid"),
    *("getgid", "getloadavg", "getuid", "killpg", "mkfifo", "pread", "pwrite"),
    *("sched_getaffinity", "setsid", "uname"),
)
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_BEFORE = (
    *(
        "asyncio",
        "distributed",
        "duckdb",
        "fsspec",
        "getpass",
        "http.server",
        "jinja2",
        "lxml.etree",
    ),
    *(
        "mcp.server",
        "mlx.core",
        "multiprocessing.util",
        "numpy",
        "pandas",
        "perfetto.trace_builder.proto_builder",
    ),
    *(
        "psutil",
        "pyarrow.parquet",
        "pyarrow.dataset",
        "rich.console",
        "rich.progress",
        "sqlalchemy",
    ),
    *("sqlalchemy.dialects.sqlite", "subprocess", "tempfile", "typer.main", "uuid", "webbrowser"),
)


class _Refusing(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname in ABSENT:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def leave_out() -> None:
    """Take away what such a system lacks, for what is imported from now on."""
    for name in _BEFORE:
        importlib.import_module(name)
    # Those start and end processes there by calls of that system's own.
    for module in ("subprocess", "psutil"):
        vars(sys.modules[module])["signal"] = SimpleNamespace(**vars(signal))
    for name in ABSENT:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Refusing())
    for module, names in ((os, NAMES), (signal, SIGNALS)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


def main() -> None:
    """Run command lines, a list of lists in JSON on stdin, and print how each ended as JSON."""
    lines = json.load(sys.stdin)
    leave_out()
    tracekit = importlib.import_module("tracekit.cli.main").main
    json.dump([_run_line(tracekit, line) for line in lines], sys.stdout)


def _run_line(tracekit: Callable[[Sequence[str]], None], line: Sequence[str]) -> dict[str, Any]:
    output, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    code = 0
    with redirect_stdout(output), redirect_stderr(err):
        try:
            tracekit(line)
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:  # noqa: BLE001  the test shows it
            code = 70
            traceback.print_exc()
    for stream in (output, err):
        stream.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (output, err)]
    return {"code": code, "out": texts[0], "err": texts[1]}


if __name__ == "__main__":
    main()
