"""What a finding claimed, and what its going away brought."""

from typing import Any

import pytest

from tracekit.nightly.history.night import TracedFinding
from tracekit.nightly.trend.findings import Claim, claims_of

US = 1_000.0


def found(**saving: Any) -> TracedFinding:
    return TracedFinding("bubbles", "It was idle.", "warning", 1, 1, **saving)


def nights(made: Any, finding: TracedFinding) -> list[Any]:
    pairs = (made.traced("candidate-1"),)
    return [
        made.night(1, made.entry(findings=(finding,), pairs=pairs)),
        made.night(2, made.entry(pairs=())),
        made.night(3, made.entry(pairs=pairs)),
    ]


def rates(made: Any, *points: Any) -> Any:
    return made.series(*points, metric="tokens_per_second", unit="tokens/s", better="higher")


def test_the_claim_stands_beside_what_was_measured(made: Any) -> None:
    series = rates(
        made,
        made.point(1, 1e9 / (3000 * US), reference=1e9 / (3000 * US)),
        made.point(2, 1.0),
        made.point(3, 1e9 / (2500 * US), reference=1e9 / (3010 * US)),
    )
    course = made.course(nights(made, found(saving_per_token=600 * US)), series)
    assert claims_of(course) == (
        Claim(
            "bubbles",
            made.at(3),
            "1 Nov 2026",
            "600 µs per token",
            "500 µs per token",
            "the reference became 10 µs per token slower meanwhile",
        ),
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (None, None, "without a reference, so the machine's own pace is in it"),
        (5.0, None, "without a reference, so the machine's own pace is in it"),
        (5.0, 5.0, "the reference did not move"),
        (1000.0, 1250.0, "the reference became 200 µs per token faster meanwhile"),
    ],
)
def test_what_the_machine_did_meanwhile_is_said(
    made: Any, old: float | None, new: float | None, reason: str
) -> None:
    series = rates(made, made.point(1, 500.0, reference=old), made.point(3, 1000.0, reference=new))
    [claim] = claims_of(made.course(nights(made, found(saving_per_token=US)), series))
    assert (claim.measured, claim.reason) == ("1 ms per token", reason)


def test_a_loss_is_called_one(made: Any) -> None:
    series = rates(made, made.point(1, 1000.0), made.point(3, 500.0))
    [claim] = claims_of(made.course(nights(made, found(saving_per_token=US)), series))
    assert claim.measured == "1 ms per token lost"


def test_without_a_rate_it_says_why_not(made: Any) -> None:
    [claim] = claims_of(made.course(nights(made, found(saving_per_token=US)), made.series()))
    assert claim.measured == ""
    assert claim.reason == (
        "tokens_per_second is not followed, so the time of a token is not known"
    )


@pytest.mark.parametrize(("day", "missing"), [(3, "1 Nov 2026"), (1, "3 Nov 2026")])
def test_a_night_without_a_value_says_so(made: Any, day: int, missing: str) -> None:
    series = rates(made, made.point(day, 1000.0), made.point(4 - day, None))
    [claim] = claims_of(made.course(nights(made, found(saving_per_token=US)), series))
    assert claim.measured == ""
    assert claim.reason == f"the night of {missing} has no tokens_per_second that counts"


def test_a_saving_of_the_whole_window_has_nothing_to_be_held_against(made: Any) -> None:
    [claim] = claims_of(made.course(nights(made, found(saving=3e6))))
    assert (claim.claimed, claim.measured) == ("3 ms of the steady window", "")
    assert "no series measures the steady window" in claim.reason


def test_findings_that_stay_or_claim_nothing_are_no_claims(made: Any) -> None:
    kept = nights(made, found(saving_per_token=US))[:2]
    assert claims_of(made.course(kept)) == ()
    assert claims_of(made.course(nights(made, found()))) == ()


def test_the_latest_claim_comes_first(made: Any) -> None:
    pairs = (made.traced("candidate-1"),)
    held = [(found(saving_per_token=US),) if day % 2 else () for day in range(1, 7)]
    course = made.course(
        [made.night(day, made.entry(findings=one, pairs=pairs)) for day, one in enumerate(held, 1)]
    )
    assert [one.at for one in claims_of(course)] == [made.at(day) for day in (6, 4, 2)]
