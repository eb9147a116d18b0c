"""`blit-copies`: copies that take the device's time by themselves, told by their channel."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import MS, given, judge_tables, make_named_table, row_of_steps
from tracekit.analysis.rule import Finding

US = 1_000
STEP = 10 * MS


def pieces(*rows: tuple[int, int, str], size: int = 0) -> pd.DataFrame:
    """Make `gpu_intervals` of (start, duration, channel), in µs."""
    frame = pd.DataFrame(rows, columns=pd.Index(["start", "duration", "channel"]))
    frame[["start", "duration"]] *= US
    frame["duration"] = frame["duration"].astype("Int64")
    labels = frame["channel"] + " Command 0"
    cells: dict[str, Any] = {"target": True, "clock": "gpu", "label": labels}
    numbers = pd.array(frame["start"] // STEP + 1, dtype="UInt64")
    return frame.assign(**cells, bytes=size, start_latency=1, command_buffer=numbers)


def steps_with(blit: int, *, overlap: int = 0, steps: int = 40, size: int = 0) -> pd.DataFrame:
    """Make steps of 10 ms: four copies of so many µs together, and compute for the rest.

    Of each copy so many µs run beside compute.
    """
    rows: list[tuple[int, int, str]] = []
    for step in range(steps):
        begin = step * 10_000
        time = begin
        for _ in range(4):
            rows.append((time, blit // 4, "Blit"))
            time += blit // 4 - overlap
            rows.append((time, (10_000 - blit) // 4 + overlap, "Compute"))
            time += (10_000 - blit) // 4 + overlap
    return pieces(*rows, size=size)


def judge_copies(frame: pd.DataFrame, **tables: Any) -> list[Finding]:
    steps = row_of_steps([STEP] * 40)
    window = make_named_table(("steady", 0, 40 * STEP), unit=1)
    return judge_tables("blit-copies", gpu_intervals=frame, steps=steps, phases=window, **tables)


@pytest.mark.parametrize(
    ("blit", "beside", "share"),
    [
        pytest.param(6_000, 0, 0.60, id="most of the device's time"),
        pytest.param(1_040, 0, 0.104, id="just above a tenth"),
        pytest.param(1_000, 0, None, id="a tenth"),
        pytest.param(2_000, 200, 0.12, id="partly beside compute"),
        pytest.param(2_000, 300, None, id="mostly beside compute"),
    ],
)
def test_only_copies_that_run_alone_count(blit: int, beside: int, share: float | None) -> None:
    findings = judge_copies(steps_with(blit, overlap=beside))
    assert [finding.fact("device_share") for finding in findings] == (
        [] if share is None else [share]
    )


def test_copies_are_recognized_by_number_length_and_bandwidth() -> None:
    [finding] = judge_copies(steps_with(6_000, size=1_500_000))
    expected_facts = {
        "channel": "Blit",
        "each": 4.0,
        "per": "step",
        "length": 1_500 * US,
        "alike": True,
    }
    assert {name: finding.fact(name) for name in expected_facts} == expected_facts
    assert finding.fact("size") == 1_500_000
    assert finding.fact("bandwidth") == pytest.approx(1e9)
    assert finding.saving == 240 * MS
    [unknown] = judge_copies(steps_with(6_000))
    assert unknown.fact("bandwidth") is None


def test_copies_at_the_beginning_alone_are_a_load() -> None:
    frame = steps_with(6_000).assign(label="")
    late = (frame["channel"] == "Blit") & (frame["start"] > 10 * STEP)
    assert not judge_copies(frame.assign(channel=frame["channel"].mask(late, "Compute")))


def test_copies_on_the_channel_of_compute_have_a_label() -> None:
    frame = steps_with(6_000).assign(channel="Compute")
    [finding] = judge_copies(frame)
    assert finding.fact("channel") == "Compute (labelled Blit Command)"
    assert finding.fact("device_share") == pytest.approx(0.6)
    assert not judge_copies(frame.assign(label="paged"))


@pytest.mark.parametrize("channel", ["Compute", "Vertex", "Fragment"])
def test_other_channels_are_not_copies(channel: str) -> None:
    frame = steps_with(6_000).assign(label="")
    assert not judge_copies(frame.assign(channel=frame["channel"].replace("Blit", channel)))


@pytest.mark.parametrize("seed", range(12))
def test_time_alone_equals_a_count_of_moments(seed: int) -> None:
    """Random pieces on three channels, against an array of moments."""
    random = np.random.default_rng(seed)
    channels = ["Compute", "Blit", "Fragment"]
    rows = [
        (int(random.integers(0, 900)), int(random.integers(1, 60)), channels[random.integers(3)])
        for _ in range(40)
    ]
    moments = np.zeros((3, 1_000), bool)
    for start, length, channel in rows:
        moments[channels.index(channel), start : start + length] = True
    window = make_named_table(("steady", 0, US * 1_000), unit=1)
    table = given(gpu_intervals=pieces(*rows), phases=window)["channels"].set_index("channel")
    for place, channel in enumerate(channels):
        alone = moments[place] & ~np.delete(moments, place, axis=0).any(axis=0)
        assert table.loc[channel, "time"] == moments[place].sum() * US, channel
        assert table.loc[channel, "alone"] == alone.sum() * US, channel
        share = moments[place].sum() / moments.any(axis=0).sum()
        assert table.loc[channel, "share"] == share, channel


def test_length_and_place_replace_a_missing_name() -> None:
    """Each step has a long piece, four short ones that take about as long, and one copy."""
    rows: list[tuple[int, int, str]] = []
    for step in range(30):
        begin = step * 10_000
        rows += [(begin, 5_000, "Compute"), (begin + 9_500, 400, "Blit")]
        rows += [(begin + 5_000 + 1_000 * k, 200 + k, "Compute") for k in range(4)]
    frame = pieces(*rows)
    window = make_named_table(("steady", 0, 30 * STEP), unit=1)
    steps = row_of_steps([STEP] * 30)
    groups = given(gpu_intervals=frame, phases=window, steps=steps)["work_groups"]
    columns = ["channel", "pieces", "length", "each"]
    assert groups[columns].to_numpy().tolist() == [
        ["Compute", 30, 5_000 * US, 1.0],
        ["Compute", 120, 201_500, 4.0],
        ["Blit", 30, 400 * US, 1.0],
    ]
    assert groups["place"].tolist() == pytest.approx([0.0, 0.65, 0.95])


def test_a_window_without_device_work_has_no_channels() -> None:
    frame = pieces((0, 500, "Blit"))
    window = make_named_table(("steady", 10 * STEP, STEP), unit=1)
    tables = given(gpu_intervals=frame, phases=window, steps=row_of_steps([STEP] * 30))
    assert tables["channels"].empty
    assert tables["work_groups"].empty
    assert not judge_tables("blit-copies", gpu_intervals=frame, phases=window)
