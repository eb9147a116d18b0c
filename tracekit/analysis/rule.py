"""A rule: one judgement, a function of tables that yields findings with their evidence.

A rule's function is named after the bad state that it detects, and documents itself under four
heads, which pages and the reference show unchanged:

    What it looks for / Why it matters / What to do / When it abstains

If the docstring has no head "What to do", the neutral words of the levers that its module names
replace it.

Parameters without a default are tables of the recording and values that `Given` derives from them,
by name; keywords with a default are thresholds that a user may set. A rule without an answer raises
`Unavailable` with the reason. Some parameters are tables that a rule does not read itself: it
abstains if rows of them are missing, because the values derived from them would be wrong.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.analysis.levers import Mechanism
from tracekit.analysis.levers import advice as advice_on
from tracekit.base import units
from tracekit.tables import Severity

if TYPE_CHECKING:
    from tracekit.analysis.intervals import Times


@dataclass(frozen=True)
class Evidence:
    """A window of a table that shows the finding; times in ns of the trace.

    `note` describes this window, such as the cause of a gap.
    """

    table: str
    start: int
    end: int
    note: str = ""


@dataclass(frozen=True)
class Fact:
    """A number or a word that a finding rests on.

    `unit` is the unit of a number, as for a metric: "ns", "ratio", "bytes", "" for a count. A word,
    or None for an unknown value, has no unit.
    """

    name: str
    value: float | int | str | bool | None
    unit: str = ""


@dataclass(frozen=True)
class Finding:
    """The finding of a rule, as data: facts, the cause, the lever, windows and the saving.

    `wording` names the sentence that states the facts, a file of `templates/findings`; the analysis
    writes it into `message`. `lever` is the mechanism whose repair `levers.toml` describes, for
    this kind of program; the analysis writes that into `advice`. `cause` is the same mechanism, or
    a narrower one that has no lever of its own. `also` is a second mechanism, which has separate
    time or fits the same facts: the advice ends with its repair in brief. `effects` are the rules
    that found the same time, and therefore have no separate finding.

    `saving` is the time that could be saved in the window that the rule examined, in ns; None if it
    cannot be estimated. `saving_per_token` is the same for each token of the steady window; the
    analysis fills it in if steps and their tokens are known. `within` names the rule whose saving
    already includes most of this one's time, so that nobody adds both; the analysis keeps it only
    if that rule has a finding with a saving too.
    """

    rule: str
    severity: Severity
    message: str
    advice: str
    evidence: tuple[Evidence, ...] = ()
    saving: int | None = None
    saving_per_token: float | None = None
    within: str = ""
    wording: str = ""
    facts: tuple[Fact, ...] = ()
    cause: str = ""
    lever: str = ""
    also: str = ""
    effects: tuple[str, ...] = ()

    def as_effects(self) -> "Iterator[Finding]":
        """Yield a finding for each of the effects, to count the findings of each rule."""
        for rule in self.effects:
            words = f"It is an effect of {self.rule}, which says why."
            yield Finding(rule, self.severity, words, "", within=self.rule)

    def fact(self, name: str) -> float | int | str | bool | None:
        """Return the value of a fact; raise KeyError if the finding does not have it."""
        for fact in self.facts:
            if fact.name == name:
                return fact.value
        raise KeyError(name)

    @property
    def cost(self) -> str:
        """The time that a remedy would save in words; empty if it is not known."""
        if not self.saving:
            return ""
        return self.saving_range

    @property
    def saving_range(self) -> str:
        """The possible saving in words: from the least to the most, or up to the estimate."""
        facts: dict[str, float | int | str | bool | None] = {}
        for fact in self.facts:
            facts[fact.name] = fact.value
        minimum = facts.get("saving_least")
        maximum = facts.get("saving_most")
        if not isinstance(maximum, int):
            estimate = units.duration(self.saving or 0)
            return f"up to {estimate}"
        upper_text = units.duration(maximum)
        if not isinstance(minimum, int) or not minimum:
            return f"up to {upper_text}"
        lower_text = units.duration(minimum)
        if lower_text == upper_text:
            return lower_text
        return f"{lower_text} to {upper_text}"

    def describe_saving(self) -> str:
        """Return the possible saving in words, and the other finding that includes it."""
        if not self.saving:
            return ""
        saving_per_token = self.saving_per_token
        per_token = ""
        if saving_per_token is not None:
            per_token = f", {units.duration(saving_per_token)} per token"
        overlap_note = ""
        if self.within:
            overlap_note = f"; {self.within} counts that too"
        return f" Could save {self.saving_range}{per_token}{overlap_note}."


def finding(
    *,
    wording: str,
    lever: str,
    facts: tuple[Fact, ...] = (),
    evidence: tuple[Evidence, ...] = (),
    cause: str = "",
    also: str = "",
    severity: Severity = Severity.WARNING,
    saving: int | None = None,
    within: str = "",
) -> Finding:
    """Return a rule's finding; the analysis adds the rule's name, the sentence and the advice.

    The default cause is the lever.
    """
    return Finding(
        "",
        severity,
        "",
        "",
        evidence,
        saving,
        within=within,
        wording=wording,
        facts=facts,
        cause=cause or lever,
        lever=lever,
        also=also,
    )


Findings = Iterator[Finding]
"""The findings that a rule yields."""

_SHOWN = 20


def longest(
    table: str, starts: "Times", ends: "Times", notes: tuple[str, ...] = ()
) -> tuple[Evidence, ...]:
    """Return the longest windows, at most twenty, longest first."""
    windows: list[Evidence] = []
    for place in longest_first(ends - starts):
        note = ""
        if notes:
            note = notes[place]
        window = Evidence(table, int(starts[place]), int(ends[place]), note)
        windows.append(window)
    return tuple(windows)


def longest_first(lengths: "Times") -> list[int]:
    """Return the places of the longest, at most twenty, longest first; ties in order.

    Only those are sorted because there may be a million others.
    """
    number = min(_SHOWN, lengths.size)
    if not number:
        return []
    parted = lengths.copy()
    parted.partition(lengths.size - number)
    places = (lengths >= parted[lengths.size - number]).nonzero()[0]
    order = (-lengths[places]).argsort(kind="stable")[:number]
    return places[order].tolist()


def moments(
    table: str, times: Iterable[int], notes: Iterable[str] = repeat("")
) -> tuple[Evidence, ...]:
    """Return the first moments, at most twenty, each with its note."""
    windows: list[Evidence] = []
    for moment, note in islice(zip(times, notes, strict=False), _SHOWN):
        time = int(moment)
        windows.append(Evidence(table, time, time, note))
    return tuple(windows)


HEADS = ("What it looks for", "Why it matters", "What to do", "When it abstains")


@dataclass(frozen=True)
class Rule:
    """One judgement, by its name in kebab-case.

    Its function and its module in `rules` have the same name. Its words are read from the source,
    because importing the module would load pandas.
    """

    name: str

    @cached_property
    def judge(self) -> Callable[..., Iterator[Finding]]:
        """The function that makes the judgement, loaded on the first access."""
        return getattr(import_module(f"tracekit.analysis.rules.{self._function}"), self._function)

    @property
    def title(self) -> str:
        """The first line of the docstring: the bad state in a phrase."""
        return self._source[0].partition("\n")[0]

    @property
    def sections(self) -> dict[str, str]:
        """The four heads of the docstring with their texts; raises ValueError if one is missing."""
        docstring, advice = self._source
        parts = re.split(rf"^({'|'.join(HEADS)}):\s*", docstring, flags=re.MULTILINE)
        texts = {"What to do": advice, **dict(zip(parts[1::2], parts[2::2], strict=True))}
        if missing_heads := [head for head in HEADS if not texts.get(head, "").strip()]:
            raise ValueError(f"the rule {self.name} does not say: {', '.join(missing_heads)}")
        return {head: " ".join(texts[head].split()) for head in HEADS}

    @property
    def _function(self) -> str:
        return self.name.replace("-", "_")

    @cached_property
    def _source(self) -> tuple[str, str]:
        """The docstring of the function, and the remedies for the levers that the module names."""
        folder = Path(__file__).parent / "rules"
        file = folder / f"{self._function}.py"
        docstring = ""
        module = ast.parse(file.read_bytes())
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name == self._function:
                docstring = ast.get_docstring(node) or ""
        levers_advice = [advice_on(name) for name in _levers(module)]
        return docstring, " ".join(levers_advice)


def _levers(module: ast.Module) -> dict[str, None]:
    """Return the levers that a module names, each once, in their order."""
    mechanisms = set(Mechanism)
    levers: dict[str, None] = {}
    for node in ast.walk(module):
        if not isinstance(node, ast.keyword) or node.arg != "lever":
            continue
        for part in ast.walk(node.value):
            if isinstance(part, ast.Constant) and part.value in mechanisms:
                levers[str(part.value)] = None
    return levers


Settings = dict[str, dict[str, Any]]
