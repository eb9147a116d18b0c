"""What numbers mean where they name what is not there."""

from pathlib import Path

import pytest

from bundle_writer import Backtrace, Col, Label, Part, Table, write_bundle
from table_of_types import PYTHON, TABLE
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle_xml.meanings import ALL_64, Meanings, UnwritableError
from tracekit.tables.bundle_xml.write import Meaning


@pytest.fixture(scope="module")
def meanings(tmp_path_factory: pytest.TempPathFactory) -> Meanings:
    bundle = write_bundle(tmp_path_factory.mktemp("of") / "x.trace", [TABLE])
    return Meanings(Bundle(bundle).runs[0])


@pytest.mark.parametrize(
    "type_id",
    ["XRPrototypeString", "XRProcess", "XRThread", "XRUUID", "XRFormattedLabel", "XRAny"],
)
def test_a_number_beyond_what_the_bundle_holds_is_damage(meanings: Meanings, type_id: str) -> None:
    with pytest.raises(DamagedCellError):
        meanings.of(type_id, 1 << 31)


@pytest.mark.parametrize(
    ("type_id", "meaning"),
    [
        ("XRProcess", None),
        ("XRGenericUInt32", None),
        ("XRPrototypeValue", Meaning("uint64", "18,446,744,073,709,551,615", str(ALL_64))),
        ("XRMetalCommandBufferID", Meaning("metal-command-buffer-id", hex(ALL_64), str(ALL_64))),
    ],
)
def test_all_ones_are_a_value_of_some_types_only(
    meanings: Meanings, type_id: str, meaning: Meaning | None
) -> None:
    assert meanings.of(type_id, ALL_64) == meaning


def test_an_array_of_another_length_is_damage(meanings: Meanings) -> None:
    thread = next(
        number
        for number in range(20)
        if _is(meanings, "XRThread", number) and not _is(meanings, "XRCoreProfileCallstack", number)
    )
    with pytest.raises(DamagedCellError, match="another length"):
        meanings.of("XRCoreProfileCallstack", thread)


def test_a_type_that_is_not_known_has_no_words(meanings: Meanings) -> None:
    with pytest.raises(UnwritableError, match="XRNobodyKnows"):
        meanings.of("XRNobodyKnows", 5)


def test_labels_of_labels_end_before_they_fill_the_memory(tmp_path: Path) -> None:
    inner = Label((Part("XRPrototypeStringTypeID", "x" * 100),) * 200)
    label = Label((Part("XRFormattedLabelTypeID", inner),) * 200)
    columns = [Col("label", "Label", "XRFormattedLabelTypeID")]
    run = Bundle(write_bundle(tmp_path / "x.trace", [Table("t", columns, [(label,)])])).runs[0]
    with pytest.raises(DamagedCellError, match="more than 1,048,576 letters"):
        Meanings(run).of("XRFormattedLabel", len(run.typed_arrays) - 1)


def test_a_stack_of_one_chunk_again_and_again_ends_too(tmp_path: Path) -> None:
    stack = Backtrace(((PYTHON, tuple(range(1000))),) * 1000)
    columns = [Col("stack", "Stack", "XRBacktraceTypeID")]
    run = Bundle(write_bundle(tmp_path / "x.trace", [Table("t", columns, [(stack,)])])).runs[0]
    with pytest.raises(DamagedCellError, match="more than 65,536 frames"):
        Meanings(run).of("XRBacktrace", len(run.arrays) - 1)


def _is(meanings: Meanings, type_id: str, number: int) -> bool:
    try:
        meanings.of(type_id, number)
    except DamagedCellError:
        return False
    return True
