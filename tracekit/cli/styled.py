"""Words with styles for a terminal; what they quote of a trace has no effect of its own."""

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from tracekit.base.streams import visible

OUT = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
ERR = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


def styled(*parts: str | tuple[str, str], style: str = "") -> Text:
    """Return parts of a text, each alone or with its style, as `visible` shows them."""
    pairs = ((one, "") if isinstance(one, str) else one for one in parts)
    return Text.assemble(*((visible(words), own) for words, own in pairs), style=style)


def turning(spinner: Spinner) -> Live:
    """Return what turns a spinner on standard error for a while.

    Other output is not redirected meanwhile: rich would carry out the sequences in it.
    """
    return Live(spinner, console=ERR, transient=True, redirect_stdout=False, redirect_stderr=False)
