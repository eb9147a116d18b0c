"""`tracekit bench load` against a server on loopback."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from token_server import TEXT, Script, serving
from tracekit.lab.endpoint.server_use import find_server


def test_a_closed_loop_is_measured_and_written(tracekit: Any, tmp_path: Path) -> None:
    script = Script()
    file = tmp_path / "load.json"
    with serving(script) as url:
        line = f"bench load --url {url}/completions --concurrency 2 --duration 0.3 -o {file}"
        result = tracekit(*line.split(), "--json")
    assert result.code == 0, result.err
    shown = json.loads(result.out)
    assert shown["complete"] == shown["sent"] == len(script.asked) > 2
    assert (shown["model"], shown["loop"], shown["failures"]) == ("tiny", "closed", {})
    assert (shown["counted_by"], shown["output_tokens"]) == ("server", 3 * shown["complete"])
    assert shown["server"]["pid"] == os.getpid()
    assert shown["server"]["peak_memory"] > 0
    written = json.loads(file.read_text())
    assert len(written["replies"]) == shown["sent"]
    assert written["replies"][0]["outcome"] == "complete"
    assert len({prompt["prompt"] for prompt in script.asked}) == shown["sent"]


def test_an_open_loop_sends_at_its_rate_whatever_comes_back(tracekit: Any) -> None:
    script = Script(status=503, error="overloaded")
    with serving(script) as url:
        line = f"bench load --url {url} --rate 20 --duration 0.5 --model tiny"
        result = tracekit(*line.split())
    assert result.code == 3
    assert len(script.asked) == 10
    assert "None of 10 requests" in result.err
    assert "10 status 503" in result.err
    assert "overloaded" in result.err


def test_a_server_that_ends_half_is_shown_with_the_rest(tracekit: Any) -> None:
    script = Script(events=(TEXT, TEXT))
    with serving(script) as url:
        result = tracekit(*f"bench load --url {url} --duration 0.1 --concurrency 1".split())
    assert result.code == 3
    assert "cut" in result.out
    assert "the stream ended without [DONE]" in result.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--url 127.0.0.1:8080", "Invalid URL '127.0.0.1:8080'"),
        ("--url ftp://a/b", "Invalid URL"),
        ("--url http://127.0.0.1:1/v1 --rate 1 --concurrency 2", "exclude each other"),
        ("--url http://127.0.0.1:1/v1 --prompt nowhere.txt", "cannot be read as text"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_sent(
    tracekit: Any, words: str, sentence: str
) -> None:
    result = tracekit("bench", "load", *words.split())
    assert result.code == 2
    assert sentence in result.err


def test_a_key_is_sent_on_request_alone(tracekit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    script = Script()
    with serving(script) as url:
        line = f"bench load --url {url} --rate 10 --duration 0.1".split()
        assert tracekit(*line).code == 0
        assert tracekit(*line, "--key-variable", "OPENAI_API_KEY").code == 0
        assert tracekit(*line, "--key-variable", "NOT_THERE").code == 2
    assert script.keys == ["", "Bearer secret"]


def test_a_local_server_is_asked_without_a_proxy(
    tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    script = Script()
    with serving(script) as url:
        result = tracekit(*f"bench load --url {url} --rate 10 --duration 0.1".split())
    assert (result.code, len(script.asked)) == (0, 1), result.err


def test_no_server_is_one_sentence(tracekit: Any) -> None:
    result = tracekit("bench", "load", "--url", "http://127.0.0.1:9/v1")
    assert result.code == 3
    assert "No server answers at http://127.0.0.1:9/v1" in result.err


def test_a_server_elsewhere_is_not_watched() -> None:
    assert find_server("http://example.invalid:80/v1") == (
        None,
        "example.invalid is another machine",
    )
