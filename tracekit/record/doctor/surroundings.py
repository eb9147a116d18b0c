"""What the doctor looks at: one place for all that differs from machine to machine."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.machine.state import State
from tracekit.machine.watch import look
from tracekit.record.xctrace.command import Run, run
from tracekit.record.xctrace.disk import Free, free_bytes
from tracekit.record.xctrace.rivals import Rival, rivals
from tracekit.workload.plan import TRACES


@dataclass(frozen=True)
class Surroundings:
    """A machine as the doctor sees it; tests describe another one.

    Attributes:
        system: "Darwin", "Linux" …
        architecture: That of this Python.
        release: Of the kernel.
        run: How commands are run.
        patience: Seconds that a tool of Xcode's may take to answer.
        environment: The environment variables.
        rivals: Lists the other recorders that run.
        free: Measures the free space where a folder is.
        runs: The folder in which runs land.
        temporary: The folder for temporary files, where xctrace stages recordings.
        executable: This Python, as it calls itself.
        state: Looks at what a night would want to know of the machine.
    """

    system: str = field(default_factory=platform.system)
    architecture: str = field(default_factory=platform.machine)
    release: str = field(default_factory=platform.release)
    run: Run = run
    patience: float = 60
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    rivals: Callable[[], Iterable[Rival]] = rivals
    free: Free = free_bytes
    runs: Path = TRACES
    temporary: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    executable: str = sys.executable
    state: Callable[[], State] = look

    @property
    def on_mac(self) -> bool:
        """Tell whether this is macOS."""
        return self.system == "Darwin"

    @property
    def has_xcrun(self) -> bool:
        """Tell whether there is anything to look for xctrace with."""
        return self.find("xcrun") is not None

    def find(self, program: str) -> str | None:
        """Return the path of a program, as a shell would find it."""
        return shutil.which(program, path=self.environment.get("PATH", ""))

    def answer(self, *argv: str, seconds: float = 10) -> str:
        """Return what a command prints; empty where it fails, or does not exist."""
        try:
            completed = self.run(argv, seconds)
        except TracekitError:
            return ""
        return completed.stdout.strip() if completed.returncode == 0 else ""


def here() -> Surroundings:
    """Return this machine."""
    return Surroundings()


def existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(one for one in (folder, *folder.parents) if one.is_dir())
