import getpass
import platform
import subprocess
from pathlib import Path

import pytest

from tracekit.machine import describe, git_commit, gpu_cores


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


def test_what_is_unknown_is_absent() -> None:
    assert not [name for name, value in describe().items() if value in {"", None}]


def test_neither_machine_nor_user_are_named() -> None:
    words = {str(value) for value in describe().values()}
    assert platform.node() not in words
    assert getpass.getuser() not in words


def test_a_commit_is_told_and_whether_it_was_changed(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    assert git_commit(tmp_path) == ""
    file = tmp_path / "a"
    file.write_text("1")
    _git(tmp_path, "add", "a")
    _git(tmp_path, "commit", "-qm", "First")
    commit = _git(tmp_path, "rev-parse", "HEAD")
    assert git_commit(tmp_path) == commit
    (tmp_path / "untracked").write_text("1")
    assert git_commit(tmp_path) == commit
    file.write_text("2")
    assert git_commit(tmp_path) == f"{commit}-dirty"


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


def test_what_a_program_prints_may_be_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nprintf '\\377'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_commit(tmp_path) == "\ufffd-dirty"


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
