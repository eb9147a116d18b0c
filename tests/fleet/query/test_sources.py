"""What paths lead to: runs, bundles and batches, each once and with a name of its own."""

from pathlib import Path

import pytest

from tracekit.base.errors import InputError, RecordingError, UsageError
from tracekit.fleet.query.sources import sources


def run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "recording.json").write_text("{}")
    return folder


def bundle(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def batch(folder: Path) -> Path:
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "0f.parquet").write_bytes(b"")
    return folder


def names(*paths: Path) -> list[str]:
    return [one.name for one in sources(paths).runs]


def test_runs_and_bundles_are_found_to_the_depths_but_not_below_one(tmp_path: Path) -> None:
    run(tmp_path / "b")
    run(tmp_path / "b" / "exports" / "not-this")
    run(tmp_path / "nights" / "monday" / "a")
    bundle(tmp_path / "nights" / "x.trace")
    (tmp_path / "PACKED.TRACE.ZIP").write_bytes(b"")
    run(tmp_path / "out.trace")
    run(tmp_path / ".hidden" / "c")
    found = {run.name: run.is_bundle for run in sources([tmp_path]).runs}
    bundles = dict.fromkeys(("x.trace", "PACKED.TRACE.ZIP"), True)
    assert found == {"a": False, "b": False, "out.trace": False, **bundles}


def test_runs_of_one_name_are_kept_apart_by_their_folders(tmp_path: Path) -> None:
    runs = [run(tmp_path / where) for where in ("x/p/a", "y/p/a", "x/b", "q/a")]
    assert names(*runs) == ["x/p/a", "y/p/a", "b", "q/a"]


def test_a_batch_alone_needs_no_prefix_and_beside_others_it_has_one(tmp_path: Path) -> None:
    out = batch(tmp_path / "out")
    run(out / "work" / "not-this")
    assert [one.prefix for one in sources([out]).batches] == [""]
    mixed = sources([out, run(tmp_path / "a"), batch(tmp_path / "more" / "out")])
    assert [one.name for one in mixed.runs] == ["a"]
    folders = tmp_path.name
    assert [one.prefix for one in mixed.batches] == [f"{folders}/out:", "more/out:"]


def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
