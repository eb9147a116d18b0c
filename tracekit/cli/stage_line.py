"""The line of a running stage on a terminal: what it does, and the time that is left."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from tracekit.base import units
from tracekit.cli import console

_PART = re.compile(r"\b([\d,]+) of ([\d,]+)\b")
_FEWEST_PARTS = 3  # that are done before the rest is estimated by them


class StageLine:
    """A line that is drawn anew several times a second, with a spinner.

    Words such as "3 of 12" tell how much is done. Without them the time that is left follows from
    the expected duration of the whole command, in seconds since its start.
    """

    def __init__(
        self, stage: str, command_start: float, expected_seconds: float | None = None
    ) -> None:
        self._stage = stage
        self._words = ""
        self._start_time = monotonic()
        self._command_start = command_start
        self._expected_seconds = expected_seconds
        self._spinner = Spinner("dots", style="status.spinner")

    def update(self, words: str) -> None:
        """Take the words on the current work."""
        self._words = words

    def describe(self, moment: float) -> str:
        """Return the text of the line at a moment of `monotonic`."""
        text = f"{self._stage} · {self._words}" if self._words else f"{self._stage} …"
        remaining_seconds = self._estimate_remaining(moment)
        if remaining_seconds is None or remaining_seconds < 1:
            return text
        return f"{text} · about {units.span(remaining_seconds)} left"

    def _estimate_remaining(self, moment: float) -> float | None:
        part = _PART.search(self._words)
        if part:
            number, total = (int(digits.replace(",", "") or 0) for digits in part.groups())
            done = number - 1  # the part of this number has only begun
            if done >= _FEWEST_PARTS:
                return (moment - self._start_time) / done * (total - done)
        if self._expected_seconds is None:
            return None
        return self._command_start + self._expected_seconds - moment

    def __rich__(self) -> Spinner:
        """Return the spinner with the text of this moment."""
        self._spinner.update(text=console.style_text(self.describe(monotonic())))
        return self._spinner


@contextmanager
def show(line: StageLine, screen: Console) -> Generator[None]:
    """Show a line on a terminal as long as the block lasts."""
    with Live(line, console=screen, transient=True, redirect_stdout=False, redirect_stderr=False):
        yield
