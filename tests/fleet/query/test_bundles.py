"""Bundles are asked as they are, without a run's folder, and as those of runs."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import RecordingError, TracekitError
from tracekit.fleet.query.sources import AskedRun, Opener

Ask = Callable[..., list[dict[str, Any]]]
Run = Callable[..., Any]
ROWS = [(10, 5, PYTHON), (0, 10, SERVER)]
SUMS = "select run, process, sum(duration)::bigint s from gpu_intervals group by all order by all"


def test_a_bundle_answers_and_nothing_is_left_beside_it(
    tmp_path: Path, ask: Ask, run: Callable[..., Path]
) -> None:
    folder = run("a", [(0, 3, 7, "python3")]).parent
    bundle = write_bundle(folder / "x.trace", [intervals(*ROWS)])
    before = sorted(bundle.rglob("*"))
    assert [tuple(row.values()) for row in ask(SUMS, folder)] == [
        ("a", "python3", 3),
        ("x.trace", SERVER.name, 10),
        ("x.trace", PYTHON.name, 5),
    ]
    assert sorted(bundle.rglob("*")) == before
    assert sorted(one.name for one in folder.iterdir()) == ["a", "x.trace"]


def test_a_zipped_bundle_answers_too(tmp_path: Path, ask: Ask) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [intervals(*ROWS)])
    with zipfile.ZipFile(tmp_path / "y.trace.zip", "w") as zipped:
        for file in sorted(one for one in bundle.rglob("*") if one.is_file()):
            zipped.write(file, file.relative_to(tmp_path))
    rows = ask("select run, count(*) n from gpu_intervals group by run", tmp_path / "y.trace.zip")
    assert rows == [{"run": "y.trace.zip", "n": 2}]


def test_of_several_tables_none_is_chosen_and_the_way_to_one_is_said(
    tmp_path: Path, ask: Ask
) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([number]) for number in range(7)])
    with pytest.raises(RecordingError, match="No run has a table ticks that can be read") as raised:
        ask("select * from ticks", bundle)
    assert "run 1 table 5; and 2 more, which `tracekit tables` lists" in raised.value.message
    assert "`tracekit tables RUN ticks`" in raised.value.hint


def test_a_bundle_that_cannot_be_imported_is_tried_once(tmp_path: Path) -> None:
    bundle = tmp_path / "x.trace"
    bundle.mkdir()
    opener = Opener(tmp_path / "workshop")
    with pytest.raises(TracekitError) as first:
        opener.opened(AskedRun("x", bundle))
    with pytest.raises(TracekitError) as again:
        opener.opened(AskedRun("x", bundle))
    assert again.value is first.value
