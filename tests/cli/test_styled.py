"""Words with styles: those are ours, the words are not."""

import pytest
from rich.console import Console
from rich.spinner import Spinner

from tracekit.cli.console import ERR, styled, turning


def test_what_words_quote_has_no_style() -> None:
    words = styled(("a\x1b[31mb", "bold"), "[red]c:smile:\u202e")
    assert words.plain == r"a\u001b[31mb[red]c:smile:\u202e"
    assert [(one.start, one.end, one.style) for one in words.spans] == [(0, 12, "bold")]
    console = Console(force_terminal=True, color_system="standard")
    with console.capture() as printed:
        console.print(words)
    assert printed.get().count("\x1b[1m") == 1
    assert "31m" not in printed.get().replace("u001b[31m", "")


def test_a_spinner_takes_no_text_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    with turning(Spinner("dots", "working")) as live:
        assert live.console is ERR
        print("x\x1b]8;;file:///\x07y")  # noqa: T201  as a library might
    assert "x\x1b]8;;file:///\x07y" in capsys.readouterr().out
