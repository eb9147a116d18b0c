"""Rank the findings of all rules for a run: one for each stretch of time, worst first.

`bubbles` gives the idle time of the device and the lever with most of it. A rule for one cause of
idle time explains the same time. So `bubbles` adopts the sentence of the rule with the same lever,
and names it among its effects; if that lever has nearly all of the idle time, all rules of idle
time become effects. Each advice is given once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tracekit.analysis.idle.levers import NAMED_BY
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Finding, Severity
from tracekit.analysis.wording import put_into_words

_WHOLE = "bubbles"
_MOST = 0.5  # share of the idle time from which a part names the lever of the whole
_ALL = 0.9  # share of the idle time above which the other parts have no separate time
_FOLLOW_IDLE_TIME = frozenset({Mechanism.CLOCK_BURSTS})  # the GPU lowers its clock while it waits
_VAGUE = frozenset({Mechanism.SPIKES_UNEXPLAINED, Mechanism.HOST_ELSEWHERE})
"""Levers that say no more than that of `bubbles` does."""
_ROWS_MISSING = "rows-missing"
_DOMINANT = "dominant-work"
_SPIKES = "step-spikes"
_SAY_MORE = frozenset(
    {
        *("avoidable-kernels", "unfused-attention", "gather-share", "scatter-encoder"),
        *("blit-copies", "growing-steps", "performance-cliff", "shared-queue", "low-occupancy"),
        *("memory-bound", "compute-bound", "other-limiter", "shader-spills"),
    }
)
"""Rules that say why some work takes most of the device's time."""
_BY_SHAPE = frozenset({"hot-allocations", "uneven-work"})
"""Rules whose findings follow from inputs of different sizes."""


def rank_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a run, by severity and then by saving."""
    merged = merge_parts(_name_whole(list(findings)))
    ranked = sorted(_without_details(merged), key=_rank)
    return tuple(_advise_once(ranked))


def _rank(finding: Finding) -> tuple[bool, int, bool, float]:
    """Return the sort key: what voids the others, severity, failures before slowdowns, saving."""
    return (
        finding.rule != _ROWS_MISSING,
        finding.severity.rank,
        not get_fact_time(finding, "urgent"),
        -(finding.saving or 0),
    )


def _without_details(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, without those that another one explains or states in more detail."""
    levers = {finding.lever for finding in findings}
    rules = {finding.rule for finding in findings}
    explained: set[str] = set()
    is_bulk = Mechanism.LONG_BEFORE_SHORT in levers
    if Mechanism.MEMORY_BY_SHAPE in levers:
        explained |= _BY_SHAPE
    if rules & _SAY_MORE:
        explained.add(_DOMINANT)
    return [
        finding
        for finding in findings
        if finding.rule not in explained
        and not (finding.rule == _SPIKES and is_bulk and finding.lever == Mechanism.UNEVEN_WORK)
    ]


def merge_parts(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings; those that explain the time of `bubbles` are merged into it."""
    idle_finding = next((finding for finding in findings if finding.rule == _WHOLE), None)
    if idle_finding is None:
        return list(findings)
    parts = [finding for finding in findings if finding.within == _WHOLE]
    merged_parts = [part for part in parts if part.lever == idle_finding.lever]
    merged_parts += [part for part in parts if _says_no_more(part) and part not in merged_parts]
    named_levers = {
        idle_finding.also,
        *_named_by(idle_finding.lever),
        *_named_by(idle_finding.also),
    }
    merged_parts += [
        part for part in parts if part.lever in named_levers and part not in merged_parts
    ]
    merged_parts += [finding for finding in findings if finding.lever in _FOLLOW_IDLE_TIME]
    merged_parts += [finding for finding in findings if _is_delay_alone(finding, idle_finding)]
    if get_fact_time(idle_finding, "idle_by_lever") >= _ALL * get_fact_time(idle_finding, "idle"):
        merged_parts += [part for part in parts if part not in merged_parts]
    other_findings = [finding for finding in findings if finding is not idle_finding]
    kept_findings = [finding for finding in other_findings if finding not in merged_parts]
    return [_merge(idle_finding, merged_parts), *kept_findings]


def _name_whole(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings; a vague lever of the whole gives way to that of a part that knows more.

    The part has most of the idle time.
    """
    parts = [finding for finding in findings if finding.within == _WHOLE]
    specific_parts = [part for part in parts if part.lever not in _VAGUE and part.saving]
    named_findings: list[Finding] = []
    for finding in findings:
        least_saving = _MOST * get_fact_time(finding, "idle")
        best = max(specific_parts, key=lambda part: part.saving or 0, default=None)
        is_vague = finding.rule == _WHOLE and finding.lever in _VAGUE
        if is_vague and best is not None and (best.saving or 0) >= least_saving:
            named_findings.append(
                replace(finding, cause=best.cause, lever=best.lever, advice=best.advice, also="")
            )
        else:
            named_findings.append(finding)
    return named_findings


def _named_by(lever: str) -> set[Mechanism]:
    """Return the other levers that the words of this one name."""
    return NAMED_BY.get(Mechanism(lever), set()) if lever in set(Mechanism) else set()


def _is_delay_alone(finding: Finding, idle_finding: Finding) -> bool:
    """Return whether other processes only delayed the target, which is nothing but idle time."""
    if finding.lever != Mechanism.OTHER_PROCESS or idle_finding.lever != finding.lever:
        return False
    return (
        finding is not idle_finding
        and get_fact_time(finding, "delay") > 0
        and not get_fact_time(finding, "shared")
    )


def _says_no_more(part: Finding) -> bool:
    return part.lever in _VAGUE and part.severity is Severity.WARNING


def get_fact_time(finding: Finding, name: str) -> float:
    """Return the time (ns) in the fact of that name; 0 if the finding does not have it."""
    times = (fact.value for fact in finding.facts if fact.name == name)
    return next((time for time in times if isinstance(time, (int, float))), 0)


def _merge(idle_finding: Finding, parts: Sequence[Finding]) -> Finding:
    """Return the whole with the sentence of the part that has its lever, and all as effects."""
    effects = tuple(part.rule for part in parts)
    lever_part = next((part for part in parts if part.lever == idle_finding.lever), None)
    if lever_part is None:
        return replace(idle_finding, effects=effects)
    # The saving is that of the recommended lever.
    won = {"saving_least", "saving_most"}
    kept_facts = tuple(fact for fact in idle_finding.facts if fact.name not in won)
    fact_names = {fact.name for fact in kept_facts}
    facts = tuple(fact for fact in lever_part.facts if fact.name not in fact_names)
    # The frame already names the missing tables.
    reason = put_into_words(_with_fact(lever_part, Fact("lacking", ""))).message
    explained = _with_fact(idle_finding, Fact("reason", reason))
    if any(fact.name == "meanwhile" for fact in lever_part.facts):
        explained = _with_fact(explained, Fact("meanwhile", ""))
    return replace(
        idle_finding,
        message=put_into_words(explained).message,
        facts=(*kept_facts, *facts),
        saving=lever_part.saving,
        effects=effects,
    )


def _with_fact(finding: Finding, changed: Fact) -> Finding:
    """Return the finding with the fact that has this name replaced."""
    other_facts = (fact for fact in finding.facts if fact.name != changed.name)
    return replace(finding, facts=(*other_facts, changed))


def _advise_once(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Yield the findings, without advice on a lever that an earlier finding already has."""
    advised_levers: set[str] = set()
    for finding in findings:
        lever = finding.lever or finding.advice
        again = lever in advised_levers
        advised_levers.add(lever)
        yield replace(finding, advice="") if again else finding
