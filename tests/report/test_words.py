"""Words of a page: its verdict, its first numbers, headings, sentences and lines."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.result import Better, Check, Measurement, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.report.panels.verdict import MOST_NUMBERS, headlines, verdict_of
from tracekit.report.text import LONGEST, continued, first_sentence, flat, heading, line, sentence

MS = 1_000_000
IDLE = Finding("idle", Severity.WARNING, "The GPU was idle for 3.5 ms. By cause: x.", "", (), 5)
CHURN = Finding("churn", Severity.WARNING, "2 pipelines are new.", "", (), 9)
SHARED = Finding("shared", Severity.ERROR, "Other processes used the GPU.", "")
NOTE = Finding("cost", Severity.NOTE, "Recording cost 1 %.", "")


@pytest.mark.parametrize(
    ("findings", "statuses", "tone", "said"),
    [
        ((), "", "unclear", "Nothing was checked, so nothing can be said."),
        (
            (NOTE, IDLE, SHARED),
            "f",
            "error",
            "Do not trust these numbers yet: Other processes used the GPU.",
        ),
        ((IDLE,), "f", "warning", "One thing costs time: The GPU was idle for 3.5 ms."),
        ((IDLE, CHURN), "f", "warning", "2 things cost time. The first: 2 pipelines are new."),
        ((NOTE,), "pf", "good", "No fault was found by 2 checks, and all could be made."),
        ((), "pax", "unclear", "No fault was found by 1 of 3 checks; 2 could not be made."),
        ((), "a", "unclear", "Nothing can be said: none of 1 check could be made."),
    ],
)
def test_the_verdict_is_one_sentence(
    bare: Any, findings: tuple[Finding, ...], statuses: str, tone: str, said: str
) -> None:
    known = {"p": Status.PASSED, "f": Status.FOUND, "a": Status.ABSTAINED, "x": Status.FAILED}
    checks = tuple(Check(f"rule-{at}", known[one]) for at, one in enumerate(statuses))
    found = verdict_of(bare.having(findings=findings, checks=checks).result)
    assert (found.tone, f"{found.lead} {found.message}".strip()) == (tone, said)


def known(name: str, value: float | None, unit: str = "ns", reason: str = "") -> Measurement:
    return Measurement(name, value, unit, Better.NEITHER, reason)


def compared(*bounds: Measurement) -> tuple[Measurement, ...]:
    return (
        known("max_error_paged", 0.0002, ""),
        known("step_time_paged", 2 * MS),
        known("tokens_per_second_paged", 8_000, "tokens/s"),
        known("step_time_sdpa", 5 * MS),
        known("speedup", 2.5, "x"),
        *bounds,
    )


def shown(run: Any) -> list[tuple[str, str, str]]:
    return [(one["name"], one["value"], one["note"]) for one in headlines(run.result, {})]


USUAL = (known("step_rate", 400, "steps/s"), known("host_idle_ratio", 0.01, "ratio"))


@pytest.mark.parametrize(
    ("low", "high", "note"),
    [
        (2.25, 2.75, "paged over sdpa: 2.25 x to 2.75 x with 95 % confidence"),
        (0.9, 1.2, "paged over sdpa: 0.900 x to 1.20 x with 95 % confidence; which is faster, "),
        (1.0, 1.2, "paged over sdpa: 1 x to 1.20 x with 95 % confidence; which is faster, the"),
        (0.8, 1.0, "paged over sdpa: 0.800 x to 1 x with 95 % confidence; which is faster, the"),
        (None, None, "paged over sdpa: no interval: too few pairs"),
    ],
)
def test_a_comparison_begins_with_its_speed_up_and_how_sure_it_is(
    bare: Any, low: float | None, high: float | None, note: str
) -> None:
    bounds = (
        known("speedup_low_95", low, "x", "too few pairs"),
        known("speedup_high_95", high, "x", "too few pairs"),
    )
    numbers = shown(bare.having(metrics=USUAL, results=compared(*bounds)))
    assert [one[:2] for one in numbers] == [
        ("speedup", "2.50 x"),
        ("step_time_paged", "2 ms"),
        ("step_time_sdpa", "5 ms"),
        ("host_idle_ratio", "1.0 %"),
    ]
    assert numbers[0][2].startswith(note)
    assert numbers[0][2].endswith("not tell") is (low is not None and high is not None and low < 2)


def test_a_speed_up_without_bounds_or_value_is_not_left_out(bare: Any) -> None:
    assert shown(bare.having(results=compared()))[0][2] == "paged over sdpa"
    absent = known("speedup", None, "x", "there was no pair of steps")
    [first, second] = headlines(bare.having(metrics=USUAL[:1], results=(absent,)).result, {})
    assert (first["value"], first["known"], second["name"]) == ("not available", False, "step_rate")
    assert first["source"] == "not available, because there was no pair of steps"


def test_a_server_begins_with_its_latencies_and_a_program_with_what_it_printed(bare: Any) -> None:
    served = (
        known("tokens_per_second", 326, "tokens/s"),
        known("host_idle_ratio", 0.18, "ratio"),
        known("ttft_p50", 26.5 * MS),
        known("ttft_p99", 143 * MS),
        known("tpot_p50", 8 * MS),
        known("tpot_p99", None, reason="no request was completed."),
        known("request_rate_served", 10, "requests/s"),
    )
    assert shown(bare.having(metrics=served)) == [
        ("ttft_p50", "26.5 ms", "99th percentile 143 ms"),
        ("tpot_p50", "8 ms", ""),
        ("tokens_per_second", "326 tokens/s", ""),
        ("request_rate_served", "10 requests/s", ""),
    ]
    printed = (known("pp512_tokens_per_second", 711.25, "tokens/s"), known("load_time", 5))
    names = [name for name, *_ in shown(bare.having(metrics=USUAL, results=printed))]
    assert names == ["pp512_tokens_per_second", "host_idle_ratio", "step_rate"]


def test_first_numbers_are_those_that_are_known_and_at_most_four(bare: Any) -> None:
    whole, steady = known("gpu_idle_ratio", 0.3, "ratio"), known("idle_ratio", 0.1, "ratio")
    assert [name for name, *_ in shown(bare.having(metrics=(whole, steady)))] == ["idle_ratio"]
    unknown = tuple(known(f"m{at}", None, reason="no.") for at in range(9))
    assert len(shown(bare.having(metrics=unknown))) == MOST_NUMBERS
    assert [name for name, *_ in shown(bare.having(metrics=(*unknown, whole)))] == [
        "gpu_idle_ratio"
    ]


@given(st.text())
def test_a_line_is_one_line_and_can_be_read_back_whatever_it_was(text: str) -> None:
    shown = line(text)
    assert shown.encode().decode() == shown
    assert len(shown) <= LONGEST
    assert "\n" not in shown
    assert line(shown) == shown


@pytest.mark.parametrize(
    ("word", "raw", "said"),
    [
        (line, "  a \n\t b  ", "a b"),
        (line, "x" * LONGEST, "x" * LONGEST),
        (line, "x" * (LONGEST + 1), "x" * (LONGEST - 1) + "…"),
        (heading, "gpu_idle_ratio", "GPU idle ratio"),
        (heading, "host_cpu", "Host CPU"),
        (heading, "", ""),
        (heading, "pp512_tokens_per_second", "pp512 tokens per second"),
        (heading, "e2e_p50", "E2E p50"),
        (sentence, "it was not measured", "It was not measured."),
        (sentence, "Why?", "Why?"),
        (sentence, "", ""),
        (continued, "The GPU was idle.", "the GPU was idle."),
        (continued, "GPU time is lost.", "GPU time is lost."),
        (continued, "Discord's rows", "Discord's rows"),
        (continued, "", ""),
        (first_sentence, "Idle for 3.5 ms. By cause: driver.", "Idle for 3.5 ms."),
        (first_sentence, "It ran 2 s. 3 things: a. B c.", "It ran 2 s. 3 things: a."),
        (first_sentence, "", ""),
    ],
)
def test_words_are_made_fit_for_their_place(word: Any, raw: str, said: str) -> None:
    assert word(raw) == said


def test_nested_values_become_lines() -> None:
    values = {"chip": "M1", "mlx": {"version": "0.32", "devices": ["cpu", "gpu"]}, "os_build": None}
    assert list(flat(values)) == [
        ("chip", "M1"),
        ("mlx version", "0.32"),
        ("mlx devices", "cpu, gpu"),
        ("os build", "not available"),
    ]
