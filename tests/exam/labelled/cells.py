"""Cells that many tables share."""

from collections.abc import Iterator

from labelled.world import Owner
from labelled.writer import Cell, Compound, process, thread

Rows = Iterator[tuple[Cell, ...]]

NOBODY = (1 << 64) - 1
"""The id of nothing."""
ACCELERATOR = 4_294_969_231
"""The id of the GPU."""


def label(text: str) -> Compound:
    """Return a label as a formatted one."""
    return Compound(text, (("string", text),))


def owner(one: Owner) -> Compound:
    """Return the cell of a process."""
    return process(one.name, one.pid, "TODO")


def main_thread(one: Owner) -> Compound:
    """Return the cell of its main thread."""
    return thread("Main Thread", 2_000_000 + one.pid, owner(one))
