"""The command as users run it: what it prints, how it ends; the how-to page as it is written."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.lab.verification.verify import NOT_PROVEN

pytestmark = [pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

Run = Callable[..., Any]
Write = Callable[..., Path]
PAGE = Path(__file__).parents[3] / "docs/how-to/verify-a-kernel-without-a-mac.md"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
LAUNCH = [
    *("--template", "float16_t, 64", "--grid", "64,4", "--threadgroup", "32", "--constant", "0=2"),
    *("--buffer", "in=float16[4,64]", "--buffer", "out=float16[4,64]"),
]


def test_a_good_check_ends_with_0_and_says_what_is_not_proven(
    tracekit: Run, row_sums: Write
) -> None:
    ran = tracekit("verify-kernel", row_sums(), "--dtype", "float32", "--rows", "3")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "row-sums --rows 3 --dtype float32"
    assert "  same answer in all orders     ok      ascending, descending, random" in lines
    assert lines[-len(NOT_PROVEN) :] == [f"  {line}" for line in NOT_PROVEN]


@pytest.mark.parametrize("made", ["row_sums", "scale"])
def test_a_kernel_that_never_ends_is_a_defect(
    tracekit: Run, row_sums: Write, scale: Write, made: str
) -> None:
    if made == "row_sums":
        asked = [row_sums(BARRIER, f"while (lane == 0) {{}} {BARRIER}"), "--dtype", "float32"]
    else:
        endless = scale("out[at.y", "while (factor > 0) {} out[at.y")
        asked = [endless, *LAUNCH, "--buffer", "rows=int32[4]=0:4"]
    ran = tracekit("verify-kernel", *asked, "--patience", "0.1")
    assert ran.code == 1
    [line] = [line for line in ran.out.splitlines() if "runs to its end" in line and "DEF" in line]
    assert "did not end within 0.1 s and was stopped (order ascending)" in " ".join(line.split())
    assert "--patience SECONDS gives a launch longer." in ran.out


def test_json_holds_every_answer(tracekit: Run, row_sums: Write) -> None:
    ran = tracekit("verify-kernel", row_sums(BARRIER, ""), "--json", "--order", "random")
    assert ran.code == 1
    plain = json.loads(ran.out)
    parameters = [found["parameters"] for found in plain["verifications"]]
    assert parameters == [{"dtype": "float16"}, {"dtype": "float32"}]
    verdicts = plain["verifications"][0]["verdicts"]
    outcomes = {verdict["question"]: verdict["outcome"] for verdict in verdicts}
    assert outcomes["same answer in all orders"] == "not checked"
    assert outcomes["compiles"] == "passed"
    assert plain["not_proven"] == list(NOT_PROVEN)


def test_the_options_of_a_check_are_those_of_the_command(tracekit: Run, row_sums: Write) -> None:
    shown = tracekit("verify-kernel", row_sums(), "--help")
    assert shown.code == 0
    assert "--rows" in shown.out
    assert "Rows." in shown.out
    assert tracekit("verify-kernel", row_sums(), "--rows", "0").code == 2
    assert tracekit("verify-kernel", row_sums(), "--columns", "1").code == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    rows: Ann", "    seed: Ann", "'seed', which is an option of tracekit itself"),
        ('"Rows.")] = 4', '"Rows.")]', "lacks its default"),
    ],
)
def test_a_parameter_that_cannot_be_an_option_is_refused(
    tracekit: Run, row_sums: Write, old: str, new: str, said: str
) -> None:
    ran = tracekit("verify-kernel", row_sums(old, new))
    assert ran.code == 3
    assert said in ran.err


def test_a_kernel_of_a_file_is_launched_as_it_is_said(tracekit: Run, scale: Write) -> None:
    good = tracekit("verify-kernel", scale(), *LAUNCH, "--buffer", "rows=int32[4]=0:4")
    assert good.code == 0
    assert good.out.startswith("scale.metal scale\n")
    bad = tracekit("verify-kernel", scale(), *LAUNCH, "--buffer", "rows=int32[4]=9")
    assert bad.code == 1
    assert "of buffer 'in' (512 bytes)" in bad.out
    assert "in[rows[at.y] * WIDTH + at.x]" in bad.out


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
    ran = tracekit("verify-kernel", *arguments)
    assert ran.code == code
    assert said in ran.err


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def _commands() -> list[list[str]]:
    text = "\n".join(_blocks("bash")).replace("\\\n", " ")
    return [shlex.split(line)[3:] for line in text.splitlines() if line]


def _without_clang(text: str) -> list[str]:
    """Leave out what depends on the clang of a machine, and what the page leaves out."""
    lines = text.splitlines()
    return [line for line in lines if "address spaces" not in line and "…" not in line]


def test_the_check_of_the_page_finds_its_missing_barrier(
    tracekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (check,) = _blocks("python")
    file = Path(check.splitlines()[0].removeprefix("# "))
    command = next(words for words in _commands() if words[1] == file.name)
    file.write_text(check)
    ran = tracekit(*command)
    assert ran.code == 1
    shown = _without_clang(_blocks("text")[0])
    assert _without_clang(ran.out)[: len(shown)] == shown
    assert BARRIER in PAGE.read_text()
    file.write_text(check.replace("    if (lane == 0) {", f"    {BARRIER}\n    if (lane == 0) {{"))
    assert tracekit(*command).code == 0


def _of_any_threadgroup(lines: list[str]) -> list[str]:
    """Forget which of two threadgroups that run at once was the first to leave the buffer."""
    first = r"threadgroup \([01],2,0\): (access of 2 bytes at offset) (?:512|576)\b"
    return [re.sub(first, r"\1", line) for line in lines]


def test_the_kernel_of_the_page_leaves_its_buffer(
    tracekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (kernel,) = _blocks("metal")
    file = Path(kernel.splitlines()[0].removeprefix("// "))
    file.write_text(kernel)
    command = next(words for words in _commands() if words[1] == file.name)
    ran = tracekit(*command)
    assert ran.code == 1
    shown = _of_any_threadgroup(_without_clang(_blocks("text")[1]))
    assert _of_any_threadgroup(_without_clang(ran.out))[: len(shown)] == shown
    assert tracekit(*(word.replace("=0:5", "=0:4") for word in command)).code == 0
