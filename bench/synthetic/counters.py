"""Samples of GPU counters: many short rows, nearly all of them repeats."""

from collections.abc import Iterator

import numpy as np

from reading.decoded import Column
from synthetic.elements import Elements, Inside, grouped, moment
from synthetic.export import Batch, Synthetic, row

_COLUMNS = [
    Column("timestamp", "event-time"),
    Column("counter-id", "uint32"),
    Column("value", "fixed-decimal"),
    Column("accelerator-id", "uint64"),
    Column("sample-index", "uint32"),
    Column("ring-buffer-index", "uint32"),
]
_COUNTERS = 65
_TICKS = 8
_ACCELERATOR = 4_294_969_231
_BILLION = 10**9


def counters(random: np.random.Generator) -> Synthetic:
    """Make `gpu-counter-value`: at every tick one sample of each counter."""
    return Synthetic("gpu-counter-value", _COLUMNS, _batches(random), [], [])


def _batches(random: np.random.Generator) -> Iterator[Batch]:
    elements = Elements()
    timestamp = elements.integers("event-time", moment)
    small = elements.integers("uint32", grouped)
    value = elements.kind("fixed-decimal", _decimal)
    large = elements.integers("uint64", grouped)
    idle = random.random(_COUNTERS)
    scale = np.where(np.arange(_COUNTERS) % 11 == 0, 40 * _BILLION * 10, 100 * _BILLION)
    now, sample = 50_010_083, 0
    while True:
        billionths = (random.random((_TICKS, _COUNTERS)) * scale).astype(np.int64)
        billionths[random.random((_TICKS, _COUNTERS)) < idle] = 0
        ticks = now + np.cumsum(random.integers(329_000, 331_000, _TICKS))
        rows = [
            row(
                timestamp(tick),
                small(counter),
                value(one),
                large(_ACCELERATOR),
                small(sample + k),
                small(0),
            )
            for k, (tick, values) in enumerate(
                zip(ticks.tolist(), billionths.tolist(), strict=True)
            )
            for counter, one in enumerate(values)
        ]
        count = len(rows)
        truth = {
            "timestamp": np.repeat(ticks, _COUNTERS),
            "counter-id": np.tile(np.arange(_COUNTERS), _TICKS),
            "value": billionths.ravel() / _BILLION,
            "accelerator-id": np.full(count, _ACCELERATOR, np.uint64),
            "sample-index": np.repeat(np.arange(sample, sample + _TICKS), _COUNTERS),
            "ring-buffer-index": np.zeros(count, np.int64),
        }
        yield Batch(rows, truth)
        now, sample = int(ticks[-1]), sample + _TICKS


def _decimal(billionths: int) -> Inside:
    whole, rest = divmod(billionths, _BILLION)
    return f' fmt="{billionths / _BILLION:,.2f}"', f"{whole}.{rest:09d}"
