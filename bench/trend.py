"""Time the trend page of a made-up history, and say how big it is.

python bench/trend.py                             # a year of 60 series
python bench/trend.py --nights 40 --series 8
python bench/trend.py --markdown                  # a column of docs/explanation/the-page.md

The nights are made from a seed: values with noise, a slowdown in the middle, a new version of MLX
now and then, a night in fifty that failed. Nothing in them was measured.
"""

import argparse
import gzip
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from paging.browsing import painted
from tracekit.base.redaction import Redaction
from tracekit.nightly.history.night import Described, Entry, Judged, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series, steps_of
from tracekit.nightly.trend.page import render_trend

_FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
_OF_CAPTURE = 10  # series of one capture, of which some decide
_DECIDING = 4
_FAILS = 50
_NEW_MLX = 60
_STEP_TIME = 1.6e6
_SLOWER = 1.05
_NOISE = 0.01

History = tuple[list[Series], list[Night]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--series", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3, help="how often each stage is timed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where to leave the page")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    chosen = parser.parse_args(arguments)
    rows = measured(chosen)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"| {name} | {value} |" if chosen.markdown else f"{name:<{width}}  {value}")


def measured(chosen: argparse.Namespace) -> list[tuple[str, str]]:
    """Return what was measured, line by line."""
    series, nights = history(chosen.nights, chosen.series, chosen.seed)
    finding, making = [], []
    page = ""
    for _ in range(chosen.rounds):
        began = time.process_time()
        for one in series:
            steps_of(one)
        found = time.process_time()
        page = render_trend(
            series,
            nights,
            (),
            now=nights[-1].started,
            redact=Redaction(),
            links=str,
        )
        finding.append(found - began)
        making.append(time.process_time() - found)
    data = page.encode()
    rows = [
        ("nights, series", f"{len(nights)}, {len(series)}"),
        ("change points alone", _seconds(finding)),
        ("page made, with its change points", _seconds(making)),
        ("page", f"{len(data) / 1e6:.2f} MB"),
        ("page, gzipped", f"{len(gzip.compress(data)) / 1e6:.2f} MB"),
    ]
    return rows if chosen.no_browser else [*rows, *_opened(page, chosen.keep)]


def history(nights: int, series: int, seed: int) -> History:
    """Make so many nights of so many series, ten of each capture."""
    draw = random.Random(seed)
    names = [(f"capture {at // _OF_CAPTURE}", f"metric_{at % _OF_CAPTURE}") for at in range(series)]
    points: dict[tuple[str, str], list[Point]] = {name: [] for name in names}
    held: list[Night] = []
    for night in range(nights):
        failed = night % _FAILS == _FAILS - 1
        for place, name in enumerate(names):
            gated = place % _OF_CAPTURE < _DECIDING
            slow = _SLOWER if place == 0 and night >= nights // 2 else 1.0
            points[name].append(_point(night, slow, draw, gated=gated, failed=failed))
        held.append(_night(night, points, failed=failed))
    made = [
        Series(
            "machine", "plan", capture, "work", metric, "ns", "lower",
            gated=place % _OF_CAPTURE < _DECIDING, points=tuple(points[capture, metric]),
        )
        for place, (capture, metric) in enumerate(names)
    ]  # fmt: skip
    return made, held


def _point(night: int, slow: float, draw: random.Random, *, gated: bool, failed: bool) -> Point:
    at = (_FIRST + timedelta(days=night)).isoformat()
    outcome = Outcome.FAILED if failed else Outcome.OK
    decided = outcome if gated else None
    if failed:
        return Point(_id(night), at, None, outcome=decided, reason="Parity failed at 4 of 64.")
    pace = draw.gauss(1, _NOISE)
    own, reference = (_STEP_TIME * pace * one for one in (slow * draw.gauss(1, _NOISE / 4), 1.0))
    change = own / reference - 1
    return Point(
        _id(night), at, own, reference, change, change - _NOISE / 2, change + _NOISE / 2,
        own * (1 - _NOISE), own * (1 + _NOISE), 10, decided, night_outcome=outcome,
        commit=f"{night:040x}", folder=_id(night),
    )  # fmt: skip


def _night(night: int, points: dict[tuple[str, str], list[Point]], *, failed: bool) -> Night:
    outcome = Outcome.FAILED if failed else Outcome.OK
    entries: list[Entry] = []
    for capture in dict.fromkeys(capture for capture, _ in points):
        judged = tuple(
            Judged(metric, "ns", "lower", gated=point[-1].outcome is not None, expected=0.0,
                   outcome=point[-1].outcome, change=point[-1].change)
            for (own, metric), point in points.items()
            if own == capture
        )  # fmt: skip
        runs = (f"{capture}/candidate-1", f"{capture}/reference-1")
        side = Described(capture, commit=f"{night:040x}")
        pairs = () if failed else (Pair(1, 11, "ab", traced=True, runs=runs),)
        entries.append(Entry(capture, "work", side, side, pairs, judged, outcome=outcome))
    return Night(
        _id(night), "plan", "machine", (_FIRST + timedelta(days=night)).isoformat(),
        environment={"mlx": f"0.{night // _NEW_MLX}"}, entries=tuple(entries), outcome=outcome,
        folder=_id(night),
    )  # fmt: skip


def _id(night: int) -> str:
    return f"{_FIRST + timedelta(days=night):%Y-%m-%dT%H-%M-%SZ}-{night:04x}"


def _opened(page: str, keep: Path | None) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        file = keep or Path(folder) / "trend.html"
        file.write_text(page, encoding="utf-8")
        paint, complete, elements = painted(file)
    return [
        ("elements", f"{elements:,}"),
        ("first paint", f"{paint:.0f} ms"),
        ("all laid out", f"{complete:.0f} ms"),
    ]


def _seconds(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.2f} CPU s [{min(times):.2f} - {max(times):.2f}]"


if __name__ == "__main__":
    main()
