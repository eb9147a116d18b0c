"""The beliefs about xctrace: a data file with the grade, the source and the answers of each.

`tracekit doctor --questions` asks them, `--learn` adds the answers of reports to the file.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import InputError, files, write_whole

BELIEFS_FILE = Path(__file__).with_name("beliefs.toml")
Value = bool | int | float | str


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
class LearnedAnswer:
    """The answer of one machine; `virtual` if its GPU is virtual."""

    value: Value
    xcode: str
    system: str
    chip: str
    virtual: bool
    asked: str

    @property
    def place(self) -> str:
        """The machine, in words."""
        kind = ", virtual" if self.virtual else ""
        return f"{self.chip or 'unknown chip'}{kind}, macOS {self.system}, Xcode {self.xcode}"


@dataclass(frozen=True)
class ToolBelief:
    """One belief about xctrace, and tracekit's response to it.

    `expected` is the value that a question should observe; of a belief that is `at_most`, the
    largest one. A `capability` depends on the GPU, so that a virtual machine proves nothing.
    """

    words: str
    grade: Grade
    source: str
    response: str
    question: str
    expected: Value
    at_most: bool = False
    capability: bool = False
    answers: tuple[LearnedAnswer, ...] = ()

    def judge(self, value: Value | None) -> AnswerVerdict:
        """Compare an observed value, None if there is none, with the expected one."""
        if value is None:
            return AnswerVerdict.NOT_ANSWERED
        if (
            self.at_most
            and isinstance(value, int | float)
            and isinstance(self.expected, int | float)
        ):
            return AnswerVerdict.AS_BELIEVED if value <= self.expected else AnswerVerdict.DIFFERS
        if type(value) is type(self.expected) and value == self.expected:
            return AnswerVerdict.AS_BELIEVED
        return AnswerVerdict.DIFFERS


def read_beliefs(file: Path = BELIEFS_FILE) -> dict[str, ToolBelief]:
    """Return the beliefs of a file by their names; raise InputError if it cannot be understood."""
    try:
        tables = tomllib.loads(files.read_input(file).decode())
        return msgspec.convert(tables, dict[str, ToolBelief])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.MsgspecError) as error:
        raise InputError(f"{file} is not a file of beliefs: {error}.") from error


def write_beliefs(beliefs: Mapping[str, ToolBelief], file: Path = BELIEFS_FILE) -> None:
    """Write a file of beliefs, whole or not at all; raise RecordingError if it cannot."""
    write_whole(file, render_beliefs(beliefs).encode())


def render_beliefs(beliefs: Mapping[str, ToolBelief]) -> str:
    """Return the text of a file of beliefs."""
    return "\n".join(_HEAD) + "".join(f"\n{_render(*entry)}" for entry in beliefs.items())


_HEAD = (
    "# Beliefs about xctrace. `tracekit doctor --questions` asks them, `tracekit doctor --learn`",
    "# adds answers, and docs/explanation/what-is-not-established.md is made of them.",
    "#",
    "# words       the belief, in a sentence without its end",
    "# grade       firm, one report, guess, open",
    "# source      where it comes from",
    "# response    how tracekit handles it",
    "# question    the question that asks it",
    "# expected    the value that the question should observe; with at_most the largest one",
    "# capability  whether it depends on the GPU, so that a virtual machine proves nothing",
    "# answers     the answers of machines",
    "",
)


def _render(name: str, belief: ToolBelief) -> str:
    lines = [f"[{name}]"]
    fields = ("words", "grade", "source", "response", "question", "expected")
    lines += [f"{field} = {_literal(getattr(belief, field))}" for field in fields]
    if belief.at_most:
        lines.append("at_most = true")
    if belief.capability:
        lines.append("capability = true")
    for answer in belief.answers:
        lines.append(f"[[{name}.answers]]")
        members: dict[str, Any] = msgspec.to_builtins(answer)
        lines += [f"{member} = {_literal(value)}" for member, value in members.items()]
    return "\n".join(lines) + "\n"


def _literal(value: Value) -> str:
    """Return a value as TOML writes it: JSON's form is TOML's for these types."""
    return json.dumps(value, ensure_ascii=False)


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
            key = str(belief.judge(answer.value)) if belief.at_most else _literal(answer.value)
            places.setdefault(key, []).append(answer.place)
        if len(places) > 1:
            sides = "; ".join(f"{key} on {', '.join(names)}" for key, names in places.items())
            yield f"{name}: {belief.words}: {sides}."
