"""Whether something outside paces a loop: each condition by a program that lacks it alone."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import strategies as st

from analysed import given, table
from chance import drawn
from stock import Stock
from tracekit.analysis.pace import _falls, count_presents, find_frames, find_refreshes

SEEDS = st.integers(0, 10_000)
FRAME = 1e6 / 60
Random = np.random.Generator


def test_a_rest_falls_with_the_work_if_the_slope_is_near_and_certain() -> None:
    work = np.array([1.0, -1.0] * 5)
    deviation = np.array([1.0] * 4 + [-1.0] * 4 + [0.0] * 2)
    # By ten iterations, less two, the standard error of the slope is the noise / √10.
    for slope, noise in ((-1, 0.0), (-0.76, 0.0), (-1.24, 0.0), (-1, 0.47)):
        assert _falls(work, slope * work + noise * deviation)
    for slope, noise in ((-0.74, 0.0), (-1.26, 0.0), (-1, 0.48), (1, 0.0)):
        assert not _falls(work, slope * work + noise * deviation)
    assert not _falls(np.ones(10), work)


def test_presents_in_two_tables_count_once() -> None:
    rows = (1, True), (2, True), (3, None), (4, True)
    commits = table("time presents", *rows, unit=1, target=True)
    presents = table("time target", (0, True), (1, True), (2, True), (3, False), unit=1)
    assert count_presents(commits, None, 1, 4) == count_presents(commits, presents, 1, 4) == 2
    assert count_presents(commits.assign(target=False), presents, 0, 4) == 3


def ticks(
    random: Random, period: float, *, number: int = 150, jitter: float = 0.002, work: float = 0.2
) -> Stock:
    """Wake by a clock whose lines are `period` apart, and commit one command buffer each time."""
    stock = Stock()
    for line in range(1, number):
        due_time = 1_000 + period * line
        stock.host_time = max(
            stock.host_time, due_time + period * jitter * abs(float(random.normal()))
        )
        stock.buffer([0.3 * period * float(random.lognormal(0, work))])
        stock.wait()
    return stock


def find_pace(stock: Stock) -> str:
    return given(**stock.tables())["loop"].paced


@drawn(st.sampled_from([60.0, 120.0, 30.0, 48_000 / 512, 100.0]), SEEDS)
def test_a_clock_with_the_rate_of_a_display_or_of_sound_paces(rate: float, seed: int) -> None:
    assert find_pace(ticks(np.random.default_rng(seed), 1e6 / rate))


@drawn(SEEDS)
def test_a_rate_that_nothing_has_paces_nothing(seed: int) -> None:
    assert not find_pace(ticks(np.random.default_rng(seed), 13_470))


@drawn(SEEDS)
def test_uneven_periods_are_not_paced(seed: int) -> None:
    assert not find_pace(ticks(np.random.default_rng(seed), FRAME, jitter=0.25))


def naps(random: Random) -> Stock:
    """Sleep for as long between two commits, from the last one on."""
    stock = Stock()
    for _ in range(150):
        stock.buffer([0.3 * FRAME * float(random.lognormal(0, 0.2))])
        stock.host_time += (FRAME - 6) * float(random.lognormal(0, 0.02))
    return stock


def waits_twice(random: Random) -> Stock:
    """Wake by a clock, and wait for one half before the other is committed."""
    stock = Stock()
    for line in range(1, 150):
        stock.host_time = max(stock.host_time, 1_000 + FRAME * line)
        for _ in range(2):
            stock.buffer([0.15 * FRAME * float(random.lognormal(0, 0.2))])
            stock.wait()
    return stock


def some_more(random: Random) -> Stock:
    """Wake by a clock, and commit as many command buffers as there are to commit."""
    stock = Stock()
    for line in range(1, 150):
        stock.host_time = max(stock.host_time, 1_000 + FRAME * line)
        for _ in range(int(random.integers(1, 5))):
            stock.buffer([0.08 * FRAME * float(random.lognormal(0, 0.2))])
        stock.wait()
    return stock


def never_rests(random: Random) -> Stock:
    """Be through with the work just when the next frame is due."""
    stock = Stock()
    for line in range(1, 150):
        stock.host_time = max(stock.host_time, 1_000 + FRAME * line)
        stock.buffer([0.985 * FRAME * float(random.uniform(0.99, 1.0))])
        stock.wait()
    return stock


@pytest.mark.parametrize("program", [naps, waits_twice, some_more, never_rests])
def test_a_missing_condition_prevents_pacing(program: Callable[[Random], Stock]) -> None:
    for seed in range(6):
        assert not find_pace(program(np.random.default_rng(seed))), seed


def starts_of(periods: list[float]) -> np.ndarray:
    return np.cumsum([0.0, *periods]).astype(np.int64)


def test_frames_that_take_now_one_refresh_and_now_two_miss_some() -> None:
    refresh = 1e9 / 120
    missed = find_refreshes(starts_of([refresh, 2 * refresh] * 40))
    assert missed is not None
    assert missed.period == pytest.approx(refresh)
    assert missed.counts.tolist() == [1, 2] * 40
    assert missed.missed_share == 0.5
    # A third more than half as long: both are frames of a display of 60 Hz as well.
    slower = find_refreshes(starts_of([2 * refresh, 4 * refresh, 2 * refresh] * 30))
    assert slower is not None
    assert slower.period == pytest.approx(2 * refresh)


@pytest.mark.parametrize(
    "periods",
    [
        pytest.param([1e9 / 60] * 80, id="all of one refresh"),
        pytest.param([1e9 / 60] * 76 + [3e9 / 60] * 4, id="few that take more"),
        pytest.param([11.2e6, 19.3e6] * 40, id="a period that no display has"),
        pytest.param([1e9 / 60, 2e9 / 60] * 3, id="few frames"),
        pytest.param([17.9e6, 34.4e6, 15.1e6, 32.2e6] * 20, id="near a refresh, by chance"),
    ],
)
def test_other_periods_miss_no_refresh(periods: list[float]) -> None:
    assert find_refreshes(starts_of(periods)) is None


def test_a_frame_ends_with_the_commit_that_presents_it() -> None:
    begun = np.arange(0, 60, 5)
    rows = [(int(time), int(time) + 1, int(time) + 2) for time in begun]
    timeline = table("encoding_start committed started", *rows, unit=1)
    # Every second command buffer presents.
    presents = [(int(time) + 1, place % 2 == 1) for place, time in enumerate(begun)]
    commits = table("time presents", *presents, unit=1, target=True)
    assert find_frames(timeline, commits, 0, 60).tolist() == [0, 10, 20, 30, 40, 50]
    assert find_frames(timeline, commits, 20, 50).tolist() == [20, 30, 40]
    assert find_frames(timeline, None, 0, 60).size == 0
    assert find_frames(timeline, commits.assign(target=False), 0, 60).size == 0


def bursts(random: Random, *, drifts: bool) -> Stock:
    """Draw thirty frames after each pause, on a grid, or as long after the last one as ever."""
    stock, due_time = Stock(), 1_000.0
    for _ in range(8):
        due_time = stock.host_time + float(random.uniform(300_000, 2_000_000))
        for _ in range(30):
            late = 30 * abs(float(random.normal()))
            due_time += FRAME + late * drifts - 24 * drifts
            stock.host_time = max(stock.host_time, due_time + late * (not drifts))
            stock.buffer([0.3 * FRAME * float(random.lognormal(0, 0.2))])
            stock.wait()
    return stock


@drawn(SEEDS)
def test_a_display_paces_bursts_between_pauses(seed: int) -> None:
    assert find_pace(bursts(np.random.default_rng(seed), drifts=False))
    assert not find_pace(bursts(np.random.default_rng(seed), drifts=True))
