"""The workflows: pinned, with few rights, and made of commands that run under the fake xctrace."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracekit.base import own_version
from tracekit.base.recording import Recording

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS: dict[str, dict[Any, Any]] = {
    file.stem: yaml.safe_load(file.read_text()) for file in FILES
}


def iter_jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for workflow, document in WORKFLOWS.items():
        for name, job in document["jobs"].items():
            yield f"{workflow}: {name}", job


def test_actions_are_pinned_by_commits_with_their_versions() -> None:
    lines = [line for file in FILES for line in file.read_text().splitlines() if "uses:" in line]
    assert len(lines) == 9
    for line in lines:
        assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d", line), line


def test_rights_are_given_to_jobs_and_only_those_they_need() -> None:
    rights: dict[str, dict[str, str]] = {}
    for name, job in iter_jobs():
        rights[name] = job["permissions"]
        assert job["timeout-minutes"] <= 60, name
    assert all(document["permissions"] == {} for document in WORKFLOWS.values())
    writing = {name: given for name, given in rights.items() if "write" in given.values()}
    assert writing == {
        "release: build": {"contents": "read", "id-token": "write", "attestations": "write"},
        "release: publish": {"id-token": "write"},
    }
    checkouts = [
        step
        for _, job in iter_jobs()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert [step["with"] for step in checkouts] == [{"persist-credentials": False}] * len(checkouts)


def test_no_workflow_names_a_registry_or_a_secret() -> None:
    for file in (*FILES, *(ROOT / ".ci").iterdir()):
        text = file.read_text()
        assert not re.search(r"https?://|index-url|repository-url|secrets\.", text), file


def test_texts_from_outside_reach_a_shell_as_variables_only() -> None:
    for name, job in iter_jobs():
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), name


def test_the_steps_on_a_mac_put_load_last_and_always_keep_the_report() -> None:
    (job,) = WORKFLOWS["mac"]["jobs"].values()
    steps = [
        step["run"].split()[1]
        for step in job["steps"]
        if "run: .ci/mac" in f"run: {step.get('run')}"
    ]
    assert steps == [
        *("doctor", "kernels", "questions", "cpu", "compare", "recover", "tests"),
        *("parity", "paged"),
    ]
    script = (ROOT / ".ci" / "mac").read_text()
    assert re.findall(r"^    (\w+)\)", script, re.MULTILINE) == steps
    assert [step.get("if") for step in job["steps"][-2:]] == ["always()", "always()"]
    assert job["timeout-minutes"] == 30


@pytest.fixture
def step(
    scenario: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], int]:
    """Run a step of mac.yml under the fake xctrace; return its exit code."""
    scenario(busy=True)
    binaries = tmp_path / "uv-bin"
    binaries.mkdir()
    uv = binaries / "uv"
    uv.write_text(
        "#!/bin/sh\nshift 2\ncase $1 in\n"
        f'tracekit) shift; exec "{sys.executable}" -P -m tracekit "$@" ;;\n'
        f'python) shift; exec "{sys.executable}" "$@" ;;\nesac\n'
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OUT", str(tmp_path / "out"))

    def run(name: str) -> int:
        null = subprocess.DEVNULL
        return subprocess.run(
            (ROOT / ".ci" / "mac", name), stdout=null, stderr=null, check=False
        ).returncode

    return run


@pytest.mark.processes
def test_a_killed_recorder_is_recovered_by_the_workflow(
    step: Callable[[str], int], tmp_path: Path
) -> None:
    assert step("recover") == 0
    assert (tmp_path / "out" / "recover.code").read_text() == "recover ended with 0\n"
    run = Recording(tmp_path / "out" / "recovered")
    assert run.provenance().stages["recover"].state == "incomplete"
    assert run.report_file.exists()


@pytest.mark.processes
def test_a_program_is_recorded_and_compared_by_the_workflow(
    step: Callable[[str], int], tmp_path: Path
) -> None:
    assert step("cpu") in {0, 4}, "4: the trace has no GPU work"
    assert Recording(tmp_path / "out" / "cpu").report_file.exists()
    assert step("compare") == 0
    assert "no difference" in (tmp_path / "out" / "compare.txt").read_text()


@pytest.mark.processes
def test_a_step_that_fails_keeps_its_words_and_its_code(
    step: Callable[[str], int], tmp_path: Path
) -> None:
    assert step("kernels") == 3
    assert (tmp_path / "out" / "kernels.txt").read_text() == "There is no Metal here.\n"
    assert step("no-such-step") == 2
    assert (tmp_path / "out" / "no-such-step.code").read_text() == "no-such-step ended with 2\n"


@pytest.mark.wheel
def test_the_release_builds_the_version_of_its_tag_alone(tmp_path: Path) -> None:
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b")
    tracked = subprocess.run(
        ("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "all")):
        subprocess.run((*git, *words), check=True)
    build = (tmp_path / ".ci" / "build", own_version())
    subprocess.run(build, check=True, capture_output=True)
    names = sorted(file.suffix for file in (tmp_path / "dist").glob("metaltrace-*"))
    assert names == [".gz", ".whl"]
    refused = subprocess.run((build[0], "9.9.9"), capture_output=True, text=True, check=False)
    assert (refused.returncode, "The tag names version 9.9.9" in refused.stderr) == (1, True)
