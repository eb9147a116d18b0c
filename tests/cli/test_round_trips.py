"""Two programs that wait for each command buffer, through the command line: what repairs them.

The first is that of a numerical package whose launches each had a command buffer of their own: of
359 µs the device works 10, the ways there and back take 148, and 200 pass from the report to the
next commit. Fifteen of 10 µs would have to be in flight to hide the ways; the maintainers put many
launches into a command buffer. In the second, the device works 10 ms and the host prepares 3: the
next command buffer under way wins all of that.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import run
from turn_exports import write_turns

US = 1_000
Turn = tuple[int, int, int, int]


def turns(
    number: int, host: int, there: int, work: int, back: int, spread: float = 0.1
) -> Iterator[Turn]:
    """Yield commit, start, end and report of each command buffer; each part takes about so long."""
    random = np.random.default_rng(7)
    current_time = 1_000 * US
    for _ in range(number):
        times = np.array([there, work, back, host]) * US * random.lognormal(0, spread, 4)
        commit, start, end, report, current_time = (
            current_time + np.cumsum([0, *times]).astype(int)
        ).tolist()
        yield commit, start, end, report


class First:
    """The first finding of `analyze`, from the result's document."""

    def __init__(self, folder: Path, parts: tuple[Any, ...], name: str) -> None:
        exports = write_turns(folder / "exports", turns(*parts), name)
        assert run("import", exports, "--output", folder / "run") == 0
        assert run("analyze", folder / "run") == 0
        result = json.loads((folder / "run" / "result.json").read_text())
        self.finding: dict[str, Any] = result["findings"][0]
        self.facts = {fact["name"]: fact["value"] for fact in self.finding.get("facts", ())}

    def lasts(self, name: str) -> float:
        """Return a fact in µs."""
        return self.facts[name] / US


def test_round_trips_of_little_work_are_repaired_by_many_launches_behind_one_wait(
    tmp_path: Path,
) -> None:
    analysis = First(tmp_path, (2_000, 200, 83, 10, 65), "julia")
    # No lever wins all of the idle time, which is 698 ms.
    assert analysis.finding["saving"] <= 1.05 * 2_000 * 0.9 * 348 * US
    assert analysis.finding.get("lever") == "round-trips"
    # 359 µs are not the host's: the ways there and back take 148, and 200 pass before a commit.
    assert analysis.lasts("way_there") == pytest.approx(83, rel=0.02)
    assert analysis.lasts("way_back") == pytest.approx(65, rel=0.02)
    assert analysis.lasts("host") == pytest.approx(200, rel=0.02)
    # Two in flight hide nothing: the device has 10 µs to do in 148.
    assert analysis.facts["hiding"] == 1 + 15
    assert "2 in flight" not in analysis.finding["message"]
    # Ten behind one wait save nine tenths of 148 µs, or of 348 if the host's time is the wait's.
    smallest_saving, largest_saving = (2_000 * 0.9 * US * part for part in (148, 348))
    assert analysis.facts["saving_least"] == pytest.approx(smallest_saving, rel=0.05)
    assert analysis.facts["saving_most"] == pytest.approx(largest_saving, rel=0.05)
    assert "MLX" not in analysis.finding["advice"]


def test_a_long_iteration_that_waits_is_repaired_by_another_one_under_way(tmp_path: Path) -> None:
    analysis = First(tmp_path, (300, 3_000, 83, 10_000, 65), "llama-cli")
    assert analysis.finding.get("lever") == "wait-each-iteration"
    assert analysis.facts["pulled"] == "in-flight"
    assert analysis.facts["pulled_number"] == 2
    assert analysis.facts["limit"] == "device"
    assert analysis.finding["saving"] == pytest.approx(300 * 3_148 * US, rel=0.05)


def test_a_slow_host_is_not_repaired_by_fewer_round_trips(tmp_path: Path) -> None:
    """The ways take 148 of 10,158 µs: whatever hides them leaves 10,000."""
    analysis = First(tmp_path, (300, 10_000, 83, 10, 65), "render")
    levers = {"host-after-wait", "host-between", "wait-each-iteration"}
    assert analysis.finding.get("lever") in levers
    assert analysis.finding.get("effects") == []


def test_a_slow_wait_costs_a_long_kernel_nothing(tmp_path: Path) -> None:
    exports = write_turns(tmp_path / "exports", turns(300, 200, 83, 13_900, 65), "julia")
    run("import", exports, "--output", tmp_path / "run")
    run("analyze", tmp_path / "run")
    findings = json.loads((tmp_path / "run" / "result.json").read_text())["findings"]
    assert [finding["rule"] for finding in findings if finding["rule"] != "schema-drift"] == []


def test_a_way_back_is_the_hosts_or_unknown_without_a_visible_wait(tmp_path: Path) -> None:
    """All iterations are alike to the nanosecond: no commit moves with a report."""
    analysis = First(tmp_path, (40, 100, 80, 900, 90, 0.0), "render")
    causes = [cause.rsplit(" ", 2)[0] for cause in analysis.facts["causes"].split(", ")]
    assert causes == ["host", "way back or host", "start latency"]
    assert "Whether the host waits for the report is not known." in analysis.finding["message"]
