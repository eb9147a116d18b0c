"""The command, as a script meets it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record.doctor.examine import keep

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
Tracekit = Callable[..., Any]


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {fact["name"]: fact["verdict"] for fact in document["facts"]}


def test_a_toolchain_that_does_not_work_is_exit_code_three_with_its_fix(
    scenario: Scenario, tracekit: Tracekit
) -> None:
    scenario(toolchain="licence")
    ran = tracekit("doctor")
    assert ran.code == 3
    assert [line for line in ran.out.splitlines() if line.split()[:2] == ["failed", "xctrace"]]
    assert "xcodebuild -license" in ran.out


@pytest.mark.skipif("sys.platform == 'darwin'", reason="a Mac without Xcode is not as it should be")
def test_without_xcrun_linux_is_as_it_should_be_and_nothing_is_probed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracekit: Tracekit
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = tracekit("doctor", "--json")
    assert ran.code == 0
    found = verdicts(json.loads(ran.out))
    assert (found["host recorder"], found["xctrace"]) == ("ok", "not applicable")
    ran = tracekit("doctor", "--probe")
    assert ran.code == 3
    assert "--recorder host" in ran.err


def test_what_was_probed_is_shown_followed_and_taken_along_by_recordings(
    scenario: Scenario, tmp_path: Path, tracekit: Tracekit
) -> None:
    scenario()
    machine = Identity(**json.loads(tracekit("doctor", "--json").out)["identity"])
    ways = (
        Combination("launch", counters=True, rows=5, counter_rows=9, saving=3.0),
        Combination("attach", counters=True, failure="It hung."),
    )
    keep(Capabilities(machine, "2026-11-20T10:15:03+00:00", ways), notes_folder())
    document = json.loads(tracekit("doctor", "--json").out)
    assert [way["rows"] for way in document["capabilities"]["combinations"]] == [5, None]
    assert verdicts(document)["probe: counters"] == "ok"
    folder = tmp_path / "run"
    assert tracekit("record", "--output", folder, "--", "/bin/true").code == 0
    provenance = Recording(folder).provenance()
    assert provenance.capabilities is not None
    assert provenance.capabilities.combinations == ways
    assert any("--counters off" in text for text in provenance.warnings)
    assert "Metal GPU Counters" in provenance.command_lines[0]
