"""One row that cannot be changes no diagnosis: through the command line, and on real exports."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from labelled.folder import write
from labelled.program import simulate
from labelled.setup import Piece
from small_trace import SETUP

INTERVALS = "metal-gpu-intervals.xml"
TOO_LONG = 150_000_000
ROW = re.compile(
    r"<row><start-time [^>]*>(\d+)</start-time>(<duration [^>]*?(?:/>|>\d+</duration>))"
)
CELL = '<duration id="99000001" fmt="150.00 ms">150000000</duration>'
PROBE = (Piece("Command Buffer 0:probe", 7_000),)
LOOP = replace(SETUP, steps=900, ahead=0, pieces=PROBE, compositor=0, marks=False, tells=False)
"""A loop that waits for each launch of 7 µs, as the real probe of the corpus does."""


def lengthen(export: Path, owner: str, place: int) -> int:
    """Make an interval of a process 150 ms long; return how many others begin in it."""
    text = export.read_text()
    rows = [
        row
        for row in ROW.finditer(text)
        if not _is_used_again(row[2], text)
        and owner in text[row.start() : text.index("</row>", row.start())]
    ]
    row = rows[place]
    export.write_text(f"{text[: row.start(2)]}{CELL}{text[row.end(2) :]}")
    starts = [int(other_row[1]) - int(row[1]) for other_row in ROW.finditer(text)]
    return sum(0 < start < TOO_LONG for start in starts)


def _is_used_again(cell: str, text: str) -> bool:
    """Tell whether other rows refer to the cell."""
    number = re.search(r'id="(\d+)"', cell)
    return number is not None and f'<duration ref="{number[1]}"/>' in text


def analyze_folder(folder: Path) -> dict[str, Any]:
    assert run("analyze", folder) == 0
    return json.loads((folder / "result.json").read_text())


def idle_of(result: dict[str, Any]) -> float:
    [share] = [metric["value"] for metric in result["metrics"] if metric["name"] == "idle_ratio"]
    return share


def of_rule(result: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in result["findings"] if finding["rule"] == rule]


def require_same_but_for(odd: dict[str, Any], sound: dict[str, Any], *new: str) -> None:
    """Hold that the verdict is the same: rules, their levers, and the idle time."""
    assert idle_of(odd) == pytest.approx(idle_of(sound), abs=0.002)
    rules = [finding["rule"] for finding in sound["findings"]]
    assert [finding["rule"] for finding in odd["findings"] if finding["rule"] not in new] == rules
    for rule in rules:
        ours, theirs = of_rule(odd, rule), of_rule(sound, rule)
        assert [finding["advice"] for finding in ours] == [
            finding["advice"] for finding in theirs
        ], rule


def test_an_interval_of_150_ms_is_named_and_takes_no_idle_time_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = write(simulate(LOOP), tmp_path / "run")
    sound = analyze_folder(recording.folder)
    assert idle_of(sound) > 0.95
    assert of_rule(sound, "impossible-rows") == []
    assert lengthen(recording.exports / INTERVALS, "python3", 100) > 400
    capsys.readouterr()
    odd = analyze_folder(recording.folder)
    require_same_but_for(odd, sound, "impossible-rows")
    [finding] = of_rule(odd, "impossible-rows")
    assert finding["message"].startswith(
        "1 row of gpu_intervals cannot be: it outlasts the report that its command buffer was "
        "complete, by 150 ms."
    )
    assert (finding["severity"], len(finding["message"].split())) == ("warning", 38)
    [loss] = [entry for entry in odd["losses"] if entry["flaw"] == "impossible"]
    assert (loss["table"], loss["rows"], loss["severity"]) == ("gpu_intervals", 1, "warning")
    assert "gpu_intervals: 1 row cannot be" in capsys.readouterr().err


def test_where_such_an_interval_may_have_filled_the_idle_time_bubbles_abstains(
    tmp_path: Path,
) -> None:
    """Of steps of 5 ms, 4.9 % are idle, and 7.2 % without the work of one: no alarm is made."""
    pieces = (Piece("Command Buffer 0:probe", 4_700_000),)
    recording = write(simulate(replace(LOOP, steps=40, pieces=pieces)), tmp_path / "run")
    sound = analyze_folder(recording.folder)
    assert idle_of(sound) == pytest.approx(0.049, abs=0.001)
    assert of_rule(sound, "bubbles") == []
    lengthen(recording.exports / INTERVALS, "python3", 20)
    result = analyze_folder(recording.folder)
    assert of_rule(result, "bubbles") == []
    [check] = [entry for entry in result["checks"] if entry["rule"] == "bubbles"]
    assert check["status"] == "abstained"
    assert "intervals whose end cannot be may have filled" in check["reason"]


PLACE = "Oichkatzelesfrettschen+steinmarder/src/re/apple/results/tranche1_20260330_204856"
PROBES = [
    "gpu_baseline",
    *(
        pytest.param(name, marks=pytest.mark.campaign)
        for name in ("gpu_register_pressure", "gpu_threadgroup_minimal")
    ),
]


@pytest.mark.corpus
@pytest.mark.parametrize("name", PROBES)
def test_a_real_loop_is_judged_alike_with_such_an_interval(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    """The word of the trace is kept: 300 others begin in it, and idle time stays as it was."""
    results = []
    for place in ("sound", "odd"):
        folder = tmp_path / place
        folder.mkdir()
        for file in (corpus / PLACE).glob(f"*{name}*.xml"):
            shutil.copy(file, folder)
        if place == "odd":
            export = folder / f"xctrace_{name}_{INTERVALS}"
            assert lengthen(export, "sm_apple_metal_probe_host", 100) > 300
        files = sorted(folder.glob("*.xml"))
        assert run("import", *files, "--output", tmp_path / f"{place}-run") == 0
        results.append(analyze_folder(tmp_path / f"{place}-run"))
    sound, odd = results
    assert idle_of(sound) > 0.95
    require_same_but_for(odd, sound, "impossible-rows")
    [finding] = of_rule(odd, "impossible-rows")
    assert "outlasts the report" in finding["message"]
