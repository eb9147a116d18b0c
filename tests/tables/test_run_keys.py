"""Keys of runs: they change with each file that counts, and are empty where that is not certain."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tracekit.tables.run_keys import RESULT_NOTE, RESULTS, digest_contents, make_run_key

pytestmark = pytest.mark.usefixtures("an_hour_later")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with an export, a result and a kept table."""
    for name in ("recording.json", "result.json", "exports/gpu.xml", "tables/gpu.parquet"):
        file = tmp_path / "run" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path / "run"


def key_of(run: Path) -> str:
    return make_run_key(run, "", ignored=RESULTS)


def test_a_key_changes_with_the_files_that_count_and_with_the_facts(run: Path) -> None:
    key = key_of(run)
    assert key
    (run / "result.json").write_text("another result")
    (run / "tables" / "gpu.parquet").unlink()
    assert key_of(run) == key
    assert make_run_key(run, "run 2", ignored=RESULTS) != key
    assert make_run_key(run, "") != key
    (run / "exports" / "gpu.xml").write_text("other rows")
    assert key_of(run) != key


def test_kept_tables_of_a_pruned_run_are_its_files(run: Path) -> None:
    (run / "exports" / "pruned.json").write_text("{}")
    key = key_of(run)
    (run / "tables" / RESULT_NOTE).write_text("{}")
    assert key_of(run) == key
    (run / "tables" / "gpu.parquet").unlink()
    assert key_of(run) != key


def test_the_bundle_that_is_read_counts_and_no_other_link(run: Path) -> None:
    bundle = run.parent / "X.trace"
    bundle.mkdir()
    (bundle / "form.template").write_text("a table")
    (run / "recording.trace").symlink_to(bundle)
    assert not key_of(run)
    note = {"bundle": "../recording.trace", "format": 1}
    (run / "exports" / "direct.json").write_text(json.dumps(note))
    key = key_of(run)
    assert key
    (bundle / "form.template").write_text("another table")
    assert key_of(run) not in {key, ""}
    (run / "capture.gputrace").symlink_to(run.parent)
    assert not key_of(run)


def test_a_folder_that_is_gone_has_no_key(tmp_path: Path) -> None:
    assert not key_of(tmp_path / "nothing")


def test_a_copy_has_the_same_contents_until_a_file_changes(run: Path, tmp_path: Path) -> None:
    large_file = run / "exports" / "large.xml"
    large_file.touch()
    os.truncate(large_file, 70_000_000)
    contents = digest_contents(run, "facts")
    assert digest_contents(run, "other facts") != contents
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assert digest_contents(copy, "facts") == contents
    (copy / "result.json").write_text("another result")
    assert digest_contents(copy, "facts") == contents
    os.utime(copy / "exports" / "gpu.xml")
    assert digest_contents(copy, "facts") == contents
    os.utime(copy / "exports" / "large.xml", ns=(0, 0))
    assert digest_contents(copy, "facts") != contents
    (run / "exports" / "gpu.xml").write_text("exports/gpu.xmm")
    assert digest_contents(run, "facts") != contents
