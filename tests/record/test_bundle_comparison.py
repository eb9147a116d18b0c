"""All tables of a bundle are compared with exports, each once, and the results are kept."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGTRAP
from typing import Any

import pytest

from bundle_writer import RunInfo, Table, write_bundle
from recording_fakes import Scenario
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import InputError
from tracekit.base.files import notes_folder
from tracekit.record.bundle_comparison import BundleComparison, ComparedTable, compare_bundle
from tracekit.record.known_bundles import recall
from tracekit.record.progress import quiet
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.tool import ToolTimeouts, Xctrace
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml import write_exports

BUILD = "17C529"
WORK = intervals((5, 7, PYTHON), (6, 8, SERVER))
TABLES = (WORK, replace(ticks([1]), schema="time-info"), replace(ticks([]), schema="empty"))


@dataclass
class Exports:
    """A `Run` that exports a bundle as it is, with a text in place of another, or fails."""

    folder: Path
    lie: tuple[str, str] = ("", "")
    fails: tuple[str, ...] = ()
    exported: list[str] = field(default_factory=list[str])

    def __call__(self, argv: tuple[str, ...], _timeout: float) -> Completed:
        """Export the table of contents, or a table by its schema and its place."""
        output = Path(argv[argv.index("--output") + 1])
        schema = "toc" if "--toc" in argv else argv[-1].split('"')[3]
        place = argv[-1].rpartition("[")[2].rstrip("]")
        name = f"{schema}-{place}" if place.isdecimal() and place != "1" else schema
        self.exported += {name} - {"toc"}
        if not (self.folder / f"{name}.xml").exists():
            return Completed(argv, 1, stderr="There is no such export.")
        text = (self.folder / f"{name}.xml").read_text()
        output.write_text(text.replace(*self.lie) if self.lie[0] else text)
        return Completed(argv, -SIGTRAP if schema in self.fails else 0)


def make_exports(folder: Path, *tables: Table) -> tuple[Path, Exports]:
    """Make a bundle, and the exports that xctrace makes of it."""
    bundle = folder / "some.trace"
    folder.mkdir(exist_ok=True)
    write_bundle(bundle, list(tables), info=RunInfo(instruments_version=f"26.0 ({BUILD})"))
    write_exports(Bundle(bundle), folder / "made", lambda names: names, quiet)
    return bundle, Exports(folder / "made")


def compare_tables(
    bundle: Path, exports: Exports, progress: Callable[[str], None] = quiet
) -> BundleComparison:
    return compare_bundle(bundle, progress, Xctrace("/X/xctrace", exports, ToolTimeouts(pauses=())))


@pytest.mark.processes
def test_each_table_is_compared_once_from_the_smallest(tmp_path: Path) -> None:
    bundle, exports = make_exports(tmp_path, *TABLES)
    reported: list[str] = []
    comparison = compare_tables(bundle, exports, reported.append)
    assert [(table.schema, table.rows, table.verdict) for table in comparison.tables] == [
        ("time-info", 1, "equal"),
        ("metal-gpu-intervals", 2, "equal"),
        ("empty", 0, "equal"),
    ]
    assert reported == [
        "exporting the table of contents",
        "1 of 3: time-info, 1 rows",
        "2 of 3: metal-gpu-intervals, 2 rows",
        "3 of 3: empty, 0 rows",
    ]
    cells = comparison.tables[0].cells + comparison.tables[1].cells
    assert comparison.sentence == f"3 tables compared, 3 rows, {cells} cells: no difference."
    assert comparison.exit_code == 0
    again = compare_tables(bundle, exports)
    assert again.sentence.endswith("no difference; 3 were compared before.")
    assert len(exports.exported) == 3


@pytest.mark.processes
def test_a_different_cell_is_named_and_kept_for_captures(tmp_path: Path) -> None:
    bundle, exports = make_exports(tmp_path, *TABLES)
    exports.lie = (">8</duration>", ">9</duration>")
    comparison = compare_tables(bundle, exports)
    table = comparison.tables[1]
    assert (table.verdict, table.difference) == (
        "differs",
        "row 2, duration: 8 directly, 9 exported",
    )
    assert comparison.exit_code == 1
    assert "1 differ, and captures will export these" in comparison.sentence
    kept_tables = recall(BUILD, notes_folder()).tables.values()
    assert {kept.schema for kept in kept_tables if kept.difference} == {"metal-gpu-intervals"}


@pytest.mark.processes
def test_two_tables_of_one_form_are_both_compared(tmp_path: Path) -> None:
    first, second = (replace(ticks(starts), schema="points") for starts in ([1, 2], [3, 4]))
    bundle, exports = make_exports(tmp_path, first, second)
    assert compare_tables(bundle, exports).exit_code == 0
    assert exports.exported == ["points", "points-2"]


@pytest.mark.processes
def test_a_table_that_cannot_be_exported_is_tried_again(tmp_path: Path) -> None:
    bundle, exports = make_exports(tmp_path, *TABLES)
    exports.fails = ("time-info",)
    comparison = compare_tables(bundle, exports)
    table = comparison.tables[0]
    assert (table.verdict, comparison.exit_code) == ("not compared", 4)
    assert "SIGTRAP" in table.reason
    assert comparison.sentence.endswith("no difference; 1 could not be compared.")
    exports.fails = ()
    assert [table.schema for table in compare_tables(bundle, exports).tables] == ["time-info"]


@pytest.mark.corpus
@pytest.mark.processes
def test_a_real_bundle_agrees_with_its_real_exports(corpus: Path, tmp_path: Path) -> None:
    bundle = next(corpus.rglob("gpu_baseline.trace"))
    exports = Exports(tmp_path)
    for file in bundle.parent.glob("xctrace_gpu_baseline_*.xml"):
        schema = file.stem.removeprefix("xctrace_gpu_baseline_")
        (tmp_path / f"{schema}.xml").symlink_to(file)
    (tmp_path / "toc.xml").symlink_to(bundle.with_name("gpu_baseline_toc.xml"))
    comparison = compare_tables(bundle, exports)
    tables = {table.schema: table for table in comparison.tables if not table.reason}
    assert len(tables) == 11
    assert sum(table.rows for table in tables.values()) == 8_133
    # The bundle has no document, and so not all names of functions.
    profile = tables.pop("time-profile")
    assert profile.difference.startswith("row 2, stack: '0x195435375")
    assert {table.verdict for table in tables.values()} == {"equal"}
    assert comparison.exit_code == 1


def test_a_difference_outranks_a_table_that_was_not_compared() -> None:
    equal = ComparedTable("a", 1, 3)
    different = ComparedTable("b", difference="it has 3 rows, exported 2")
    missing = ComparedTable("c", reason="xctrace lists no such table")
    for tables, code in (
        ((equal,), 0),
        ((equal, missing), 4),
        ((missing, different), 1),
        ((), 0),
    ):
        assert BundleComparison(BUILD, tables, 0).exit_code == code, tables


def test_a_folder_without_a_bundle_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.trace"):
        with pytest.raises(InputError, match="There is no bundle at"):
            compare_bundle(path, quiet)


@pytest.mark.processes
def test_the_command_compares_the_tables_of_a_run(
    scenario: Scenario, tracekit: Any, tmp_path: Path
) -> None:
    scenario()
    run = tmp_path / "run"
    program = (sys.executable, "-c", "import time; time.sleep(1)")
    recorded = tracekit("record", "--time-limit", "3s", "--output", run, "--", *program)
    assert recorded.code in {0, 4}, recorded.err
    result = tracekit("doctor", "--compare", run)
    assert result.code == 0, result.out
    *rows, sentence = result.out.splitlines()
    assert {row.split("\t")[0] for row in rows} == {"equal"}
    assert "no difference" in sentence
    assert tracekit("doctor", "--compare").code == 2
    assert tracekit("doctor", "--compare", run, run).code == 2
