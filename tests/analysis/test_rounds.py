"""GroupRow of unlike work that come again in the same order, and requests between pauses."""

import numpy as np
import pytest
from hypothesis import strategies as st

from analysed import given
from chance import drawn
from stock import Stock
from tracekit.analysis.openings import find_openings, number_requests, opens_alike
from tracekit.analysis.rounds import GroupRow, find_round

SEEDS = st.integers(0, 10_000)


def groups(sizes: np.ndarray, pieces: int = 1, request: np.ndarray | None = None) -> GroupRow:
    number = sizes.size
    piece_counts = np.full(number, pieces)
    zeros = np.zeros(number, np.int64)
    return GroupRow(
        piece_counts, sizes.astype(np.int64), zeros, zeros if request is None else request
    )


@drawn(st.integers(2, 120), st.integers(1, 119), st.integers(6, 30), SEEDS)
def test_a_row_of_two_kinds_is_found_whatever_its_length(
    length: int, shorter: int, times: int, seed: int
) -> None:
    """A row of like groups and then some that take three times as long."""
    shorter = 1 + shorter % (length - 1)
    random = np.random.default_rng(seed)
    kinds = np.where(np.arange(length) < shorter, 1.0, 3.0)
    sizes = 1e6 * np.tile(kinds, times) * random.lognormal(0, 0.03, length * times)
    group_round = find_round(groups(sizes))
    assert group_round is not None
    assert group_round.length == length
    assert group_round.times in {times - 1, times}


@drawn(st.integers(8, 60), SEEDS)
def test_a_row_is_found_where_groups_of_one_kind_differ_by_themselves(
    length: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    kinds = np.where(np.arange(length) < length - 1, 1.0, 8.0)
    sizes = 1e6 * np.tile(kinds, 20) * random.lognormal(0, 0.2, length * 20)
    group_round = find_round(groups(sizes))
    assert group_round is not None
    assert group_round.length == length


@drawn(st.floats(0.0, 1.0), st.integers(20, 600), SEEDS)
def test_noise_has_no_rows(spread: float, number: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    assert find_round(groups(1e6 * random.lognormal(0, spread, number))) is None


@drawn(st.floats(0.01, 0.5), st.integers(40, 600), SEEDS)
def test_two_kinds_in_an_order_of_chance_have_no_rows(share: float, number: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    kinds = np.where(random.random(number) < share, 3.0, 1.0)
    assert find_round(groups(1e6 * kinds * random.lognormal(0, 0.03, number))) is None


@drawn(st.integers(50, 400), SEEDS)
def test_a_drift_has_no_rows(number: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = 1e6 * np.linspace(1, 4, number) * random.lognormal(0, 0.08, number)
    assert find_round(groups(sizes)) is None


def test_a_round_begins_after_the_longest_pause() -> None:
    sizes = np.tile([1, 1, 1, 4], 20) * 1_000_000
    assert find_round(groups(sizes)) == find_round(groups(sizes, pieces=7))
    group_row = groups(sizes)
    pauses = np.tile([0, 0, 900_000, 0], 20)
    paused = find_round(GroupRow(group_row.pieces, group_row.size, pauses, group_row.request))
    assert paused is not None
    assert (paused.length, paused.begin) == (4, 2)


def test_groups_of_two_requests_do_not_make_a_row() -> None:
    sizes = np.tile([1, 1, 1, 4], 8) * 1_000_000
    request = np.arange(32) // 4
    assert find_round(groups(sizes)) is not None
    assert find_round(groups(sizes, request=request)) is None


def test_far_longer_first_iterations_open_a_request() -> None:
    work = np.array([50, 60, 10, 10, 11, 10, 55, 10, 9, 10, 10, 10])
    quiet = np.array([False] * 5 + [True] + [False] * 5)
    request = number_requests(quiet)
    assert request.tolist() == [0] * 6 + [1] * 6
    openings = find_openings(work, request)
    assert np.flatnonzero(openings).tolist() == [0, 1, 6]
    assert not find_openings(np.full(12, 10), request).any()
    assert not find_openings(np.array([10] * 9 + [90] + [10] * 2), request).any()


@pytest.mark.parametrize(
    ("before", "alike"),
    [(50, True), (200, True), (201, False), (13, True), (12, False), (0, False)],
)
def test_work_before_the_first_iteration_opens_it_where_others_open_by_as_much(
    before: int, *, alike: bool
) -> None:
    work = np.array([10, 10, 10, 10, 50, 10, 10, 10, 50, 10, 10, 10])
    request = np.repeat([0, 1, 2], 4)
    openings = find_openings(work, request)
    assert opens_alike(before, work, request, openings) is alike
    alone = np.zeros(12, np.int64)
    assert not opens_alike(before, work, alone, find_openings(work, alone))


@drawn(
    st.integers(2, 7),
    st.integers(12, 50),
    st.floats(260, 4_000),
    st.floats(0, 1),
    st.booleans(),
    SEEDS,
)
def test_requests_are_found_by_their_pauses_from_the_first_one_on(
    number: int,
    tokens: int,
    pause: float,
    share: float,
    submits_ahead: bool,
    seed: int,
) -> None:
    """Where the tokens have most of the device's time: else they are no loop of the program."""
    stock, random = Stock(), np.random.default_rng(seed)
    prefill = 40 + share * (0.8 * tokens * 3 * 4 / 2 - 40)
    for _ in range(number):
        stock.buffer([prefill * 1_000 * float(random.lognormal(0, 0.1))] * 2)
        stock.wait()
        for _ in range(tokens):
            for _ in range(3):
                stock.buffer([4_000 * float(random.lognormal(0, 0.02))])
            if submits_ahead:
                stock.run_ahead()
            else:
                stock.wait()
            stock.spend(100)
        stock.wait()
        stock.spend(pause * 1_000 * float(random.uniform(1, 2)))
    iterations = given(**stock.tables())["iterations"]
    steady = iterations[iterations["phase"] == "steady"]
    assert iterations["request"].nunique() == number
    assert (iterations["phase"] == "opening").sum() == number
    assert abs(len(steady) - number * tokens) <= number
