"""Send requests to a server, in a closed or an open loop, and keep every reply.

In a closed loop a number of clients each send the next request once a reply has ended: the server's
speed decides how many come. In an open loop requests come at a rate, whatever the server does, and
waits are counted from the moment that was due, so that a server that stalls cannot hide it.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import httpx2
import numpy as np
import psutil

from tracekit.base import ToolError, UsageError
from tracekit.lab.endpoint.client import Endpoint, Reply, ask, run_coroutine
from tracekit.lab.endpoint.server_use import ServerUse, ServerWatch, find_server
from tracekit.ops import load
from tracekit.record import Progress, quiet

_SECOND = 1_000_000_000
_WORDS = (
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world",
    "school", "state", "family", "student", "group", "country", "problem", "hand", "part", "place",
    "case", "week", "company", "system", "program", "question", "work", "number", "night", "point",
    "home", "water", "room", "mother", "area", "money", "story", "fact", "month", "lot", "right",
    "study", "book", "eye", "job", "word", "business", "issue", "side", "kind", "head", "house",
    "service", "friend", "father", "power", "hour", "game", "line", "end", "member", "law", "car",
)  # fmt: skip
"""Short and frequent, so that most tokenizers make one token of each."""


@dataclass(frozen=True)
class TrafficPlan:
    """The requests to send to an endpoint.

    Attributes:
        load: Lengths and seed, in an open loop also arrivals.
        concurrency: Clients of a closed loop; None is an open loop.
        prompt: A text for all requests; None makes one of each request's own words.
    """

    endpoint: Endpoint
    load: load.ServerLoad
    concurrency: int | None = None
    prompt: str | None = None

    @property
    def duration(self) -> float:
        """Seconds in which requests are sent."""
        return self.load.duration


@dataclass
class Traffic:
    """All replies of a measurement, by their number, and its moments in ns of one clock."""

    plan: TrafficPlan
    start: int
    started_at: float  # seconds since 1970
    replies: list[Reply] = field(default_factory=list)
    deadline: int = 0  # of sending
    end: int = 0
    client_cpu: float = 0.0  # seconds of this process
    interrupted: bool = False
    server: ServerUse | None = None
    server_reason: str = ""  # for the lack of it


_SPREAD = 4  # times a typical length, up and down


def make_load(
    *,
    rate: float | None,
    duration: float,
    prompt_tokens: int,
    output_tokens: int,
    lengths: load.Distribution,
    seed: int,
) -> load.ServerLoad:
    """Return the load of a measurement: lengths "fixed", or spread up to four times either way."""
    drawn_lengths: list[load.Lengths] = []
    for name, typical in (("prompt", prompt_tokens), ("output", output_tokens)):
        shortest = max(1, typical // _SPREAD)
        drawn_lengths.append(load.Lengths(name, lengths, typical, shortest, typical * _SPREAD))
    prompts, outputs = drawn_lengths
    return load.ServerLoad(load.Rate(rate or 1.0), prompts, outputs, duration, seed=seed)


def with_listed_model(plan: TrafficPlan) -> TrafficPlan:
    """Return the plan with the first model that the server lists.

    Raises ToolError if no server answers.
    """
    try:
        model = find_model(plan.endpoint)
    except httpx2.HTTPError as error:
        raise ToolError(
            f"No server answers at {plan.endpoint.url}: {error}",
            hint="Start it, or name its address and port.",
        ) from error
    return replace(plan, endpoint=replace(plan.endpoint, model=model))


def measure_endpoint(
    plan: TrafficPlan, *, pid: int | None = None, progress: Progress = quiet
) -> Traffic:
    """Send the traffic of a plan, and watch the server's process meanwhile.

    `pid` is that process; None looks for the one that listens on the port. Raises UsageError if
    the process of `pid` does not exist.
    """
    reason = ""
    if pid is None:
        pid, reason = find_server(plan.endpoint.url)
    if pid is None:
        traffic = send_traffic(plan, progress=progress)
        traffic.server_reason = reason
        return traffic
    try:
        watch = ServerWatch(pid)
    except psutil.Error as error:
        raise UsageError(f"The process {pid} cannot be watched: {error}") from error
    with watch:
        traffic = send_traffic(plan, progress=progress)
    traffic.server = watch.use()
    return traffic


def make_prompt(number: int, words: int, seed: int) -> str:
    """Return a prompt of its own for a request: other prompts share no beginning with it."""
    generator = np.random.default_rng([seed, 4, number])
    chosen = generator.integers(0, len(_WORDS), max(1, words))
    return " ".join(_WORDS[place] for place in chosen)


def send_traffic(plan: TrafficPlan, *, progress: Progress = quiet) -> Traffic:
    """Send all requests, wait for their replies, and return them; an interruption ends it early."""
    return run_coroutine(_send(plan, progress))


def find_model(endpoint: Endpoint) -> str:
    """Return the first model that the server lists; empty if it lists none.

    Raises httpx2.HTTPError if there is no server.
    """
    time_limit = min(endpoint.time_limit, 10.0)
    with httpx2.Client(timeout=time_limit, trust_env=not endpoint.is_local) as client:
        response = client.get(f"{endpoint.url}/models", headers=endpoint.headers)
    if not response.is_success:
        return ""
    try:
        listed = response.json()["data"]
        return str(listed[0]["id"])
    except (ValueError, LookupError, TypeError):
        return ""


async def _send(plan: TrafficPlan, progress: Progress) -> Traffic:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=plan.concurrency)
    async with httpx2.AsyncClient(
        limits=limits,
        timeout=plan.endpoint.time_limit,
        trust_env=not plan.endpoint.is_local,
    ) as client:
        cpu_before = time.process_time()
        traffic = Traffic(plan, time.perf_counter_ns(), time.time())
        traffic.deadline = traffic.start + round(plan.duration * _SECOND)
        watching = asyncio.create_task(_report(traffic, progress))
        try:
            if plan.concurrency is None:
                await _send_open(client, traffic)
            else:
                await _send_closed(client, traffic, plan.concurrency)
        except asyncio.CancelledError:
            traffic.interrupted = True
            traffic.deadline = min(traffic.deadline, time.perf_counter_ns())
        finally:
            watching.cancel()
        traffic.end = time.perf_counter_ns()
        traffic.client_cpu = time.process_time() - cpu_before
    return traffic


async def _report(traffic: Traffic, progress: Progress) -> None:
    while True:
        reply_count = sum(1 for reply in traffic.replies if reply.end)
        seconds = (time.perf_counter_ns() - traffic.start) / _SECOND
        progress(f"{seconds:.0f} of {traffic.plan.duration:g} s, {reply_count} replies")
        await asyncio.sleep(0.5)


async def _send_closed(client: httpx2.AsyncClient, traffic: Traffic, concurrency: int) -> None:
    draw_lengths = _make_drawing(traffic.plan)

    async def send_in_turn() -> None:
        while time.perf_counter_ns() < traffic.deadline:
            number = len(traffic.replies)
            prompt_tokens, most_tokens = draw_lengths(number)
            prompt = _prompt_of(traffic.plan, number, prompt_tokens)
            reply = Reply(number, time.perf_counter_ns())
            traffic.replies.append(reply)
            await ask(client, traffic.plan.endpoint, reply, prompt, most_tokens)
            if reply.outcome in _PAUSING:
                await asyncio.sleep(_PAUSE)

    async with asyncio.TaskGroup() as clients:
        for _ in range(concurrency):
            clients.create_task(send_in_turn())


_PAUSING = frozenset({"refused", "status"})
_PAUSE = 0.1  # seconds after such a reply, which comes at once: no client hammers a server


def _make_drawing(plan: TrafficPlan) -> Callable[[int], tuple[int, int]]:
    """Return the function that draws the lengths of a request by its number."""

    def draw(number: int) -> tuple[int, int]:
        generator = np.random.default_rng([plan.load.seed, 5, number])
        (prompt_tokens,) = plan.load.prompts.draw(1, generator)
        (output_tokens,) = plan.load.outputs.draw(1, generator)
        return prompt_tokens, output_tokens

    return draw


async def _send_open(client: httpx2.AsyncClient, traffic: Traffic) -> None:
    async with asyncio.TaskGroup() as requests:
        for request in load.draw_schedule(traffic.plan.load):
            due_moment = traffic.start + request.arrival
            prompt = _prompt_of(traffic.plan, request.number, request.prompt_tokens)
            wait = (due_moment - time.perf_counter_ns()) / _SECOND
            await asyncio.sleep(max(0.0, wait))
            reply = Reply(request.number, due_moment)
            traffic.replies.append(reply)
            asking = ask(client, traffic.plan.endpoint, reply, prompt, request.output_tokens)
            requests.create_task(asking)


def _prompt_of(plan: TrafficPlan, number: int, words: int) -> str:
    """Return the prompt of a request; it is made before the request is due."""
    if plan.prompt is not None:
        return plan.prompt
    return make_prompt(number, words, plan.load.seed)
