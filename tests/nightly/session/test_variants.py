"""Both variants of a capture, and the work trees of revisions."""

import fcntl
import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from git_program import git, require_git
from naps import NAPS, prepared_in, write_naps
from tracekit.base.errors import ToolError, UsageError
from tracekit.nightly.plan.plan import Reference
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.program import Bounds, BudgetSpentError
from tracekit.nightly.session.variants import CodeVariant
from tracekit.nightly.session.worktree import KEPT, Worktree, checked_out
from tracekit.nightly.session.worktree import repository as repository_of
from tracekit.workload.interleaved.protocol import Hello

Ready = Callable[..., Any]
MakeTree = Callable[..., Worktree]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository of the plan's folder; HEAD sleeps 20 times as long as its tag `fast`."""
    workloads = write_naps(tmp_path)
    top = workloads.parent
    git(top, "init", "--quiet", "--initial-branch=main")
    (top / "module_of_plan.py").write_text("SPEED = 'fast'\n")
    (top / ".gitignore").write_text("__pycache__/\ntracekit.toml\n")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "-m", "fast")
    git(top, "tag", "fast")
    (workloads / "naps.py").write_text(NAPS.replace("slow: float = 1.0", "slow: float = 20.0"))
    (top / "module_of_plan.py").write_text("SPEED = 'slow'\n")
    git(top, "commit", "--quiet", "--all", "-m", "slow")
    return top


@pytest.fixture
def worktree(repository: Path) -> MakeTree:
    source_repository = repository_of(repository)
    return lambda revision="fast", *setup: Worktree(
        source_repository, source_repository.commit(revision), setup
    )


@pytest.mark.processes
def test_sides_describe_their_work(
    ready: Ready, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexport KIND=other\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    slow_reference = Reference(python=Path("~/python"))
    with ready(reference=slow_reference, parameters={"slow": 2.0}) as prepared:
        prepared.describe()
        side, description = prepared.candidate, prepared.described["candidate"]
        reference = prepared.described["reference"]
        assert prepared.reference.python == python
        assert "PYTHONPATH" not in prepared.reference.env, "those are modules of another Python"
    assert (side.python, side.cwd) == (Path(sys.executable), tmp_path / "plan")
    assert (description.workload, description.words, description.commit) == (
        "naps",
        "naps, slow 2.0",
        "",
    )
    assert description.python == ".".join(str(part) for part in sys.version_info[:3])
    assert description.tracekit
    assert reference.words.startswith(f"Python {reference.python} with")


@pytest.mark.processes
def test_a_reference_takes_the_candidate_s_parameters_that_its_work_has(tmp_path: Path) -> None:
    for python_reference, parameters, difference in (
        (Reference(parameters={"slow": 3.0}), {"seconds": 0.002, "slow": 3.0}, ("slow 3.0",)),
        (Reference(workload="sdpa", parameters={"batch": 4}), {"batch": 4}, ("sdpa", "batch 4")),
        # What another interpreter is to do, it may know better than this one.
        (Reference(python=Path("/bin/sh"), parameters={"newer": 1}),
         {"seconds": 0.002, "slow": 2.0, "newer": 1}, ("newer 1",)),
        (Reference(parameters={"newer": 1}), {}, "has no parameter 'newer'"),
    ):  # fmt: skip
        values = {"reference": python_reference, "parameters": {"seconds": 0.002, "slow": 2.0}}
        if isinstance(difference, str):
            with pytest.raises(UsageError, match=difference), prepared_in(tmp_path, **values):
                pytest.fail("it was prepared")
            continue
        with prepared_in(tmp_path, **values) as ready_capture:
            side = ready_capture.variants[1]
        assert (side.role, side.parameters, side.difference) == (
            "reference",
            parameters,
            difference,
        )
        assert side.python == (python_reference.python or ready_capture.candidate.python)
        places = (ready_capture.candidate.cwd, ready_capture.candidate.workloads)
        assert (side.cwd, side.workloads) == places, parameters


def side(python: str = sys.executable, *difference: str) -> CodeVariant:
    place = Path("/plan")
    return CodeVariant("reference", "naps", None, {}, Path(python), {}, place, "abc", difference)


def test_a_reference_is_described_by_its_differences() -> None:
    for variant, mlx, words in (
        (side(), "0.30.0", "naps"),
        (side(sys.executable, "revision 1a2b3c4"), "0.30.0", "revision 1a2b3c4"),
        (side("/venv/python", "batch 4"), "0.30.0", "batch 4, Python 3.12.1 with MLX 0.30.0"),
        (side("/venv/python"), "", "Python 3.12.1 without MLX"),
    ):
        described = variant.describe_workload(Hello(1, "0.1.0", "3.12.1", mlx))
        assert (described.words, described.mlx, described.commit) == (words, mlx, "abc")


@pytest.mark.processes
def test_a_revision_has_a_work_tree_and_an_interpreter(ready: Ready, repository: Path) -> None:
    script = f'#!/bin/sh\nexec {sys.executable} "$@"'
    setup = ("sh", "-c", f"echo '{script}' > python; chmod +x python")
    fast_reference = Reference(revision="fast", python=Path("python"), setup=setup, pythonpath=())
    with ready(reference=fast_reference, pairs=1) as prepared:
        reference = prepared.reference
        (pair,) = measure(prepared)
    fast = git(repository, "rev-parse", "fast")
    assert statistics.median(pair.candidate["step_p50"]) > 1.5 * statistics.median(
        pair.reference["step_p50"]
    )
    assert (reference.commit, reference.difference) == (fast, (f"revision fast ({fast[:7]})",))
    assert prepared.candidate.commit == git(repository, "rev-parse", "HEAD")
    assert reference.workloads == reference.cwd / "workloads"
    assert reference.python == reference.cwd / "python"
    assert not reference.env.get("PYTHONPATH")
    assert reference.cwd.is_relative_to(Path(os.environ["TRACEKIT_CACHE"]).resolve())
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.processes
def test_each_side_has_its_own_modules_and_changes_are_named(
    ready: Ready, repository: Path
) -> None:
    for slow, expected_commit in (({}, git(repository, "rev-parse", "HEAD")), ({"slow": 3.0}, "")):
        with ready(reference=Reference(revision="HEAD", parameters=slow)) as prepared:
            assert prepared.same_commit == expected_commit
    commit = git(repository, "rev-parse", "fast")
    (repository / "module_of_plan.py").write_text("SPEED = 'unknown'\n")
    pinned_reference = Reference(
        revision=commit[:10], parameters={"slow": 3.0}, pythonpath=("src", ".")
    )
    with ready(reference=pinned_reference) as prepared:
        assert prepared.reference.difference == (f"revision {commit[:7]}", "slow 3.0")
        assert prepared.candidate.commit.endswith("-dirty")
        top = prepared.reference.cwd
        theirs = prepared.reference.env["PYTHONPATH"].split(":")
        assert theirs[:2] == [f"{top}/src", str(top)]
        assert not [part for part in theirs if part.startswith(str(repository))]
        ours = prepared.candidate.env["PYTHONPATH"].split(":")
        assert ours[:2] == [f"{repository}/src", str(repository)]


def link_elsewhere(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(Path.home())


@pytest.mark.processes
def test_a_damaged_tree_is_made_again(
    worktree: MakeTree, bounds: Bounds, repository: Path, subtests: pytest.Subtests
) -> None:
    tree = worktree()
    damages: list[Callable[[Path], object]] = [
        lambda folder: folder.with_suffix(".json").unlink(),
        lambda folder: git(folder, "checkout", "--quiet", "--detach", "main"),
        lambda folder: (folder / "module_of_plan.py").write_text("SPEED = 'edited'\n"),
        lambda folder: Path(git(folder, "rev-parse", "--git-path", "index")).write_bytes(b"none"),
        link_elsewhere,
    ]
    with checked_out(tree, bounds):
        pass
    for number, damage in enumerate(damages):
        with subtests.test(number=number):
            damage(tree.folder)
            with (
                checked_out(tree, bounds) as folder,
                checked_out(tree, replace(bounds, deadline=0.0)),
            ):
                assert (folder / "module_of_plan.py").read_text() == "SPEED = 'fast'\n"
                assert not folder.is_symlink()
            assert tree.is_whole
    assert (repository / "module_of_plan.py").read_text() == "SPEED = 'slow'\n"


@pytest.mark.processes
def test_a_work_tree_is_set_up_until_that_succeeds_and_no_more(
    worktree: MakeTree, bounds: Bounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_PREFIX", "of a hook")
    changing = worktree("fast", "sh", "-c", "echo x > module_of_plan.py")
    changed = r"changed files of the commit.*module_of_plan"
    with pytest.raises(ToolError, match=changed), checked_out(changing, bounds):
        pytest.fail("it was accepted")
    count, ready = tmp_path / "count", tmp_path / "ready"
    log, mark = quote(str(count)), quote(str(ready))
    script = f"echo x$GIT_PREFIX >> {log}; echo no such wheel >&2; test -e {mark} || exit 3"
    tree = worktree("fast", "sh", "-c", script)
    with pytest.raises(ToolError) as caught, checked_out(tree, bounds):
        pytest.fail("it was set up")
    assert "ended with exit code 3. Its last words: no such wheel" in caught.value.message
    assert str(tree.log) in caught.value.hint
    ready.touch()
    for _ in range(2):
        with checked_out(tree, bounds) as folder:
            assert (folder / "module_of_plan.py").read_text() == "SPEED = 'fast'\n"
    assert (count.read_text(), tree.log.read_text()) == ("x\nx\n", "no such wheel\n")
    ready.unlink()
    (tree.folder / "module_of_plan.py").unlink()
    for _ in range(2):  # one that was damaged is no more whole than a new one
        with pytest.raises(ToolError, match="exit code 3"), checked_out(tree, bounds):
            pytest.fail("it was set up")
    assert tree.folder != changing.folder, "another setup has another work tree"


@pytest.mark.processes
def test_one_that_somebody_else_makes_is_waited_for(worktree: MakeTree, bounds: Bounds) -> None:
    tree = worktree("fast")
    tree.folder.parent.mkdir(parents=True)
    waiting_message = "while somebody else made"
    soon = replace(bounds, deadline=time.monotonic() + 0.3)
    with tree.folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BudgetSpentError, match=waiting_message), checked_out(tree, soon):
            pytest.fail("it was not waited for")
        threading.Timer(0.2, lambda: fcntl.flock(lock, fcntl.LOCK_UN)).start()
        with checked_out(tree, replace(bounds, deadline=time.monotonic() + 60)) as folder:
            assert (folder / "module_of_plan.py").is_file()


@pytest.mark.processes
def test_the_last_used_trees_stay(repository: Path, bounds: Bounds, worktree: MakeTree) -> None:
    with ExitStack() as stack:
        used_folder = stack.enter_context(checked_out(worktree("fast"), bounds))
        trees = [worktree("fast", "true", str(number)) for number in range(KEPT + 1)]
        for number, tree in enumerate(trees):
            with checked_out(tree, bounds):
                os.utime(tree.note, (number, number))
        assert str(trees[1].folder) not in git(repository, "worktree", "list")
        os.utime(worktree("fast").note, (0, 0))
        for tree in (trees[2], worktree("main"), worktree("main", "true")):
            with checked_out(tree, bounds):
                pass
        there = [tree.folder.is_dir() for tree in trees]
        assert there == [False, False, True, False, True]
        assert used_folder.is_dir()


@pytest.mark.processes
def test_names_of_a_commit_are_resolved_and_others_are_refused(repository: Path) -> None:
    git(repository, "tag", "--annotate", "--message", "one", "v1", "fast")
    source_repository = repository_of(repository / "workloads")
    assert source_repository.top == repository
    root_commit = git(repository, "rev-list", "--max-parents=0", "HEAD")
    names = ("fast", "main~1", "HEAD^", "tags/fast", "v1")
    assert {source_repository.commit(name) for name in names} == {root_commit}
    assert [name for name in ("fast", "v1", "main", "fas") if source_repository.has_tag(name)] == [
        "fast",
        "v1",
    ]
    for revision in ("v9", "--help", "HEAD:module_of_plan.py", "a b", ""):
        with pytest.raises(UsageError, match="has no revision"):
            source_repository.commit(revision)


@pytest.mark.processes
def test_a_plan_outside_of_repositories_has_no_revisions(
    ready: Ready, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_git()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with (
        pytest.raises(UsageError, match=r"needs a git repository, and .*plan is in none"),
        ready(reference=Reference(revision="fast")),
    ):
        pytest.fail("it was prepared")
