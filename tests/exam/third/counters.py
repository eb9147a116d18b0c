"""Counters of a device, as a table of their own beside those that the small Mac writes.

The columns are those of Instruments 26.0. All times are µs, as in the model of the Mac.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

SCHEMA = "metal-gpu-counter-intervals"
_COLUMNS = (
    ("start", "start-time"),
    ("duration", "duration"),
    ("counter-id", "uint32"),
    ("name", "gpu-counter-name"),
    ("label", "formatted-label"),
    ("value", "fixed-decimal"),
    ("percent-value", "percent"),
    ("color", "uint32"),
    ("gpu", "metal-device-name"),
    ("group-index", "uint32"),
    ("is-percentage", "boolean"),
    ("ring-buffer-index", "uint32"),
)


class Counter(NamedTuple):
    """What is counted: its id, its name, and whether it is in percent."""

    number: int
    name: str
    percentage: bool


class Sample(NamedTuple):
    """A value of a counter, from `start` on for `time`."""

    start: float
    time: float
    counter: Counter
    value: float


def sampled(
    spans: Sequence[tuple[float, float, str]],
    values: Mapping[str, Mapping[Counter, float]],
    interval: float,
    noise: Iterable[float],
) -> list[Sample]:
    """Sample what the device does in spans that are in order: each has a start, an end and a kind.

    `values` has the mean of each counter for each kind; an idle device counts nothing. `noise` are
    factors, one for each sample.
    """
    samples: list[Sample] = []
    factors = iter(noise)
    counters = list(next(iter(values.values())))
    place = 0
    for step in range(int(spans[-1][1] / interval)):
        at = step * interval
        while spans[place][1] <= at:
            place += 1
        start, _, kind = spans[place]
        for counter in counters:
            mean = values[kind][counter] if start <= at else 0.0
            value = mean * next(factors)
            samples.append(Sample(at, interval, counter, min(value, 100.0)))
    return samples


def write_counters(folder: Path, device: str, samples: Sequence[Sample]) -> int:
    """Write the table into a folder of exports, name it in their TOC, and count its rows."""
    head = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for name, kind in _COLUMNS
    )
    ids = iter(range(1, len(samples) * len(_COLUMNS) + 1))
    rows = "".join(f"<row>{_row(device, sample, ids)}</row>\n" for sample in samples)
    toc = folder / "toc.xml"
    words = toc.read_text(encoding="utf-8")
    tables = words.count("<table ")
    (folder / f"{SCHEMA}.xml").write_text(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{tables + 1}]'>"
        f'<schema name="{SCHEMA}">{head}</schema>{rows}</node></trace-query-result>\n',
        encoding="utf-8",
    )
    named = words.replace("</data>", f'<table schema="{SCHEMA}"/>\n</data>')
    toc.write_text(named, encoding="utf-8")
    return len(samples)


def _row(device: str, sample: Sample, ids: Iterable[int]) -> str:
    counter = sample.counter
    value = f"{sample.value:.3f}"
    cells: tuple[str | int, ...] = (
        *(round(sample.start * 1e3), round(sample.time * 1e3), counter.number, counter.name),
        *(f"{counter.name}: {value}", value, value if counter.percentage else 0, 0, device),
        *(0, int(counter.percentage), 0),
    )
    return "".join(
        f'<{kind} id="{number}" fmt={quoteattr(str(cell))}>{escape(str(cell))}</{kind}>'
        for (_, kind), cell, number in zip(_COLUMNS, cells, ids, strict=False)
    )
