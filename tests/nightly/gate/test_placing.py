"""Where findings are shown: lines of the plan, windows of traces."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gate_night import NIGHT
from tracekit.nightly.gate.found import find_night, in_repository, placed
from tracekit.nightly.gate.report.model import GateReport, of_night

Keep = Callable[..., Path]


def reported(name: str = "latest") -> GateReport:
    found = find_night(name)
    return placed(of_night(found.night, found.plan), found.plan)


def test_a_capture_stands_at_its_line_of_the_plan(keep: Keep) -> None:
    keep()
    report = reported()
    assert report.file == "tracekit.toml"
    assert {one.name: one.line for one in report.suites} == {
        "decode": 7,
        "prefill": 14,
        "serve": None,
        "micro": None,
    }


def test_a_plan_in_a_folder_is_named_from_the_repositorys_root(
    project: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = project / "perf" / "tracekit.toml"
    nested.parent.mkdir()
    (project / "tracekit.toml").rename(nested)
    monkeypatch.chdir(nested.parent)
    assert in_repository(nested) == "perf/tracekit.toml"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(nested.parent))
    assert in_repository(nested) == "tracekit.toml"


def test_a_file_elsewhere_is_named_without_its_folders(project: Path, tmp_path: Path) -> None:
    assert in_repository(tmp_path / "ada" / "plan.toml") == "plan.toml"


def test_a_night_without_its_plan_has_no_file(keep: Keep) -> None:
    keep(replace(NIGHT, plan="other"))
    assert reported(NIGHT.id).file == ""
