"""Joins over real recordings: every row once, and times that agree between tables."""

from pathlib import Path

import pytest

from tracekit.tables.tables import Tables
from tracekit.tables.toc import read_toc

pytestmark = pytest.mark.corpus


def tables_of(corpus: Path, folder: str, recording: str, into: Path) -> Tables:
    """Return the tables of one real recording."""
    found = next(corpus.rglob(folder))
    for path in found.glob(f"*gpu_{recording}_*.xml"):
        (into / path.name).symlink_to(path)
    target = read_toc(found / f"gpu_{recording}_toc.xml").runs[0].target
    assert target is not None
    return Tables(into, frozenset({target.pid}))


def test_the_encoders_of_the_target_are_found_for_all_of_its_work(
    corpus: Path, tmp_path: Path
) -> None:
    tables = tables_of(corpus, "tranche1_20260330_204856", "baseline", tmp_path)
    jobs, intervals = tables["gpu_jobs"], tables["gpu_intervals"]
    assert jobs["start"].tolist() == intervals["start"].tolist()
    assert jobs["submission"].tolist() == intervals["submission"].tolist()
    own = jobs[jobs["target"]]
    assert len(own) == len(tables["encoders"]) == 1000
    assert own["encoder_label"].notna().all()
    assert jobs.loc[~jobs["target"], "encoder_kind"].isna().all()
    assert (jobs["completed"] >= jobs["start"] + jobs["duration"]).all()
    buffers = tables["command_buffers"]
    assert buffers["command_buffer"].is_unique
    assert len(buffers) == len(tables["completions"])
    assert buffers["gpu_intervals"].sum() == len(intervals)
    assert buffers["encoders"].sum() == 1000
    assert tables.warnings == ()
