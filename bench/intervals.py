"""Time the algebra of intervals on a million of them, beside the plain ways to do the same.

python bench/intervals.py
python bench/intervals.py --count 100000 --rounds 3

Each way's answer is compared with the others' before anything is timed; rounds are interleaved.
"""

import argparse
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import gaps, grouped, union
from tracekit.analysis.scope import families

_PERCENTS = (50, 95, 99)
_NAMES = 500
_ENDING = re.compile(r"\s*\( .* \)\s+0x[0-9a-f]+$")
Times = NDArray[np.int64]
Way = Callable[[], list[Any]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the ways, time them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=10**6, help="intervals")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the slow ways run once")
    chosen = parser.parse_args(arguments)
    for question, ways in questions(chosen.count).items():
        check(ways)
        seconds = _timed(ways, chosen.rounds)
        first = statistics.median(next(iter(seconds.values())))
        for name, taken in seconds.items():
            middle = statistics.median(taken)
            print(
                f"{question:<12} {name:<18} {middle * 1000:>8.1f} ms"
                f" [{min(taken) * 1000:.1f} - {max(taken) * 1000:.1f}]  x {middle / first:.1f}"
            )


def questions(count: int) -> dict[str, dict[str, Way]]:
    """Return what is asked of `count` made intervals, and the ways to answer it, ours first."""
    random = np.random.default_rng(1)
    starts = np.cumsum(random.integers(1, 90_000, count))
    ends = starts + random.exponential(40_000, count).astype(np.int64) + 1
    mixed = random.permutation(count)
    names = random.integers(0, _NAMES, count)
    begin, end = 0, int(ends.max()) + 1000
    return {
        "union": _unions(starts, ends),
        "union, mixed": _unions(starts[mixed], ends[mixed]),
        "gaps": {
            "tracekit": lambda: _pairs(gaps(starts, ends, begin, end)),
            "plain Python": lambda: _plain_gaps(_plain_union(starts, ends), begin, end),
        },
        "percentiles": {
            "tracekit": lambda: list(grouped(names, ends - starts, _PERCENTS).percentiles),
            "pandas": lambda: _quantiles_of_pandas(names, ends - starts),
            "plain Python": lambda: _percentiles_of_lists(names, ends - starts),
        },
        "by label": _by_label(names, ends - starts),
    }


def check(ways: dict[str, Way]) -> None:
    """Raise ValueError where a way answers differently from the first one."""
    answers = {name: np.asarray(way()) for name, way in ways.items()}
    (first, expected), *others = answers.items()
    for name, answer in others:
        if answer.shape != expected.shape or not np.allclose(answer, expected, rtol=1e-12):
            raise ValueError(f"{name} does not answer as {first} does")


def _timed(ways: dict[str, Way], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds):
        for name, way in ways.items():
            if name == "plain Python" and number:
                continue
            began = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def _unions(starts: Times, ends: Times) -> dict[str, Way]:
    return {
        "tracekit": lambda: _pairs(union(starts, ends)),
        "pandas": lambda: _union_of_pandas(starts, ends),
        "plain Python": lambda: _plain_union(starts, ends),
    }


def _by_label(names: Times, durations: Times) -> dict[str, Way]:
    texts = [f"kernel {name}   ( python3 (7) )  {n:#x}" for n, name in enumerate(names.tolist())]
    labels = pd.Series(texts, dtype="string")
    return {
        "tracekit": lambda: list(
            grouped(families(labels)[0].to_numpy(), durations, _PERCENTS).percentiles
        ),
        "plain Python": lambda: _percentiles_of_texts(texts, durations),
    }


def _pairs(found: tuple[Times, Times]) -> list[Any]:
    return [*found]


def _union_of_pandas(starts: Times, ends: Times) -> list[Any]:
    frame = pd.DataFrame({"start": starts, "end": ends}).sort_values("start", kind="stable")
    number = (frame["start"] > frame["end"].cummax().shift()).cumsum()
    joined = frame.groupby(number).agg(start=("start", "first"), end=("end", "max"))
    return [joined["start"].to_numpy(), joined["end"].to_numpy()]


def _plain_union(starts: Times, ends: Times) -> list[Any]:
    left: list[int] = []
    right: list[int] = []
    for start, end in sorted(zip(starts.tolist(), ends.tolist(), strict=True)):
        if right and start <= right[-1]:
            right[-1] = max(right[-1], end)
        else:
            left.append(start)
            right.append(end)
    return [left, right]


def _plain_gaps(joined: list[Any], begin: int, end: int) -> list[Any]:
    left, right = [begin, *joined[1]], [*joined[0], end]
    real = [pair for pair in zip(left, right, strict=True) if pair[1] > pair[0]]
    return [[pair[0] for pair in real], [pair[1] for pair in real]]


def _quantiles_of_pandas(names: Times, durations: Times) -> list[Any]:
    frame = pd.DataFrame({"name": names, "duration": durations})
    found = frame.groupby("name")["duration"].quantile(np.array(_PERCENTS) / 100)
    return list(found.to_numpy().reshape(-1, len(_PERCENTS)))


def _percentiles_of_lists(names: Times, durations: Times) -> list[Any]:
    lists: dict[int, list[int]] = defaultdict(list)
    for name, duration in zip(names.tolist(), durations.tolist(), strict=True):
        lists[name].append(duration)
    return [_of_sorted(sorted(lists[name])) for name in sorted(lists)]


def _percentiles_of_texts(texts: list[str], durations: Times) -> list[Any]:
    lists: dict[str, list[int]] = defaultdict(list)
    for text, duration in zip(texts, durations.tolist(), strict=True):
        lists[_ENDING.sub("", text)].append(duration)
    return [_of_sorted(sorted(values)) for values in lists.values()]


def _of_sorted(values: list[int]) -> list[float]:
    found: list[float] = []
    for percent in _PERCENTS:
        rank = (len(values) - 1) * percent / 100
        below = int(rank)
        above = min(below + 1, len(values) - 1)
        found.append(values[below] + (values[above] - values[below]) * (rank - below))
    return found


if __name__ == "__main__":
    main()
