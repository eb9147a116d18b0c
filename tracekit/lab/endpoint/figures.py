"""The figures of a measured server: rates by phase, waits with their percentiles, failures."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from tracekit.lab.endpoint.client import Reply
from tracekit.lab.endpoint.server_use import ServerUse
from tracekit.lab.endpoint.traffic import Traffic

_SECOND = 1_000_000_000
SLOWEST = 5
BUSY_CLIENT = 0.8
"""Share of a core from which the client itself may delay what it measures."""
LATE_CLIENT = 10_000_000
"""Lateness in ns, at the 99th percentile, from which the schedule was not kept."""


@dataclass(frozen=True)
class WaitSummary:
    """Waits in ns: their number, mean, percentiles (between ranks, linear) and the longest."""

    count: int
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    longest: float | None = None


@dataclass(frozen=True)
class TrafficPhase:
    """A stretch of a measurement, in seconds from its start, with its replies and tokens.

    "ramp": until the first reply has begun for each client, in an open loop for the first request.
    "steady": until the last request was due. "tail": until the last reply ended.
    """

    name: str
    start: float
    end: float
    replies: int
    tokens: float
    requests_per_s: float | None
    tokens_per_s: float | None


@dataclass(frozen=True)
class SlowReply:
    """One of the slowest replies: its moments in seconds from the start, its longest pause."""

    number: int
    due_second: float
    first_token: float | None
    end: float
    longest_pause: float | None
    longest_pause_at: float | None


@dataclass(frozen=True)
class EndpointFigures:
    """The result of a measurement of a server.

    Attributes:
        started: When it began, in UTC.
        loop: "closed" or "open".
        sent: Requests that were sent.
        complete: Replies that came whole.
        success: The share of requests whose reply came whole; None if none was sent.
        failures: The number of each kind of failure, and the reason of its first one.
        first_token: Waits from the due moment to the first part of a reply.
        per_token: For each reply the time from its first to its last part, by the tokens between.
        between_parts: Waits between two parts of a reply.
        whole_reply: Waits from the due moment to the end.
        lateness: Waits from the due moment until the client sent.
        counted_by: Who counted tokens: "server", "parts" or "mixed".
        doubts: The reasons for which the figures may not be the server's.
    """

    url: str
    api: str
    model: str
    loop: str
    concurrency: int | None
    rate: float | None
    duration: float
    started: str
    interrupted: bool
    sent: int
    complete: int
    success: float | None
    failures: dict[str, int]
    reasons: dict[str, str]
    phases: list[TrafficPhase]
    first_token: WaitSummary
    per_token: WaitSummary
    between_parts: WaitSummary
    whole_reply: WaitSummary
    lateness: WaitSummary
    prompt_tokens: int | None
    output_tokens: int
    counted_by: str
    slowest: list[SlowReply]
    server: ServerUse | None = None
    server_reason: str = ""
    doubts: list[str] = field(default_factory=list)
    format: int = 1


def figures_of(traffic: Traffic) -> EndpointFigures:
    """Return the figures of a measurement."""
    plan = traffic.plan
    sent = [reply for reply in traffic.replies if reply.sent is not None]
    complete: list[Reply] = []
    failures: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    prompt_tokens = None
    for reply in sent:
        if not reply.is_complete:
            failures[reply.failure] += 1
            reasons.setdefault(reply.failure, reply.reason)
            continue
        complete.append(reply)
        if reply.prompt_tokens is not None:
            prompt_tokens = (prompt_tokens or 0) + reply.prompt_tokens
    open_rate = None
    if plan.concurrency is None:
        open_rate = plan.load.rate.level
    figures = EndpointFigures(
        url=plan.endpoint.url,
        api=plan.endpoint.api,
        model=plan.endpoint.model,
        loop="open" if plan.concurrency is None else "closed",
        concurrency=plan.concurrency,
        rate=open_rate,
        duration=plan.duration,
        started=datetime.fromtimestamp(traffic.started_at, UTC).isoformat(timespec="milliseconds"),
        interrupted=traffic.interrupted,
        sent=len(sent),
        complete=len(complete),
        success=_rate(len(complete), len(sent)),
        failures=dict(failures.most_common()),
        reasons=reasons,
        phases=list(_phases(traffic, sent)),
        first_token=_summary(reply.arrivals[0] - reply.due_moment for reply in complete),
        per_token=_summary(_times_per_token(complete)),
        between_parts=_summary(_pauses(complete)),
        whole_reply=_summary(reply.end - reply.due_moment for reply in complete),
        lateness=_summary(_lateness(sent)),
        prompt_tokens=prompt_tokens,
        output_tokens=sum(reply.tokens for reply in complete),
        counted_by=_counted_by(complete),
        slowest=_slowest(traffic, complete),
        server=traffic.server,
        server_reason=traffic.server_reason,
    )
    coarse_replies = 0
    for reply in complete:
        coarse_replies += reply.is_coarse
    doubts = list(_doubts(figures, traffic.client_cpu, coarse_replies))
    return replace(figures, doubts=doubts)


def document_of(traffic: Traffic, figures: EndpointFigures) -> dict[str, Any]:
    """Return the figures with every reply, whose moments are ns from the start."""
    replies = [_reply_document(reply, traffic.start) for reply in traffic.replies]
    document: dict[str, Any] = msgspec.to_builtins(figures)
    return {"kind": "load", **document, "replies": replies}


def _reply_document(reply: Reply, start: int) -> dict[str, Any]:
    return {
        "number": reply.number,
        "due": reply.due_moment - start,
        "sent": None if reply.sent is None else reply.sent - start,
        "arrivals": [moment - start for moment in reply.arrivals],
        "end": reply.end - start,
        "prompt_tokens": reply.prompt_tokens,
        "output_tokens": reply.output_tokens,
        "outcome": str(reply.outcome),
        "status": reply.status,
        "reason": reply.reason,
    }


def _doubts(figures: EndpointFigures, client_cpu: float, coarse_replies: int) -> Iterable[str]:
    length = 0.0
    if figures.phases:
        length = figures.phases[-1].end
    share = _rate(client_cpu, length)
    if share is not None and share >= BUSY_CLIENT:
        yield (
            f"The client used {share:.0%} of a core: some waits are its own. Measure with fewer "
            "clients, or from another machine."
        )
    lateness = figures.lateness.p99
    if figures.loop == "open" and lateness is not None and lateness > LATE_CLIENT:
        yield (
            f"Requests were sent up to {lateness / 1e6:.0f} ms late (99th percentile): the client "
            "did not keep the schedule. Waits count from the moment that was due."
        )
    if figures.counted_by != "server" and figures.complete:
        yield (
            "The server counted no tokens for some replies; a part of a stream counts as a token "
            "there, which is too few if a part holds several."
        )
    if coarse_replies:
        yield (
            f"{coarse_replies} replies came in parts of several tokens or all at once: "
            "no time per token is known of them."
        )
    steady = next((phase for phase in figures.phases if phase.name == "steady"), None)
    least_replies = 2 * (figures.concurrency or 1)
    if figures.complete and (steady is None or steady.replies < least_replies):
        yield "Too few replies ended in the steady phase for a rate: measure for longer."


def _rate(count: float, length: float) -> float | None:
    if length <= 0:
        return None
    return count / length


def _summary(waits: Iterable[float]) -> WaitSummary:
    values = np.array(list(waits), dtype=np.float64)
    if not len(values):
        return WaitSummary(0)
    p50, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
    return WaitSummary(len(values), float(values.mean()), p50, p95, p99, float(values.max()))


def _lateness(replies: Iterable[Reply]) -> Iterable[float]:
    for reply in replies:
        if reply.sent is not None:
            yield reply.sent - reply.due_moment


def _times_per_token(replies: Iterable[Reply]) -> Iterable[float]:
    for reply in replies:
        if reply.time_per_token is not None:
            yield reply.time_per_token


def _pauses(replies: Iterable[Reply]) -> Iterable[float]:
    for reply in replies:
        yield from np.diff(reply.arrivals).tolist()


def _counted_by(replies: Sequence[Reply]) -> str:
    counted_replies = sum(1 for reply in replies if reply.output_tokens is not None)
    if counted_replies == len(replies):
        return "server"
    if counted_replies == 0:
        return "parts"
    return "mixed"


def _phases(traffic: Traffic, sent: Sequence[Reply]) -> Iterable[TrafficPhase]:
    """Yield the phases that there were, in order."""
    clients = traffic.plan.concurrency or 1
    firsts = sorted(reply.arrivals[0] for reply in sent if reply.arrivals)
    last_end = max((reply.end for reply in sent), default=traffic.end)
    steady_start = last_end
    if len(firsts) >= clients:
        steady_start = firsts[clients - 1]
    steady_end = min(max(steady_start, traffic.deadline), last_end)
    bounds = (("ramp", traffic.start), ("steady", steady_start), ("tail", steady_end))
    ends = (steady_start, steady_end, last_end)
    for (name, start), end in zip(bounds, ends, strict=True):
        if end <= start:
            continue
        replies = 0
        tokens = 0.0
        for reply in sent:
            if reply.is_complete and start < reply.end <= end:
                replies += 1
            for moment in reply.arrivals:
                if start < moment <= end:
                    tokens += reply.tokens / len(reply.arrivals)
        length = (end - start) / _SECOND
        yield TrafficPhase(
            name=name,
            start=(start - traffic.start) / _SECOND,
            end=(end - traffic.start) / _SECOND,
            replies=replies,
            tokens=tokens,
            requests_per_s=_rate(replies, length),
            tokens_per_s=_rate(tokens, length),
        )


def _slowest(traffic: Traffic, complete: Sequence[Reply]) -> list[SlowReply]:
    ordered = sorted(complete, key=lambda reply: reply.due_moment - reply.end)
    slow_replies: list[SlowReply] = []
    for reply in ordered[:SLOWEST]:
        pause, pause_at = _longest_pause(reply)
        slow_replies.append(
            SlowReply(
                number=reply.number,
                due_second=(reply.due_moment - traffic.start) / _SECOND,
                first_token=(reply.arrivals[0] - traffic.start) / _SECOND,
                end=(reply.end - traffic.start) / _SECOND,
                longest_pause=pause,
                longest_pause_at=None if pause_at is None else (pause_at - traffic.start) / _SECOND,
            )
        )
    return slow_replies


def _longest_pause(reply: Reply) -> tuple[float | None, int | None]:
    """Return the longest pause between two parts, in seconds, and the moment that it began."""
    pauses = np.diff(reply.arrivals)
    if not len(pauses):
        return None, None
    place = int(np.argmax(pauses))
    return float(pauses[place]) / _SECOND, reply.arrivals[place]
