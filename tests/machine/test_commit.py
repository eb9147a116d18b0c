"""Which commit was run, and whether more may have been run than it holds."""

from pathlib import Path

import pytest

from git_program import git
from tracekit.machine.commit import git_commit, is_dirty


@pytest.mark.processes
def test_a_commit_is_that_of_the_folder_and_says_whether_it_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, hooked = tmp_path / "asked", tmp_path / "hooked"
    for place in (folder, hooked):
        place.mkdir()
        git(place, "init", "-q")
    assert git_commit(folder) == ""
    file = folder / "a"
    file.write_text("1")
    git(folder, "add", "a")
    git(folder, "commit", "-qm", "First")
    commit = git(folder, "rev-parse", "HEAD")
    git(hooked, "commit", "-q", "--allow-empty", "-m", "other")
    monkeypatch.setenv("GIT_DIR", str(hooked / ".git"))  # as in a hook of another one
    monkeypatch.setenv("GIT_WORK_TREE", str(hooked))
    assert git_commit(folder) == commit
    file.write_text("2")
    assert git_commit(folder) == f"{commit}-dirty"
    file.write_text("1")
    (folder / "mine.py").write_text("1")
    assert git_commit(folder) == f"{commit}-dirty"
    (folder / ".gitignore").write_text("mine.py\n")
    assert git_commit(folder) == commit, "what is ignored is said to be no part of it"
    assert git_commit(tmp_path) == git_commit(tmp_path / "missing") == ""


@pytest.mark.parametrize("status", ["exit 128", "exec sleep 600"], ids=["fails", "is slow"])
def test_a_tree_of_which_git_cannot_tell_is_not_clean(
    status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "git"
    program.write_text(f'#!/bin/sh\ncase "$*" in *status*) {status};; *) echo 1a2b3c4;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("tracekit.machine.commit._SECONDS", 1)
    assert git_commit(tmp_path) == "1a2b3c4-unknown"


CHANGED = (
    " M a\0",
    "R  b\0a\0",
    "?? kernels/new.metal\0",
    "?? Makefile\0",
    "?? sub/\0",
    "?? shape.json\0",
    "?? recording.json\0?? mine.py\0",
    "?? runs/a/recording.json\0?? runs/a/exports/toc.json\0?? runs/mine.py\0",
)
OURS = (
    "",
    "?? runs/a/recording.json\0?? runs/a/exports/toc.json\0",
    "?? nights/n1/night.json\0?? nights/n1/decode/c-1/worker.json\0",
    "?? nights/history.db\0?? nights/history.db-wal\0?? nights/nightly.log.1\0",
    "?? tracekit.toml\0",
    "?? gate.xml\0?? gate.sarif\0?? gate.md\0?? nights/trend.html\0",
    "?? x.trace/corespace/run1/core/stores/bulkstore\0",
    "?? .venv/lib/one.py\0?? nights/.night.lock\0",
)


def test_files_of_tracekit_do_not_make_a_tree_dirty() -> None:
    assert [status for status in (*CHANGED, *OURS) if is_dirty(status)] == [*CHANGED]
