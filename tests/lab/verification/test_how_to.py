"""The how-to page, run as it is written."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

Run = Callable[..., Any]
PAGE = Path(__file__).parents[3] / "docs/how-to/verify-a-kernel-without-a-mac.md"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def _commands() -> list[list[str]]:
    text = "\n".join(_blocks("bash")).replace("\\\n", " ")
    return [shlex.split(line)[3:] for line in text.splitlines() if line]


def _without_clang(text: str) -> list[str]:
    """Leave out what depends on the clang of a machine, and what the page leaves out."""
    lines = text.splitlines()
    return [line for line in lines if "address spaces" not in line and "…" not in line]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_check_of_the_page_finds_its_missing_barrier(tracekit: Run) -> None:
    (check,) = _blocks("python")
    file = Path(check.splitlines()[0].removeprefix("# "))
    command = next(one for one in _commands() if one[1] == file.name)
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


def test_the_kernel_of_the_page_leaves_its_buffer(tracekit: Run) -> None:
    (kernel,) = _blocks("metal")
    file = Path(kernel.splitlines()[0].removeprefix("// "))
    file.write_text(kernel)
    command = next(one for one in _commands() if one[1] == file.name)
    ran = tracekit(*command)
    assert ran.code == 1
    shown = _of_any_threadgroup(_without_clang(_blocks("text")[1]))
    assert _of_any_threadgroup(_without_clang(ran.out))[: len(shown)] == shown
    assert tracekit(*(one.replace("=0:5", "=0:4") for one in command)).code == 0
