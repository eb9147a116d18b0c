"""Git is asked in English, of the repository of the folder, and never for long."""

import os
from pathlib import Path

import pytest

from children import until_gone
from git_program import require_git
from tracekit.base import git
from tracekit.base.errors import ToolError


def _repository(folder: Path) -> Path:
    require_git()
    folder.mkdir()
    for arguments in ("init -q", "commit -q --allow-empty -m First", "tag fast"):
        git.check_output(folder, *arguments.split())
    return folder


@pytest.mark.processes
def test_git_speaks_english_asks_nobody_is_misled_by_no_hook_and_ended_if_it_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"  # whatever the user's settings are
    config.write_text("[user]\nname = Test\nemail = test@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    repository, other_repository = _repository(tmp_path / "here"), _repository(tmp_path / "other")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(ToolError) as caught:
        git.check_output(repository, "worktree", "remove", "nowhere")
    assert caught.value.message.startswith("git worktree remove nowhere failed: fatal: ")
    for failing, message in (("commit -m none", "nothing to"), ("config no.such", "exit status 1")):
        with pytest.raises(ToolError, match=message):  # what git prints, wherever it does
            git.check_output(repository, *failing.split())
    git.check_output(repository, "config", "alias.ask", "!env")
    environment_lines = git.run(repository, "ask").stdout.splitlines()
    assert {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0"} <= set(environment_lines)
    git.check_output(other_repository, "tag", "other")
    monkeypatch.setenv("GIT_DIR", str(other_repository / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other_repository))
    assert git.check_output(repository, "tag", "--list") == "fast\n"
    assert os.environ["GIT_DIR"] == str(other_repository / ".git")
    git.check_output(repository, "config", "alias.nap", "!sleep 30 & echo $! > pid; wait")
    with pytest.raises(ToolError, match=r"^git nap did not end within 0\.3 s and was ended\.$"):
        git.run(repository, "nap", seconds=0.3)
    until_gone(int((repository / "pid").read_text()))


@pytest.mark.processes
def test_hooks_and_settings_of_a_person_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks, config, hook_marker = tmp_path / "hooks", tmp_path / "config", tmp_path / "ran"
    repository, tree = _repository(tmp_path / "here"), tmp_path / "tree"
    hooks.mkdir()
    for folder in (hooks, repository / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        (folder / "post-checkout").write_text(f"#!/bin/sh\ntouch {hook_marker}\nexit 1\n")
        (folder / "post-checkout").chmod(0o755)
    for settings in ("", f"[core]\nhooksPath = {hooks}\nfsmonitor = true\n[color]\nui = always\n"):
        config.write_text(settings)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        git.check_output(repository, "worktree", "add", "--detach", str(tree))
        assert git.check_output(tree, "status", "--porcelain") == "", settings
        git.check_output(repository, "worktree", "remove", str(tree))
        assert not hook_marker.exists(), settings


def test_a_missing_git_is_reported_with_its_purpose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="git cannot be started: no folder of PATH") as caught:
        git.run(tmp_path, "status")
    assert "install it" in caught.value.hint
