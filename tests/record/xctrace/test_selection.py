"""Which template and instruments a request means."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.record.recorder import Attach, Request
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.command_line import Selection, select
from tracekit.record.xctrace.tool import Xctrace

ANSWERS = {
    "version": "xctrace version 26.0 (17C529)",
    "help": "--template --instrument <name>",
    "templates": "== Standard Templates ==\nMetal System Trace\nTime Profiler\n",
    "instruments": "== Standard Instruments ==\nMetal GPU Counters\nHangs\n",
}


@pytest.fixture
def select_with(answers: Any, tool: Any) -> Callable[..., Selection]:
    """Select for a request, with an Xcode that answers as given."""

    def choose(*templates: str, counters: str = "off", **other: Any) -> Selection:
        said = ANSWERS | other.pop("said", {})

        def answer(argv: tuple[str, ...]) -> Completed:
            word = argv[2] if argv[1] == "list" else argv[1]
            return Completed(argv, 0, said[word])

        xctrace: Xctrace = tool(answers(answer))
        wanted = Request(Attach(1), 5, counters=counters, **other)
        return select(Request(**{**vars(wanted), "templates": templates}), xctrace)

    return choose


Select = Callable[..., Selection]
MST = "Metal System Trace"


@pytest.mark.parametrize("name", ["GPU Counters", "Metal GPU Counters", "gpu counters"])
def test_a_template_of_gpu_counters_means_the_instrument(select_with: Select, name: str) -> None:
    assert select_with(name, counters="auto") == Selection(MST, adds_counters=True)
    assert select_with(MST, name, counters="auto") == Selection(MST, adds_counters=True)


def test_auto_leaves_counters_out_and_says_so(select_with: Select) -> None:
    got = select_with(MST, counters="auto")
    assert not got.adds_counters
    assert not got.counters
    assert "`--counters on`" in got.warnings[0]


def test_asked_for_and_switched_off_is_a_contradiction(select_with: Select) -> None:
    with pytest.raises(UsageError, match="both asked for and switched off"):
        select_with(MST, "GPU Counters", counters="off")


def test_two_templates_are_one_too_many(select_with: Select) -> None:
    with pytest.raises(UsageError, match=r"one template, and 2 were given") as caught:
        select_with(MST, "Time Profiler")
    assert "template file" in caught.value.hint


@pytest.mark.parametrize("name", ["Metal System", "metal system trace", "Time Profile"])
def test_names_are_not_guessed(select_with: Select, name: str) -> None:
    with pytest.raises(UsageError, match="This Xcode has no template") as caught:
        select_with(name)
    assert caught.value.hint.startswith("It has: ")


def test_a_list_that_cannot_be_read_forbids_nothing(select_with: Select) -> None:
    said = {"templates": "something else"}
    assert select_with("Anything", said=said).template == "Anything"


def test_a_template_file_becomes_an_absolute_path(
    select_with: Select, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.tracetemplate").touch()
    monkeypatch.chdir(tmp_path)
    assert select_with("mine.tracetemplate").template == str(tmp_path / "mine.tracetemplate")


def test_a_template_file_must_be_there(select_with: Select, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no template file"):
        select_with(str(tmp_path / "none.tracetemplate"))


def test_an_instrument_must_be_there(select_with: Select) -> None:
    said = {"instruments": "== Standard Instruments ==\nMetal GPU Counter\nHangs\n"}
    with pytest.raises(UsageError, match="no instrument 'Metal GPU Counters'") as caught:
        select_with(MST, counters="on", said=said)
    assert caught.value.hint == "It has: Metal GPU Counter."


def test_an_old_xctrace_has_no_instruments(select_with: Select) -> None:
    with pytest.raises(ToolError, match="cannot add instruments") as caught:
        select_with(MST, counters="on", said={"help": "--template"})
    assert "Xcode 14" in caught.value.hint
