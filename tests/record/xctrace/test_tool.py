"""Subcommands: their command lines, and what is read from their answers."""

import logging
from contextlib import nullcontext
from pathlib import Path

import pytest

from recording_fakes import Scenario
from tracekit.base.errors import ToolError
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.tool import ToolTimeouts, Version, Xctrace, find_xctrace, locate

XML = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'
NOT_READY = ("", "Export failed: Document Missing Template Error\n", 10)


Answer = tuple[str, str, int] | str


class Answers:
    """A `Run` that gives answers from a list, the last one again and again, and notes questions.

    An answer is what is printed on both pipes and how it ends, or what an export writes.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, argv: tuple[str, ...], timeout: float) -> Completed:
        assert timeout > 0
        self.asked.append(argv)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, str):
            Path(argv[argv.index("--output") + 1]).write_text(answer)
            return Completed(argv, 0)
        return Completed(argv, answer[2], *answer[:2])


def tool(run: Answers) -> Xctrace:
    return Xctrace("/X/xctrace", run, ToolTimeouts(pauses=(0, 0)))


def test_a_version_is_known_by_its_build() -> None:
    cases = {
        "xctrace version 26.0 (17C529)": ("17C529", 26),
        "xctrace version 16.0 (17F113)": ("17F113", 26),
        "xctrace version 16.0 (16C5032a)": ("16C5032a", 16),
        "xctrace version 13.2": ("", None),
        "nonsense (beta)": ("beta", None),
    }
    for text, (build, xcode) in cases.items():
        run = Answers((f"{text}\n", "", 0))
        version = tool(run).version
        assert (version, version.xcode) == (Version(text, build), xcode), text
        assert run.asked == [("/X/xctrace", "version")], text


def test_flags_are_looked_for_in_the_help_asked_once() -> None:
    run = Answers(("--no-prompt\n--instrument <name>\n--target-stdout", "", 0))
    xctrace = tool(run)
    flags = ("--no-prompt", "--target", "--prompt")
    assert [xctrace.knows("record", flag) for flag in flags] == [True, False, False]
    assert run.asked == [("/X/xctrace", "help", "record")]


def test_a_listing_is_read_from_the_pipe_that_has_it() -> None:
    listing = "You have:\n== Standard Templates ==\nMetal System Trace\n"
    for answer in ((listing, "", 0), ("", listing, 0)):
        assert tool(Answers(answer)).names("templates") == ["Metal System Trace"], answer


@pytest.mark.parametrize(("place", "nth"), [(None, ""), (2, "[2]")])
def test_the_command_line_of_a_table(place: int | None, nth: str, tmp_path: Path) -> None:
    run, output = Answers(XML), tmp_path / "a.xml"
    tool(run).export_table(Path("/r/a.trace"), 1, "metal-gpu-intervals", output, place)
    xpath = f'/trace-toc/run[@number="1"]/data/table[@schema="metal-gpu-intervals"]{nth}'
    files = ("--input", "/r/a.trace", "--output", f"{output}.partial")
    assert run.asked == [("/X/xctrace", "export", *files, "--xpath", xpath)]
    assert output.read_text() == XML
    with pytest.raises(ToolError, match="is not the name of a table"):
        tool(run).export_table(Path("/a"), 1, '"] or table[@schema="x', output)
    assert len(run.asked) == 1


def test_an_export_that_is_not_ready_alone_is_tried_again(tmp_path: Path) -> None:
    cases: tuple[tuple[list[Answer], bool, int, str], ...] = (
        ([NOT_READY, NOT_READY, XML], True, 3, ""),
        ([NOT_READY], True, 3, "The bundle has no template document"),
        ([NOT_READY], False, 1, "The bundle has no template document"),
        ([("", "no", 1)], True, 1, "failed with exit code 1"),
        ([(NOT_READY[1], "", 0)], True, 1, "wrote no XML"),
        ([""], True, 1, "wrote no XML"),
        ([NOT_READY[1]], True, 1, "wrote no XML"),
    )
    for number, (answers, patiently, calls, error) in enumerate(cases):
        run, output = Answers(*answers), tmp_path / f"{number}.xml"
        with pytest.raises(ToolError, match=error) if error else nullcontext():
            tool(run).toc(Path("/a"), output, patiently=patiently)
        assert (len(run.asked), output.exists()) == (calls, not error), number


def test_without_xcrun_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = Answers(("/X/xctrace", "", 0))
    assert find_xctrace(run) is None
    assert run.asked == []


def test_why_it_fails_is_logged(scenario: Scenario, caplog: pytest.LogCaptureFixture) -> None:
    scenario(toolchain="licence")
    reason = "The licence of Xcode has not been accepted"
    with caplog.at_level(logging.WARNING):
        assert find_xctrace() is None
    assert reason in caplog.text
    with pytest.raises(ToolError, match=reason):
        locate()
