"""What there is to record with, as xctrace lists it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.templates.overview import Overview, overview
from tracekit.record.xctrace.tool import Timeouts, Xctrace

ANSWERS = {
    "version": "xctrace version 26.0 (17C529)",
    "help": "--template --instrument <name>",
    "templates": "== Standard Templates ==\nMetal System Trace\nTime Profiler\n\n"
    "== User Templates ==\nmine\n",
    "instruments": "== Standard Instruments ==\nMetal GPU Counters\nHangs\n",
}
Look = Callable[..., Overview]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Ask an xctrace that answers as given."""

    def ask(**said: Any) -> Overview:
        answers = ANSWERS | said

        def run(argv: tuple[str, ...], timeout: float) -> Completed:
            assert timeout > 0
            return Completed(argv, 0, answers[argv[2] if argv[1] == "list" else argv[1]])

        return overview(Xctrace("/X/xctrace", run, Timeouts()), tmp_path)

    return ask


def test_sections_are_as_xctrace_prints_them(look: Look) -> None:
    got = look()
    assert got.xctrace == "xctrace version 26.0 (17C529)"
    assert got.rows == [
        ("Standard Templates", "Metal System Trace"),
        ("Standard Templates", "Time Profiler"),
        ("User Templates", "mine"),
    ]
    assert got.metal_system_trace
    assert got.gpu_counters == "Metal GPU Counters"
    assert got.files == ()


@pytest.mark.parametrize(
    "said", [{"instruments": "== Standard Instruments ==\nHangs\n"}, {"help": "--template"}]
)
def test_an_xcode_without_the_instrument_has_the_way_by_a_file(
    look: Look, said: dict[str, str]
) -> None:
    got = look(**said)
    assert got.gpu_counters == ""
    assert "--template PATH" in got.remarks[-1]
