"""The blocks of how-tos, run as a reader would: files are written, commands end with 0."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.processes

PAGES = Path(__file__).parents[1] / "docs" / "how-to"
SHORT = ("--time-limit", "200ms")


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each block, in the page's order."""
    return re.findall(
        r"^```(\w+)\n(.*?)^```$", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL
    )


def shorten_command(words: list[str]) -> list[str]:
    """Let a recording end soon, whatever time limit the page gives it."""
    if words[0] not in {"capture", "record"}:
        return words
    if "--time-limit" in words:
        position = words.index("--time-limit")
        words = [*words[:position], *words[position + 2 :]]
    return [words[0], *SHORT, *words[1:]]


def test_every_block_about_a_workload_of_ones_own_runs(
    tmp_path: Path,
    tracekit: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    monkeypatch.chdir(tmp_path)
    kinds: list[str] = []
    for kind, text in blocks("record-your-own-workload.md"):
        kinds.append(kind)
        if kind == "python":
            file = tmp_path / text.splitlines()[0].removeprefix("# ")
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            continue
        for line in text.splitlines():
            words = shlex.split(line.replace("2048", "64"))
            assert words[:3] == ["uv", "run", "tracekit"], (kind, line)
            with subtests.test(line):
                result = tracekit(*shorten_command(words[3:]))
                assert result.code == 0, (kind, result.err)
    assert kinds == ["python", "bash", "python", "bash"]
    runs = sorted(path.name.split("-", 5)[-1] for path in Path("bench", "traces").iterdir())
    assert runs == ["gemm", "lookups"]
