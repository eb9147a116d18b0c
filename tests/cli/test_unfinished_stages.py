"""What a run says whose recording, import or export did not come to its end."""

import json
from pathlib import Path
from typing import Any

import pytest

from page_words import readable


@pytest.mark.parametrize(
    ("stage", "state"),
    [
        ("record", "interrupted"),
        ("record", "failed"),
        ("import", "interrupted"),
        ("import", "running"),
        ("export", "interrupted"),
    ],
)
def test_a_stage_that_did_not_end_is_judged_everywhere(
    stage: str, state: str, imported: Path, tracekit: Any
) -> None:
    file = imported / "recording.json"
    provenance = json.loads(file.read_text())
    provenance["stages"][stage] = {"state": state, "at": "", "message": "it was stopped early"}
    file.write_text(json.dumps(provenance))
    command_result = tracekit("analyze", imported)
    assert command_result.code == 0, command_result.err
    printed_text = " ".join((command_result.out + command_result.err).split())
    [passed] = [
        line
        for line in (command_result.out + command_result.err).splitlines()
        if line.startswith("passed")
    ]
    result = json.loads((imported / "result.json").read_text())
    status = {check["rule"]: check["status"] for check in result["checks"]}
    assert status["capture-truncated"] == "found"
    assert "capture-truncated" not in passed
    assert f"The stage `{stage}` " in printed_text
    if state == "interrupted":
        check_page(imported, tracekit)


def check_page(imported: Path, tracekit: Any) -> None:
    assert tracekit("report", imported).code == 0
    page = readable((imported / "report.html").read_text("utf-8"))
    assert page.count("it was stopped early") > 1  # as a notice, and as a finding


def test_a_run_whose_stages_came_to_their_end_passes(imported: Path, tracekit: Any) -> None:
    assert tracekit("analyze", imported).code == 0
    result = json.loads((imported / "result.json").read_text())
    status = {check["rule"]: check["status"] for check in result["checks"]}
    assert status["capture-truncated"] == "passed"
