"""The arguments of `xctrace record`, and what is refused before anything is recorded."""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from device_lists import fitting_devices
from scenario import Scenario
from versions import Version

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_ALONE = {"--no-prompt", "--all-processes"}
# Options of the help that the fake does not act on, and so refuses.
_NOT_PLAYED = {
    "--append-run", "--package", "--show-recording-options",
}  # fmt: skip


class RefusalError(Exception):
    """The arguments are refused, with an exit code and a text."""


@dataclass
class Arguments:
    values: dict[str, str] = field(default_factory=dict)
    instruments: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    alone: set[str] = field(default_factory=set[str])  # options without a value
    command: list[str] = field(default_factory=list)

    @property
    def template(self) -> str:
        """Return the name of the template."""
        return Path(self.values.get("--template", "Blank")).name.removesuffix(".tracetemplate")

    @property
    def attach(self) -> str:
        return self.values.get("--attach", "")

    @property
    def no_prompt(self) -> bool:
        return "--no-prompt" in self.alone

    @property
    def all_processes(self) -> bool:
        return "--all-processes" in self.alone

    @property
    def limit(self) -> tuple[float | None, str]:
        """Return the time limit in seconds, and as the first line states it."""
        text = self.values.get("--time-limit", "")
        if not text:
            return None, ""
        match = re.fullmatch(r"(\d+)(ms|s|m|h)?", text)
        if match is None:
            raise RefusalError(64, f"unexpected time limit: {text}")
        seconds = int(match[1]) * _UNITS[match[2] or "s"]
        limit_text = f"{seconds * 1000:.1f} ms" if match[2] == "ms" else f"{seconds:.1f} s"
        return seconds, f" Time limit: {limit_text}"


def parse(options: list[str], version: Version) -> Arguments:
    """Read the options that this version has; raise RefusalError for any other."""
    names = {flag.split()[0] for flag in version.flags} - _NOT_PLAYED
    arguments, remaining_words = Arguments(), list(options)
    while remaining_words:
        word = remaining_words.pop(0)
        if word == "--launch":
            arguments.command = (
                remaining_words[1:] if remaining_words[:1] == ["--"] else remaining_words
            )
            break
        if word not in names or (word not in _ALONE and not remaining_words):
            raise RefusalError(64, f"unexpected argument: {word}")  # the wording is not on record
        if word in _ALONE:
            arguments.alone.add(word)
        elif word == "--instrument":
            arguments.instruments.append(remaining_words.pop(0))
        elif word == "--env":
            variable, _, text = remaining_words.pop(0).partition("=")
            arguments.env[variable] = text
        else:
            arguments.values[word] = remaining_words.pop(0)
    return arguments


def check(arguments: Arguments, scenario: Scenario) -> None:
    """Refuse what the real one refuses; only the codes and texts on record are exact."""
    _refuse_as_told(arguments, scenario)
    _ = arguments.limit  # refuses one that is none
    command, attach = arguments.command, arguments.attach
    version = scenario.version
    for name in arguments.instruments:
        if name not in version.instruments:
            raise RefusalError(56, f"Instrument with name '{name}' cannot be found")
    _check_options(arguments.values.get("--recording-options"))
    device = arguments.values.get("--device", "")
    if device and len(fitting_devices(device, scenario)) > 1:
        raise RefusalError(28, f"Provided device parameter '{device}' is ambiguous")
    if len([target for target in (command, attach, arguments.all_processes) if target]) != 1:
        raise RefusalError(64, "no target, or several")
    _check_template(arguments.values.get("--template"), scenario)
    if command and not os.access(command[0], os.X_OK):
        raise RefusalError(64, f"cannot launch {command[0]}")
    if attach and not attach.isdecimal():
        raise RefusalError(19, f"Cannot find process matching name: {attach}")
    if attach and not _runs(int(attach)):
        raise RefusalError(21, f"Cannot find process for provided pid: {attach}")
    output = Path(arguments.values["--output"])
    if output.exists():
        raise RefusalError(64, f"will not write over {output.name}")


def _check_template(template: str | None, scenario: Scenario) -> None:
    """Refuse a template that is neither a name nor a file.

    Whether Blank is a name is reported both ways.
    """
    names = [*scenario.version.templates, *(["Blank"] if scenario.get("blank") else [])]
    if template in names and template in scenario.get("user_templates", []):
        raise RefusalError(30, f"Provided template parameter '{template}' is ambiguous")
    missing = scenario.get("without", [])
    names = [name for name in names if name not in missing]
    if template not in (None, *names) and not Path(template).is_file():
        raise RefusalError(64, f"unknown template {template}")


def _check_options(file: str | None) -> None:
    """Refuse options of an instrument that lack keys; the keys themselves are not on record."""
    if file is None:
        return
    try:
        options = json.loads(Path(file).read_text())
    except (OSError, ValueError):
        raise RefusalError(64, "no options") from None  # the wording is not on record
    if not all(options.values()):
        raise RefusalError(57, "The data couldn't be read because it is missing")


def _refuse_as_told(arguments: Arguments, scenario: Scenario) -> None:
    refuse = scenario.get("refuse")
    way = "launch" if arguments.command else "attach"
    if not refuse or refuse.get("way", way) != way:
        return
    if scenario.is_due("refuse", refuse.get("times")):
        raise RefusalError(refuse["code"], refuse["text"])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
