"""Facts of Xcode: which is selected, whether its xctrace answers, what it can record."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tracekit.base import ToolError, TracekitError
from tracekit.record.doctor.facts import (
    Fact,
    Surroundings,
    failed,
    not_applicable,
    ok,
    unknown,
    warning,
)
from tracekit.record.xctrace.command import Completed, failure
from tracekit.record.xctrace.problems import LICENCE, SELECT_XCODE, WAYS_TO_COUNTERS, recognize
from tracekit.record.xctrace.selection import GPU_COUNTERS, METAL_SYSTEM_TRACE
from tracekit.record.xctrace.tool import Listing, Patience, Version, Xctrace, read_version

_COMMAND_LINE_TOOLS = "/Library/Developer/CommandLineTools"
_NAMES = ("developer folder", "xctrace", "licence", "template", "gpu counters")


@dataclass(frozen=True)
class Toolchain:
    """What Xcode gave: the facts, and xctrace with its version where it answered."""

    facts: tuple[Fact, ...]
    tool: Xctrace | None = None
    version: str = ""


def toolchain(surroundings: Surroundings) -> Toolchain:
    """Look for Xcode and xctrace; where there cannot be any, say what that means."""
    if not surroundings.on_mac and not surroundings.has_xcrun:
        return Toolchain(tuple(_elsewhere(surroundings.system)))
    folder = _developer_folder(surroundings)
    try:
        tool, version = _find(surroundings)
    except _ToolchainError as error:
        return Toolchain((folder, *_without_tool(error.completed, str(error), error.hint)))
    except TracekitError as error:
        return Toolchain((folder, *_without_tool(None, error.message, error.hint)))
    answered = (_version_fact(version), ok("licence", "accepted: xctrace runs"))
    return Toolchain((folder, *answered, *_contents(tool)), tool, version.text)


def _elsewhere(system: str) -> Iterator[Fact]:
    why = f"Xcode runs on macOS only, and this is {system}."
    for name in _NAMES:
        instead = " Record on a Mac, and read its exports here with `tracekit import`."
        yield not_applicable(name, why + instead if name == "xctrace" else why)


class _ToolchainError(TracekitError):
    """A tool of Xcode's failed; `completed` is what it said."""

    def __init__(self, completed: Completed) -> None:
        told = failure(completed)
        super().__init__(told.message, told.hint)
        self.completed = completed


def _find(surroundings: Surroundings) -> tuple[Xctrace, Version]:
    path = _said(surroundings, "xcrun", "--find", "xctrace")
    if not path:
        raise ToolError(
            "`xcrun --find xctrace` ended well but named no path.", hint="Is this Apple's xcrun?"
        )
    version = read_version(_said(surroundings, path, "version"))
    return Xctrace(path, surroundings.run, Patience(answer=surroundings.patience)), version


def _said(surroundings: Surroundings, *argv: str) -> str:
    completed = surroundings.run(argv, surroundings.patience)
    if completed.returncode != 0:
        raise _ToolchainError(completed)
    return completed.stdout.strip()


def _developer_folder(surroundings: Surroundings) -> Fact:
    name = "developer folder"
    chosen = surroundings.environment.get("DEVELOPER_DIR", "")
    folder = chosen or surroundings.answer("xcode-select", "-p")
    if not folder.startswith("/"):
        return unknown(name, "`xcode-select -p` names none.", SELECT_XCODE)
    if folder.startswith(_COMMAND_LINE_TOOLS):
        how = "DEVELOPER_DIR names" if chosen else "Selected are"
        return failed(name, f"{how} the Command Line Tools, which have no xctrace.", SELECT_XCODE)
    return ok(name, f"{folder}{' (DEVELOPER_DIR)' if chosen else ''}")


def _without_tool(completed: Completed | None, message: str, hint: str) -> Iterator[Fact]:
    fix = hint or "Run the same line by hand and see what it says."
    yield failed("xctrace", " ".join(message.split()), fix)
    problem = recognize(completed.returncode, completed.text) if completed else None
    if problem is LICENCE:
        yield failed("licence", LICENCE.meaning, LICENCE.hint)
    else:
        yield unknown("licence", "xctrace does not answer.")
    for name in ("template", "gpu counters"):
        yield unknown(name, "xctrace does not answer.")


def _version_fact(version: Version) -> Fact:
    if version.xcode is None:
        return unknown(
            "xctrace",
            f"It answers {version.text!r}, which names no build.",
            "Is this Apple's xctrace?",
        )
    return ok("xctrace", f"{version.text}: by its build {version.build}, of Xcode {version.xcode}")


def _contents(tool: Xctrace) -> Iterator[Fact]:
    yield _listed(
        "template",
        METAL_SYSTEM_TRACE,
        _names(tool.list_templates),
        failed(
            "template",
            f"This Xcode has no template {METAL_SYSTEM_TRACE!r}.",
            "`xcrun xctrace list templates` names those it has; `--template` takes one of them, "
            "or a file that Instruments saved. A whole Xcode has it: install it again.",
        ),
    )
    yield _listed(
        "gpu counters",
        GPU_COUNTERS,
        _names(tool.list_instruments),
        warning(
            "gpu counters",
            f"This Xcode has no instrument {GPU_COUNTERS!r}.",
            WAYS_TO_COUNTERS,
        ),
    )


def _names(ask: Callable[[], Listing]) -> tuple[str, ...]:
    try:
        return ask().names
    except TracekitError:
        return ()


def _listed(name: str, wanted: str, names: tuple[str, ...], absent: Fact) -> Fact:
    if not names:
        return unknown(name, "xctrace lists nothing.", "Run `xcrun xctrace list` by hand.")
    return ok(name, f"{wanted} is listed") if wanted in names else absent
