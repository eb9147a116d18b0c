"""From the findings of all rules to those of a run: one for each stretch of time, worst first.

`bubbles` says how long the device was idle, and which lever has most of that time. A rule of one
cause of idle time says why, in the same time. So `bubbles` carries the sentence of the rule with
the same lever, and names it among its effects; so it does with all rules of idle time where that
lever has nearly all of it. An advice is given once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tracekit.analysis.idle.levers import NAMED_BY
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Finding, Severity
from tracekit.analysis.wording import put_into_words

_WHOLE = "bubbles"
_ALL = 0.9  # of the idle time, from which no other part has a time of its own
_FOLLOW_IDLE_TIME = frozenset({Mechanism.CLOCK_BURSTS})  # the GPU lowers its clock while it waits
_VAGUE = frozenset({Mechanism.SPIKES_UNEXPLAINED, Mechanism.HOST_ELSEWHERE})
"""Levers that say no more than that of `bubbles` does."""
_DOMINANT = "dominant-work"
_SAY_MORE = frozenset(
    {
        *("avoidable-kernels", "unfused-attention", "gather-share", "scatter-encoder"),
        *("blit-copies", "growing-steps", "performance-cliff", "shared-queue", "low-occupancy"),
        *("memory-bound", "compute-bound", "other-limiter", "shader-spills"),
    }
)
"""Rules that say why some work takes most of the device's time."""
_BY_SHAPE = frozenset({"hot-allocations", "uneven-work"})
"""What follows from inputs of unlike sizes."""
_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def rank_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a run, by severity and then by what they could save."""
    merged = merge_parts(list(findings))
    ranked = sorted(_without_details(merged), key=_rank)
    return tuple(_advise_once(ranked))


def _rank(finding: Finding) -> tuple[int, bool, float]:
    """Return the place: by severity; what ends a run stands before what slows it; by the saving."""
    return _RANKS[finding.severity], not lost(finding, "urgent"), -(finding.saving or 0)


def _without_details(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those of which another one is the reason, or says more."""
    levers = {each.lever for each in findings}
    rules = {each.rule for each in findings}
    explained: set[str] = set()
    if Mechanism.MEMORY_BY_SHAPE in levers:
        explained |= _BY_SHAPE
    if rules & _SAY_MORE:
        explained.add(_DOMINANT)
    return [each for each in findings if each.rule not in explained]


def merge_parts(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, those that explain the time of `bubbles` made one with it."""
    whole = next((each for each in findings if each.rule == _WHOLE), None)
    if whole is None:
        return list(findings)
    parts = [each for each in findings if each.within == _WHOLE]
    same = [part for part in parts if part.lever == whole.lever]
    same += [part for part in parts if _says_no_more(part) and part not in same]
    named = {whole.also, *_named_by(whole.lever), *_named_by(whole.also)}
    same += [part for part in parts if part.lever in named and part not in same]
    same += [each for each in findings if each.lever in _FOLLOW_IDLE_TIME]
    same += [each for each in findings if _is_delay_alone(each, whole)]
    if lost(whole, "idle_by_lever") >= _ALL * lost(whole, "idle"):
        same += [part for part in parts if part not in same]
    kept = [each for each in findings if each is not whole and each not in same]
    return [_merge(whole, same), *kept]


def _named_by(lever: str) -> set[Mechanism]:
    """Return the levers that the words of this one name as well."""
    return NAMED_BY.get(Mechanism(lever), set()) if lever in set(Mechanism) else set()


def _is_delay_alone(finding: Finding, whole: Finding) -> bool:
    """Tell whether other processes only delayed the target: that is idle time, and nothing else."""
    if finding.lever != Mechanism.OTHER_PROCESS or whole.lever != finding.lever:
        return False
    return finding is not whole and lost(finding, "delay") > 0 and not lost(finding, "shared")


def _says_no_more(part: Finding) -> bool:
    return part.lever in _VAGUE and part.severity is Severity.WARNING


def lost(finding: Finding, name: str) -> float:
    """Return a time that a finding is about, in ns; 0 where it does not have it."""
    times = (fact.value for fact in finding.facts if fact.name == name)
    return next((time for time in times if isinstance(time, (int, float))), 0)


def _merge(whole: Finding, parts: Sequence[Finding]) -> Finding:
    """Return the whole with the sentence of the part that has its lever, and all as effects."""
    effects = tuple(part.rule for part in parts)
    first = next((part for part in parts if part.lever == whole.lever), None)
    if first is None:
        return replace(whole, effects=effects)
    # What is won is what the lever wins that is advised.
    won = {"saving_least", "saving_most"}
    own = tuple(fact for fact in whole.facts if fact.name not in won)
    known = {fact.name for fact in own}
    facts = tuple(fact for fact in first.facts if fact.name not in known)
    # The frame says already which tables are missing.
    reason = put_into_words(_with_fact(first, Fact("lacking", ""))).message
    explained = _with_fact(whole, Fact("reason", reason))
    if any(fact.name == "meanwhile" for fact in first.facts):
        explained = _with_fact(explained, Fact("meanwhile", ""))
    return replace(
        whole,
        message=put_into_words(explained).message,
        facts=(*own, *facts),
        saving=first.saving,
        effects=effects,
    )


def _with_fact(finding: Finding, changed: Fact) -> Finding:
    """Return the finding with a fact in the place of the one of that name."""
    others = (fact for fact in finding.facts if fact.name != changed.name)
    return replace(finding, facts=(*others, changed))


def _advise_once(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Yield the findings; the advice on a lever that stands above already is left out."""
    given: set[str] = set()
    for finding in findings:
        lever = finding.lever or finding.advice
        again = lever in given
        given.add(lever)
        yield replace(finding, advice="") if again else finding
