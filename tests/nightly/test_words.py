from dataclasses import replace

from tracekit.base.recording import Overhead
from tracekit.nightly import run
from tracekit.nightly.history.night import Night, Outcome


def test_the_heading_says_how_the_night_ended_and_why(night: Night) -> None:
    assert run.heading(night) == "Regression: decode: tokens_per_second is worse."
    assert run.heading(replace(night, outcome=None, reason="")) == "Not ended"


def test_a_heading_is_a_line_whatever_the_reason(night: Night) -> None:
    long = replace(night, reason=f"decode ({night.entries[0].judged[0].reason * 9}).")
    assert run.heading(long) == "Regression: decode"
    assert run.heading(replace(long, partial=True)) == (
        "Regression: decode; it was stopped before all captures were through"
    )
    early = replace(night, outcome=Outcome.INCONCLUSIVE, entries=(), reason="Nothing was captured.")
    assert run.heading(early) == "Inconclusive: Nothing was captured."


def test_a_capture_is_a_table_of_its_metrics(night: Night) -> None:
    metrics, findings = run.tables(night)
    assert metrics[0] == "decode: paged against revision 1a2b3c4"
    assert list(metrics[2]) == [
        (
            "tokens_per_second",
            "1,000 tokens/s",
            "940 tokens/s",
            "-6.0 %",
            "-6.0 %",
            "-7.1 % … -5.2 %",
        ),
        ("gpu_idle_ratio", "30.0 %", "31.0 %", "+1.0 points", "+1.0 points", "—"),
    ]
    assert list(findings[2]) == [("bubbles", "in 2 of 2", "in 0", "The GPU waited.")]


def test_a_difference_is_told_in_the_unit(night: Night) -> None:
    entry = night.entries[0]
    judged = replace(entry.judged[1], unit="count", change=2.0, low=1.0, high=3.0, threshold=1)
    unknown = replace(judged, change=None)
    told = replace(night, entries=(replace(entry, judged=(judged, unknown)),))
    (_, _, rows), _ = run.tables(told)
    assert [list(row[-2:]) for row in rows] == [["+2", "+1 … +3"], ["—", "+1 … +3"]]


def test_the_notes_say_why_what_was_checked_and_what_tracing_cost(night: Night) -> None:
    assert list(run.notes(night)) == [
        "decode: parity of 12 cases held.",
        "decode: Tracing costs 4.1 % ± 1.0 % of a step's time.",
    ]


def test_what_is_followed_and_not_known_here_is_told_in_one_line(night: Night) -> None:
    entry = night.entries[0]
    unknown = tuple(
        replace(entry.judged[1], metric=name, candidate=None, reference=None, change=None)
        for name in ("gpu_clock_p50", "start_latency_p99")
    )
    told = replace(night, entries=(replace(entry, judged=(*entry.judged, *unknown)),))
    assert len(next(iter(run.tables(told)))[2]) == 2
    assert "decode: no value of gpu_clock_p50, start_latency_p99; night.json says why." in (
        list(run.notes(told))
    )


def test_captures_that_lack_the_same_are_told_of_together_and_in_short(night: Night) -> None:
    entry = night.entries[0]
    lost = tuple(
        replace(entry.judged[1], metric=name, candidate=None, reference=None) for name in "abcdef"
    )
    entries = [replace(entry, capture=name, judged=lost) for name in ("decode", "prefill")]
    assert list(run.notes(replace(night, entries=tuple(entries))))[-1] == (
        "decode, prefill: no value of a, b, c and 3 more metrics; night.json says why."
    )


def test_each_verdict_has_its_reason(night: Night) -> None:
    assert run.verdicts(night) == [
        (
            "regression",
            "decode tokens_per_second",
            "6.0 % slower, and 5.8 % when it was repeated.",
        )
    ]


def test_a_capture_that_no_metric_speaks_for_has_a_verdict_of_its_own(night: Night) -> None:
    entry = replace(night.entries[0], outcome=Outcome.FAILED, reason="It crashed.", judged=())
    assert run.verdicts(replace(night, entries=(entry,))) == [("failed", "decode", "It crashed.")]
    cut = replace(entry, outcome=None, reason="")
    assert run.verdicts(replace(night, entries=(cut,))) == [("not ended", "decode", "")]


def test_what_decides_is_told_though_nothing_is_known_of_it(night: Night) -> None:
    entry = night.entries[0]
    lost = replace(entry.judged[0], candidate=None, reference=None, change=None, low=None)
    told = replace(night, entries=(replace(entry, judged=(lost,)),))
    assert [row[1] for row in run.verdicts(told)] == ["decode tokens_per_second"]


def test_an_unknown_cost_of_tracing_is_told_as_unknown(night: Night) -> None:
    entry = replace(night.entries[0], overhead=Overhead(reason="nothing was traced"))
    assert list(run.notes(replace(night, entries=(entry,))))[-1] == (
        "decode: What tracing costs is not known, because nothing was traced."
    )


def test_a_quiet_night_has_neither_tables_nor_notes(quiet_night: Night) -> None:
    assert list(run.tables(quiet_night)) == []
    assert list(run.notes(quiet_night)) == []
    assert run.heading(quiet_night) == "OK"
    assert quiet_night.outcome is Outcome.OK


def test_what_has_no_reference_is_followed(night: Night) -> None:
    entry = replace(night.entries[0], reference=None)
    assert run.title(entry) == "decode: paged, followed without a reference"


def test_a_title_says_that_changes_come_on_top_of_a_baseline(night: Night) -> None:
    entry = night.entries[0]
    judged = replace(entry.judged[0], baseline="2026-11-01T02-30-00-wxyz")
    assert run.title(replace(entry, judged=(judged,))) == (
        "decode: paged against revision 1a2b3c4; "
        "changes beyond the baseline 2026-11-01T02-30-00-wxyz"
    )
