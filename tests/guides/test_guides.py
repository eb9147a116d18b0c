"""Each row of the five guides: its command is run, and its quote is in the output."""

import ast
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from command_line import iterate_commands
from every_command import make_world
from guide_rows import STATES, TESTS, GuideRow, has_quote, load_guide_rows
from token_server import Script, serving
from tracekit.cli.names import GROUPS

ROWS, RUNS = load_guide_rows()
_MARKERS = {"": (), "fake": ("processes",), "processes": ("processes",), "emulator": ("emulator",)}
_TABLE = """#!/bin/sh
echo '| model | size | params | backend | threads | test | t/s |'
echo '| --- | ---: | ---: | --- | ---: | ---: | ---: |'
echo '| llama 1B Q4_0 | 1.00 GiB | 1.00 B | Metal | 4 | pp512 | 1234.56 ± 3.21 |'
echo '| llama 1B Q4_0 | 1.00 GiB | 1.00 B | Metal | 4 | tg128 | {rate} ± 0.40 |'
"""
_EVAL_TIME = """#!/bin/sh
echo 'llama_perf_context_print:        eval time =    1000.00 ms /    {rate} runs   \
(   18.52 ms per token,    {rate}.00 tokens per second)' >&2
"""
_PROGRAMS = {
    "llama-bench-old": _TABLE.format(rate="54.10"),
    "llama-bench": _TABLE.format(rate="60.10"),
    "main-old": _EVAL_TIME.format(rate=54),
    "main-new": _EVAL_TIME.format(rate=60),
}
_MODEL = """{"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
"intermediate_size": 128, "vocab_size": 256, "quantization": {"bits": 4, "group_size": 64}}"""
# the sizes of mlx-community/Qwen3-8B-4bit
_QWEN = """{"hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32,
"num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
"tie_word_embeddings": false, "quantization": {"bits": 4, "group_size": 64}}"""
# guide 3's example: a barrier after a value that is in a register
_SUMS = """#include <metal_stdlib>
using namespace metal;
kernel void sums(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                 uint lane [[thread_position_in_threadgroup]],
                 uint size [[threads_per_threadgroup]]) {
  threadgroup float part[64];
  float swiglu = x[lane] / (1.0f + exp(-x[lane]));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  part[lane] = swiglu;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint i = 0; i < size; ++i) sum += part[i];
  out[lane] = sum;
}
"""
# a trace that puts a blit encoder on the channel of compute, as those of an M1 do
_COPIES = """<?xml version="1.0"?>
<trace-query-result><node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>
<schema name="metal-gpu-intervals">
<col><mnemonic>start</mnemonic><name>Creation</name>
<engineering-type>start-time</engineering-type></col>
<col><mnemonic>duration</mnemonic><name>Duration</name>
<engineering-type>duration</engineering-type></col>
<col><mnemonic>channel-name</mnemonic><name>Channel Name</name>
<engineering-type>gpu-channel-name</engineering-type></col>
<col><mnemonic>event-label</mnemonic><name>Label</name>
<engineering-type>formatted-label</engineering-type></col>
<col><mnemonic>process</mnemonic><name>Process</name>
<engineering-type>process</engineering-type></col></schema>
<row><start-time id="1" fmt="00:00.001">1000000</start-time>
<duration id="2" fmt="2 ms">2000000</duration>
<gpu-channel-name id="3" fmt="Compute">Compute</gpu-channel-name>
<formatted-label id="4" fmt="Command Buffer 0:Compute Command 0"><string id="5"
fmt="Command Buffer 0:Compute Command 0">Command Buffer 0:Compute Command 0</string>
</formatted-label>
<process id="6" fmt="decode (77)"><pid id="7" fmt="77">77</pid></process></row>
<row><start-time id="8" fmt="00:00.004">4000000</start-time>
<duration id="9" fmt="300 µs">300000</duration><gpu-channel-name ref="3"/>
<formatted-label id="10" fmt="Command Buffer 0:Blit Command 0"><string id="11"
fmt="Command Buffer 0:Blit Command 0">Command Buffer 0:Blit Command 0</string>
</formatted-label><process ref="6"/></row>
</node></trace-query-result>
"""
_SERVER = """
import sys, time
sys.path.insert(0, {harness!r})
from token_server import WHOLE, Script, serve_forever

class Paced(tuple):
    def __iter__(self):
        for event in super().__iter__():
            time.sleep(0.003)
            yield event

serve_forever(Script(events=Paced(WHOLE)), int(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Make a folder of small inputs, in which commands are run."""
    home = tmp_path_factory.mktemp("guides")
    inputs = make_world(home / "world").places()
    for name, text in _PROGRAMS.items():
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    sums = home / "sums.metal"
    sums.write_text(_SUMS)
    copies = home / "copies.xml"
    copies.write_text(_COPIES)
    server = home / "server.py"
    server.write_text(_SERVER.format(harness=str(TESTS / "harness")))
    model = home / "tiny-4bit"
    model.mkdir()
    (model / "config.json").write_text(_MODEL)
    qwen = home / "Qwen3-8B-4bit"
    qwen.mkdir()
    (qwen / "config.json").write_text(_QWEN)
    output = home / "made"
    output.mkdir()
    paths = {
        "HOME": home,
        "QWEN": qwen,
        "SUMS": sums,
        "COPIES": copies,
        "OUT": output,
        "SERVER": server,
        "MODEL": model,
        "PYTHON": sys.executable,
        **inputs,
    }
    return {name: str(path) for name, path in paths.items()}


def _parameters() -> list[Any]:
    parameters: list[Any] = []
    for name, guide_run in RUNS.items():
        names = list(_MARKERS[guide_run.needs])
        if any("{CORPUS}" in line for line in guide_run.lines):
            names.append("corpus")
        marks = [getattr(pytest.mark, marker) for marker in names]
        parameters.append(pytest.param(name, marks=marks, id=name))
    return parameters


@pytest.mark.parametrize("name", _parameters())
def test_a_run_prints_the_quotes_of_its_rows(
    name: str, places: dict[str, str], tracekit: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    guide_run = RUNS[name]
    text = " ".join(guide_run.lines)
    words = dict(places)
    monkeypatch.chdir(places["HOME"])
    if "{CORPUS}" in text:
        words["CORPUS"] = str(request.getfixturevalue("corpus"))
    if guide_run.needs == "fake":
        request.getfixturevalue("scenario")(chip="M1", busy=True)
    if guide_run.needs == "emulator":
        request.getfixturevalue("compiled_kernels")
    printed: list[str] = []
    with ExitStack() as stack:
        if "{URL}" in text:
            words["URL"] = stack.enter_context(serving(Script()))
        for line in guide_run.lines:
            outcome = tracekit(*(word.format_map(words) for word in shlex.split(line)))
            assert outcome.code == 0, (line, outcome.err)
            printed += [outcome.out, outcome.err]
    if guide_run.file:
        printed.append((Path(places["OUT"]) / guide_run.file).read_text())
    output = "\n".join(printed).replace(places["OUT"], "{OUT}")
    rows = [row for row in ROWS if row.run == name]
    missing = {row.number: row.quote for row in rows if not has_quote(row.quote, output)}
    assert missing == {}, output


def test_there_are_110_rows_and_each_is_shown_or_has_its_reason() -> None:
    assert [row.number for row in ROWS] == list(range(1, 111))
    assert {row.state for row in ROWS} <= set(STATES)
    assert {row.run for row in ROWS if row.run} == set(RUNS)
    assert [row.number for row in ROWS if bool(row.reason) == (row.state == "whole")] == []
    whole_rows = [row for row in ROWS if row.state == "whole"]
    assert [row.number for row in whole_rows if not (row.commands and row.quote)] == []
    assert [row.number for row in whole_rows if bool(row.run) == bool(row.shown_by)] == []
    assert [row.number for row in ROWS if row.quote and not (row.run or row.shown_by)] == []


def _shown_text(shown_by: str) -> str:
    """Return the source of a test, and the findings that it compares with a golden file."""
    place, _, name = shown_by.partition("::")
    file = TESTS.parent / place
    source = file.read_text()
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    (function,) = [node for node in functions if node.name == name]
    golden = file.parent / "findings.txt"
    findings = golden.read_text().partition(f"== {name}\n")[2] if golden.exists() else ""
    return f"{ast.get_source_segment(source, function)}\n{findings.partition('== ')[0]}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.shown_by], ids=lambda row: row.number)
def test_a_row_without_a_run_is_shown_by_a_test_that_has_its_quote(row: GuideRow) -> None:
    assert has_quote(row.quote, _shown_text(row.shown_by))


def test_the_commands_of_rows_exist() -> None:
    paths_of_commands = [path for path, _ in iterate_commands() if path not in GROUPS]
    unknown: list[str] = []
    for row in ROWS:
        for words in row.commands:
            is_command = any(f"{words} ".startswith(f"{path} ") for path in paths_of_commands)
            if not is_command and words not in {"--help", "action.yml"}:
                unknown.append(words)
    assert unknown == []
