"""Words with styles: those are ours, the words are not."""

from rich.console import Console

from tracekit.cli.console import styled


def test_what_words_quote_has_no_style() -> None:
    words = styled(("a\x1b[31mb", "bold"), "[red]c:smile:\u202e")
    assert words.plain == r"a\u001b[31mb[red]c:smile:\u202e"
    assert [(one.start, one.end, one.style) for one in words.spans] == [(0, 12, "bold")]
    console = Console(force_terminal=True, color_system="standard")
    with console.capture() as printed:
        console.print(words)
    assert printed.get().count("\x1b[1m") == 1
    assert "31m" not in printed.get().replace("u001b[31m", "")
