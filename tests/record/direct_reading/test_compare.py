"""A direct read is held against an export, cell by cell."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bundle_writer import write_bundle
from bundle_writer.examples import profile
from small_bundle import PYTHON, SERVER, intervals
from table_of_types import TABLE
from tracekit.base.errors import InputError
from tracekit.record.direct_reading import compare
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml import write_exports
from tracekit.tables.direct import Stored
from tracekit.tables.toc import Toc, read_toc

Made = tuple[Path, Stored, Toc]


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Made]:
    """Write a table as a bundle and as an export in which some text is another."""

    def make(table: object = None, old: str = "", new: str = "") -> Made:
        table = table or intervals((5, 7, PYTHON), (6, 8, SERVER), (9, 1, PYTHON))
        bundle = write_bundle(tmp_path / "x.trace", [table])
        done = write_exports(Bundle(bundle), tmp_path / "out", lambda names: names, str)
        toc, export = done.files
        text = export.read_text()
        assert old in text
        export.write_text(text.replace(old, new, 1) if old else text)
        return export, Stored(bundle, 1, 0), read_toc(toc)

    return make


def test_values_of_all_types_and_stacks_are_equal(
    made: Callable[..., Made], tmp_path: Path
) -> None:
    assert compare(*made(TABLE)) == (3, "")
    shutil.rmtree(tmp_path)
    assert compare(*made(profile())) == (2, "")


@pytest.mark.parametrize(
    ("table", "old", "new", "difference"),
    [
        (None, ">7</duration>", ">8</duration>", "row 1, duration: 7 directly, 8 exported"),
        (
            None, ">Active</gpu-state>", ">Idle</gpu-state>",
            "row 1, state: 'Active' directly, 'Idle' exported",
        ),
        (None, ">420</pid>", ">421</pid>", "row 2, process.pid: 420 directly, 421 exported"),
        (
            None, '<duration id="12" fmt="8 ns">8</duration>', "<sentinel/>",
            "row 2, duration: 8 directly, nothing exported",
        ),
        # stacks by their frames
        (profile(), 'name="0x195436d0d"', 'name="main"', "row 1, stack: "),
        (profile(), 'addr="0x1954a35fc"', 'addr="0x1954a35fd"', "row 1, stack.stack: "),
        (profile(), ">4096</text-address>", ">4097</text-address>", "row 2, cp-user-callstack"),
    ],
)  # fmt: skip
def test_the_first_cell_that_differs_is_named(
    made: Callable[..., Made], table: object, old: str, new: str, difference: str
) -> None:
    rows, found = compare(*made(table, old, new))
    assert rows == (2 if table else 3)
    assert found.startswith(difference)


def test_rows_and_columns_that_are_not_there_are_differences(made: Callable[..., Made]) -> None:
    export, table, toc = made()
    text = export.read_text()
    head, _, rest = text.rpartition("<row>")
    export.write_text(head + rest.partition("</row>\n")[2])
    assert compare(export, table, toc) == (2, "it has 3 rows, exported 2")
    export.write_text(text.replace("<mnemonic>state<", "<mnemonic>mood<"))
    rows, found = compare(export, table, toc)
    assert rows == 0
    assert "state" in found
    assert "mood" in found


def test_no_more_rows_are_compared_than_asked_for(made: Callable[..., Made]) -> None:
    export, table, toc = made(None, ">102</metal", ">103</metal")
    assert compare(export, table, toc, most=2) == (2, "")
    assert compare(export, table, toc)[1]


def test_a_cut_export_is_compared_with_nothing_and_a_damaged_table_differs(
    made: Callable[..., Made],
) -> None:
    export, table, toc = made()
    whole = export.read_text()
    export.write_text(whole[:-60])
    with pytest.raises(InputError):
        compare(export, table, toc)
    export.write_text(whole)
    table.file.write_bytes(b"x\x9c\0")
    _, found = compare(export, table, toc)
    assert found.startswith("it cannot be read directly: x.trace: corespace/")
