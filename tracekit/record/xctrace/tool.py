"""The tool: one method a subcommand. The features of a version are queried, never assumed."""

import logging
import re
import shutil
import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Literal

from tracekit.base import RecordingError, ToolError, TracekitError
from tracekit.record.beliefs import choose_seconds
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.command import NO_DOCUMENT, Completed, Run, check, run

log = logging.getLogger(__name__)

_BUILD = re.compile(r"\(([0-9A-Za-z]+)\)")
_SECTION = re.compile(r"^== (.+) ==$")
_SCHEMA = re.compile(r"[\w.-]+", re.ASCII)
_BUILD_OF_26 = 17  # Apple skipped from 16 to 26; every other build agrees


@dataclass(frozen=True)
class Version:
    """The output of `xctrace version`; only the build in brackets distinguishes versions.

    The number before it is not monotonic: Xcode 26.3 prints 26.0, Xcode 26.6 prints 16.0.
    """

    text: str
    build: str = ""

    @property
    def xcode(self) -> int | None:
        """Xcode's major version, from the build; None without a build."""
        digits = re.match(r"\d+", self.build)
        if digits is None:
            return None
        major = int(digits[0])
        if major == _BUILD_OF_26:
            return 26
        return major


Listed = Literal["templates", "instruments"]


@dataclass(frozen=True)
class ToolTimeouts:
    """Seconds to wait for a command, and the pauses before each new try to export."""

    answer: float = field(default_factory=partial(choose_seconds, "answer-seconds"))
    export: float = field(default_factory=partial(choose_seconds, "export-seconds"))
    pauses: tuple[float, ...] = (1, 2, 4, 8)


class Xctrace:
    """Apple's `xctrace`, found at `path` and started through `run`."""

    def __init__(self, path: str, run: Run = run, timeouts: ToolTimeouts | None = None) -> None:
        self.path = path
        self.run = run
        self._timeouts = timeouts or ToolTimeouts()
        self._help: dict[str, str] = {}

    def bind_supervisor(self, supervisor: Supervisor) -> "Xctrace":
        """Return the same tool, none of whose commands outlives tracekit."""
        supervised_run = self.run
        if self.run is run:
            supervised_run = partial(run, supervisor=supervisor)
        return Xctrace(self.path, supervised_run, self._timeouts)

    @cached_property
    def version(self) -> Version:
        """Ask for the version; raise ToolError if Xcode is not ready to be used."""
        return read_version(self._ask("version").stdout.strip())

    def knows(self, command: str, flag: str) -> bool:
        """Return whether the help of a subcommand, asked for once, names `flag`."""
        if command not in self._help:  # its exit code does not matter
            argv = (self.path, "help", command)
            self._help[command] = self.run(argv, self._timeouts.answer).text
        text = self._help[command]
        return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None

    def sections(self, kind: Listed) -> dict[str, list[str]]:
        """Return the names that this Xcode and its user have, under headings, in order."""
        completed = self._ask("list", kind)
        listing = parse_listing(completed.stdout)
        if any(listing.values()):
            return listing
        return parse_listing(completed.stderr)

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

        `place` (1, 2 …) chooses among tables of the same schema. After a failure the part written
        so far is kept next to it, with `.partial` appended to its name.
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
        completed = self._export_once(argv, partial)
        for pause in pauses:
            code = completed.returncode
            if not code or not NO_DOCUMENT.fits(code, completed.text):
                break
            log.info("the bundle cannot be exported yet; trying again in %g s", pause)
            time.sleep(pause)
            completed = self._export_once(argv, partial)
        check(completed)
        if not _starts_like_xml(partial):
            raise ToolError(
                f"xctrace wrote no XML to {partial}, though it ended well.",
                hint=completed.text or "It said nothing.",
            )
        partial.replace(output)
        return output

    def _export_once(self, argv: tuple[str, ...], partial: Path) -> Completed:
        partial.unlink(missing_ok=True)
        return self.run(argv, self._timeouts.export)


def read_version(text: str) -> Version:
    """Find the build in the output of `xctrace version`; empty if there is none."""
    build = _BUILD.search(text)
    if build is None:
        return Version(text)
    return Version(text, build.group(1))


def locate(run: Run = run, timeouts: ToolTimeouts | None = None) -> Xctrace:
    """Find xctrace through `xcrun`; raise ToolError with the reason and a remedy."""
    timeouts = timeouts or ToolTimeouts()
    xcrun_answer = check(run(("xcrun", "--find", "xctrace"), timeouts.answer))
    path = xcrun_answer.stdout.strip()
    if not path:
        raise ToolError(
            "`xcrun --find xctrace` ended well but named no path.", hint="Is this Apple's xcrun?"
        )
    return Xctrace(path, run, timeouts)


def find_xctrace(run: Run = run) -> Xctrace | None:
    """Return xctrace if it can be used, else None; starts nothing without `xcrun`.

    If there is `xcrun` but no usable xctrace, the reason, which `locate` raises, is logged.
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
