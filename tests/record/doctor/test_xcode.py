"""Xcode: each known trouble with its fix, by canned answers and by the fake."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.record.doctor.checks import Fact, Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.xctrace.command import Completed

Make = Callable[..., Surroundings]
Ended = Callable[..., Completed]
FAKE = Path(__file__).parents[2] / "fake_xctrace" / "bin"
FIND = "xcrun --find xctrace"
NO_TOOL = 'xcrun: error: unable to find utility "xctrace", not a developer tool or in PATH'
INSTANCE = (
    "xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory "
    "'/Library/Developer/CommandLineTools' is a command line tools instance"
)
LICENCE = "You have not agreed to the Xcode license agreements."


XCODE = ("developer folder", "xctrace", "template", "gpu counters")


def look(surroundings: Surroundings) -> dict[str, Fact]:
    return {fact.name: fact for fact in checked(surroundings, *XCODE)}


def test_the_number_of_a_version_is_not_believed(mac: Make) -> None:
    fact = look(mac({"/X/xctrace version": "xctrace version 16.0 (17F113)\n"}))
    assert fact["xctrace"].words.endswith("by its build 17F113, of Xcode 26")


@pytest.mark.parametrize(
    ("code", "text", "fix"),
    [
        pytest.param(72, NO_TOOL, "xcode-select --switch", id="no-tool"),
        pytest.param(1, INSTANCE, "xcode-select --switch", id="command-line-tools"),
        pytest.param(69, LICENCE, "xcodebuild -license", id="licence"),
    ],
)
def test_a_toolchain_that_does_not_work_fails_with_its_fix(
    code: int, text: str, fix: str, mac: Make, ended: Ended
) -> None:
    troubled = mac({FIND: ended(code, text)})
    facts = look(troubled)
    assert not troubled.has_xctrace
    assert facts["xctrace"].verdict is Verdict.FAILED
    assert fix in facts["xctrace"].fix
    assert text in facts["xctrace"].words
    assert facts["template"].verdict is Verdict.UNKNOWN


def test_a_failure_nobody_knows_is_quoted(mac: Make, ended: Ended) -> None:
    fact = look(mac({FIND: ended(3, "Sorry.")}))["xctrace"]
    assert fact.verdict is Verdict.FAILED
    assert "exit code 3: Sorry." in fact.words
    assert "by hand" in fact.fix


def test_the_selected_command_line_tools_are_a_trap(mac: Make) -> None:
    answers = {"xcode-select -p": "/Library/Developer/CommandLineTools\n"}
    fact = look(mac(answers))["developer folder"]
    assert fact.verdict is Verdict.FAILED
    assert "DEVELOPER_DIR=" in fact.fix


def test_developer_dir_overrides_what_is_selected(mac: Make) -> None:
    chosen = mac(environment={"DEVELOPER_DIR": "/Applications/Xcode-beta.app/Contents/Developer"})
    fact = look(chosen)["developer folder"]
    assert fact.verdict is Verdict.OK
    assert fact.words.endswith("Developer (DEVELOPER_DIR)")
    trapped = mac(environment={"DEVELOPER_DIR": "/Library/Developer/CommandLineTools"})
    assert look(trapped)["developer folder"].verdict is Verdict.FAILED


def test_a_developer_folder_that_is_no_path_is_unknown(mac: Make) -> None:
    fact = look(mac({"xcode-select -p": "none\n"}))["developer folder"]
    assert fact.verdict is Verdict.UNKNOWN


def test_a_version_without_a_build_is_unknown(mac: Make) -> None:
    fact = look(mac({"/X/xctrace version": "something else\n"}))["xctrace"]
    assert fact.verdict is Verdict.UNKNOWN
    assert "something else" in fact.words


def test_a_missing_template_fails_and_a_missing_instrument_warns(mac: Make) -> None:
    answers = {
        "/X/xctrace list templates": "== Standard Templates ==\nMetal System Trace 2\n",
        "/X/xctrace list instruments": "== Standard Instruments ==\nGPU\n",
    }
    facts = look(mac(answers))
    assert facts["template"].verdict is Verdict.FAILED
    assert facts["gpu counters"].verdict is Verdict.WARNING
    assert "--template" in facts["gpu counters"].fix


@pytest.mark.parametrize("said", ["", None])
def test_lists_without_names_leave_it_unknown(said: str | None, mac: Make) -> None:
    facts = look(mac({"/X/xctrace list templates": said}))
    assert facts["template"].verdict is Verdict.UNKNOWN
