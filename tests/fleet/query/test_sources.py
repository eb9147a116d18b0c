"""What paths lead to: runs, bundles and batches, each once and with a name of its own."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import InputError, RecordingError, TracekitError, UsageError
from tracekit.fleet.query.sources import AskedRun, Opener, sources


def run_at(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "recording.json").write_text("{}")
    return folder


def batch(folder: Path) -> Path:
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "0f.parquet").write_bytes(b"")
    return folder


def test_runs_and_bundles_are_found_to_the_depths_but_not_below_one(tmp_path: Path) -> None:
    run_at(tmp_path / "b")
    run_at(tmp_path / "b" / "exports" / "not-this")
    run_at(tmp_path / "nights" / "monday" / "a")
    (tmp_path / "nights" / "x.trace").mkdir()
    (tmp_path / "PACKED.TRACE.ZIP").write_bytes(b"")
    run_at(tmp_path / "out.trace")
    run_at(tmp_path / ".hidden" / "c")
    bundle_flags = {run.name: run.is_bundle for run in sources([tmp_path]).runs}
    bundles = dict.fromkeys(("x.trace", "PACKED.TRACE.ZIP"), True)
    assert bundle_flags == {"a": False, "b": False, "out.trace": False, **bundles}


def test_runs_of_one_name_are_kept_apart_by_their_folders(tmp_path: Path) -> None:
    runs = [run_at(tmp_path / folder) for folder in ("x/p/a", "y/p/a", "x/b", "q/a")]
    names = [run.name for run in sources(runs).runs]
    assert names == ["x/p/a", "y/p/a", "b", "q/a"]


def test_a_batch_needs_a_prefix_only_among_others(tmp_path: Path) -> None:
    output = batch(tmp_path / "out")
    run_at(output / "work" / "not-this")
    assert [source.prefix for source in sources([output]).batches] == [""]
    mixed = sources([output, run_at(tmp_path / "a"), batch(tmp_path / "more" / "out")])
    assert [source.name for source in mixed.runs] == ["a"]
    prefixes = [source.prefix for source in mixed.batches]
    assert prefixes == [f"{tmp_path.name}/out:", "more/out:"]


def test_missing_sources_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="nowhere does not exist"):
        sources([tmp_path / "nowhere"])
    with pytest.raises(RecordingError, match="There is no run in"):
        sources([tmp_path])
    (tmp_path / "gpu.xml").write_text("<a/>")
    with pytest.raises(InputError, match="neither a folder nor a bundle"):
        sources([tmp_path / "gpu.xml"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="bench/traces does not exist") as raised:
        sources([])
    assert "--output" in raised.value.hint


ROWS = [(10, 5, PYTHON), (0, 10, SERVER)]
SUMS = "select run, process, sum(duration)::bigint s from gpu_intervals group by all order by all"


def test_a_bundle_answers_packed_too_and_leaves_nothing(tmp_path: Path, ask: Any, run: Any) -> None:
    folder = run("a", [(0, 3, 7, "python3")]).parent
    bundle = write_bundle(folder / "x.trace", [intervals(*ROWS)])
    files_before = sorted(bundle.rglob("*"))
    assert [tuple(row.values()) for row in ask(SUMS, folder)] == [
        ("a", "python3", 3),
        ("x.trace", SERVER.name, 10),
        ("x.trace", PYTHON.name, 5),
    ]
    assert sorted(bundle.rglob("*")) == files_before
    assert sorted(path.name for path in folder.iterdir()) == ["a", "x.trace"]
    with zipfile.ZipFile(tmp_path / "y.trace.zip", "w") as zipped:
        for file in sorted(path for path in bundle.rglob("*") if path.is_file()):
            zipped.write(file, file.relative_to(folder))
    rows = ask("select run, count(*) n from gpu_intervals group by run", tmp_path / "y.trace.zip")
    assert rows == [{"run": "y.trace.zip", "n": 2}]


def test_of_several_tables_none_is_chosen_and_the_way_is_said(tmp_path: Path, ask: Any) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([number]) for number in range(7)])
    with pytest.raises(RecordingError, match="No run has a table ticks that can be read") as raised:
        ask("select * from ticks", bundle)
    assert "run 1 table 5; and 2 more, which `tracekit tables` lists" in raised.value.message
    assert "`tracekit tables RUN ticks`" in raised.value.hint


def test_a_bundle_that_cannot_be_imported_is_tried_once(tmp_path: Path) -> None:
    bundle = tmp_path / "x.trace"
    bundle.mkdir()
    opener = Opener(tmp_path / "workshop")
    with pytest.raises(TracekitError) as first_error:
        opener.open_run(AskedRun("x", bundle, bundle))
    with pytest.raises(TracekitError) as again:
        opener.open_run(AskedRun("x", bundle, bundle))
    assert again.value is first_error.value
