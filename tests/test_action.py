"""The action: pinned, without rights of its own, and made of commands that run here."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from worker_naps import naps_that

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "action.yml").read_text()
ACTION: dict[str, Any] = yaml.safe_load(TEXT)
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
RECORDINGS = ROOT / "tracekit" / "app" / "recordings"
MOST_LINES = 15


def test_a_text_from_outside_reaches_a_shell_as_a_variable_only() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", ""), step["name"]
        assert ("run" in step) == ("shell" in step), step["name"]


def test_it_is_pinned_and_names_no_registry_and_no_secret() -> None:
    used_actions = [step["uses"] for step in STEPS if "uses" in step]
    assert len(used_actions) == 1
    assert re.fullmatch(r"actions/upload-artifact@[0-9a-f]{40}", used_actions[0])
    assert not re.search(r"https?://|index-url|secrets\.", TEXT)


def test_the_artifact_has_no_recording() -> None:
    (upload,) = [step for step in STEPS if "uses" in step]
    names = [Path(line).name for line in upload["with"]["path"].splitlines()]
    assert names == ["comment.md", "comparison.html", "gate.xml", "report.html", "result.json"]


def test_the_page_about_it_names_every_input_and_output() -> None:
    page = (ROOT / "docs" / "how-to" / "gate-a-pull-request.md").read_text()
    assert [name for name in ACTION["inputs"] if f"`{name}`" not in page] == []
    assert [name for name in ACTION["outputs"] if f"`{name}`" not in page] == []


class Job:
    """A job of GitHub Actions that uses the action: its folder, its inputs, what its steps left."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder
        self.temporary = folder / "runner"
        self.summary = folder / "summary.md"
        self.calls = folder / "gh.calls"
        self.log = ""
        self.outputs: dict[str, dict[str, str]] = {}
        defaults = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()}
        self.contexts: dict[str, str] = {
            **{f"inputs.{name}": value for name, value in (defaults | inputs).items()},
            "inputs.token": "t0ken",
            "runner.temp": str(self.temporary),
            "github.repository": "us/kernels",
            "github.server_url": "https://forge.example",
            "github.run_id": "77",
            "github.event.pull_request.number": "12",
            "github.event.pull_request.head.repo.full_name": "us/kernels",
        }
        self._add_program(
            self.temporary / "tracekit" / "uv" / "bin" / "uv",
            'while [ "$1" != tracekit ]; do shift; done; shift\n'
            f'exec "{sys.executable}" -P -m tracekit "$@"\n',
        )

    def add_github(self, comments: list[dict[str, Any]]) -> None:
        """Put a `gh` on the PATH that notes its arguments, and lists these comments."""
        (self.folder / "comments.json").write_text(json.dumps(comments))
        self._add_program(
            self.folder / "bin" / "gh",
            f'printf "%s\\n" "$GH_TOKEN $*" >>"{self.calls}"\n'
            'for word; do [ "$previous" = --jq ] && filter=$word; previous=$word; done\n'
            f'[ -z "$filter" ] || exec jq "$filter" "{self.folder}/comments.json"\n',
        )

    def run(self) -> int:
        """Run the steps after that which gets uv, up to the first that fails; return its code."""
        for step in STEPS[1:]:
            if "run" not in step or not self._holds(step.get("if", "always()")):
                continue
            code = self._run_step(step)
            if code:
                return code
        return 0

    def _run_step(self, step: dict[str, Any]) -> int:
        output = self.folder / "output"
        output.write_text("")
        variables = {name: self._fill(value) for name, value in step.get("env", {}).items()}
        environment = (
            os.environ
            | variables
            | {
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "RUNNER_TEMP": str(self.temporary),
            }
        )
        command = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
        process = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        self.log += process.stdout + process.stderr
        lines = output.read_text().splitlines()
        self.outputs[step.get("id", "")] = dict(line.split("=", 1) for line in lines)
        return process.returncode

    def _fill(self, text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: self._look_up(match[1]), str(text))

    def _look_up(self, name: str) -> str:
        if name.startswith("steps."):
            _, step, _, output = name.split(".")
            return self.outputs[step].get(output, "")
        return self.contexts[name]

    def _holds(self, condition: str) -> bool:
        for part in condition.split(" && "):
            left, _, right = part.partition(" == ")
            if not right:
                continue  # always(), or an output that is there
            expected = right.strip("'") if right.startswith("'") else self._look_up(right)
            if self._look_up(left) != expected:
                return False
        return True

    def _add_program(self, file: Path, script: str) -> None:
        file.parent.mkdir(parents=True)
        file.write_text(f"#!/bin/sh\n{script}")
        file.chmod(0o755)

    @property
    def results(self) -> Path:
        return Path(self.outputs["measure"]["folder"])


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    return lambda **inputs: Job(tmp_path, **inputs)


HEALTHY = str(RECORDINGS / "healthy.zip")
CHURN = str(RECORDINGS / "churn.zip")


@pytest.mark.processes
def test_a_slower_recording_fails_and_is_commented_on(job: Callable[..., Job]) -> None:
    if shutil.which("jq") is None:
        pytest.skip("no jq, which gh has inside")
    slower = job(base=HEALTHY, recordings=CHURN, options="--force", comment="true")
    slower.add_github(
        [
            {"id": 1, "user": {"type": "User"}, "body": "<!-- tracekit: tracekit -->"},
            {"id": 2, "user": {"type": "Bot"}, "body": "<!-- tracekit: other -->"},
            {"id": 3, "user": {"type": "Bot"}, "body": "### old\n<!-- tracekit: tracekit -->"},
        ]
    )
    assert slower.run() == 1, slower.log
    assert slower.outputs["gate"]["exit-code"] == "1"
    names = {file.name for file in slower.results.iterdir()}
    assert names == {"comment.md", "comparison.html", "gate.xml"}
    lines = (slower.results / "comment.md").read_text().splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("### ❌ Regression: ")
    assert lines[-2:] == [
        "[Pages and log](https://forge.example/us/kernels/actions/runs/77)",
        "<!-- tracekit: tracekit -->",
    ]
    listed, changed = slower.calls.read_text().splitlines()
    assert listed.startswith("t0ken api --paginate repos/us/kernels/issues/12/comments --jq ")
    place = "repos/us/kernels/issues/comments/3"
    file = slower.results / "comment.md"
    assert changed == f"t0ken api --silent --method PATCH {place} --field body=@{file}"
    assert slower.summary.read_text().startswith("## ❌")


@pytest.mark.processes
def test_an_unclear_pair_is_an_error_or_a_warning_and_a_fork_gets_no_comment(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    shutil.copy(RECORDINGS / "boundaries.zip", tmp_path / "old recording.zip")
    shutil.copy(RECORDINGS / "bubbles.zip", tmp_path / "new recording.zip")
    options = "--force --metric idle_start_latency"
    unclear = job(base="old*.zip", recordings="new recording.zip", options=options, comment="true")
    unclear.contexts["github.event.pull_request.head.repo.full_name"] = "them/kernels"
    unclear.add_github([])
    assert unclear.run() == 4, unclear.log
    unclear.contexts["inputs.allow-unclear"] = "true"
    assert unclear.run() == 0
    assert "::warning::tracekit could not decide" in unclear.log
    assert not unclear.calls.exists()


@pytest.mark.processes
def test_a_capture_is_compared_with_the_base(job: Callable[..., Job], tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "naps.py").write_text(naps_that("time.sleep(0.01)"))
    capture = "--workload naps --workloads own\n--recorder host --time-limit 1s"
    capturing = job(capture=capture, base="base", comment="true")
    capturing.add_github([])
    assert capturing.run() == 2, "there is no base yet"
    (capturing.results / "run").rename(tmp_path / "base")
    assert capturing.run() in {0, 1, 4}, capturing.log
    assert (capturing.results / "run" / "report.html").is_file()
    assert (capturing.results / "comparison.html").is_file()
    posted = capturing.calls.read_text().splitlines()[-1]
    assert posted.startswith(
        "t0ken api --silent repos/us/kernels/issues/12/comments --field body=@"
    )


@pytest.mark.processes
def test_a_wrong_name_or_plan_is_refused(job: Callable[..., Job], tmp_path: Path) -> None:
    wrong = job(plan="no-such.toml", name="../up")
    assert wrong.run() == 2
    assert "::error::The input name takes letters" in wrong.log
    wrong.contexts["inputs.name"] = "night"
    assert wrong.run() == 2
    assert "no-such.toml" in wrong.log
    (tmp_path / "empty.toml").write_text("[nightly]\n")
    wrong.contexts["inputs.plan"] = "empty.toml"
    assert wrong.run() == 2
