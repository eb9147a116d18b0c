"""A machine as the doctor sees it, with the Xcode that is found there."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tracekit.base import TracekitError, capabilities
from tracekit.machine import Machine, State, look
from tracekit.record.xctrace.claim import Free, Rival, free_bytes, rivals
from tracekit.record.xctrace.command import Run, run
from tracekit.record.xctrace.tool import Version, Xctrace, locate
from tracekit.workload import plan


@dataclass(frozen=True)
class DoctorSurroundings:
    """The surroundings that a recording on a machine depends on; tests describe another one."""

    machine: Machine = field(default_factory=Machine)
    run: Run = run
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    rivals: Callable[[], Iterable[Rival]] = rivals
    read_free_bytes: Free = free_bytes
    runs: Path = plan.TRACES  # the folder in which runs land
    # the folder for temporary files, where xctrace stages recordings
    temporary: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    executable: str = sys.executable
    state: Callable[[], State] = look  # the state of the machine, as a night reads it

    @property
    def has_xcode(self) -> bool:
        """Whether xctrace can be searched for."""
        return self.machine.on_mac or self.find("xcrun") is not None

    @property
    def has_xctrace(self) -> bool:
        """Whether xctrace answers."""
        return isinstance(self.xctrace, Xctrace)

    @cached_property
    def xctrace(self) -> Xctrace | TracekitError | None:
        """The xctrace of Xcode, or why it cannot be used; None without Xcode."""
        if not self.has_xcode:
            return None
        try:
            tool = locate(self.run)
            _ = tool.version  # asked here, so that its errors are known
        except TracekitError as error:
            return error
        return tool

    @property
    def identity(self) -> capabilities.Identity:
        """The builds of system and Xcode, and the chip; empty if they cannot be known."""
        if isinstance(self.xctrace, Xctrace):
            return self.identify(self.xctrace.version)
        return self.identify(Version(""))

    def identify(self, version: Version) -> capabilities.Identity:
        """Return the identity of this machine with an xctrace of some version."""
        return capabilities.Identity(self.machine.os_build, version.build, self.machine.chip)

    def find(self, program: str) -> str | None:
        """Return the path of a program, as a shell would find it."""
        return shutil.which(program, path=self.environment.get("PATH", ""))

    def answer(self, *argv: str, seconds: float = 10) -> str:
        """Return the output of a command; empty if it fails, or does not exist."""
        try:
            completed = self.run(argv, seconds)
        except TracekitError:
            return ""
        if completed.returncode != 0:
            return ""
        return completed.stdout.strip()
