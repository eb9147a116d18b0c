"""`bench runtimes`: servers that are started, asked and stopped in turns."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.errors import UsageError
from tracekit.lab.endpoint.client import ModelNumbers
from tracekit.lab.endpoint.runtimes import (
    ComparedRuntimes,
    PhaseMemory,
    Runtime,
    RuntimeEffort,
    RuntimeRow,
    RuntimeSample,
    compare_runtimes,
    estimate_runtime,
    parse_runtime,
)
from tracekit.lab.endpoint.server_use import IdleMemory, ServerWatch
from tracekit.lab.endpoint.words import memory_tables, runtime_markdown, runtime_table

SERVER = """
import sys, time
sys.path.insert(0, {harness!r})
from token_server import Script, serve_forever
serve_forever(Script(), int(sys.argv[1]))
"""
HARNESS = Path(__file__).parents[2] / "harness"


def test_runtimes_are_named_with_a_model_or_a_command() -> None:
    named = parse_runtime("llama.cpp=x.gguf", "other")
    assert named.argv(8080) == [
        *("llama-server", "--model", "x.gguf", "--host", "127.0.0.1", "--port", "8080")
    ]
    assert parse_runtime("mlx_lm", "folder").model == "folder"
    command = parse_runtime("command:./serve --at {port} 'a b'", "m")
    assert (command.name, command.argv(7)) == ("serve", ["./serve", "--at", "7", "a b"])


@pytest.mark.parametrize(
    ("words", "model", "sentence"),
    [
        ("ollama", "m", "no runtime 'ollama'"),
        ("mlx_lm", None, "mlx_lm needs a model"),
        ("command:serve --port 80", None, "has no {port}"),
        ("command:", None, "has no {port}"),
    ],
)
def test_an_unknown_runtime_is_refused(words: str, model: str | None, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence.replace("{", r"\{")):
        parse_runtime(words, model)


def _make_sample(**more: float | None) -> RuntimeSample:
    values: dict[str, Any] = {
        "start": 2e9,
        "load": 1.5e9,
        "first_token": 50e6,
        "prefill": 2000.0,
        "decode": 80.0,
        "prompt_tokens": 100.0,
        "peak_memory": 2**20,
        "failures": 0,
        "coarse_replies": 0,
    }
    return RuntimeSample(**{**values, **more})


def test_figures_are_medians_of_rounds_and_absent_ones_stay_absent() -> None:
    samples = [_make_sample(decode=rate) for rate in (70.0, 90.0, 80.0)]
    row = RuntimeRow("a", "m", [], samples)
    figure = row.figure("decode")
    assert figure is not None
    assert (figure.median, figure.least, figure.largest) == (80.0, 70.0, 90.0)
    row = RuntimeRow("b|c", "m", [], [_make_sample(decode=None)])
    compared = ComparedRuntimes(RuntimeEffort(), [row], ["Mind this."])
    assert row.figure("decode") is None
    text = runtime_markdown(compared)
    assert "| b\\|c | 2 s (2 s to 2 s) | 1.50 s (" in text
    assert "not available" in text
    assert text.endswith("- Mind this.\n")


@pytest.mark.processes
def test_servers_are_measured_in_turns_and_ended(tracekit: Any, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER.format(harness=str(HARNESS)))
    file, markdown = tmp_path / "r.json", tmp_path / "r.md"
    command = f"command:{sys.executable} {server} {{port}}"
    result = tracekit(
        *("bench", "runtimes", "--with", command, "--with", "llama.cpp=none.gguf"),
        *("--with", f"command:{sys.executable} -c exit(5) {{port}}", "--rounds", "2"),
        *("--replies", "2", "--prompt-tokens", "4", "-o", file, "--markdown", markdown),
    )
    assert result.code == 0, result.err
    document = json.loads(file.read_text())
    measured, absent, ended = document["rows"]
    assert len(measured["samples"]) == 2
    for sample in measured["samples"]:
        assert sample["start"] > sample["first_token"] > 0
        assert 0 < sample["load"] < sample["start"]
        memory = sample["memory"]
        assert sample["peak_memory"] >= memory["loaded"] > 2**20
        assert memory["idle"]["private"] > 2**20
        assert sample["prompt_tokens"] == 7
        assert sample["peak_memory"] > 2**20
        assert sample["failures"] == 0
    assert absent["samples"] == []
    assert "llama-server" in absent["reason"]
    assert ended["reason"].startswith("it ended with exit code 5")
    assert "llama-server" in markdown.read_text()
    for process in psutil.process_iter(["cmdline"]):
        assert str(server) not in (process.info["cmdline"] or [])


def test_memory_is_shown_by_phase_and_component(tmp_path: Path) -> None:
    config = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    runtime = Runtime("a", ("x",), str(tmp_path))
    estimate = estimate_runtime(runtime, RuntimeEffort(prompt_tokens=96, output_tokens=32))
    assert estimate is not None
    assert (estimate.context, estimate.size_of("KV cache")) == (128, 2 * 64 * 2 * 2 * 128)
    memory = PhaseMemory(2**30, 2**21, None, 2**22, IdleMemory(2**20, None, None))
    sample = replace(_make_sample(peak_memory=2**22), memory=memory)
    rows = [RuntimeRow("a", str(tmp_path), [], [sample], estimate=estimate)]
    phases, components = memory_tables(ComparedRuntimes(RuntimeEffort(), rows, []))
    assert phases[2] == [
        ("a", "1 GiB", "2 MiB", "not available", "4 MiB", "4 MiB", "1 MiB",
         "not available", "not available"),
    ]  # fmt: skip
    assert [row[0] for row in components[2]] == [
        *("weights", "KV cache", "activations", "all", "other")
    ]
    assert estimate_runtime(Runtime("b", ("x",), "none"), RuntimeEffort()) is None


def test_memory_is_estimated_before_the_first_round(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}')
    runtime = Runtime("a", ("no-such-program-of-anybody",), str(tmp_path))
    compared = compare_runtimes([runtime], RuntimeEffort(), progress=lambda _: config.unlink())
    assert compared.rows[0].estimate is not None


def test_a_sample_belongs_to_the_phase_in_which_it_was_taken() -> None:
    with ServerWatch(psutil.Process().pid, 60.0) as watch:
        moment = time.perf_counter_ns()
    assert watch.level_at(0) is None
    assert (watch.level_at(moment) or 0) > 2**20
    assert watch.peak_within([(0, 1), (0, moment)]) == watch.level_at(moment)
    assert watch.peak_within([(0, 1)]) is None


def test_a_model_that_gives_nan_is_named() -> None:
    rounds = [_make_sample(), replace(_make_sample(), numbers=ModelNumbers.NOT_FINITE)]
    row = RuntimeRow("a", "m", [], rounds)
    assert row.numbers is ModelNumbers.NOT_FINITE
    _, columns, rows = runtime_table(ComparedRuntimes(RuntimeEffort(), [row], []))
    assert rows[0][columns.index("numbers")] == "NaN"
    assert RuntimeRow("a", "m", [], []).numbers is ModelNumbers.UNKNOWN


def test_without_a_runtime_the_command_says_which_there_are(tracekit: Any) -> None:
    result = tracekit("bench", "runtimes")
    assert result.code == 2
    assert "--with mlx_lm" in result.err


def test_a_runtime_fills_in_its_words() -> None:
    runtime = Runtime("a", ("x", "{model}:{port}", "{host}"), "m")
    assert runtime.argv(9) == ["x", "m:9", "127.0.0.1"]
