"""Frames are written with their binaries, each once."""

from collections.abc import Sequence

import numpy as np

from stored_arrays import NoPlaces
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.stacks.frames import Addresses, Binary
from tracekit.tables.bundle_xml.meanings import FrameMeanings
from tracekit.tables.bundle_xml.write import Meaning


class OneBinary:
    """A binary at 0x1000 to 0x1fff of process 7, with a symbol in its first half."""

    binaries: Sequence[Binary] = (Binary("tool", "AB-CD", "arm64", 0x1000, "/bin/tool"),)

    def find(self, pids: Numbers, addresses: Addresses, times: Numbers) -> Numbers:
        """Return 0 for the binary."""
        there = (pids == 7) & (addresses >= 0x1000) & (addresses < 0x2000) & (times < 100)
        return np.where(there, 0, -1)

    def names(self, binaries: Numbers, addresses: Addresses) -> list[str | None]:
        """Return the name of its symbol."""
        pairs = zip(binaries.tolist(), addresses.tolist(), strict=True)
        return ["main" if number == 0 and address < 0x1800 else None for number, address in pairs]


def test_a_frame_has_the_name_of_its_symbol_and_its_binary() -> None:
    frames = FrameMeanings(OneBinary())
    leaf, caller, outside = frames.of([7, 7, 7], [0x1801, 0x1101, 0x3000], 5)
    (binary,) = frames.meaning(*leaf).children
    assert frames.meaning(*binary) == Meaning(
        "binary",
        attributes=(
            ("name", "tool"),
            ("UUID", "AB-CD"),
            ("arch", "arm64"),
            ("load-addr", "0x1000"),
            ("path", "/bin/tool"),
        ),
    )
    assert frames.meaning(*leaf).attributes == (("name", "0x1801"), ("addr", "0x1801"))
    assert frames.meaning(*caller) == Meaning(
        "frame", children=(binary,), attributes=(("name", "main"), ("addr", "0x1101"))
    )
    assert frames.meaning(*outside) == Meaning(
        "frame", attributes=(("name", "0x2fff"), ("addr", "0x3000"))
    )


def test_a_frame_that_comes_back_has_its_number_and_a_binary_that_is_gone_has_none() -> None:
    frames = FrameMeanings(OneBinary())
    first = frames.of([7, 7], [0x1801, 0x1101], 5)
    assert frames.of([7, 7], [0x1801, 0x1101], 6) == first
    (gone,) = frames.of([7], [0x1101], 100)
    assert not frames.meaning(*gone).children


def test_a_stack_without_frames_and_an_address_of_nothing() -> None:
    frames = FrameMeanings(NoPlaces())
    assert frames.of([], [], 0) == ()
    (one,) = frames.of([-1], [0], 0)
    assert frames.meaning(*one).attributes == (("name", "0x0"), ("addr", "0x0"))
