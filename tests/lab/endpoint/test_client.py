"""One request to a server of tokens, and every way in which its reply can end."""

import socket

import httpx2
import pytest

from token_server import CHAT, DONE, FINISH, TEXT, USAGE, Script, serving
from tracekit.lab.endpoint.client import (
    Endpoint,
    Reply,
    ReplyOutcome,
    ask,
    check_numbers,
    run_coroutine,
)


def _ask(script: Script, **how: object) -> Reply:
    with serving(script) as url:
        return _ask_at(url, **how)


def _ask_at(url: str, **how: object) -> Reply:
    async def ask_once() -> Reply:
        reply = Reply(0, 0)
        endpoint = Endpoint(url, **how)  # type: ignore[arg-type]
        async with httpx2.AsyncClient(timeout=endpoint.time_limit) as client:
            await ask(client, endpoint, reply, "two words", 16)
        return reply

    return run_coroutine(ask_once())


def test_a_whole_reply_has_its_moments_and_the_counts_of_the_server() -> None:
    script = Script()
    reply = _ask(script, model="tiny")
    assert (reply.outcome, reply.failure, reply.status) == (ReplyOutcome.COMPLETE, "", 200)
    assert (reply.tokens, reply.prompt_tokens, len(reply.arrivals)) == (3, 7, 3)
    assert reply.sent is not None
    assert reply.sent < reply.arrivals[0] <= reply.arrivals[-1] <= reply.end
    (asked,) = script.asked
    assert script.paths == ["/v1/completions"]
    assert asked == {
        "model": "tiny",
        "prompt": "two words",
        "max_tokens": 16,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_chat_is_asked_with_its_key_and_read_from_deltas() -> None:
    script = Script(events=(CHAT, CHAT, DONE))
    reply = _ask(script, api="chat", key="secret", ignores_end=True)
    assert (reply.outcome, reply.tokens, reply.output_tokens) == (ReplyOutcome.COMPLETE, 2, None)
    assert script.paths == ["/v1/chat/completions"]
    assert script.keys == ["Bearer secret"]
    (asked,) = script.asked
    assert asked["messages"] == [{"role": "user", "content": "two words"}]
    assert asked["ignore_eos"] is True
    assert "model" not in asked


@pytest.mark.parametrize(
    ("script", "failure", "reason"),
    [
        (Script(status=500, error="no memory"), "status 500", "no memory"),
        (Script(status=429, error="busy"), "status 429", "busy"),
        (Script(events=(TEXT, TEXT)), "cut", "without [DONE]"),
        (Script(events=()), "cut", "without [DONE]"),
        (Script(events=("data: {half", DONE)), "unreadable", "not JSON: '{half'"),
        (Script(events=("data: 7", DONE)), "unreadable", "not an object"),
        (Script(events=('data: {"error": "slot lost"}',)), "unreadable", "slot lost"),
        (Script(events=(DONE,)), "empty", ""),
        (Script(events=(USAGE, DONE)), "empty", ""),
        (Script(events=(TEXT,), stalls=True), "timeout", "nothing came for 0.2 s"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_failure_has_its_kind_and_reason(script: Script, failure: str, reason: str) -> None:
    reply = _ask(script, time_limit=0.2 if script.stalls else 30.0)
    assert reply.failure == failure
    assert reason in reply.reason
    assert reply.sent is not None
    assert reply.end >= reply.sent


def test_a_port_without_a_server_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert _ask_at(f"http://127.0.0.1:{port}/v1").failure == "refused"


@pytest.mark.parametrize(
    "events",
    [
        (TEXT, FINISH),  # a server that closes instead of [DONE]
        (": a comment", "event: part", TEXT, 'data: {"usage": {"completion_tokens": -1}}', DONE),
        ('data: {"choices": null}', 'data: {"choices": [7, {"delta": null, "text": "a"}]}', DONE),
        ('data: {"choices": [{"delta": {"reasoning_content": "a"}}]}', DONE),
    ],
)
def test_servers_that_differ_in_details_are_read(events: tuple[str, ...]) -> None:
    reply = _ask(Script(events=events))
    assert (reply.failure, reply.tokens) == ("", 1)


def test_a_thread_with_a_running_loop_can_ask_as_well() -> None:
    async def ask_in_a_notebook() -> Reply:
        return _ask(Script())

    assert run_coroutine(ask_in_a_notebook()).failure == ""


@pytest.mark.parametrize(
    ("whole", "numbers"),
    [
        # as mlx_lm 0.32.2 answered, with a model whose weights were NaN
        ('{"choices": [{"logprobs": {"content": [{"id": 0, "logprob": NaN}]}}]}', "NaN"),
        ('{"choices": [{"logprobs": {"content": [{"id": 8, "logprob": -7.1}]}}]}', "finite"),
        ('{"choices": [{"logprobs": {"token_logprobs": [null, -0.5]}}]}', "finite"),
        ('{"choices": [{"logprobs": {"token_logprobs": [-0.5, -Infinity]}}]}', "NaN"),
        ('{"choices": [{"text": "a"}]}', "not given"),
        ("", "not given"),
    ],
)
def test_nan_in_a_model_shows_in_its_logarithms(whole: str, numbers: str) -> None:
    script = Script(whole=whole)

    async def check(endpoint: Endpoint) -> str:
        async with httpx2.AsyncClient(trust_env=False) as client:
            return str(await check_numbers(client, endpoint))

    with serving(script) as url:
        assert run_coroutine(check(Endpoint(url))) == numbers
    assert [request["logprobs"] for request in script.asked][:1] == [True]
