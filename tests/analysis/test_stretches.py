"""The rhythm of groups of command buffers, whether they repeat or not."""

import numpy as np

from analysed import given
from stock import Stock
from tracekit.analysis.beats import Beats
from tracekit.analysis.stretches import group_beats


def beats_of(stock: Stock) -> Beats | None:
    return group_beats(given(**stock.tables())["timeline"])


def test_groups_end_at_distinct_pauses_whatever_they_hold() -> None:
    stock = Stock()
    for place in range(30):
        for _ in range(4 if place % 10 else 40):
            stock.buffer([1_000.0])
        stock.wait()
        stock.spend(500 if place % 3 else 90_000)
    row = beats_of(stock)
    assert row is not None
    assert row.pieces.tolist() == [40 if place % 10 == 0 else 4 for place in range(1, 30)]
    assert (row.work == row.pieces * 1e6).all()
    assert (row.times > 0).all()


def test_command_buffers_without_distinct_pauses_have_no_groups() -> None:
    stock = Stock()
    for _ in range(60):
        stock.buffer([1_000.0])
        stock.wait()
    assert beats_of(stock) is None
    assert np.diff(stock.tables()["gpu_intervals"]["start"]).size == 59
