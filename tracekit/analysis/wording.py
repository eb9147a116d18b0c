"""The sentence of a finding: a template over its facts, the only place that turns facts into words.

The templates are the files of `templates/findings`, in jinja2; those in `shared` belong to all
findings. A template refers to a fact by its name, and the fact is formatted by its unit; `if` tests
that it is neither zero, nor empty, nor unknown. Line breaks and indents of a template count as one
blank. The advice is that of the finding's lever.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tracekit.analysis.levers import ProgramKind, advice, brief, title_of
from tracekit.analysis.rule import Fact, Finding
from tracekit.base import files, units

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = "findings"
UNCOMPARED = "uncompared"
"""The fact that names values read by an encoding that was never compared with an export."""


class ShownFact:
    """A fact in a template: formatted by its unit, compared by its value."""

    def __init__(self, fact: Fact) -> None:
        """Wrap the fact."""
        self.value = fact.value
        self._unit = fact.unit

    def __str__(self) -> str:
        """Return the value in words."""
        if isinstance(self.value, str):
            return self.value
        if self._unit == "" and isinstance(self.value, int):
            return units.count(self.value)
        return units.quantity(self.value, self._unit)

    def __bool__(self) -> bool:
        """Return whether the value is neither zero, nor empty, nor unknown."""
        return bool(self.value)


def pluralize(number: ShownFact | int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 gap", "1,204 gaps", "2 passes"."""
    value = number.value if isinstance(number, ShownFact) else number
    if not isinstance(value, int):
        return f"{number} {plural or noun + 's'}"
    return f"{units.count(value)} {noun if value == 1 else plural or noun + 's'}"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  30 ms

    environment = Environment(
        loader=FileSystemLoader(files.find_shipped_folder("templates") / _FOLDER),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  plain text; a page escapes it
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., str]] = {"counted": pluralize}
    environment.filters.update(filters)
    return environment


def sentence_of(finding: Finding) -> str:
    """Return the sentence that states the finding's facts, and the reason for any doubt.

    A finding without a template keeps its own sentence.
    """
    shown_facts = {fact.name: ShownFact(fact) for fact in finding.facts}
    sentence = (
        _render_template(finding.wording, shown_facts) if finding.wording else finding.message
    )
    doubt = ""
    if UNCOMPARED in shown_facts:
        doubt = _render_template(f"shared/{UNCOMPARED}", shown_facts)
    return f"{sentence} {doubt}".rstrip()


def _render_template(name: str, shown_facts: dict[str, ShownFact]) -> str:
    template = _environment().get_template(f"{name}.txt")
    return " ".join(template.render(shown_facts).split())


def put_into_words(finding: Finding) -> Finding:
    """Return the finding with its sentence as its message."""
    return replace(finding, message=sentence_of(finding))


def put_advice(finding: Finding, kind: ProgramKind) -> Finding:
    """Return the finding with the remedy of its lever that fits this kind of program."""
    if not finding.lever:
        return finding
    words = advice(finding.lever, kind)
    if finding.also:
        other_words = brief(finding.also)
        words = f"{words} {other_words}".rstrip()
    return replace(finding, advice=words)


_SHARES = {
    "idle_share": "idle for {share} of {window}",
    "lost_share": "{share} of {window}",
    "device_share": "{share} of the device's time",
    "compiled_share": "{share} of {window}",
    "cost_share": "{share} of the replay's cost",
}
"""The words of a headline about a share, by the name of the fact."""


LONGEST_LINE = 80


def line_of(finding: Finding, cost: str = "", longest: int | None = LONGEST_LINE) -> str:
    """Return a finding in one line: its cause, its share, and its cost if given.

    The line has so many characters at most; None is no limit, and a sentence with its full stop.
    What has no room is left out: the window of the share first, then the share. The sentence of a
    finding without a lever ends after a word, with "…".
    """
    if longest is None:
        return headline(finding)
    room = longest - len(f" · {cost}" if cost else "")
    sentence = headline(finding).rstrip(".")
    title = title_of(finding.lever)
    candidates = [sentence]
    if title:
        candidates += [sentence.partition(" of ")[0], title]
    fitting = next((words for words in candidates if len(words) <= room), "")
    if not fitting:
        fitting = f"{candidates[-1][: room - 1].rpartition(' ')[0]}…"
    return f"{fitting} · {cost}" if cost else fitting


def headline(finding: Finding) -> str:
    """Return the finding in one line: its cause, and its share if it concerns time and is known.

    For a finding without a lever, or with a lever of another version of tracekit, it is the
    sentence.
    """
    title = title_of(finding.lever)
    if not title:
        return finding.message
    known_facts = [fact for fact in finding.facts if fact.value is not None]
    shown_facts = {fact.name: ShownFact(fact) for fact in known_facts}
    for name, words in _SHARES.items():
        if name in shown_facts and ("{window}" not in words or "window" in shown_facts):
            window = shown_facts.get("window", "")
            share = words.format(share=shown_facts[name], window=window)
            return f"{title}: {share}."
    return f"{title}."
