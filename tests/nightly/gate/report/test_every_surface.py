"""Random captures on every surface: all say the same, and no more than the numbers do."""

import math
from dataclasses import replace
from typing import Any

import msgspec
from gate_pairs import made
from hypothesis import given
from hypothesis import strategies as some
from lxml import etree
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tracekit.nightly.gate.judge import judge_entry, night_outcome, outcome_of
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.model import GateReport, of_night
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif
from tracekit.nightly.gate.report.text import annotations, heading, markdown, verdicts
from tracekit.nightly.history.night import LEADS, Described, Entry, Night, Outcome, Pair
from tracekit.nightly.plan.plan import Capture, Gated, Reference

TAGS = {"failure": Outcome.REGRESSION, "error": Outcome.FAILED}


@some.composite
def nights(draw: some.DrawFn) -> Night:
    """Draw a night of one or two captures, by pairs around a change, of one or two sessions."""
    entries: list[Entry] = []
    for name in draw(some.sampled_from([("decode",), ("decode", "prefill")])):
        threshold, gate = draw(some.sampled_from([0.01, 0.03, 0.1])), draw(some.booleans())
        gated = Gated("step_p50", threshold, gate=gate)
        reference = Reference(revision="v1") if draw(some.booleans()) else None
        capture = Capture(name, "paged", reference=reference, metrics=(gated,))
        middle, spread = draw(some.floats(-0.2, 0.2)), draw(some.floats(0, 0.05))
        pairs: list[Pair] = []
        for session in range(1, draw(some.integers(1, 2)) + 1):
            noise = draw(some.lists(some.floats(-1, 1), min_size=1, max_size=10))
            rejected = draw(some.lists(some.booleans(), min_size=len(noise), max_size=len(noise)))
            whys = ["It was hot." if each and draw(some.booleans()) else "" for each in rejected]
            changes = [middle + spread * each for each in noise]
            pairs += made(changes, sitting=session, contaminated=whys)
        judged = judge_entry(capture, pairs, {}, None)
        other = Described("paged", commit="c1") if reference else None
        entry = Entry(
            name, "d1", Described("paged", commit="c2"), other, pairs=tuple(pairs), judged=judged
        )
        outcome, reason = outcome_of(entry)
        entries.append(replace(entry, outcome=outcome, reason=reason))
    partial = draw(some.booleans())
    outcome, reason = night_outcome(entries, partial=partial)
    begun = ("2026-11-20T02-30-00-abcd", "attention", "mini", "2026-11-20T02:30:00+00:00")
    night = Night(*begun, entries=tuple(entries), outcome=outcome, reason=reason, partial=partial)
    return replace(night, ended="2026-11-20T03:30:00+00:00")


@given(nights())
def test_every_surface_says_how_a_night_ended(night: Night) -> None:
    report = of_night(night)
    outcome = str(report.outcome)
    assert heading(report).startswith(LEADS[report.outcome])
    assert LEADS[report.outcome] in markdown(report).splitlines()[0]
    assert msgspec.json.decode(msgspec.json.encode(report))["outcome"] == outcome
    assert _of_junit(report) == {each.outcome for each in report.cases if each.outcome}
    document: Any = msgspec.json.decode(sarif(report, "1"))
    (run,) = document["runs"]
    worse = [each for each in report.cases if each.outcome is Outcome.REGRESSION]
    assert len(run["results"]) == len(worse)
    assert run["properties"]["outcome"] == outcome
    assert _of_openmetrics(report) == outcome
    errors = [each for each in annotations(report) if each.startswith("::error title=Regression")]
    assert len(errors) == len(worse)
    shown = {row[0] for row in verdicts(report)}
    assert outcome in shown or report.outcome is Outcome.INCONCLUSIVE


def _of_junit(report: GateReport) -> set[Outcome]:
    """Return the outcomes that a reader of JUnit can tell apart, skipped ones by their type."""
    found: set[Outcome] = set()
    for case in etree.fromstring(junit(report)).iter("testcase"):
        tags = [each for each in case if each.tag in {"failure", "error", "skipped"}]
        found.add(Outcome(tags[0].get("type")) if tags else Outcome.OK)
        assert not tags or TAGS.get(tags[0].tag, Outcome(tags[0].get("type"))) in found
    return found


def _of_openmetrics(report: GateReport) -> str:
    families = text_string_to_metric_families(openmetrics(report).decode())
    own = next(each for each in families if each.name == "tracekit_gate_outcome")
    return next(each.labels["outcome"] for each in own.samples if each.value == 1)


@given(nights())
def test_no_sentence_claims_more_than_the_numbers(night: Night) -> None:
    for judged in (judged for entry in night.entries for judged in entry.judged):
        words, threshold = judged.reason, math.log1p(judged.threshold)
        ends = (judged.low, judged.high, judged.change)
        low, high, change = (math.nan if end is None else math.log1p(end) for end in ends)
        assert ": not worse by" not in words or high < threshold + 1e-12
        assert ": better, beyond" not in words or high < 0
        worse = judged.outcome is Outcome.REGRESSION
        assert worse is ("worse, beyond the threshold" in words)
        assert not worse or (judged.reproduced and low > 0 and change >= threshold - 1e-12)
        assert judged.outcome is not Outcome.OK or (judged.gated and not math.isnan(low))
        assert (judged.outcome is None) == (not judged.gated)
