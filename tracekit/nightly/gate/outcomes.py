"""How captures and nights end, by what became of their metrics and findings.

A regression that was shown stays one whatever else failed, so it goes before a failure; a
failure goes before what is merely not known. What goes behind still stands in the reason.
"""

from collections.abc import Iterable, Iterator, Sequence

from tracekit.nightly.history.night import Entry, Judged, Outcome, TracedFinding

_ORDER = (
    Outcome.REGRESSION,
    Outcome.FAILED,
    Outcome.INCONCLUSIVE,
    Outcome.OK,
    Outcome.UNJUDGED,
)
_WORDS = {
    Outcome.REGRESSION: "worse",
    Outcome.FAILED: "failed",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.UNJUDGED: "nothing judged",
}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that goes before all others, regression first and unjudged last."""
    return min(outcomes, key=_ORDER.index, default=Outcome.UNJUDGED)


def needs_second_session(
    judged: Sequence[Judged], findings: Sequence[TracedFinding], fail_on: Sequence[str]
) -> bool:
    """Tell whether something is to be looked at again, after the first session.

    It is where a metric that decides seems to have changed, or its interval is too wide, and
    where a trace has a finding that is to fail. What is missing for another reason, as where the
    machine was not quiet or nothing was accepted, a second session would not bring.
    """
    metrics = any(
        one.outcome is Outcome.INCONCLUSIVE and one.reproduced is False
        for one in judged
        if one.gated
    )
    return metrics or any(_tripped(finding, fail_on) for finding in findings)


def findings_outcome(
    findings: Sequence[TracedFinding], fail_on: Sequence[str], *, sittings: int
) -> tuple[Outcome, str]:
    """Return how the findings end, and why: a rule that is to fail and has found something.

    It is a regression where every trace of the candidate's in both sessions has it, and none of
    the reference's.
    """
    if fail_on and not sittings:
        return Outcome.INCONCLUSIVE, f"No trace counts, so {', '.join(fail_on)} could find nothing."
    ended = [_finding(finding, sittings) for finding in findings if _tripped(finding, fail_on)]
    outcome = worst(found for found, _ in ended) if ended or not fail_on else Outcome.OK
    return outcome, " ".join(why for found, why in ended if found is outcome)


def outcome_of(entry: Entry, fail_on: Sequence[str] = ()) -> tuple[Outcome, str]:
    """Return how a capture ended that did not fail, and why."""
    traced = {pair.sitting for pair in entry.pairs if pair.traced and not pair.contaminated}
    if all(pair.contaminated for pair in entry.pairs):
        return Outcome.INCONCLUSIVE, _uncounted(entry)
    ended = list(_metrics(entry.judged))
    ended.append(findings_outcome(entry.findings, fail_on, sittings=len(traced)))
    outcome = worst(found for found, _ in ended)
    sentences = " ".join(why for found, why in ended if found is outcome and why)
    if outcome is Outcome.UNJUDGED:
        return outcome, "All of its metrics are followed over nights, and none decides."
    return outcome, sentences


def night_outcome(entries: Sequence[Entry], *, partial: bool) -> tuple[Outcome, str]:
    """Return how a night ended, and why."""
    ended = [entry.outcome or Outcome.INCONCLUSIVE for entry in entries]
    if partial or not entries:
        ended.append(Outcome.INCONCLUSIVE)
    outcome = worst(ended)
    sentences = [_names(entries, one, led=one is not outcome) for one in _ORDER]
    if partial:
        sentences.append("The night was stopped before all captures were through.")
    elif not entries:
        sentences.append("Nothing was captured.")
    return outcome, " ".join(sentence for sentence in sentences if sentence)


def _metrics(judged: Sequence[Judged]) -> Iterator[tuple[Outcome, str]]:
    """Yield how metrics ended and why, those together that ended alike for the same reason."""
    names: dict[tuple[Outcome, str], list[str]] = {}
    for one in judged:
        if one.outcome is not None:
            names.setdefault((one.outcome, one.reason), []).append(one.metric)
    for (outcome, why), own in names.items():
        yield outcome, f"{', '.join(own)}: {why}"


def _tripped(found: TracedFinding, fail_on: Sequence[str]) -> bool:
    return found.rule in fail_on and found.traces > 0 and not found.in_reference


def _finding(found: TracedFinding, sittings: int) -> tuple[Outcome, str]:
    message = f"{found.rule}: {found.message.rstrip('.')}"
    where = f"in {found.traces} of {found.of} traces, and in none of the reference"
    if sittings == 1:
        return Outcome.INCONCLUSIVE, f"{message}, {where}; no second session has looked again."
    if found.traces == found.of:
        return Outcome.REGRESSION, f"{message}, {where}."
    most = 2 * found.traces > found.of
    outcome = Outcome.INCONCLUSIVE if most else Outcome.OK
    return outcome, f"{message}, {where}: not in all of them."


def _uncounted(entry: Entry) -> str:
    if not entry.pairs:
        return "Nothing was measured."
    why = next((why for pair in entry.pairs for why in pair.contaminated), "")
    return f"No pair counts: {why.rstrip('.')}."


def _names(entries: Sequence[Entry], outcome: Outcome, *, led: bool) -> str:
    """Say which captures ended so, and why; nothing of those that are well.

    With `led` the outcome is named first; that of the night itself stands elsewhere.
    """
    own = [entry for entry in entries if (entry.outcome or Outcome.INCONCLUSIVE) is outcome]
    if outcome is Outcome.OK or not own:
        return ""
    sentences = "; ".join(f"{one.capture} ({one.reason.rstrip('.')})" for one in own)
    return f"{_WORDS[outcome].capitalize()}: {sentences}." if led else f"{sentences}."
