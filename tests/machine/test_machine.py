import platform
import subprocess
from pathlib import Path

import pytest

from tracekit.machine.commit import git_commit, is_dirty
from tracekit.machine.machine import describe, gpu_cores


def _git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
    argv = ["git", *settings, *arguments]
    done = subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_machine_is_described() -> None:
    facts = describe()
    assert facts["system"] == platform.system()
    assert facts["architecture"] == platform.machine()
    assert facts["python"] == platform.python_version()
    assert facts["cores"] >= 1
    assert facts["memory"] > 1 << 28
    assert facts["mlx"].count(".") >= 1


@pytest.mark.processes
def test_a_commit_is_reported_and_whether_it_was_changed(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    assert git_commit(tmp_path) == ""
    file = tmp_path / "a"
    file.write_text("1")
    _git(tmp_path, "add", "a")
    _git(tmp_path, "commit", "-qm", "First")
    commit = _git(tmp_path, "rev-parse", "HEAD")
    assert git_commit(tmp_path) == commit
    file.write_text("2")
    assert git_commit(tmp_path) == f"{commit}-dirty"
    file.write_text("1")
    assert git_commit(tmp_path) == commit
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "mine.py").write_text("1")
    assert git_commit(tmp_path) == f"{commit}-dirty"
    (tmp_path / ".gitignore").write_text("mine.py\n")
    assert git_commit(tmp_path) == commit, "what is ignored is said to be no part of it"


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


@pytest.mark.parametrize(
    ("status", "dirty"),
    [
        ("", False),
        (" M a\0", True),
        ("R  b\0a\0", True),
        ("?? kernels/new.metal\0", True),
        ("?? Makefile\0", True),
        ("?? sub/\0", True),
        ("?? shape.json\0", True),
        ("?? recording.json\0?? mine.py\0", True),
        ("?? runs/a/recording.json\0?? runs/a/exports/toc.json\0?? runs/mine.py\0", True),
        ("?? runs/a/recording.json\0?? runs/a/exports/toc.json\0", False),
        ("?? nights/n1/night.json\0?? nights/n1/decode/c-1/worker.json\0", False),
        ("?? nights/history.db\0?? nights/history.db-wal\0?? nights/nightly.log.1\0", False),
        ("?? tracekit.toml\0", False),
        ("?? gate.xml\0?? gate.sarif\0?? gate.md\0?? nights/trend.html\0", False),
        ("?? x.trace/corespace/run1/core/stores/bulkstore\0", False),
        ("?? .venv/lib/one.py\0?? nights/.night.lock\0", False),
    ],
)
def test_what_tracekit_wrote_makes_no_tree_dirty(status: str, *, dirty: bool) -> None:
    assert is_dirty(status) is dirty


@pytest.mark.processes
def test_the_commit_is_that_of_the_folder_in_a_hook_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hooked", "asked"):
        folder = tmp_path / name
        folder.mkdir()
        _git(folder, "init", "-q")
        _git(folder, "commit", "-q", "--allow-empty", "-m", name)
    wanted = _git(tmp_path / "asked", "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "hooked" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "hooked"))
    assert git_commit(tmp_path / "asked") == wanted


def test_no_repository_is_no_commit(tmp_path: Path) -> None:
    assert git_commit(tmp_path) == ""
    assert git_commit(tmp_path / "missing") == ""


def test_gpu_cores_are_read_from_the_registry() -> None:
    registry = (
        "+-o AGXAcceleratorG15X  <class AGXAcceleratorG15X, id 0x100000512, registered>\n"
        "    {\n"
        '      "model" = "Apple M3 Max"\n'
        '      "gpu-core-count" = 40\n'
        '      "PerformanceStatistics" = {"Device Utilization %"=3}\n'
        "    }\n"
    )
    assert gpu_cores(registry) == 40
    assert gpu_cores('    "gpu-core-count"=10\n') == 10
    assert gpu_cores("") is None
    assert gpu_cores('"model" = "Apple M3 Max"') is None
