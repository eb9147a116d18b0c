"""The command as users run it: what it prints, how it ends; how-to pages as they are written."""

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from command_line import assert_error
from process_state import changes, process_state
from small_kernels import EMULATED
from tracekit.lab.verification.verify import NOT_PROVEN
from tracekit.workload.workload import find

pytestmark = EMULATED

Run = Callable[..., Any]
Write = Callable[..., Path]
HOW_TO = Path(__file__).parents[3] / "docs" / "how-to"
PAGE = (HOW_TO / "verify-a-kernel-without-a-mac.md").read_text()
OWN = (HOW_TO / "trace-your-own-kernel.md").read_text()
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
LAUNCH = [
    *("--template", "float16_t, 64", "--grid", "64,4", "--threadgroup", "32", "--constant", "0=2"),
    *("--buffer", "in=float16[4,64]", "--buffer", "out=float16[4,64]"),
]
ROWS = "rows=int32[4]=0:4"
SUMS = """
#include <metal_stdlib>
using namespace metal;
kernel void sums(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                 constant uint& n [[buffer(2)]], uint t [[thread_index_in_threadgroup]],
                 uint g [[threadgroup_position_in_grid]]) {
  threadgroup float shared[64];
  float sum = 0;
  for (uint i = t; i < n; i += 64) {
    shared[t] = x[g * n + i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = fma(shared[t], 2.0f, sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  shared[t] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[g * 64 + t] = shared[t];
}
"""


def test_a_good_check_ends_with_0(tracekit: Run, row_sums: Write) -> None:
    result = tracekit("kernel", "verify", row_sums(), "--dtype", "float32", "--rows", "3")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "row-sums --rows 3 --dtype float32"
    assert "  same answer in all orders     ok      ascending, descending, random" in lines
    assert lines[-len(NOT_PROVEN) :] == [f"  {line}" for line in NOT_PROVEN]


def test_a_gate_compares_the_counts_of_a_launch(tracekit: Run, tmp_path: Path) -> None:
    kernel = tmp_path / "sums.metal"
    kernel.write_text(SUMS)
    arguments = [
        *("kernel", "verify", kernel, "--grid", "128,1,1", "--threadgroup", "64,1,1"),
        *("--buffer", "x=float32[512]", "--buffer", "y=float32[128]", "--buffer", "n=uint32=256"),
    ]
    gate = "threadgroup_memory==256, barriers==3, barriers_in_loops==2, barriers_met==9"
    counts = "loaded==16, stored==4, groups==2, divergent_operations==0, operations==8"
    assert tracekit(*arguments, "--gate", gate, "--gate", counts).code == 0
    report = tmp_path / "junit.xml"
    result = tracekit(*arguments, "--gate", "barriers_in_loops<=1", "--junit", report)
    assert result.code == 1
    assert "  not as expected  barriers_in_loops<=1  2" in result.out
    assert 'failures="1"' in report.read_text()
    assert_error(tracekit(*arguments, "--gate", "registers<=64"), 2, "no quantity 'registers'")


def test_a_kernel_that_never_ends_is_a_defect(
    tracekit: Run, row_sums: Write, scale: Write, subtests: pytest.Subtests
) -> None:
    check = [row_sums(BARRIER, f"while (lane == 0) {{}} {BARRIER}"), "--dtype", "float32"]
    kernel = [scale("out[at.y", "while (factor > 0) {} out[at.y"), *LAUNCH, "--buffer", ROWS]
    for arguments in (check, kernel):
        with subtests.test(asked=arguments):
            result = tracekit("kernel", "verify", *arguments, "--time-limit", "100ms")
            assert result.code == 1
            assert "did not end within 0.1 s and was stopped (order ascending)" in result.out
            assert "--time-limit TIME gives a launch longer." in result.out


def test_a_kernel_is_compiled_by_the_compiler_of_now(
    tracekit: Run, row_sums: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = row_sums()
    assert tracekit("kernel", "verify", file).code == 0
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert_error(tracekit("kernel", "verify", file), 3, "no-such-compiler")


def test_random_numbers_of_the_calling_program_continue(tracekit: Run, row_sums: Write) -> None:
    assert tracekit("kernel", "verify", row_sums()).code == 0  # what it imports may draw as well
    mx.random.seed(5)
    drawn = [mx.random.uniform().item() for _ in range(2)]
    mx.random.seed(5)
    assert mx.random.uniform().item() == drawn[0]
    state_before = process_state()
    assert tracekit("kernel", "verify", row_sums()).code == 0
    assert tracekit("kernel", "verify", row_sums("sum += ", "sum ! ")).code == 1
    assert tracekit("kernel", "verify", row_sums("return Check", "raise OSError")).code == 3
    assert changes(state_before, process_state()) == {}
    assert mx.random.uniform().item() == drawn[1]


def test_json_holds_every_answer(tracekit: Run, row_sums: Write) -> None:
    result = tracekit("kernel", "verify", row_sums(BARRIER, ""), "--json", "--order", "random")
    assert result.code == 1
    document = json.loads(result.out)
    parameters = [verification["parameters"] for verification in document["verifications"]]
    assert parameters == [{"dtype": "float16"}, {"dtype": "float32"}]
    verdicts = document["verifications"][0]["verdicts"]
    outcomes = {verdict["question"]: verdict["outcome"] for verdict in verdicts}
    assert outcomes["same answer in all orders"] == "not checked"
    assert outcomes["compiles"] == "passed"
    assert document["not_proven"] == list(NOT_PROVEN)


def test_the_options_of_a_check_are_those_of_the_command(
    tracekit: Run, row_sums: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bytecode would stand for a file that changes within a second and keeps its size.
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    help_result = tracekit("kernel", "verify", row_sums(), "--help")
    assert (help_result.code, "--rows" in help_result.out, "Rows." in help_result.out) == (
        0,
        True,
        True,
    )
    assert tracekit("kernel", "verify", row_sums(), "--rows", "0").code == 2
    assert tracekit("kernel", "verify", row_sums(), "--columns", "1").code == 2
    for old, new, message in (
        ("    rows: Ann", "    seed: Ann", "'seed', which is an option of tracekit itself"),
        ('"Rows.")] = 4', '"Rows.")]', "lacks its default"),
    ):
        result = tracekit("kernel", "verify", row_sums(old, new))
        assert (result.code, message in result.err) == (3, True), old


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Missing argument"),
        (["nothing"], 2, "There is no kernel 'nothing'"),
        (["nothing.py"], 3, "nothing.py cannot be read"),
        (["nothing.metal"], 3, "nothing.metal cannot be read"),
        (["rmsnorm-linear", "--grid", "1"], 2, "--grid is for a FILE.metal"),
        (["rmsnorm-linear", "--order", "sideways"], 2, "--order"),
        (["rmsnorm-linear", "--dtype", "int8"], 2, "--dtype"),
        (["rmsnorm-linear", "--rows", "2", "--dims", "33"], 3, "takes a C++ compiler"),
    ],
)
def test_a_mistake_is_one_sentence(
    tracekit: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    result = tracekit("kernel", "verify", *arguments)
    assert (result.code, said in result.err) == (code, True)


@pytest.mark.processes
@pytest.mark.parametrize("named", ["./more tools/c++", "sh './more tools/c++'", "c++"])
def test_a_compiler_is_named_by_a_path_or_as_the_words_of_a_command(
    tracekit: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str
) -> None:
    compiler = tmp_path / "more tools" / "c++"
    compiler.parent.mkdir()
    compiler.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo g++ 99 && exit; echo asked >&2; exit 1"
    )
    compiler.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"more tools:{os.environ['PATH']}")
    monkeypatch.setenv("CXX", named)
    result = tracekit("kernel", "verify", "rmsnorm-linear", "--rows", "2", "--dims", "33")
    assert (result.code, "error: asked" in result.err) == (3, True), result.err


def _blocks(kind: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def _write_page_file(kind: str) -> tuple[Path, str, list[str]]:
    """Write the page's file here, by the name in its first line; return its text and command."""
    (text,) = _blocks(kind)
    file = Path(text.splitlines()[0].split()[1])
    file.write_text(text)
    lines = "\n".join(_blocks("bash")).replace("\\\n", " ").splitlines()
    commands = [shlex.split(line)[3:] for line in lines if line]
    return file, text, next(words for words in commands if file.name in words)


def _without_clang(text: str) -> list[str]:
    """Leave out what depends on the clang of a machine, and what the page leaves out."""
    lines = text.splitlines()
    return [line for line in lines if "address spaces" not in line and "…" not in line]


def test_the_check_of_the_page_finds_its_missing_barrier(
    tracekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, check, command = _write_page_file("python")
    result = tracekit(*command)
    assert result.code == 1
    page_lines = _without_clang(_blocks("text")[0])
    assert _without_clang(result.out)[: len(page_lines)] == page_lines
    assert BARRIER in PAGE
    file.write_text(check.replace("    if (lane == 0) {", f"    {BARRIER}\n    if (lane == 0) {{"))
    assert tracekit(*command).code == 0


def _of_any_threadgroup(lines: list[str]) -> list[str]:
    """Forget which of two threadgroups that run at once was the first to leave the buffer."""
    pattern = r"threadgroup \([01],2,0\): (access of 2 bytes at offset) (?:512|576)\b"
    return [re.sub(pattern, r"\1", line) for line in lines]


def test_the_kernel_of_the_page_leaves_its_buffer(
    tracekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, _, command = _write_page_file("metal")
    result = tracekit(*command)
    assert result.code == 1
    page_lines = _of_any_threadgroup(_without_clang(_blocks("text")[1]))
    assert _of_any_threadgroup(_without_clang(result.out))[: len(page_lines)] == page_lines
    assert tracekit(*(word.replace("=0:5", "=0:4") for word in command)).code == 0


def test_the_kernel_of_ones_own_is_right_and_a_workload(tracekit: Run, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n# mine/swiglu\.py\n(.*?)```", OWN, re.DOTALL)
    file, math = tmp_path / "swiglu.py", "float(up[i])"
    file.write_text(code)
    done = tracekit("kernel", "verify", file)
    assert done.code == 0, done.out + done.err
    printed_lines, page_lines = (
        re.findall(r"^swiglu-check [^:\n]*", text, re.MULTILINE) for text in (done.out, OWN)
    )
    assert printed_lines == page_lines
    assert code.count(math) == 1
    file.write_text(code.replace(math, "float(up[i + 1])"))
    done = tracekit("kernel", "verify", file, "--dtype", "float32", "--rows", "1")
    assert done.code == 1
    assert "access of 4 bytes at offset 400 of buffer 'up' (400 bytes)" in done.out
    step = find("swiglu", tmp_path).make({"rows": 2, "width": 64, "dtype": "float32"})
    step.wait(step.submit())
    max_error = step.results["max_error"]
    assert isinstance(max_error, float)
    assert 0 <= max_error < 1e-5
