"""Ask an OpenAI-compatible server for a completion, and note when each part of it arrives.

The requests and streams are those of OpenAI's API reference for completions and chat completions,
which llama.cpp's server, mlx_lm, vLLM and others follow: server-sent events, each `data: ` and a
JSON document, at the end `data: [DONE]`.
"""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import httpx2

Api = Literal["completions", "chat"]
_Answer = TypeVar("_Answer")


LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
HELD_BACK = 250_000
"""Median ns between parts of a reply below which they were held back.

No model decodes 4,000 tokens a second for one client.
"""


class ReplyOutcome(StrEnum):
    """How a request ended."""

    COMPLETE = "complete"
    REFUSED = "refused"  # no connection
    TIMEOUT = "timeout"  # nothing came for longer than the limit
    STATUS = "status"  # the server answered with an error
    CUT = "cut"  # the stream ended without its end
    UNREADABLE = "unreadable"  # an event is not a document of the API
    EMPTY = "empty"  # the stream was whole and had no token
    ABANDONED = "abandoned"  # the measurement ended before the reply did


@dataclass(frozen=True)
class Endpoint:
    """A server and its interface.

    `url` is up to and without `/completions`, such as "http://127.0.0.1:8080/v1". `time_limit` is
    in seconds, for a connection and for each wait for the next part of a reply.
    """

    url: str
    api: Api = "completions"
    model: str = ""
    key: str = ""
    time_limit: float = 120.0
    ignores_end: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that no proxy is asked."""
        return urlsplit(self.url).hostname in LOCAL_HOSTS

    @property
    def address(self) -> str:
        """The address that completions are asked of."""
        if self.api == "chat":
            return f"{self.url}/chat/completions"
        return f"{self.url}/completions"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each request."""
        if self.key:
            return {"Authorization": f"Bearer {self.key}"}
        return {}

    def body(self, prompt: str, most_tokens: int) -> dict[str, Any]:
        """Return the document that asks for a stream of up to `most_tokens`."""
        document: dict[str, Any] = {
            "max_tokens": most_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.model:
            document["model"] = self.model
        if self.api == "chat":
            document["messages"] = [{"role": "user", "content": prompt}]
        else:
            document["prompt"] = prompt
        if self.ignores_end:
            document["ignore_eos"] = True
        return document


@dataclass
class Reply:
    """One request and its reply. Moments are ns of one clock; None has not happened.

    Attributes:
        number: Its place among all requests, from 0.
        due_moment: When the load wanted it to be sent.
        sent: When it was sent.
        arrivals: When each part with text arrived: the first one ends the wait for a token.
        end: When the reply was over, whatever its outcome.
        prompt_tokens: Tokens of the prompt by the server's count; None if it gave none.
        output_tokens: Tokens of the reply by the server's count; None if it gave none.
        outcome: How it ended.
        reason: The server's or the system's words for a failure.
        status: The code of HTTP, if the server answered.
    """

    number: int
    due_moment: int
    sent: int | None = None
    arrivals: list[int] = field(default_factory=list)
    end: int = 0
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    outcome: ReplyOutcome = ReplyOutcome.ABANDONED
    reason: str = ""
    status: int | None = None
    has_finished: bool = False  # the server gave a reason to finish

    @property
    def is_complete(self) -> bool:
        """Whether the reply came whole."""
        return self.outcome is ReplyOutcome.COMPLETE

    @property
    def tokens(self) -> int:
        """Tokens of the reply: the server's count, else the number of its parts."""
        if self.output_tokens is not None:
            return self.output_tokens
        return len(self.arrivals)

    @property
    def is_coarse(self) -> bool:
        """Whether its parts time no token: they hold several, or were sent all at once."""
        if 2 * len(self.arrivals) < self.tokens:
            return True
        pauses = [later - earlier for earlier, later in pairwise(self.arrivals)]
        return bool(pauses) and median(pauses) < HELD_BACK

    @property
    def time_per_token(self) -> float | None:
        """The ns from the first to the last part, by the tokens between; None if it is coarse."""
        tokens_between = self.tokens - 1
        parts_between = len(self.arrivals) - 1
        if self.is_coarse or tokens_between < 1 or parts_between < 1:
            return None
        return (self.arrivals[-1] - self.arrivals[0]) / tokens_between

    @property
    def failure(self) -> str:
        """The kind of a failure, such as "status 500"; empty for a complete reply."""
        if self.is_complete:
            return ""
        if self.outcome is ReplyOutcome.STATUS:
            return f"status {self.status}"
        return str(self.outcome)


_END = "[DONE]"
_LONGEST_REASON = 300


def run_coroutine(coroutine: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Run a coroutine to its end and return its result.

    It runs in a thread of its own if this one has a running loop, as that of a notebook has.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(asyncio.run, coroutine).result()


async def ask(
    client: httpx2.AsyncClient, endpoint: Endpoint, reply: Reply, prompt: str, most_tokens: int
) -> None:
    """Send one request, and fill in its reply; no failure of the server raises."""
    reply.sent = time.perf_counter_ns()
    try:
        await _receive(client, endpoint, reply, endpoint.body(prompt, most_tokens))
    except httpx2.TimeoutException:
        reply.outcome = ReplyOutcome.TIMEOUT
        reply.reason = f"nothing came for {endpoint.time_limit:g} s"
    except httpx2.ConnectError as error:
        reply.outcome = ReplyOutcome.REFUSED
        reply.reason = str(error)
    except httpx2.TransportError as error:
        reply.outcome = ReplyOutcome.CUT
        reply.reason = str(error) or type(error).__name__
    except _UnreadableError as error:
        reply.outcome = ReplyOutcome.UNREADABLE
        reply.reason = str(error)
    except asyncio.CancelledError:
        reply.outcome = ReplyOutcome.ABANDONED
        reply.reason = "the measurement ended first"
        raise
    finally:
        reply.end = time.perf_counter_ns()


class ModelNumbers(StrEnum):
    """Whether the numbers of a model, the logarithms of its tokens' probabilities, are numbers."""

    FINITE = "finite"
    NOT_FINITE = "NaN"
    UNKNOWN = "not given"


_ASKED_TOKENS = 4


async def check_numbers(client: httpx2.AsyncClient, endpoint: Endpoint) -> ModelNumbers:
    """Ask for a few tokens with the logarithms of their probabilities, and look for NaN.

    mlx_lm and the interface of chats take `logprobs` as a flag, that of completions takes a number.
    """
    for value in (True, 1):
        body = endpoint.body("time", _ASKED_TOKENS)
        body |= {"stream": False, "logprobs": value}
        del body["stream_options"]
        try:
            response = await client.post(endpoint.address, json=body, headers=endpoint.headers)
            document = response.json()
        except (httpx2.HTTPError, ValueError):
            return ModelNumbers.UNKNOWN
        numbers = list(_find_logarithms(document))
        if numbers:
            if all(map(math.isfinite, numbers)):
                return ModelNumbers.FINITE
            return ModelNumbers.NOT_FINITE
    return ModelNumbers.UNKNOWN


def _find_logarithms(document: Any) -> Iterator[float]:
    """Yield the numbers of `logprob` and `token_logprobs`, wherever they are in a document."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name == "logprob" and isinstance(value, float):
                yield value
            elif name == "token_logprobs" and isinstance(value, list):
                yield from (number for number in value if isinstance(number, float))
            else:
                yield from _find_logarithms(value)
    elif isinstance(document, list):
        for entry in document:
            yield from _find_logarithms(entry)


class _UnreadableError(Exception):
    """An event of a stream that is not a document of the API."""


async def _receive(
    client: httpx2.AsyncClient, endpoint: Endpoint, reply: Reply, body: dict[str, Any]
) -> None:
    async with client.stream(
        "POST", endpoint.address, json=body, headers=endpoint.headers
    ) as response:
        reply.status = response.status_code
        if not response.is_success:
            await response.aread()
            reply.outcome = ReplyOutcome.STATUS
            reply.reason = response.text.strip()[:_LONGEST_REASON]
            return
        async for event in _events(response):
            if event == _END:
                reply.has_finished = True
                break
            _note_event(reply, event)
    if not reply.has_finished:
        reply.outcome = ReplyOutcome.CUT
        reply.reason = f"the stream ended without {_END}"
    elif reply.arrivals:
        reply.outcome = ReplyOutcome.COMPLETE
    else:
        reply.outcome = ReplyOutcome.EMPTY


async def _events(response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the data of server-sent events; a server's comments and other fields are skipped."""
    async for line in response.aiter_lines():
        name, separator, data = line.partition(":")
        if separator and name == "data":
            yield data.strip()


def _note_event(reply: Reply, event: str) -> None:
    """Take over the moment of a part with text, and the counts of the last event."""
    moment = time.perf_counter_ns()
    try:
        document = json.loads(event)
    except ValueError:
        raise _UnreadableError(f"an event is not JSON: {event[:80]!r}") from None
    if not isinstance(document, dict):
        raise _UnreadableError(f"an event is not an object: {event[:80]!r}")
    if "error" in document:
        raise _UnreadableError(f"the server reports: {str(document['error'])[:_LONGEST_REASON]}")
    for choice in _choices_of(document):
        if choice.get("finish_reason"):
            reply.has_finished = True
        if _has_text(choice) and reply.arrivals[-1:] != [moment]:
            reply.arrivals.append(moment)
    usage = document.get("usage")
    if isinstance(usage, dict):
        reply.prompt_tokens = _count_of(usage, "prompt_tokens")
        reply.output_tokens = _count_of(usage, "completion_tokens")


def _choices_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    choices = document.get("choices")
    if not isinstance(choices, list):
        return []
    return [choice for choice in choices if isinstance(choice, dict)]


def _has_text(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return _is_text(choice.get("text"))
    # models that reason stream that part under a name of its own
    names = ("content", "reasoning_content", "reasoning")
    return any(_is_text(delta.get(name)) for name in names)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _count_of(usage: dict[str, Any], name: str) -> int | None:
    count = usage.get(name)
    if isinstance(count, int) and count >= 0:
        return count
    return None
