"""The plan to begin with: it can be read, and never goes over another one."""

import re
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.git import done
from tracekit.nightly.plan.document import STARTER, write_starter
from tracekit.nightly.plan.reading import read_plan


@pytest.mark.processes
def test_the_starter_measures_against_the_commit_that_stands(tmp_path: Path) -> None:
    for words in ("init --quiet --initial-branch=trunk", "commit --quiet --allow-empty -m first"):
        done(tmp_path, *words.split())
    (capture,) = read_plan(write_starter(tmp_path / "tracekit.toml")).captures
    assert capture.reference is not None
    assert done(tmp_path, "rev-parse", "HEAD").startswith(capture.reference.revision)
    assert [metric.metric for metric in capture.metrics if metric.gate] == ["tokens_per_second"]


def test_outside_of_a_repository_the_commit_is_to_be_filled_in(tmp_path: Path) -> None:
    assert 'revision = "COMMIT"' in write_starter(tmp_path / "tracekit.toml").read_text()


def test_what_the_starter_leaves_out_can_be_put_in(tmp_path: Path) -> None:
    """Every line of TOML in a comment is one that a plan takes."""
    given = STARTER.read_text()
    text = re.sub(r"^# (?=[a-z-]+ = )", "", given, flags=re.MULTILINE)
    assert text.count("\n#") < given.count("\n#") - 6
    file = tmp_path / "tracekit.toml"
    file.write_text(text)
    plan = read_plan(file)
    assert plan.captures[0].fail_on == ("pipeline-churn",)
    reference = plan.captures[0].reference
    assert reference is not None
    assert (reference.workload, reference.setup) == ("sdpa", ("uv", "sync"))


def test_a_plan_that_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "tracekit.toml"
    file.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        write_starter(file)
    assert file.read_text() == "mine"


def test_a_shared_file_is_never_written_to(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="for others as well"):
        write_starter(tmp_path / "pyproject.toml")
    assert not (tmp_path / "pyproject.toml").exists()
    (tmp_path / "pyproject.toml").write_text("[tool.tracekit.nightly]\n")
    with pytest.raises(UsageError, match="has a plan"):
        write_starter(tmp_path / "tracekit.toml")
    assert not (tmp_path / "tracekit.toml").exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no folder"):
        write_starter(tmp_path / "gone" / "tracekit.toml")
