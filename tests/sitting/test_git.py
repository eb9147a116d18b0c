import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tracekit.errors import ToolError
from tracekit.sitting import git as module

Git = Callable[..., str]


def test_a_repository_is_found_from_inside(repository: Path) -> None:
    found = module.repository(repository / "workloads")
    assert found.top == repository
    assert found.inside(repository / "workloads") == Path("workloads")
    assert found.inside(repository) == Path()
    assert found.inside(repository.parent) is None


def test_a_link_into_a_repository_is_inside(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository / "workloads")
    assert module.repository(repository).inside(tmp_path / "link") == Path("workloads")


@pytest.mark.parametrize("name", ["fast", "main~1", "HEAD^", "tags/fast"])
def test_names_of_a_commit_are_resolved(repository: Path, git: Git, name: str) -> None:
    found = module.repository(repository).commit(name)
    assert found == git(repository, "rev-list", "--max-parents=0", "HEAD")


def test_an_annotated_tag_is_its_commit(repository: Path, git: Git) -> None:
    git(repository, "tag", "--annotate", "--message", "one", "v1", "fast")
    assert module.repository(repository).commit("v1") == git(repository, "rev-parse", "fast")


def test_what_git_says_is_returned_and_its_complaint_quoted(repository: Path) -> None:
    assert module.done(repository, "tag", "--list") == "fast\n"
    with pytest.raises(ToolError) as caught:
        module.done(repository, "worktree", "remove", "nowhere")
    assert caught.value.message.startswith("git worktree remove nowhere failed: fatal: ")


def test_git_speaks_english_and_asks_nobody(
    repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    git(repository, "config", "alias.ask", "!env")
    told = module.git(repository, "ask").stdout.splitlines()
    assert {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0"} <= set(told)


def test_git_that_hangs_is_ended(
    repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    git(repository, "config", "alias.nap", "!echo $$ > pid; exec sleep 30")
    with pytest.raises(ToolError, match=r"^git nap did not end within 0\.2 s and was ended"):
        module.git(repository, "nap")
    pid = int((repository / "pid").read_text())
    for _ in range(500):
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.01)
                continue
        return
    pytest.fail(f"process {pid} lives")


def test_what_points_git_elsewhere_is_what_git_says_it_is() -> None:
    argv = ["git", "rev-parse", "--local-env-vars"]
    named = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    harmless = {"GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS"}
    assert set(named) - harmless <= module.REPOSITORY_VARIABLES
