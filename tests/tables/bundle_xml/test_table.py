"""A table of a bundle becomes the XML that Instruments writes, and readers of XML read it."""

import io
import re
from pathlib import Path

import pytest

from bundle_writer import TIME, Backtrace, Col, Label, Part, Table, write_bundle
from table_of_types import COLUMNS, PYTHON, ROWS, TABLE
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.errors import BundleError, DamagedCellError
from tracekit.tables.bundle_xml.meanings import ALL_64, Meanings, UnwritableError
from tracekit.tables.bundle_xml.write import Meaning, write_table

START = Col("start", "Start", "XRStartTimeTypeID", TIME)


def written(bundle: Path, index: int = 3) -> str:
    run = Bundle(bundle).runs[0]
    file = io.BytesIO()
    write_table(file, run, run.stores[0], index, Meanings(run))
    return file.getvalue().decode()


def test_values_of_all_types_are_written_as_instruments_writes_them(tmp_path: Path) -> None:
    text = written(write_bundle(tmp_path / "x.trace", [TABLE], with_document=True))
    head, _, rest = text.partition("</schema>")
    assert head.startswith(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'>"
        '<schema name="many-types"><col><mnemonic>time</mnemonic><name>Sample Time</name>'
        "<engineering-type>sample-time</engineering-type></col>"
    )
    assert "<name>Name &lt;&amp;&gt;</name>" in head
    assert head.count("<col>") == len(COLUMNS)
    fragment = re.compile('fmt="frag [0-9]+"')
    assert fragment.sub('fmt="frag FRAGMENT"', rest) == f"{ROWS}</node></trace-query-result>\n"


def test_rows_are_written_in_the_order_of_their_times(tmp_path: Path) -> None:
    text = Col("text", "Text", "XRPrototypeStringTypeID")
    table = Table("t", [START, text], [(2, "b"), (1, "x"), (2, "a"), (1, "y")])
    found = re.findall(
        "<string[^>]*>([a-z])<", written(write_bundle(tmp_path / "x.trace", [table]))
    )
    assert found == ["x", "y", "b", "a"]


def test_what_cannot_be_said_is_not_said_to_be_nothing(tmp_path: Path) -> None:
    stack = Col("stack", "Stack", "XRTextBacktraceTypeID")
    empty = write_bundle(tmp_path / "a.trace", [Table("t", [START, stack], [(1, None)])])
    assert "<sentinel/></row>" in written(empty)
    filled = Table("t", [START, Col("n", "N", "XRGenericUInt32TypeID")], [(1, 5)])
    bundle = write_bundle(tmp_path / "b.trace", [filled])
    newer = bundle / "open.creq"
    newer.write_bytes(_newer(newer.read_bytes(), "XRGenericUInt32TypeID"))
    with pytest.raises(UnwritableError, match="how values of uint32 are stored is not known"):
        written(bundle)


def _newer(requirements: bytes, type_id: str) -> bytes:
    head, name, rest = requirements.partition(f"com.apple.dt.etype.{type_id}".encode())
    return head + name + rest.replace(b"<integer>1<", b"<integer>2<", 1)


def test_labels_without_end_are_damage(tmp_path: Path) -> None:
    label = Label((Part("XRPrototypeStringTypeID", "end"),))
    for _ in range(9):
        label = Label((Part("XRFormattedLabelTypeID", label),))
    table = Table("t", [START, Col("l", "L", "XRFormattedLabelTypeID")], [(1, label)])
    with pytest.raises(BundleError, match="labels within labels"):
        written(write_bundle(tmp_path / "x.trace", [table]))


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
