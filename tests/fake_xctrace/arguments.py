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
    "--target-stdout", "--notify-tracing-started",
}  # fmt: skip


class RefusalError(Exception):
    """The arguments are refused, with an exit code and a text."""


@dataclass
class Arguments:
    values: dict[str, str] = field(default_factory=dict)
    instruments: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    no_prompt: bool = False
    command: list[str] = field(default_factory=list)

    @property
    def template(self) -> str:
        return Path(self.values.get("--template", "Blank")).name.removesuffix(".tracetemplate")

    @property
    def attach(self) -> str:
        return self.values.get("--attach", "")

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


def parse(options: list[str]) -> Arguments:
    arguments, remaining_words = Arguments(), list(options)
    while remaining_words:
        word = remaining_words.pop(0)
        if word == "--launch":
            arguments.command = (
                remaining_words[1:] if remaining_words[:1] == ["--"] else remaining_words
            )
            break
        if word == "--no-prompt":
            arguments.no_prompt = True
        elif word not in _WITH_VALUE or not remaining_words:
            raise RefusalError(64, f"unexpected argument: {word}")
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
    for name in arguments.instruments:
        if name not in texts.INSTRUMENTS.splitlines():
            raise RefusalError(56, f"Instrument with name '{name}' cannot be found")
    if not (command or attach):
        raise RefusalError(64, "no target")
    template = arguments.values.get("--template")
    if template not in (None, *texts.TEMPLATES.splitlines()) and not Path(template).is_file():
        raise RefusalError(64, f"unknown template {template}")
    if command and not os.access(command[0], os.X_OK):
        raise RefusalError(64, f"cannot launch {command[0]}")
    if attach and not attach.isdecimal():
        raise RefusalError(19, f"Cannot find process matching name: {attach}")
    if attach and not _runs(int(attach)):
        raise RefusalError(21, f"Cannot find process for provided pid: {attach}")
    output = Path(arguments.values["--output"])
    if output.exists():
        raise RefusalError(64, f"will not write over {output.name}")


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
