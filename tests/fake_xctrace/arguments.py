"""The arguments of `xctrace record`, and what is refused before anything is recorded."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import texts
from scenario import Scenario

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_WITH_VALUE = {
    "--output", "--template", "--instrument", "--time-limit", "--attach", "--env",
    "--target-stdout",
}  # fmt: skip
_ALONE = {"--append-run", "--all-processes", "--no-prompt"}


class RefusalError(Exception):
    """The arguments are refused, with an exit code and a text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass
class Arguments:
    """The options of one recording."""

    values: dict[str, str] = field(default_factory=dict)
    instruments: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    command: list[str] = field(default_factory=list)

    @property
    def template(self) -> str:
        """Return the template's name, as the first line and the TOC state it."""
        name = self.values.get("--template", "Blank")
        return Path(name).stem if name.endswith(".tracetemplate") else name

    @property
    def attach(self) -> str:
        """Return the process to attach to, as it was given."""
        return self.values.get("--attach", "")

    @property
    def limit_text(self) -> str:
        """Return the time limit as it was given."""
        return self.values.get("--time-limit", "")

    @property
    def limit(self) -> float | None:
        """Return the time limit in seconds."""
        if not self.limit_text:
            return None
        number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)?", self.limit_text).groups()
        return int(number) * _UNITS[unit or "s"]

    @property
    def announced_limit(self) -> str:
        """Return the limit as the first line states it: milliseconds stay milliseconds."""
        if self.limit is None:
            return ""
        if self.limit_text.endswith("ms"):
            return f" Time limit: {float(self.limit_text[:-2]):.1f} ms"
        return f" Time limit: {self.limit:.1f} s"


def parse(options: list[str]) -> Arguments:
    arguments = Arguments()
    rest = list(options)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--launch":
            arguments.command = rest[1:] if rest[:1] == ["--"] else rest
            break
        if word in _ALONE:
            arguments.flags.add(word)
            continue
        if name not in _WITH_VALUE or not (equals or rest):
            raise RefusalError(64, f"unexpected argument: {word}")
        _take(arguments, name, value if equals and name == "--env" else rest.pop(0))
    return arguments


def _take(arguments: Arguments, name: str, value: str) -> None:
    if name == "--instrument":
        arguments.instruments.append(value)
    elif name == "--env":
        variable, _, text = value.partition("=")
        arguments.env[variable] = text
    else:
        arguments.values[name] = value


def check(arguments: Arguments, scenario: Scenario) -> None:
    """Refuse what the real one refuses; only the codes and texts on record are exact."""
    refuse = scenario["refuse"]
    if refuse and scenario.still("refuse", refuse.get("times")):
        raise RefusalError(refuse["code"], refuse["text"])
    if arguments.limit_text and not re.fullmatch(r"\d+(ms|s|m|h)?", arguments.limit_text):
        raise RefusalError(64, f"unexpected time limit: {arguments.limit_text}")
    if not (arguments.command or arguments.attach or "--all-processes" in arguments.flags):
        raise RefusalError(64, "no target")
    _check_names(arguments, scenario)
    _check_target(arguments)
    output = Path(arguments.values.get("--output", ""))
    if output.suffix == ".trace" and output.exists() and "--append-run" not in arguments.flags:
        raise RefusalError(64, f"will not write over {output.name}")


def _check_names(arguments: Arguments, scenario: Scenario) -> None:
    instruments = scenario.get("instruments", texts.INSTRUMENTS).splitlines()
    for name in arguments.instruments:
        if name not in instruments:
            raise RefusalError(56, f"Instrument with name '{name}' cannot be found")
    template = arguments.values.get("--template")
    templates = scenario.get("templates", texts.TEMPLATES).splitlines()
    if template and template not in templates and not Path(template).is_file():
        raise RefusalError(64, f"unknown template {template}")
    if template and templates.count(template) > 1:
        raise RefusalError(30, f"Provided template parameter '{template}' is ambiguous")


def _check_target(arguments: Arguments) -> None:
    if arguments.command and not os.access(arguments.command[0], os.X_OK):
        raise RefusalError(64, f"cannot launch {arguments.command[0]}")
    if not arguments.attach:
        return
    if not arguments.attach.isdecimal():
        raise RefusalError(19, f"Cannot find process matching name: {arguments.attach}")
    try:
        os.kill(int(arguments.attach), 0)
    except OSError as error:
        text = f"Cannot find process for provided pid: {arguments.attach}"
        raise RefusalError(21, text) from error
