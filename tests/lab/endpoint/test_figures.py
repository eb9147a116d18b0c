"""The figures of a measured server, from literal replies."""

import pytest

from tracekit.lab.endpoint.client import Endpoint, Reply, ReplyOutcome
from tracekit.lab.endpoint.figures import figures_of
from tracekit.lab.endpoint.server_use import ServerUse
from tracekit.lab.endpoint.traffic import Traffic, TrafficPlan, make_load, make_prompt
from tracekit.lab.endpoint.words import tables

MS = 1_000_000
COMPLETE = ReplyOutcome.COMPLETE


def _make_traffic(
    replies: list[Reply],
    *,
    concurrency: int | None = 1,
    duration: float = 1.0,
    client_cpu: float = 0.01,
) -> Traffic:
    load = make_load(
        rate=2.0, duration=duration, prompt_tokens=8, output_tokens=4, lengths="fixed", seed=0
    )
    plan = TrafficPlan(Endpoint("http://127.0.0.1:1/v1", model="tiny"), load, concurrency)
    end = max(reply.end for reply in replies)
    return Traffic(
        plan, 0, 0.0, replies, round(duration * 1e9), end, client_cpu, server_reason="nobody looked"
    )


def _make_reply(number: int, due: int, arrivals: list[int], **more: object) -> Reply:
    """Return a complete reply, with moments in ms."""
    moments = [moment * MS for moment in arrivals]
    reply = Reply(number, due * MS, due * MS, moments, moments[-1], 8, len(arrivals), COMPLETE)
    for name, value in more.items():
        setattr(reply, name, value)
    return reply


def test_waits_and_phases_of_a_closed_loop() -> None:
    replies = [
        _make_reply(0, 0, [100, 150, 200]),
        _make_reply(1, 200, [400, 450, 600]),
        _make_reply(2, 600, [700, 900, 1100]),
    ]
    figures = figures_of(_make_traffic(replies))
    assert (figures.sent, figures.complete, figures.success) == (3, 3, 1.0)
    assert (figures.output_tokens, figures.prompt_tokens, figures.counted_by) == (9, 24, "server")
    assert figures.first_token.p50 == 100 * MS
    assert figures.first_token.longest == 200 * MS
    assert figures.per_token.mean == pytest.approx((50 + 100 + 200) / 3 * MS)
    assert figures.between_parts.count == 6
    assert figures.whole_reply.longest == 500 * MS
    phases = [(phase.name, phase.start, phase.end, phase.replies) for phase in figures.phases]
    assert phases == [("ramp", 0.0, 0.1, 0), ("steady", 0.1, 1.0, 2), ("tail", 1.0, 1.1, 1)]
    steady = figures.phases[1]
    assert steady.tokens_per_s == pytest.approx(7 / 0.9)
    assert steady.requests_per_s == pytest.approx(2 / 0.9)
    slowest = figures.slowest[0]
    assert (slowest.number, slowest.longest_pause, slowest.longest_pause_at) == (2, 0.2, 0.7)


def test_a_stall_of_an_open_loop_is_in_the_waits() -> None:
    late = _make_reply(1, 100, [950])
    late.sent = 900 * MS
    figures = figures_of(_make_traffic([_make_reply(0, 0, [50]), late], concurrency=None))
    assert figures.whole_reply.longest == 850 * MS
    assert figures.lateness.longest == 800 * MS
    assert "did not keep the schedule" in " ".join(figures.doubts)


def test_failures_are_counted_by_kind_and_never_in_the_waits() -> None:
    failed = [
        Reply(number, 0, 1, [], 5, outcome=outcome, reason="because", status=status)
        for number, (outcome, status) in enumerate(
            [(ReplyOutcome.STATUS, 500), (ReplyOutcome.STATUS, 500), (ReplyOutcome.CUT, 200)]
        )
    ]
    figures = figures_of(_make_traffic([*failed, _make_reply(3, 0, [10, 20])]))
    assert figures.failures == {"status 500": 2, "cut": 1}
    assert figures.reasons == {"status 500": "because", "cut": "because"}
    assert figures.success == 0.25
    assert figures.whole_reply.count == 1


def test_no_reply_gives_no_number() -> None:
    refused = Reply(0, 0, 1, [], 5, outcome=ReplyOutcome.REFUSED)
    figures = figures_of(_make_traffic([refused]))
    assert figures.first_token.count == 0
    assert figures.first_token.p99 is None
    shown = str(tables(figures))
    assert "not available" in shown
    assert "nobody looked" in shown
    assert figures.success == 0.0


@pytest.mark.parametrize(
    ("make", "doubt"),
    [
        (lambda replies: _make_traffic(replies, client_cpu=0.9), "90% of a core"),
        (lambda replies: _make_traffic(replies, concurrency=8), "Too few replies"),
        (
            lambda replies: _make_traffic(
                [*replies, _make_reply(9, 0, [1000], output_tokens=None)]
            ),
            "counted no tokens",
        ),
    ],
    ids=["client", "few", "parts"],
)
def test_figures_that_may_not_be_the_server_s_say_so(make: object, doubt: str) -> None:
    replies = [_make_reply(number, number * 100, [number * 100 + 100]) for number in range(10)]
    assert not figures_of(_make_traffic(replies)).doubts
    assert callable(make)
    (sentence,) = figures_of(make(replies)).doubts
    assert doubt in sentence


def test_the_server_s_use_is_in_the_tables() -> None:
    traffic = _make_traffic([_make_reply(0, 0, [10, 20])])
    traffic.server = ServerUse(77, "llama-server", 4, 1.5, 3 * 1024**2)
    title, _, rows = tables(figures_of(traffic))[-1]
    assert title == "The server's process"
    assert rows == [("llama-server (77) and its children", "1.5", "3 MiB")]


def test_prompts_are_of_the_asked_length_and_share_no_beginning() -> None:
    prompts = [make_prompt(number, 40, seed=0) for number in range(20)]
    assert {len(prompt.split()) for prompt in prompts} == {40}
    assert len({tuple(prompt.split()[:4]) for prompt in prompts}) == 20
    assert prompts[3] == make_prompt(3, 40, seed=0)
    assert prompts[3] != make_prompt(3, 40, seed=1)
