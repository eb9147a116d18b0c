"""The tool: one method a subcommand. What a version can do is asked, never assumed."""

import logging
import re
import shutil
import time
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Literal

from tracekit.base import RecordingError, ToolError, TracekitError
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.command import NO_DOCUMENT, Completed, Run, check, run

log = logging.getLogger(__name__)

_BUILD = re.compile(r"\(([0-9A-Za-z]+)\)")
_SECTION = re.compile(r"^== (.+) ==$")
_SCHEMA = re.compile(r"[\w.-]+", re.ASCII)
_BUILD_OF_26 = 17  # Apple skipped from 16 to 26; every other build agrees


@dataclass(frozen=True)
class Version:
    """What `xctrace version` prints; only the build in brackets tells versions apart.

    The number before it is not monotonic: Xcode 26.3 prints 26.0, Xcode 26.6 prints 16.0.
    """

    text: str
    build: str = ""

    @property
    def xcode(self) -> int | None:
        """Xcode's major version, from the build; None where there is no build."""
        digits = re.match(r"\d+", self.build)
        major = int(digits[0]) if digits else None
        return 26 if major == _BUILD_OF_26 else major


Listed = Literal["templates", "instruments"]


@dataclass(frozen=True)
class ToolTimeouts:
    """How long to wait for a command, in seconds, and the pauses before each new try to export."""

    answer: float = 60
    export: float = 1800
    pauses: tuple[float, ...] = (1, 2, 4, 8)


TIMEOUTS = ToolTimeouts()


class Xctrace:
    """Apple's `xctrace`, found at `path` and started through `run`."""

    def __init__(self, path: str, run: Run = run, timeouts: ToolTimeouts = TIMEOUTS) -> None:
        self.path = path
        self.run = run
        self._timeouts = timeouts
        self._help: dict[str, str] = {}

    def bind_supervisor(self, supervisor: Supervisor) -> "Xctrace":
        """Return the same tool, none of whose commands outlives tracekit."""
        supervised_run = partial(run, supervisor=supervisor) if self.run is run else self.run
        return Xctrace(self.path, supervised_run, self._timeouts)

    @cached_property
    def version(self) -> Version:
        """Ask for the version; raise ToolError where Xcode is not ready to be used."""
        return read_version(self._ask("version").stdout.strip())

    def knows(self, command: str, flag: str) -> bool:
        """Tell whether the help of a subcommand, asked for once, names `flag`."""
        if command not in self._help:  # how it ends is no matter
            argv = (self.path, "help", command)
            self._help[command] = self.run(argv, self._timeouts.answer).text
        text = self._help[command]
        return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None

    def sections(self, kind: Listed) -> dict[str, list[str]]:
        """Return what this Xcode and its user have: names under headings, in order."""
        completed = self._ask("list", kind)
        listing = parse_listing(completed.stdout)
        return listing if any(listing.values()) else parse_listing(completed.stderr)

    def names(self, kind: Listed) -> list[str]:
        """Return the names of all sections."""
        return list(chain.from_iterable(self.sections(kind).values()))

    def toc(self, bundle: Path, output: Path, *, patiently: bool = True) -> Path:
        """Write the table of contents of `bundle` to `output`; raise ToolError if it cannot.

        A bundle that is not ready is tried again, unless there is no hope: not `patiently`.
        """
        pauses = self._timeouts.pauses if patiently else ()
        return self._export(bundle, output, pauses, "--toc")

    def export_table(
        self, bundle: Path, number: int, schema: str, output: Path, place: int | None = None
    ) -> Path:
        """Write one table of run `number` to `output`, whole or not at all.

        `place` (1, 2 …) chooses among tables of the same schema. What was written before a
        failure is kept beside it, with `.partial` appended to its name.
        """
        if not _SCHEMA.fullmatch(schema):
            raise ToolError(f"{schema!r} is not the name of a table and is not exported.")
        nth = "" if place is None else f"[{place}]"
        xpath = f'/trace-toc/run[@number="{number}"]/data/table[@schema="{schema}"]{nth}'
        return self._export(bundle, output, self._timeouts.pauses, "--xpath", xpath)

    def _ask(self, *words: str) -> Completed:
        return check(self.run((self.path, *words), self._timeouts.answer))

    def _export(
        self, bundle: Path, output: Path, pauses: tuple[float, ...], *selection: str
    ) -> Path:
        partial = output.with_name(f"{output.name}.partial")
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{output.parent} cannot be made: {error.strerror}.") from error
        paths = ("--input", str(bundle.absolute()), "--output", str(partial.absolute()))
        argv = (self.path, "export", *paths, *selection)
        remaining_pauses = iter(pauses)
        while True:
            partial.unlink(missing_ok=True)
            completed = self.run(argv, self._timeouts.export)
            code, pause = completed.returncode, next(remaining_pauses, None)
            if pause is None or not (code and NO_DOCUMENT.fits(code, completed.text)):
                break
            log.info("the bundle cannot be exported yet; trying again in %g s", pause)
            time.sleep(pause)
        check(completed)
        if not _starts_like_xml(partial):
            raise ToolError(
                f"xctrace wrote no XML to {partial}, though it ended well.",
                hint=completed.text or "It said nothing.",
            )
        partial.replace(output)
        return output


def read_version(text: str) -> Version:
    """Find the build in what `xctrace version` printed; empty where there is none."""
    build = _BUILD.search(text)
    return Version(text, build.group(1) if build else "")


def locate(run: Run = run, timeouts: ToolTimeouts = TIMEOUTS) -> Xctrace:
    """Find xctrace through `xcrun`; raise ToolError that says what is missing and what helps."""
    xcrun_answer = check(run(("xcrun", "--find", "xctrace"), timeouts.answer))
    path = xcrun_answer.stdout.strip()
    if not path:
        raise ToolError(
            "`xcrun --find xctrace` ended well but named no path.", hint="Is this Apple's xcrun?"
        )
    return Xctrace(path, run, timeouts)


def find_xctrace(run: Run = run) -> Xctrace | None:
    """Return xctrace where it can be used, else None; starts nothing where there is no `xcrun`.

    Where there is `xcrun` but no usable xctrace, the reason, which `locate` raises, is logged.
    """
    if shutil.which("xcrun") is None:
        return None
    try:
        tool = locate(run)
        log.debug("found %s at %s", tool.version.text, tool.path)
    except TracekitError as error:
        log.warning("xctrace cannot be used: %s %s", error.message, error.hint)
        return None
    return tool


def parse_listing(text: str) -> dict[str, list[str]]:
    """Read names under `== Heading ==` lines; lines before the first heading are left out."""
    sections: dict[str, list[str]] = {}
    names: list[str] | None = None
    for line in map(str.strip, text.splitlines()):
        heading = _SECTION.match(line)
        if heading:
            names = sections.setdefault(heading.group(1), [])
        elif line and names is not None:
            names.append(line)
    return sections


def _starts_like_xml(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(256)
    except OSError:
        return False
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<?xml", b"<trace-"))
