"""Git is asked in English, of the repository of the folder, and never for long."""

import os
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tracekit.base.errors import ToolError
from tracekit.base.git import done, git


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit and the tag `fast`, whatever the user's settings are."""
    config = tmp_path / "config"
    config.write_text("[user]\nname = Test\nemail = test@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    return _repository(tmp_path / "here")


def _repository(folder: Path) -> Path:
    folder.mkdir()
    for arguments in ("init -q", "commit -q --allow-empty -m First", "tag fast"):
        done(folder, *arguments.split())
    return folder


@pytest.mark.processes
def test_git_speaks_english_asks_nobody_and_is_misled_by_no_hook(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(ToolError) as caught:
        done(repository, "worktree", "remove", "nowhere")
    assert caught.value.message.startswith("git worktree remove nowhere failed: fatal: ")
    done(repository, "config", "alias.ask", "!env")
    told = git(repository, "ask").stdout.splitlines()
    assert {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0"} <= set(told)
    other = _repository(tmp_path / "other")
    done(other, "tag", "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert done(repository, "tag", "--list") == "fast\n"
    assert os.environ["GIT_DIR"] == str(other / ".git")


@pytest.mark.processes
def test_git_that_hangs_is_ended_with_all_that_it_started(repository: Path) -> None:
    done(repository, "config", "alias.nap", "!sleep 30 & echo $! > pid; wait")
    with pytest.raises(ToolError, match=r"^git nap did not end within 0\.3 s and was ended\.$"):
        git(repository, "nap", seconds=0.3)
    pid = int((repository / "pid").read_text())
    for _ in range(500):
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.01)
                continue
        return
    pytest.fail(f"process {pid} lives")


def test_without_git_it_is_said_what_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="git cannot be started: No such file") as caught:
        git(tmp_path, "status")
    assert "install it" in caught.value.hint
