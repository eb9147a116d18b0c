"""Subcommands: their command lines, and what is read from their answers."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.tool import (
    Version,
    Xctrace,
    find_xctrace,
    locate,
)

Say = Callable[..., Completed]
Tool = Callable[[Any], Xctrace]
XML = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'


@pytest.mark.parametrize(
    ("text", "build", "xcode"),
    [
        ("xctrace version 26.0 (17C529)", "17C529", 26),
        ("xctrace version 16.0 (17F113)", "17F113", 26),
        ("xctrace version 16.0 (16C5032a)", "16C5032a", 16),
        ("xctrace version 27.0 (27A5194q)", "27A5194q", 27),
        ("xctrace version 13.2", "", None),
        ("nonsense (beta)", "beta", None),
    ],
)
def test_version_is_told_by_its_build(
    answers: Any, say: Say, tool: Tool, *, text: str, build: str, xcode: int | None
) -> None:
    run = answers(say(f"{text}\n"))
    version = tool(run).version
    assert version == Version(text, build)
    assert version.xcode == xcode
    assert run.asked == [("/X/xctrace", "version")]


def test_flags_are_looked_for_in_the_help_asked_once(answers: Any, say: Say, tool: Tool) -> None:
    run = answers(say("--no-prompt\n--instrument <name>\n--target-stdout"))
    xctrace = tool(run)
    assert xctrace.knows("record", "--no-prompt")
    assert not xctrace.knows("record", "--target")
    assert not xctrace.knows("record", "--prompt")
    assert run.asked == [("/X/xctrace", "help", "record")]


def writing(text: str, returncode: int = 0, stderr: str = "") -> Callable[..., Completed]:
    """Write `text` to the file after --output, as an export does."""

    def answer(argv: tuple[str, ...]) -> Completed:
        Path(argv[argv.index("--output") + 1]).write_text(text)
        return Completed(argv, returncode, "", stderr)

    return answer


@pytest.mark.parametrize(
    ("place", "xpath"),
    [
        (None, '/trace-toc/run[@number="1"]/data/table[@schema="metal-gpu-intervals"]'),
        (2, '/trace-toc/run[@number="1"]/data/table[@schema="metal-gpu-intervals"][2]'),
    ],
)
def test_the_command_line_of_a_table(
    answers: Any, tool: Tool, tmp_path: Path, place: int | None, xpath: str
) -> None:
    run = answers(writing(XML))
    output = tmp_path / "a.xml"
    tool(run).export_table(Path("/r/a.trace"), 1, "metal-gpu-intervals", output, place)
    assert run.asked == [
        (
            "/X/xctrace", "export", "--input", "/r/a.trace",
            "--output", f"{output}.partial", "--xpath", xpath,
        )
    ]  # fmt: skip
    assert output.read_text() == XML


def test_a_name_that_would_change_the_query_is_refused(
    answers: Any, say: Say, tool: Tool, tmp_path: Path
) -> None:
    run = answers(say())
    with pytest.raises(ToolError, match="is not the name of a table"):
        tool(run).export_table(Path("/a"), 1, '"] or table[@schema="x', tmp_path / "a.xml")
    assert run.asked == []


NOT_READY = "Export failed: Document Missing Template Error\n"


def test_an_export_that_is_not_ready_is_tried_again(
    answers: Any, say: Say, tool: Tool, tmp_path: Path
) -> None:
    run = answers(say("", NOT_READY, 10), say("", NOT_READY, 10), writing(XML))
    tool(run).toc(Path("/a"), tmp_path / "toc.xml")
    assert len(run.asked) == 3


def test_an_export_that_never_gets_ready_fails_in_words(
    answers: Any, say: Say, tool: Tool, tmp_path: Path
) -> None:
    run = answers(say("", NOT_READY, 10))
    with pytest.raises(ToolError, match="The bundle has no template document") as caught:
        tool(run).toc(Path("/a"), tmp_path / "toc.xml")
    assert len(run.asked) == 3
    assert "Document Missing Template Error" in caught.value.message
    assert "tracekit export" in caught.value.hint


def test_a_bundle_without_hope_is_tried_once(
    answers: Any, say: Say, tool: Tool, tmp_path: Path
) -> None:
    run = answers(say("", NOT_READY, 10))
    with pytest.raises(ToolError):
        tool(run).toc(Path("/a"), tmp_path / "toc.xml", patiently=False)
    assert len(run.asked) == 1


@pytest.mark.parametrize("answer", [("", "no", 1), (NOT_READY, "", 0)])
def test_other_ends_are_not_tried_again(
    answer: tuple[str, str, int], answers: Any, say: Say, tool: Tool, tmp_path: Path
) -> None:
    run = answers(say(*answer))
    with pytest.raises(ToolError):
        tool(run).toc(Path("/a"), tmp_path / "toc.xml")
    assert len(run.asked) == 1


@pytest.mark.parametrize("text", ["", "Export failed: something\n"])
def test_what_is_not_xml_is_no_export(answers: Any, tool: Tool, tmp_path: Path, text: str) -> None:
    with pytest.raises(ToolError, match="wrote no XML"):
        tool(answers(writing(text))).toc(Path("/a"), tmp_path / "a.xml")
    assert not (tmp_path / "a.xml").exists()


def test_nothing_is_started_where_there_is_no_xcrun(
    answers: Any, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = answers(say("/X/xctrace"))
    assert find_xctrace(run) is None
    assert run.asked == []


@pytest.mark.processes
@pytest.mark.parametrize(
    ("toolchain", "reason"),
    [
        ("no-tool", "Only the Command Line Tools are installed or selected"),
        ("command-line-tools", "Only the Command Line Tools"),
        ("licence", "The licence of Xcode has not been accepted"),
    ],
)
def test_why_it_cannot_be_used_is_logged(
    scenario: Callable[..., None], caplog: pytest.LogCaptureFixture, toolchain: str, reason: str
) -> None:
    scenario(toolchain=toolchain)
    with caplog.at_level(logging.WARNING):
        assert find_xctrace() is None
    assert reason in caplog.text
    with pytest.raises(ToolError, match=reason):
        locate()
