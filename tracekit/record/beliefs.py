"""The beliefs about xctrace: a data file with the grade, the source and the answers of each.

Code that depends on a belief asks here for the value to act on. `tracekit doctor --questions` asks
xctrace, and `--learn` adds the answers of reports to the file. An answer counts for the Xcode that
gave it; if machines with the same Xcode contradict each other, the expected value stays.
"""

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import InputError, files

BELIEFS_FILE = Path(__file__).with_name("beliefs.toml")
VARIABLE = "TRACEKIT_BELIEFS"
Value = bool | int | float | str
_MARGIN = 1.5  # a deadline is that much longer than the longest time that was measured


class Grade(StrEnum):
    """How sure a belief is."""

    FIRM = "firm"
    ONE_REPORT = "one report"
    GUESS = "guess"
    OPEN = "open"


class AnswerVerdict(StrEnum):
    """An answer, held against the belief."""

    AS_BELIEVED = "as believed"
    DIFFERS = "differs"
    NOT_ANSWERED = "not answered"


@dataclass(frozen=True)
class LongerThan:
    """A time that was not measured to its end: it is longer than so many seconds."""

    seconds: float


@dataclass(frozen=True)
class LearnedAnswer:
    """The answer of one machine; `virtual` if its GPU is virtual.

    A `longer` answer is a time of which only a lower bound was measured.
    """

    value: Value
    xcode: str
    system: str
    chip: str
    virtual: bool
    asked: str
    longer: bool = False

    @property
    def place(self) -> str:
        """The machine, in words."""
        kind = ", virtual" if self.virtual else ""
        return f"{self.chip or 'unknown chip'}{kind}, macOS {self.system}, Xcode {self.xcode}"

    @property
    def words(self) -> str:
        """The value in words."""
        value = render_value(self.value)
        return f"longer than {value}" if self.longer else value


@dataclass(frozen=True)
class ToolBelief:
    """One belief about xctrace, and tracekit's response to it.

    `expected` is the value that a question should observe; of a belief that is `at_most`, the
    largest one. `lower` and `upper` bound the numbers that can be learned, or the length of a text.
    A `capability` depends on the GPU, so that a virtual machine proves nothing. Without a
    `question`, `obstacle` is the reason why no experiment can answer it.
    """

    words: str
    grade: Grade
    source: str
    response: str
    question: str
    expected: Value
    at_most: bool = False
    lower: float | None = None
    upper: float | None = None
    capability: bool = False
    obstacle: str = ""
    answers: tuple[LearnedAnswer, ...] = ()

    def judge(self, value: Value | None, *, longer: bool = False) -> AnswerVerdict:
        """Compare an observed value, None if there is none, with the expected one.

        A time that is only `longer` than a value is not answered until it exceeds the expected one.
        """
        if value is None:
            return AnswerVerdict.NOT_ANSWERED
        if self.at_most and _is_number(value) and _is_number(self.expected):
            return self._judge_time(float(value), longer=longer)
        if type(value) is type(self.expected) and value == self.expected:
            return AnswerVerdict.AS_BELIEVED
        return AnswerVerdict.DIFFERS

    def _judge_time(self, seconds: float, *, longer: bool) -> AnswerVerdict:
        limit = float(self.expected)
        if seconds > limit or (longer and seconds >= limit):
            return AnswerVerdict.DIFFERS
        if longer:
            return AnswerVerdict.NOT_ANSWERED
        return AnswerVerdict.AS_BELIEVED

    def describe_misfit(self, value: Value) -> str:
        """Return why a value cannot be an answer; empty if it can."""
        if self.at_most and _is_number(value):
            kinds_agree = True
        else:
            kinds_agree = type(value) is type(self.expected)
        if not kinds_agree:
            return f"{render_value(value)} is not of the kind of {render_value(self.expected)}"
        if isinstance(value, str) and not value.isprintable():
            return f"{render_value(value)} is not one printable line"
        if isinstance(value, bool):
            return ""
        measure = len(value) if isinstance(value, str) else value
        is_too_low = self.lower is not None and measure < self.lower
        is_too_high = self.upper is not None and measure > self.upper
        if is_too_low or is_too_high:
            unit = " characters" if isinstance(value, str) else ""
            bounds = f"{self.lower or 0:g} to {self.upper:g}{unit}"
            return f"{render_value(value)} is outside of {bounds}"
        return ""

    def choose_value(self, xcode: str = "", chip: str = "") -> Value:
        """Return the value to act on with an Xcode, by its build, and on a chip.

        It is the one that all machines with this Xcode answered, and of a capability those with
        this chip, too; else the expected one. A time is the expected one, or half as much again as
        the longest that any machine took, within the bounds: a short answer shortens nothing.
        """
        if self.at_most:
            return self._choose_time()
        values: list[Value] = []
        for answer in self.answers:
            is_same_chip = answer.chip == chip or not self.capability
            if xcode and answer.xcode == xcode and is_same_chip:
                values.append(answer.value)
        if len(set(values)) == 1:
            return values[0]
        return self.expected

    def _choose_time(self) -> float:
        seconds = float(self.expected)
        for answer in self.answers:
            seconds = max(seconds, _MARGIN * float(answer.value))
        if self.upper is None:
            return seconds
        return min(seconds, max(self.upper, float(self.expected)))

    def all_values(self) -> tuple[Value, ...]:
        """Return the expected value and those of all machines, each once."""
        return tuple(dict.fromkeys((self.expected, *(answer.value for answer in self.answers))))


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def render_value(value: Value) -> str:
    """Return a value as TOML writes it: JSON's form is TOML's for these types."""
    return json.dumps(value, ensure_ascii=False)


def find_beliefs_file() -> Path:
    """Return the file of beliefs: the one that TRACEKIT_BELIEFS names, else that of tracekit."""
    name = os.environ.get(VARIABLE, "")
    if name:
        return Path(name)
    return BELIEFS_FILE


def read_beliefs(file: Path | None = None) -> dict[str, ToolBelief]:
    """Return the beliefs of a file by their names, by default of the one that is in use.

    A file in use that does not exist has those of tracekit. Raise InputError if a file cannot be
    understood, lacks a belief of tracekit's, or has an answer that cannot be one.
    """
    used_file = find_beliefs_file()
    if file is None:
        file = used_file if used_file.exists() else BELIEFS_FILE
    try:
        text = files.read_input(file).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not a file of beliefs: {error}.") from error
    return dict(_parse(text, file))


@lru_cache(maxsize=4)
def _parse(text: str, file: Path) -> Mapping[str, ToolBelief]:
    try:
        beliefs = msgspec.convert(tomllib.loads(text), dict[str, ToolBelief])
    except (tomllib.TOMLDecodeError, msgspec.MsgspecError) as error:
        raise InputError(f"{file} is not a file of beliefs: {error}.") from error
    for name, belief in beliefs.items():
        for value in belief.all_values():
            misfit = belief.describe_misfit(value)
            if misfit:
                raise InputError(f"{file} is not a file of beliefs: {name}: {misfit}.")
    return beliefs


def find_belief(name: str) -> ToolBelief:
    """Return a belief of the file in use; raise InputError if the file lacks it."""
    beliefs = read_beliefs()
    if name not in beliefs:
        raise InputError(
            f"{find_beliefs_file()} has no belief {name!r}.",
            hint=f"`unset {VARIABLE}`, or copy the entry from {BELIEFS_FILE}.",
        )
    return beliefs[name]


def choose_code(name: str, xcode: str = "", chip: str = "") -> int:
    """Return a number to act on: an exit code, or a counter profile."""
    return int(find_belief(name).choose_value(xcode, chip))


def choose_seconds(name: str) -> float:
    """Return a time to act on, in seconds."""
    return float(find_belief(name).choose_value())


def choose_truth(name: str, xcode: str = "", chip: str = "") -> bool:
    """Return whether to act as if a belief were true."""
    return bool(find_belief(name).choose_value(xcode, chip))


def list_codes(name: str) -> frozenset[int]:
    """Return the exit code that is expected, and those that machines answered."""
    return frozenset(int(value) for value in find_belief(name).all_values())


def list_texts(name: str) -> tuple[str, ...]:
    """Return the text that is expected, and those that machines answered: any may be met."""
    return tuple(str(value) for value in find_belief(name).all_values())


def write_beliefs(beliefs: Mapping[str, ToolBelief], file: Path) -> None:
    """Write a file of beliefs, whole or not at all; raise RecordingError if it cannot."""
    files.write_whole(file, render_beliefs(beliefs).encode())


def render_beliefs(beliefs: Mapping[str, ToolBelief]) -> str:
    """Return the text of a file of beliefs."""
    return "\n".join(_HEAD) + "".join(f"\n{_render(*entry)}" for entry in beliefs.items())


_HEAD = (
    "# Beliefs about xctrace. Code acts on them, `tracekit doctor --questions` asks them,",
    "# `tracekit doctor --learn` adds answers, and docs/explanation/what-is-not-established.md is",
    "# made of them.",
    "#",
    "# words       the belief, in a sentence without its end",
    "# grade       firm, one report, guess, open",
    "# source      where it comes from",
    "# response    how tracekit handles it",
    "# question    the question that asks it; empty if no experiment can",
    "# obstacle    the reason why no experiment can ask it",
    "# expected    the value that the question should observe; with at_most the largest one",
    "# lower, upper  the bounds of a number that can be learned, or of the length of a text",
    "# capability  whether it depends on the GPU, so that a virtual machine proves nothing",
    "# answers     the answers of machines",
    "",
)


def _render(name: str, belief: ToolBelief) -> str:
    lines = [f"[{name}]"]
    fields = ("words", "grade", "source", "response", "question", "expected")
    lines += [f"{field} = {render_value(getattr(belief, field))}" for field in fields]
    if belief.obstacle:
        lines.append(f"obstacle = {render_value(belief.obstacle)}")
    if belief.at_most:
        lines.append("at_most = true")
    for field in ("lower", "upper"):
        bound = getattr(belief, field)
        if bound is not None:
            lines.append(f"{field} = {bound:g}")
    if belief.capability:
        lines.append("capability = true")
    for answer in belief.answers:
        lines.append(f"[[{name}.answers]]")
        members: dict[str, Any] = msgspec.to_builtins(answer)
        for member, value in members.items():
            if member != "longer" or answer.longer:
                lines.append(f"{member} = {render_value(value)}")
    return "\n".join(lines) + "\n"


def beliefs_of(question: str, beliefs: Mapping[str, ToolBelief]) -> dict[str, ToolBelief]:
    """Return the beliefs that a question asks, by name."""
    return {name: belief for name, belief in beliefs.items() if belief.question == question}


def add_answers(belief: ToolBelief, answers: Iterable[LearnedAnswer]) -> ToolBelief:
    """Return a belief with more answers, each machine's latest once."""
    by_place = {answer.place: answer for answer in belief.answers}
    for answer in answers:
        known = by_place.get(answer.place)
        if known is None or known.asked <= answer.asked:
            by_place[answer.place] = answer
    ordered = sorted(by_place.values(), key=lambda answer: (answer.xcode, answer.place))
    return replace(belief, answers=tuple(ordered))


def find_contradictions(beliefs: Mapping[str, ToolBelief]) -> Iterator[str]:
    """Yield a sentence for each belief with different answers of machines; it names all of them.

    Measured times always differ: only those on both sides of the expected value count.
    """
    for name, belief in beliefs.items():
        places: dict[str, list[str]] = {}
        for answer in belief.answers:
            key = answer.words
            if belief.at_most:
                verdict = belief.judge(answer.value, longer=answer.longer)
                if verdict is AnswerVerdict.NOT_ANSWERED:
                    continue
                key = str(verdict)
            places.setdefault(key, []).append(answer.place)
        if len(places) > 1:
            sides = "; ".join(f"{key} on {', '.join(names)}" for key, names in places.items())
            yield f"{name}: {belief.words}: {sides}."


def describe_changes(beliefs: Mapping[str, ToolBelief]) -> Iterator[str]:
    """Yield a sentence for each value that answers of machines put in the place of another."""
    for name, belief in beliefs.items():
        if belief.at_most:
            seconds = belief.choose_value()
            if seconds != belief.expected:
                yield f"{name}: {seconds:g} s instead of {belief.expected} s."
            continue
        for xcode, chip in dict.fromkeys((answer.xcode, answer.chip) for answer in belief.answers):
            value = belief.choose_value(xcode, chip)
            if value != belief.expected:
                place = f"Xcode {xcode} on {chip}" if belief.capability else f"Xcode {xcode}"
                new = render_value(value)
                yield f"{name}: {new} instead of {render_value(belief.expected)} with {place}."
