"""Subcommands: their command lines, and what is read from their answers."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.tool import Version, Xctrace, find_xctrace, locate

Say = Callable[..., Completed]
Tool = Callable[[Any], Xctrace]
XML = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'
NOT_READY = ("", "Export failed: Document Missing Template Error\n", 10)


@pytest.mark.parametrize(
    ("text", "build", "xcode"),
    [
        ("xctrace version 26.0 (17C529)", "17C529", 26),
        ("xctrace version 16.0 (17F113)", "17F113", 26),
        ("xctrace version 16.0 (16C5032a)", "16C5032a", 16),
        ("xctrace version 13.2", "", None),
        ("nonsense (beta)", "beta", None),
    ],
)
def test_a_version_is_known_by_its_build(
    *, text: str, build: str, xcode: int | None, answers: Any, say: Say, tool: Tool
) -> None:
    run = answers(say(f"{text}\n"))
    version = tool(run).version
    assert (version, version.xcode) == (Version(text, build), xcode)
    assert run.asked == [("/X/xctrace", "version")]


def test_flags_are_looked_for_in_the_help_asked_once(answers: Any, say: Say, tool: Tool) -> None:
    run = answers(say("--no-prompt\n--instrument <name>\n--target-stdout"))
    xctrace = tool(run)
    flags = ("--no-prompt", "--target", "--prompt")
    assert [xctrace.knows("record", flag) for flag in flags] == [True, False, False]
    assert run.asked == [("/X/xctrace", "help", "record")]


def writing(text: str) -> Callable[..., Completed]:
    """Write `text` to the file after --output, as an export does."""

    def answer(argv: tuple[str, ...]) -> Completed:
        Path(argv[argv.index("--output") + 1]).write_text(text)
        return Completed(argv, 0, "", "")

    return answer


@pytest.mark.parametrize(("place", "nth"), [(None, ""), (2, "[2]")])
def test_the_command_line_of_a_table(
    place: int | None, nth: str, answers: Any, tool: Tool, tmp_path: Path
) -> None:
    run, output = answers(writing(XML)), tmp_path / "a.xml"
    tool(run).export_table(Path("/r/a.trace"), 1, "metal-gpu-intervals", output, place)
    xpath = f'/trace-toc/run[@number="1"]/data/table[@schema="metal-gpu-intervals"]{nth}'
    files = ("--input", "/r/a.trace", "--output", f"{output}.partial")
    assert run.asked == [("/X/xctrace", "export", *files, "--xpath", xpath)]
    assert output.read_text() == XML
    with pytest.raises(ToolError, match="is not the name of a table"):
        tool(run).export_table(Path("/a"), 1, '"] or table[@schema="x', output)
    assert len(run.asked) == 1


@pytest.mark.parametrize(
    ("said", "patiently", "asked", "error"),
    [
        ([NOT_READY, NOT_READY, None], True, 3, ""),
        ([NOT_READY], True, 3, "The bundle has no template document"),
        ([NOT_READY], False, 1, "The bundle has no template document"),
        ([("", "no", 1)], True, 1, "failed with exit code 1"),
        ([(NOT_READY[1], "", 0)], True, 1, "wrote no XML"),
    ],
)
def test_an_export_that_is_not_ready_alone_is_tried_again(
    *, said: Any, patiently: bool, asked: int, error: str,
    answers: Any, say: Say, tool: Tool, tmp_path: Path,
) -> None:  # fmt: skip
    run = answers(*(writing(XML) if answer is None else say(*answer) for answer in said))
    if error:
        with pytest.raises(ToolError, match=error):
            tool(run).toc(Path("/a"), tmp_path / "toc.xml", patiently=patiently)
    else:
        tool(run).toc(Path("/a"), tmp_path / "toc.xml", patiently=patiently)
    assert len(run.asked) == asked


@pytest.mark.parametrize("text", ["", "Export failed: something\n"])
def test_what_is_not_xml_is_no_export(text: str, answers: Any, tool: Tool, tmp_path: Path) -> None:
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
def test_why_it_cannot_be_used_is_logged(
    scenario: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    scenario(toolchain="licence")
    reason = "The licence of Xcode has not been accepted"
    with caplog.at_level(logging.WARNING):
        assert find_xctrace() is None
    assert reason in caplog.text
    with pytest.raises(ToolError, match=reason):
        locate()
