"""What the doctor looks at, and what it finds: facts, and what to do about them."""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tracekit.base import Identity, TracekitError
from tracekit.machine import State, describe, look
from tracekit.record.xctrace.claim import Free, Rival, free_bytes, rivals
from tracekit.record.xctrace.command import Run, run
from tracekit.record.xctrace.tool import read_version
from tracekit.workload import TRACES


class Verdict(StrEnum):
    """How a fact stands."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Fact:
    """One row of the doctor's table.

    Attributes:
        name: What was looked at.
        verdict: How it stands.
        words: What it is, in words.
        fix: What to do about it; empty where there is nothing to do.
        needed: Whether nothing can be recorded without it, so that not knowing it leaves the
            whole question open.
    """

    name: str
    verdict: Verdict
    words: str
    fix: str = ""
    needed: bool = False


def ok(name: str, words: str) -> Fact:
    """Return a fact that is as it should be."""
    return Fact(name, Verdict.OK, words)


def warning(name: str, words: str, fix: str) -> Fact:
    """Return a fact that may spoil a recording, or part of it."""
    return Fact(name, Verdict.WARNING, words, fix)


def failed(name: str, words: str, fix: str) -> Fact:
    """Return a fact that makes a recording impossible; every one has its fix."""
    return Fact(name, Verdict.FAILED, words, fix, needed=True)


def not_applicable(name: str, why: str) -> Fact:
    """Return a fact that has no meaning on this machine."""
    return Fact(name, Verdict.NOT_APPLICABLE, why)


def unknown(name: str, why: str, fix: str = "", *, needed: bool = False) -> Fact:
    """Return a fact that could not be found out."""
    return Fact(name, Verdict.UNKNOWN, why, fix, needed)


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


_BUILD = re.compile(r"\d+[A-Z]\d+[a-z]?")


def identify(surroundings: Surroundings, xctrace_version: str) -> Identity:
    """Return the builds of system and Xcode, and the chip; empty where they cannot be known."""
    return Identity(
        system_build=system_build(surroundings) if surroundings.on_mac else surroundings.release,
        xcode_build=read_version(xctrace_version).build,
        chip=chip(surroundings),
    )


def system_build(surroundings: Surroundings) -> str:
    """Return the build of macOS; empty where it does not look like one."""
    text = surroundings.answer("/usr/bin/sw_vers", "-buildVersion")
    return text if _BUILD.fullmatch(text) else ""


def chip(surroundings: Surroundings) -> str:
    """Return the chip's name."""
    if surroundings.on_mac:
        return surroundings.answer("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")
    return str(describe().get("chip", ""))
