"""A comparing run opens with its comparison, a serving one with its latencies, others with none."""

from tracekit.analysis.purpose import answer_of
from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base.recording import Provenance

MS = 1_000_000
OPEN = "Which of paged and sdpa is faster is unclear"


def give_answer(**values: float | None) -> str:
    units = {"goodput": "requests/s"}
    return answer_of(
        Result(
            Provenance(),
            results=tuple(
                Measurement(name, value, units.get(name, "ns"), Better.NEITHER)
                for name, value in values.items()
            ),
        )
    )


def test_a_comparison_names_the_faster_one_with_its_interval() -> None:
    steps = {"step_time_paged": 2.0 * MS, "step_time_sdpa": 5.0 * MS}
    claim = "paged is 2.50 times as fast as sdpa"
    for bounds, words in (
        ((2.5, 2.25, 2.75), f"{claim} (2.25 to 2.75 with 95 % confidence)."),
        (
            *((0.5, 0.4, 0.625),),
            "sdpa is 2.00 times as fast as paged (1.60 to 2.50 with 95 % confidence).",
        ),
        (
            *((1.02, 0.97, 1.08),),
            f"{OPEN}: paged is 1.02 times as fast as sdpa (0.97 to 1.08 with 95 % confidence).",
        ),
        (
            *((2.5, None, None),),
            f"{OPEN}: {claim}, from too few pairs of steps for an interval.",
        ),
        ((None, None, None), ""),
    ):
        names = ("speedup", "speedup_low_95", "speedup_high_95")
        assert give_answer(**steps, **dict(zip(names, bounds, strict=True))) == words, bounds


def test_a_server_gives_its_known_latencies() -> None:
    metric_values = {
        "ttft_p50": 12.0 * MS,
        "ttft_p99": 30.0 * MS,
        "tpot_p50": 2.0 * MS,
        "tpot_p99": None,
        "goodput": 3.5,
    }
    assert give_answer(**metric_values) == (
        "First token after 12 ms (99th percentile 30 ms), 2 ms for each further one, "
        "goodput 3.50 requests/s."
    )
    assert give_answer(ttft_p50=12.0 * MS) == "First token after 12 ms."
    assert give_answer(step_p50=12.0 * MS) == ""
