"""The command, as a script meets it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import run, small
from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record.doctor.examine import keep

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
SMALL = small(50)


def examined(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run("doctor", "--json", *more)
    return code, json.loads(capsys.readouterr().out)


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {fact["name"]: fact["verdict"] for fact in document["facts"]}


def test_a_toolchain_that_does_not_work_is_exit_code_three_with_its_fix(
    scenario: Scenario, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario(toolchain="licence")
    assert run("doctor") == 3
    printed = capsys.readouterr()
    [line] = [one for one in printed.out.splitlines() if one.split()[:2] == ["failed", "xctrace"]]
    assert line
    assert "xcodebuild -license" in printed.out


def test_without_xcrun_linux_is_as_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if os.uname().sysname == "Darwin":
        pytest.skip("a Mac without Xcode is not as it should be")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path))
    code, document = examined(capsys)
    assert code == 0
    assert verdicts(document)["host recorder"] == "ok"
    assert verdicts(document)["xctrace"] == "not applicable"


def test_what_was_probed_is_shown_followed_and_taken_along_by_recordings(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario()
    _, document = examined(capsys)
    machine = Identity(**document["identity"])
    ways = [
        Combination("launch", counters=True, rows=5, counter_rows=9, saving=3.0),
        Combination("attach", counters=True, failure="It hung."),
    ]
    keep(Capabilities(machine, "2026-11-20T10:15:03+00:00", tuple(ways)), notes_folder())
    _, document = examined(capsys)
    assert [one["rows"] for one in document["capabilities"]["combinations"]] == [5, None]
    assert verdicts(document)["probe: counters"] == "ok"

    folder = tmp_path / "run"
    assert run("capture", "--workload", "paged", "--output", folder, *SMALL) == 0
    provenance = Recording(folder).provenance()
    assert provenance.capabilities is not None
    assert len(provenance.capabilities.combinations) == 2
    assert any("--counters off" in text for text in provenance.warnings)
    assert "Metal GPU Counters" in provenance.command_lines[0]
    page = (folder / "report.html").read_text()
    assert "What this machine can record" in page
    assert "It hung." in page


def test_a_probe_without_xctrace_says_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run("doctor", "--probe") == 3
    assert "--recorder host" in capsys.readouterr().err
