"""`dominant-work`: one kind of work that has most of the device's time, told without names."""

from typing import Any

import pandas as pd
import pytest

from analysed import MS, judge_tables, make_named_table, row_of_steps
from tracekit.analysis.rule import Finding

US = 1_000
STEPS = 40


def frames(*pieces: tuple[int, str], length: int) -> pd.DataFrame:
    """Make `gpu_intervals` of steps of so many µs that begin with these pieces, in a row, in µs."""
    rows: list[tuple[int, int, str, int]] = []
    for step in range(STEPS):
        time = step * length
        for lasts, channel in pieces:
            rows.append((time, lasts, channel, step + 1))
            time += lasts
    names = pd.Index(["start", "duration", "channel", "command_buffer"])
    frame = pd.DataFrame(rows, columns=names)
    frame[["start", "duration"]] *= US
    frame["duration"] = frame["duration"].astype("Int64")
    frame["command_buffer"] = pd.array(frame["command_buffer"], dtype="UInt64")
    cells: dict[str, Any] = {"target": True, "clock": "gpu", "label": "Compute Command 0"}
    return frame.assign(**cells, start_latency=1)


def judge_work(frame: pd.DataFrame, length: int) -> list[Finding]:
    window = make_named_table(("steady", 0, STEPS * length * US), unit=1)
    steps = row_of_steps([length * US] * STEPS)
    return judge_tables("dominant-work", gpu_intervals=frame, steps=steps, phases=window)


REDUCES = [(54_000, "Compute"), *[(250, "Compute")] * 24]
"""One reduction of 54 ms, and 24 operations of 250 µs."""


def test_one_piece_that_is_out_of_all_proportion_is_a_warning() -> None:
    [finding] = judge_work(frames(*REDUCES, length=60_500), 60_500)
    assert finding.severity == "warning"
    assert finding.lever == "dominant-work"
    assert finding.fact("device_share") == pytest.approx(0.9)
    assert finding.fact("length") == 54 * MS
    assert finding.fact("factor") == pytest.approx(216)
    assert (finding.fact("each"), finding.fact("pieces")) == (1, 25)


def test_many_pieces_that_take_most_are_a_note() -> None:
    layer = [(150, "Compute"), (1_200, "Compute"), (350, "Compute")]
    [finding] = judge_work(frames(*layer * 26, length=45_000), 45_000)
    assert finding.severity == "note"
    assert finding.fact("each") == 26
    assert finding.fact("device_share") == pytest.approx(1_200 / 1_700)


@pytest.mark.parametrize(
    ("heaviest", "length", "severity"),
    [
        pytest.param(15_000, 20_000, "warning", id="misses a refresh"),
        pytest.param(9_000, 12_000, "note", id="is in time"),
    ],
)
def test_fragments_are_named_where_frames_take_long(
    heaviest: int, length: int, severity: str
) -> None:
    rest_length = (length - heaviest) // 8
    frame = frames(
        (heaviest, "Fragment"),
        *[(rest_length, "Vertex"), (rest_length, "Fragment")] * 4,
        length=length,
    )
    [finding] = judge_work(frame, length)
    assert (finding.lever, finding.severity) == ("dominant-fragments", severity)
    assert finding.fact("channel_share") == pytest.approx(
        (heaviest + 4 * rest_length) / length, abs=0.01
    )


def test_many_passes_of_one_length_could_be_joined() -> None:
    for lengths, lever in (
        ([500] * 40, "many-passes"),
        ([500] * 15 + [12_500], "dominant-fragments"),
        ([round(130 * 1.12**place) for place in range(26)], "dominant-fragments"),
    ):
        passes = [piece for length in lengths for piece in ((9, "Vertex"), (length, "Fragment"))]
        length = sum(lasts for lasts, _ in passes)
        [finding] = judge_work(frames(*passes, length=length), length)
        assert (finding.lever, finding.severity) == (lever, "warning"), lengths[-1]


@pytest.mark.parametrize(
    ("pieces", "length"),
    [
        pytest.param(REDUCES, 90_000, id="a device that idles for a third"),
        pytest.param([(1_000, "Compute")] * 10, 10_000, id="work that is all alike"),
        pytest.param([(500, "Compute"), (1_000, "Compute")] * 5, 7_500, id="twice as long"),
        pytest.param([(9_000, "Blit"), (200, "Compute")], 9_200, id="copies"),
    ],
)
def test_other_loops_are_silent(pieces: list[tuple[int, str]], length: int) -> None:
    assert not judge_work(frames(*pieces, length=length), length)


def test_a_prompt_before_many_tokens_is_not_a_kernel_to_replace() -> None:
    frame = frames(*[(250, "Compute")] * 20, length=5_000)
    prompts = frame[frame["command_buffer"] % 10 == 1].drop_duplicates("command_buffer")
    long = prompts.assign(duration=100 * MS)
    assert not judge_work(pd.concat([frame, long]), 5_000)


def errors(channel: str, code: int) -> list[Finding]:
    frame = frames((9_000, channel), length=10_000)
    failed = pd.DataFrame({"time": [100 * MS], "command_buffer": [10], "error": [code]})
    return judge_tables("command-buffer-errors", gpu_intervals=frame, command_buffer_errors=failed)


@pytest.mark.parametrize(
    ("channel", "code", "lever"),
    [
        pytest.param("Blit", 3, "error-in-copies", id="copies that hung"),
        pytest.param("Blit", 2, "error-in-copies", id="copies that timed out"),
        pytest.param("Blit", 8, "error-out-of-memory", id="no memory"),
        pytest.param("Compute", 2, "error-timeout", id="computation"),
        pytest.param("Vertex", 13, "error-memoryless", id="geometry"),
        pytest.param("Vertex", 10, "error-memoryless", id="geometry, by Metal's code"),
    ],
)
def test_failed_copies_are_recognized_by_their_channel(channel: str, code: int, lever: str) -> None:
    [finding] = errors(channel, code)
    assert finding.lever == lever
    assert finding.fact("copies") is (channel == "Blit")
