"""GPU counters that were asked for and are not there: one sentence, whatever the reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli.main import main

Scenario = Callable[..., None]
LACKING = "GPU counters are not available on this chip and Xcode"
REJECTED = "GPU Service reported error: Selected counter profile is not supported on target device"
SMALL = (
    "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 "
    "--max-blocks 4 --active-blocks 2 --dtype float32 --warmup 2 --repeats 50"
).split()


def captured(folder: Path, *options: str) -> dict[str, Any]:
    """Capture with the fake; return the result."""
    try:
        main(["capture", "--workload", "paged", "--output", str(folder), *SMALL, *options])
    except SystemExit as end:
        assert not end.code  # noqa: PT017  a command may end by itself or by an exit code
    return json.loads((folder / "result.json").read_text())


@pytest.mark.processes
@pytest.mark.parametrize(
    ("scene", "why"),
    [
        pytest.param({"issues": [["Warning", REJECTED]]}, "xctrace says: ", id="rejected"),
        pytest.param(
            {"issues": [["Warning", REJECTED]] * 2, "counter_set": "(null)"},
            "xctrace says: ",
            id="rejected-and-no-set",
        ),
        pytest.param({"counter_set": "(null)"}, "names no counter set", id="no-set"),
    ],
)
def test_each_way_to_lose_counters_ends_in_one_sentence_of_run_and_page(
    scene: dict[str, Any], why: str, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(**scene)
    result = captured(tmp_path / "run", "--counters", "on")
    said = [one for one in result["provenance"]["warnings"] if LACKING in one]
    assert len(said) == 1
    assert why in said[0]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count(LACKING) == 1
    [check] = [one for one in result["checks"] if one["rule"] == "low-occupancy"]
    assert check["status"] == "abstained"
    for way in ("Recording Options > GPU > Counter Set", "--template", "tracekit templates make"):
        assert way in check["reason"]
