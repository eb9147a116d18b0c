"""Run tracekit as if this were a Mac with a chip: `as_mac.py CHIP ARGUMENTS…`.

Programs of macOS come from a folder that `MAC_PROGRAMS` names. It works with any commit of
tracekit, because it changes what Python says of the system, and nothing of tracekit.
"""

import os
import platform
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_FOLDER = Path(os.environ["MAC_PROGRAMS"])
_start = subprocess.Popen.__init__


def _start_of_mac(self: Any, argv: Any, *arguments: Any, **options: Any) -> None:
    """Start a program of the folder in the place of one with its name in a system's folder."""
    words = list(argv) if not isinstance(argv, str) else [argv]
    program = _FOLDER / Path(str(words[0])).name
    if str(words[0]).startswith("/usr/") and program.exists():
        words[0] = str(program)
    _start(self, words, *arguments, **options)


def main() -> None:
    for name in ("pandas", "psutil"):  # they look for modules of the platform
        import_module(name)
    platform.system = lambda: "Darwin"
    platform.machine = lambda: "arm64"
    subprocess.Popen.__init__ = _start_of_mac  # pyright: ignore[reportAttributeAccessIssue]
    if os.environ.get("MAC_PLATFORM"):
        sys.platform = "darwin"
    sys.argv = ["tracekit", *sys.argv[1:]]
    from tracekit.cli.main import main as run  # noqa: PLC0415 - it reads the system when imported

    run()


if __name__ == "__main__":
    main()
