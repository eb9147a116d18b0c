"""The engineering types of Instruments: one file says all that is known of each.

`engineering_types.csv` has a line for each type: its tag in an export, the form of its texts
there (`tracekit.tables.values.Form`), its name in a bundle without "TypeID", how a bundle stores
its values and how surely that is known (`tracekit.tables.bundle.cells.encodings`). Where all ones
is a value of it instead of null, that was `seen` or is `presumed`. What is empty is not known.
"""

import csv
from pathlib import Path
from typing import NamedTuple


class EngineeringTypeFacts(NamedTuple):
    """A line of `engineering_types.csv`."""

    tag: str
    form: str
    bundle: str
    encoding: str
    evidence: str
    all_ones: str


def _read() -> tuple[EngineeringTypeFacts, ...]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    assert tuple(head) == EngineeringTypeFacts._fields
    return tuple(map(EngineeringTypeFacts._make, lines))


ENGINEERING_TYPES = _read()
