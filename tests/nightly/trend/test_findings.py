"""Findings over time, and what the going away of one brought."""

from typing import Any

import pytest

from tracekit.nightly.history.night import TracedFinding
from tracekit.nightly.trend.findings import Claim, claims_of, finding_rows

US = 1_000.0


def found(rule: str = "bubbles", traces: int = 1, of: int = 1, **facts: Any) -> TracedFinding:
    return TracedFinding(rule, f"{rule} was seen.", "warning", traces, of, **facts)


def night(made: Any, day: int, *findings: TracedFinding, traced: bool = True) -> Any:
    pairs = (made.traced("candidate-1"),) if traced else ()
    return made.night(day, made.entry(findings=findings, pairs=pairs))


def test_a_rule_has_a_row_that_says_when_it_was_seen(made: Any) -> None:
    nights = [
        night(made, 1, found("alone")),
        night(made, 2, found(), found("only-theirs", 0, 1, in_reference=1)),
        night(made, 3, traced=False),
        night(made, 4, found("bubbles", 1, 2, in_reference=2)),
        night(made, 5, traced=False),
    ]
    bubbles, alone = finding_rows(made.course(nights))
    assert (bubbles.rule, bubbles.severity, bubbles.message) == (
        "bubbles",
        "warning",
        "bubbles was seen.",
    )
    assert bubbles.became == (
        "first seen 2 Nov 2026, now in 1 of 2 traces; the reference has it in 2"
    )
    assert bubbles.nights == (
        (0.0, "1 Nov 2026: not found"),
        (1.0, "2 Nov 2026: found in 1 of 1 trace"),
        (None, "3 Nov 2026: no traces"),
        (0.5, "4 Nov 2026: found in 1 of 2 traces"),
        (None, "5 Nov 2026: no traces"),
    )
    assert (alone.rule, alone.became) == ("alone", "first seen 1 Nov 2026, last 1 Nov 2026")


def claims(made: Any, old: Any, new: Any, metric: str = "tokens_per_second") -> list[Claim]:
    series = made.series(old, made.point(2, 1.0), new, metric=metric, unit="tokens/s")
    nights = [
        night(made, 1, found(saving_per_token=600 * US), found("silent", saving=3e6)),
        night(made, 2, traced=False),
        night(made, 3),
    ]
    return claims_of(made.course(nights, series))


@pytest.mark.parametrize(
    ("rates", "references", "measured", "reason"),
    [
        ((500, 1000), (1000, 1250), "1 ms per token won",
         "the reference meanwhile: 200 µs per token won"),
        ((1000, 500), (1250, 1000), "1 ms per token lost",
         "the reference meanwhile: 200 µs per token lost"),
        ((500, 1000), (5, None), "1 ms per token won",
         "without a reference, so the machine's own pace is in it"),
        ((500, None), (5, 5), "", "one of both nights has no tokens_per_second"),
        ((0.0, 500), (5, 5), "", "one of both nights has no tokens_per_second"),
    ],
)  # fmt: skip
def test_a_claim_stands_beside_what_was_measured(
    made: Any, rates: Any, references: Any, measured: str, reason: str
) -> None:
    old, new = (
        made.point(day, rate, reference=reference)
        for day, rate, reference in zip((1, 3), rates, references, strict=True)
    )
    [claim] = claims(made, old, new)
    assert claim == Claim("bubbles", made.at(3), "600 µs per token", measured, reason)


def test_without_a_rate_nothing_was_measured(made: Any) -> None:
    [claim] = claims(made, made.point(1, 1.0), made.point(3, 1.0), "step_p50")
    assert (claim.measured, claim.reason) == ("", "one of both nights has no tokens_per_second")


def test_the_latest_claim_comes_first_and_what_stays_is_none(made: Any) -> None:
    held = [(found(saving_per_token=US),) if day % 2 else () for day in range(1, 8)]
    course = made.course([night(made, day, *one) for day, one in enumerate(held, 1)])
    assert [one.at for one in claims_of(course)] == [made.at(day) for day in (6, 4, 2)]
