"""The progress of a long call."""

from collections.abc import Callable

Progress = Callable[[str], None]
"""A function that is given a few words on the current work.

The command line shows them; a script ignores them.
"""


def quiet(_: str) -> None:
    """Ignore the progress."""
