"""Whether the host waited for a report: by its encoding, by samples, by how its commits move."""

import numpy as np
import pandas as pd
import pytest

from analysed import table
from tracekit.analysis.idle.sampled_waits import sampled_share, sampled_wait
from tracekit.analysis.idle.slopes import Slope, Wait, slopes_of
from tracekit.analysis.idle.waits import waits_of
from tracekit.analysis.intervals import IntervalSet, Times

NONE = IntervalSet.empty()
US = 1_000


def loop(
    number: int, host: float, device: float, *, waits: bool, seed: int = 3, noise: float = 0.1
) -> pd.DataFrame:
    """Let a host commit so many command buffers, after each report or without it; µs.

    The times of host and device vary independently of each other.
    """
    random = np.random.default_rng(seed)
    factors = 1 + noise * random.standard_normal((2, number))
    rows: list[tuple[float, float, float]] = []
    time = 0.0
    reported = 0.0
    for host_factor, device_factor in factors.T:
        begin = max(time, reported) if waits else time
        committed = begin + host * host_factor
        reported = max(reported, committed) + device * device_factor
        time = committed
        rows.append((begin, committed, reported))
    begin, committed, reported = np.array(rows).T * US
    frame = pd.DataFrame({"encoding_start": begin, "committed": committed, "completed": reported})
    return frame.round().astype("Int64")


def unseen(frame: pd.DataFrame) -> pd.DataFrame:
    """The same where nothing tells when the host began to encode."""
    return frame.assign(encoding_start=pd.array([None] * len(frame), dtype="Int64"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("host", "device"), [(20, 150), (150, 150), (5_000, 150)])
def test_commits_that_follow_reports_show_a_wait(host: float, device: float, seed: int) -> None:
    waits = waits_of(unseen(loop(200, host, device, waits=True, seed=seed)), None, NONE)
    assert host > device or (waits[1:] == Wait.YES).all()
    assert (waits != Wait.NO).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("host", "device"), [(5_000, 150), (200, 150)])
def test_commits_that_do_not_move_with_reports_show_none(
    host: float, device: float, seed: int
) -> None:
    waits = waits_of(unseen(loop(400, host, device, waits=False, seed=seed)), None, NONE)
    assert (waits != Wait.YES).all()


def test_a_long_computation_without_a_wait_differs_from_a_wait() -> None:
    loop_without_waits = loop(400, 1_000, 400, waits=False, noise=0.05)
    assert (waits_of(unseen(loop_without_waits), None, NONE)[1:] == Wait.NO).all()


def test_encoding_before_the_report_shows_that_the_host_went_on() -> None:
    frame = loop(40, 20, 150, waits=False)
    waits = waits_of(frame, None, NONE)
    assert (waits[1:] == Wait.NO).all()
    # The order of the rows does not matter.
    mixed = frame.iloc[::-1].reset_index(drop=True)
    assert waits_of(mixed, None, NONE).tolist() == waits[::-1].tolist()


def test_wiring_at_the_report_shows_that_the_host_went_on() -> None:
    frame = unseen(loop(40, 20, 150, waits=True))
    report = int(frame["completed"].iloc[9])
    wiring = IntervalSet.from_spans(np.array([report - 5]), np.array([report + 5]))
    assert waits_of(frame, None, wiring)[10] == Wait.NO


def test_fewer_than_sixteen_commits_of_a_place_show_no_habit() -> None:
    for number, is_known in ((17, False), (18, True)):
        waits = waits_of(unseen(loop(number, 20, 150, waits=True)), None, NONE)
        assert bool((waits[1:] != Wait.UNKNOWN).any()) is is_known, number


def test_each_place_of_an_iteration_is_judged_by_itself() -> None:
    """The second of two command buffers is committed at once, the first after a wait."""
    first_buffers = loop(60, 20, 150, waits=True, noise=0.2)
    work = np.random.default_rng(8).integers(20, 40, 60) * US
    second = first_buffers.assign(
        committed=first_buffers["committed"] + 3 * US, completed=first_buffers["completed"] + work
    )
    first_buffers = first_buffers.assign(
        committed=first_buffers["committed"] + np.concatenate(([0], np.cumsum(work)[:-1]))
    )
    second = second.assign(committed=first_buffers["committed"] + 3 * US)
    shift = np.concatenate(([0], np.cumsum(work)[:-1]))
    first_buffers = first_buffers.assign(completed=first_buffers["completed"] + shift)
    second = second.assign(completed=second["completed"] + shift)
    frame = pd.concat([first_buffers, second]).sort_values("committed", ignore_index=True)
    frame = unseen(frame)
    iterations = pd.DataFrame({"start": first_buffers["committed"] - 1, "duration": 10}).astype(
        "int64"
    )
    waits = waits_of(frame, iterations, NONE)
    assert (waits[2::2] == Wait.YES).all()
    assert (waits[1::2] != Wait.YES).all()


def test_reports_that_never_vary_show_nothing() -> None:
    frame = unseen(loop(60, 20, 150, waits=True, noise=0.0))
    assert (waits_of(frame, None, NONE)[1:] == Wait.UNKNOWN).all()


def test_a_slope_near_one_or_zero_decides() -> None:
    for value, error, wait in (
        (1.0, 0.1, Wait.YES),
        (1.14, 0.02, Wait.YES),
        (1.0, 0.3, Wait.UNKNOWN),  # its interval holds one half
        (1.4, 0.1, Wait.UNKNOWN),
        (0.0, 0.1, Wait.NO),
        (0.25, 0.1, Wait.NO),
        (0.4, 0.1, Wait.UNKNOWN),
        (-0.5, 0.1, Wait.UNKNOWN),
    ):
        assert Slope(value, error).wait is wait, (value, error)


def test_the_slope_is_that_of_least_squares() -> None:
    random = np.random.default_rng(5)
    reports = np.cumsum(random.integers(800, 1_200, 60)).astype(np.int64)
    commits: Times = np.concatenate(([0], reports[:-1] + random.integers(40, 60, 59)))
    slopes = slopes_of(commits, [np.roll(reports, 1), np.roll(reports, 2)], np.arange(2, 60))
    assert slopes is not None
    slope = slopes[0]
    assert slope.value == pytest.approx(1.0, abs=0.02)
    assert 0 < slope.error < 0.02
    level = np.arange(60, dtype=np.int64) * 1_000
    level_reports = level + 500
    held = [np.roll(level_reports, 1), np.roll(level_reports, 2)]
    assert slopes_of(level, held, np.arange(2, 60)) is None


BACK = IntervalSet(np.array([0], np.int64), np.array([100_000], np.int64))
THREADS = np.array([7], np.int64)


def samples(number: int, tid: int = 7) -> pd.DataFrame:
    """So many samples within the first 100 µs, each for 1 µs, and one behind them."""
    times = [*range(0, 100 * number, 100), 500_000]
    frame = table("time tid", *((time, tid) for time in times), unit=1, weight=1_000)
    return frame.assign(target=True)


def test_a_thread_that_is_sampled_often_works_and_one_that_is_not_waits() -> None:
    for number, wait in ((0, Wait.YES), (3, Wait.YES), (15, Wait.UNKNOWN), (40, Wait.NO)):
        assert sampled_wait(BACK, samples(number), THREADS) is wait, number
    assert sampled_wait(BACK, samples(40, tid=8), THREADS) is Wait.UNKNOWN
    assert sampled_wait(BACK, None, THREADS) is Wait.UNKNOWN
    assert sampled_wait(NONE, samples(0), THREADS) is Wait.UNKNOWN


def test_the_share_is_an_interval_of_wilson() -> None:
    assert sampled_share(BACK, samples(50), THREADS) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert sampled_share(BACK, samples(0), THREADS) == pytest.approx((0.0, 0.0370), abs=1e-4)


def test_samples_decide_where_slopes_do_not() -> None:
    even = unseen(loop(60, 20, 150, waits=True, noise=0.0))
    for word in (Wait.NO, Wait.YES):
        assert (waits_of(even, None, NONE, word)[1:] == word).all(), word


def test_a_thread_at_work_whose_commits_follow_the_reports_may_spin() -> None:
    frame = unseen(loop(60, 20, 150, waits=True))
    assert (waits_of(frame, None, NONE, Wait.NO)[1:] == Wait.UNKNOWN).all()


def test_a_thread_that_sleeps_by_a_timer_waits_for_no_report() -> None:
    frame = unseen(loop(400, 1_000, 400, waits=False, noise=0.05))
    assert (waits_of(frame, None, NONE, Wait.YES)[1:] == Wait.NO).all()


def test_two_in_flight_wait_for_the_latest_report_but_one() -> None:
    random = np.random.default_rng(3)
    commits: list[float] = []
    reports: list[float] = []
    for host, device in random.uniform(0.8, 1.2, (80, 2)):
        begin = max(commits[-1:] + reports[-2:-1], default=0.0)
        commits.append(begin + 20 * host)
        reports.append(max([*reports[-1:], commits[-1]]) + 150 * device)
    frame = pd.DataFrame({"encoding_start": None, "committed": commits, "completed": reports}) * US
    waits = waits_of(frame.round().astype("Int64"), None, NONE)
    assert (waits[2:] == 2).all()


def test_each_thread_is_judged_by_itself() -> None:
    frames = [
        unseen(loop(60, host, 150, waits=waits)).assign(thread=thread)
        for host, waits, thread in ((20, True, 1), (400, False, 2))
    ]
    joint_waits = waits_of(pd.concat(frames, ignore_index=True), None, NONE)
    alone = [waits_of(frame, None, NONE) for frame in frames]
    assert joint_waits.tolist() == np.concatenate(alone).tolist()
    assert (alone[0][1:] == Wait.YES).all()
    assert (alone[1] != Wait.YES).all()
