"""The scorer of the sealed exams: what an analysis says, held against what an expert reads.

It reads the document that `tracekit analyze --json` prints, and nothing else of tracekit.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABELS = Path(__file__).parent / "sealed" / "labels.toml"
SECOND_LABELS = Path(__file__).parent / "second" / "labels.toml"
THIRD_LABELS = Path(__file__).parent / "third" / "labels.toml"
FOURTH_LABELS = Path(__file__).parent / "fourth" / "labels.toml"
FIFTH_LABELS = Path(__file__).parent / "fifth" / "labels.toml"
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]?%")
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+")
_NEGATION = re.compile(
    r"\b(?:no|not|nothing|nobody|none|neither|nor|never|without|cannot)\b|n't\b"
    r"|\b(?:instead of|rather than)\b",
    re.IGNORECASE,
)
_SAID = ("message", "advice")


@dataclass(frozen=True)
class Label:
    """What an expert reads in a recording, and what must not be said of it; see `labels.toml`.

    `false` is held against findings that are not notes, `untrue` against all of them. Both count in
    sentences without a negation only. `foreign` counts wherever it is said.
    """

    thread: str
    accepted: str
    mechanism: str
    program: str
    process: str
    published: str
    chosen: str
    reads: str
    cause: tuple[str, ...]
    lever: tuple[str, ...]
    shares: tuple[float, ...]
    tolerance: float
    false: tuple[str, ...]
    foreign: tuple[str, ...]
    longest: int
    within: int = 1
    healthy: bool = False
    untrue: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """How an analysis answered one problem.

    `fired` names the rules with a finding that is not a note; `share` is None where none is asked
    for. `false` and `foreign` are the words that were said and must not be; `length` is that of the
    first finding, in characters.
    """

    fired: tuple[str, ...]
    cause: bool
    lever: bool
    share: bool | None
    false: tuple[str, ...]
    foreign: tuple[str, ...]
    length: int
    longest: int
    healthy: bool = False

    @property
    def is_answered(self) -> bool:
        """Whether cause, lever and share were read; of a healthy program, that nothing was."""
        if self.healthy:
            return not self.fired
        return bool(self.fired) and self.cause and self.lever and self.share is not False

    @property
    def is_right(self) -> bool:
        """Whether it is answered, with no word too many."""
        spoiled = self.false or self.foreign or self.length > self.longest
        return self.is_answered and not spoiled


def read_labels(path: Path = LABELS) -> dict[str, Label]:
    """Return the label of each problem, by its name.

    Raises:
        TypeError: A label has a field that is not known, or lacks one.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: Label(**{key: _frozen(value) for key, value in entry.items()})
        for name, entry in entries.items()
    }


def score(label: Label, result: Mapping[str, Any]) -> Score:
    """Hold the document of an analysis against a label."""
    findings: Sequence[Mapping[str, Any]] = result["findings"]
    judged = [finding for finding in findings if finding["severity"] != "note"]
    first_words = " ".join(_words(finding) for finding in findings[: label.within])
    all_words = " ".join(_words(finding) for finding in findings)
    shares = [*_percentages(first_words), *_ratios(findings[: label.within])]
    return Score(
        fired=tuple(finding["rule"] for finding in judged),
        cause=bool(_matches(label.cause, first_words)),
        lever=bool(_matches(label.lever, first_words)),
        share=_names_share(label, shares),
        false=_matches_affirmed(label.false, judged) + _matches_affirmed(label.untrue, findings),
        foreign=_matches(label.foreign, all_words),
        length=len(_words(findings[0])) if findings else 0,
        longest=label.longest,
        healthy=label.healthy,
    )


def table(labels: Mapping[str, Label], scores: Mapping[str, Score]) -> str:
    """Return the scores as a table of mechanism and program, in Markdown."""
    head = ("mechanism", "program", "thread", "cause", "lever", "share", "false or foreign", "long")
    lines = [head, tuple("---" for _ in head)]
    lines += [_line(labels[name], exam_score) for name, exam_score in scores.items()]
    answered = sum(exam_score.is_answered for exam_score in scores.values())
    right = sum(exam_score.is_right for exam_score in scores.values())
    rows = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    total = f"{answered} of {len(scores)} answered, {right} with no word too many."
    return f"{rows}\n\n{total}\n"


def _line(label: Label, exam_score: Score) -> tuple[str, ...]:
    answers = (
        "yes" if exam_score.cause else "no",
        "yes" if exam_score.lever else "no",
        _share_word(exam_score.share),
    )
    if label.healthy:
        answers = ("silent" if exam_score.is_answered else ", ".join(exam_score.fired), "", "")
    words = ", ".join(f"`{word}`" for word in (*exam_score.false, *exam_score.foreign))
    long = (
        f"{exam_score.length} of {exam_score.longest}"
        if exam_score.length > exam_score.longest
        else ""
    )
    return label.mechanism, label.program, label.thread, *answers, words, long


def _share_word(share: bool | None) -> str:
    if share is None:
        return ""
    return "yes" if share else "no"


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _words(finding: Mapping[str, Any]) -> str:
    """Return what a finding says, on one line."""
    text = " ".join(str(finding[key]) for key in _SAID if finding.get(key))
    return " ".join(text.split())


def _matches(patterns: Sequence[str], words: str) -> tuple[str, ...]:
    matches = (re.search(pattern, words, re.IGNORECASE) for pattern in patterns)
    return tuple(match.group() for match in matches if match)


def _matches_affirmed(
    patterns: Sequence[str], findings: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return what matches in a sentence that denies nothing."""
    sentences = [
        sentence for finding in findings for sentence in _SENTENCE_END.split(_words(finding))
    ]
    affirmed = [sentence for sentence in sentences if not _NEGATION.search(sentence)]
    return tuple(match for sentence in affirmed for match in _matches(patterns, sentence))


def _percentages(words: str) -> list[float]:
    return [float(match) / 100 for match in _PERCENT.findall(words)]


def _ratios(findings: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the facts that are ratios."""
    facts = [fact for finding in findings for fact in finding.get("facts", ())]
    ratios = [fact["value"] for fact in facts if fact.get("unit") == "ratio"]
    return [float(value) for value in ratios if isinstance(value, int | float)]


def _names_share(label: Label, named_shares: Sequence[float]) -> bool | None:
    if not label.shares:
        return None
    return any(
        abs(share - expected) <= label.tolerance
        for share in named_shares
        for expected in label.shares
    )
