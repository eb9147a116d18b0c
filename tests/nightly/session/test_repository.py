from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.nightly.session.worktree import repository as found_at

pytestmark = pytest.mark.processes

Git = Callable[..., str]


def test_a_repository_is_found_from_inside(repository: Path) -> None:
    found = found_at(repository / "workloads")
    assert found.top == repository
    assert found.inside(repository / "workloads") == Path("workloads")
    assert found.inside(repository) == Path()
    assert found.inside(repository.parent) is None


def test_a_link_into_a_repository_is_inside(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository / "workloads")
    assert found_at(repository).inside(tmp_path / "link") == Path("workloads")


@pytest.mark.parametrize("name", ["fast", "main~1", "HEAD^", "tags/fast"])
def test_names_of_a_commit_are_resolved(repository: Path, git: Git, name: str) -> None:
    found = found_at(repository).commit(name)
    assert found == git(repository, "rev-list", "--max-parents=0", "HEAD")


def test_an_annotated_tag_is_its_commit(repository: Path, git: Git) -> None:
    git(repository, "tag", "--annotate", "--message", "one", "v1", "fast")
    assert found_at(repository).commit("v1") == git(repository, "rev-parse", "fast")
