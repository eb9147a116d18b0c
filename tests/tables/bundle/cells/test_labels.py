"""Labels out of typed parts: worded, joined, nested, damaged."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bundle_writer import (
    TIME,
    Col,
    Encoder,
    Label,
    Part,
    Process,
    Table,
    Value,
    write_bundle,
)
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.cells.labels import Labels, Values
from tracekit.tables.bundle.errors import ArchiveError

PYTHON = Process(4711, "python3")
ALL = (1 << 64) - 1


class Written:
    """Labels of a bundle that is written when the first is read."""

    def __init__(self, path: Path) -> None:
        self.encoder = Encoder()
        self._path = path

    def label(self, *parts: tuple[str, Value]) -> int:
        """Return the number of a label of typed values."""
        found = tuple(Part(f"XR{name}TypeID", value) for name, value in parts)
        return self.encoder.label(Label(found))

    def stored(self, *values: int) -> int:
        """Return the number of a typed array of any numbers."""
        return self.encoder.typed_arrays.id(values)

    def labels(self) -> Labels:
        """Return the labels as the reader has them; there are no more to come."""
        table = Table("none", [Col("time", "", "XRStartTimeTypeID", TIME)])
        write_bundle(self._path, [table], encoder=self.encoder)
        run = Bundle(self._path).runs[0]
        return Labels(run, Values(run))

    def texts(self, *ids: int) -> Sequence[str | None]:
        """Return the texts of labels."""
        return self.labels().texts(np.array(ids, np.int64)).to_pylist()


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "x.trace")


def test_labels_of_several_shapes_keep_their_places(written: Written) -> None:
    ids = [
        written.label(("PrototypeString", "one"), ("Duration", 21_459)),
        written.label(("PrototypeString", "only")),
        written.label(("PrototypeString", "two"), ("Duration", 583)),
        written.label(),
        written.label(("Duration", 9_480_000), ("PrototypeString", "other way")),
        written.label(("PrototypeString", "one"), ("Duration", 7)),
    ]
    expected = ["one 21.46 µs", "only", "two 583 ns", "", "9.48 ms other way", "one 7 ns"]
    assert written.texts(*ids) == expected


def test_what_is_missing_in_a_label_is_told(written: Written) -> None:
    with_null = written.label(("PrototypeString", "by"), ("Process", None))
    known = written.label(("PrototypeString", "by"), ("Process", PYTHON))
    all_ones = written.label(("PrototypeString", "id"), ("MetalCommandBufferID", ALL))
    assert written.texts(with_null, known, all_ones) == [
        "by n/a",
        "by python3 (4711)",
        "id 0xffffffffffffffff",
    ]


def test_a_label_in_itself_is_refused(written: Written) -> None:
    kind = written.encoder.type_number("XROSLogMetadataTypeID")
    cycle = written.stored(kind, 0, kind, 0)
    with pytest.raises(ArchiveError, match="nested too deeply"):
        written.texts(cycle)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1,), "parts are not whole"),
        ((9999, 0), "a type that the bundle does not list"),
        ((0,) * 8194, "parts are not whole, or too many"),
    ],
)
def test_parts_of_another_form_are_refused(
    written: Written, values: tuple[int, ...], words: str
) -> None:
    label = written.stored(*values)
    with pytest.raises(ArchiveError, match=words):
        written.texts(label)


@pytest.mark.parametrize(
    ("name", "value"), [("PrototypeString", 99), ("Process", 1 << 40), ("UUID", 0), ("Thread", 0)]
)
def test_values_that_are_not_there_are_refused(written: Written, name: str, value: int) -> None:
    written.encoder.arrays.id((1, 2, 3))
    label = written.stored(written.encoder.type_number(f"XR{name}TypeID"), value)
    with pytest.raises(ArchiveError, match="names a"):
        written.texts(label)


def test_a_label_of_more_text_than_there_can_be_is_refused(written: Written) -> None:
    text = written.encoder.type_number("XRPrototypeStringTypeID")
    long = written.encoder.strings.id("x" * 1_000_000)
    label = written.stored(*[text, long] * 2000)
    with pytest.raises(ArchiveError, match="more text than"):
        written.texts(label)


def test_a_value_of_any_type_is_one(written: Written) -> None:
    two = written.label(("Duration", 1), ("Duration", 2))
    with pytest.raises(ArchiveError, match="several parts where one belongs"):
        written.labels().single(np.array([two], np.int64))
