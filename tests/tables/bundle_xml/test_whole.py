"""A run of a bundle becomes a folder of XML that is read as an export of Instruments is."""

from pathlib import Path

import pandas as pd
import pytest

from bundle_writer import TIME, Col, Table, write_bundle
from exact_nodes import joined
from small_bundle import PYTHON, SERVER, intervals, ticks
from table_of_types import TABLE
from tracekit.base.errors import InputError, UsageError
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml.write import write_exports
from tracekit.tables.direct import Stored
from tracekit.tables.flat import read_flat
from tracekit.tables.toc import read_toc
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.node import Reader
from tracekit.tables.xml.reader import ExactReader

QUIET = list[str]().append


def everything(there: frozenset[str]) -> frozenset[str]:
    return there


def test_each_table_is_written_under_the_name_of_its_schema(tmp_path: Path) -> None:
    bundle = write_bundle(
        tmp_path / "x.trace",
        [ticks([1, 2], {"frequency": 10}), intervals((5, 7, PYTHON)), ticks([3], {"frequency": 1})],
    )
    done = write_exports(Bundle(bundle), tmp_path / "out", everything, QUIET)
    assert [one.name for one in done.files] == [
        "toc.xml",
        "tick.xml",
        "metal-gpu-intervals.xml",
        "tick-2.xml",
    ]
    (run,) = read_toc(done.files[0]).runs
    assert [one.schema for one in run.tables] == ["tick", "metal-gpu-intervals", "tick"]
    assert b"table[3]'" in done.files[3].read_bytes()[:120]
    assert done.warnings == ()


def test_only_what_is_chosen_is_written_and_what_can_stand_for_the_empty(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([]), intervals((5, 7, PYTHON))])

    def choose(there: frozenset[str]) -> frozenset[str]:
        return frozenset({"tick"} if "tick" in there else {"metal-gpu-intervals"})

    done = write_exports(Bundle(bundle), tmp_path / "out", choose, QUIET)
    assert [one.name for one in done.files] == ["toc.xml", "tick.xml", "metal-gpu-intervals.xml"]


def test_both_readers_of_xml_read_it_as_equal_frames(tmp_path: Path) -> None:
    rows = [(n * 1000, n % 7 * 100, PYTHON if n % 3 else SERVER) for n in range(500)]
    bundle = write_bundle(tmp_path / "x.trace", [intervals(*rows)])
    done = write_exports(Bundle(bundle), tmp_path / "out", everything, QUIET)
    exact, fast = (frames(kind(done.files[1])) for kind in (ExactReader, FastReader))
    assert exact == fast
    direct = read_flat(Stored(bundle, 1, 0))
    pd.testing.assert_frame_equal(read_flat(done.files[1]).frame, direct.frame)


def frames(reader: Reader) -> list[tuple[object, list[str]]]:
    """Return columns and the texts of their cells: a fast reader has numbers already."""
    table = joined(list(reader.pieces()))
    return [(one.column, list(map(str, one.cells.to_pylist()))) for one in table.columns]


def test_what_is_not_surely_known_is_said(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [TABLE])
    done = write_exports(Bundle(bundle), tmp_path / "out", everything, QUIET)
    (warning,) = done.warnings
    assert warning == (
        "Columns whose form was never compared with an export: many-types (value, fps, events)."
    )


def test_a_damaged_table_is_left_out_by_name_and_the_others_are_written(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([1]), intervals((5, 7, PYTHON))])
    (bundle / "corespace/run1/core/stores/indexed-store-0/bulkstore").write_bytes(b"x\x9c\0")
    done = write_exports(Bundle(bundle), tmp_path / "out", everything, QUIET)
    assert [one.name for one in done.files] == ["toc.xml", "metal-gpu-intervals.xml"]
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [
        "metal-gpu-intervals.xml",
        "toc.xml",
    ]
    (damage,) = done.damage
    assert damage.startswith("The table tick is not written: x.trace: corespace/run1/")


def test_no_table_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    start = Col("start", "Start", "XRStartTimeTypeID", TIME)
    bundle = write_bundle(tmp_path / "x.trace", [Table("../evil", [start], [(1,)])])
    done = write_exports(Bundle(bundle), tmp_path / "out", everything, QUIET)
    assert done.warnings == ("The table ../evil is not written: its name can be no file's.",)
    assert not (tmp_path / "evil.xml").exists()


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    bundle = Bundle(write_bundle(tmp_path / "x.trace", [ticks([1])]))
    write_exports(bundle, tmp_path / "out", everything, QUIET)
    with pytest.raises(InputError, match="is there already"):
        write_exports(bundle, tmp_path / "out", everything, QUIET)
    with pytest.raises(UsageError, match="has no run 2"):
        write_exports(bundle, tmp_path / "other", everything, QUIET, number=2)
