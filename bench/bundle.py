"""Read bundles directly and their exports as XML, side by side, and print what each one takes.

python bench/bundle.py --rows 100000 --records 1000000 --rounds 3
python bench/bundle.py --rounds 5 --markdown docs/explanation/reading-speed.md

Both are made here with the same rows, and compared before anything is timed. Every reading is a
process of its own, in rounds. Loops of lxml read a smaller export, and are compared by rows.
See bench/README.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from direct import made
from direct.ways import difference
from reading.machine import machine
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.xml.fast.reader import FastReader

_BENCH = Path(__file__).resolve().parent
_BEGIN, _END = "<!-- written by bench/bundle.py -->", "<!-- end of bundles -->"
_SLOW_ROWS = 20_000
_CLOCKS = {"wall": "wall time", "cpu": "CPU time of all threads"}
_LONGEST = 3600
_TABLES = ("intervals", "states", "many")
Answer = dict[str, float]


class Reading(NamedTuple):
    """A way to read, what it reads, and how many rows that has."""

    way: str
    path: Path
    rows: int


class Claim(NamedTuple):
    """What is measured, and its readings; the first is compared with each of the others."""

    title: str
    readings: Sequence[Reading]


def main(arguments: list[str] | None = None) -> None:
    """Make, compare, time, and say."""
    chosen = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tracekit-bench-", dir=chosen.data) as temporary:
        folder = chosen.data or Path(temporary)
        claims = [*_claims(chosen, folder)]
        answers = [_measured(claim, chosen.rounds) for claim in claims]
    words = machine() | {"clock": _CLOCKS[chosen.clock]}
    about = "\n".join(f"- {what}: {value}" for what, value in words.items())
    clock = "cpu" if chosen.clock == "cpu" else "seconds"
    tables = [_table(claim, found, clock) for claim, found in zip(claims, answers, strict=True)]
    page = "\n\n".join([about, *tables])
    print(page)
    if chosen.markdown:
        text = chosen.markdown.read_text()
        before, _, rest = text.partition(_BEGIN)
        after = rest.partition(_END)[2]
        chosen.markdown.write_text(f"{before}{_BEGIN}\n\n{page}\n\n{_END}{after}")


def _claims(chosen: argparse.Namespace, folder: Path) -> Iterator[Claim]:
    wanted = chosen.table or _TABLES
    if "intervals" in wanted:
        yield from _against_xml(chosen.rows, folder)
    if "states" in wanted:
        _say(f"{chosen.records:,} records: being made")
        states = made.states(folder, chosen.records)
        yield Claim(
            f"{made.STATES}, {chosen.records:,} rows",
            [Reading(way, states, chosen.records) for way in ("bundle", "inflate alone")],
        )
    if "many" in wanted:
        tables = made.many_tables(folder)
        yield Claim(f"a bundle of {made.STORES} tables", [Reading("open", tables, made.STORES)])


def _against_xml(rows: int, folder: Path) -> Iterator[Claim]:
    slow = min(_SLOW_ROWS, rows)
    for distinct, words in ((False, "few labels"), (True, "a label for each row")):
        _say(f"{rows:,} rows with {words}: being made")
        pair = made.intervals(folder, rows, distinct=distinct)
        small = made.intervals(folder, slow, distinct=distinct)
        for one in (pair, small):
            _compare(one)
        yield Claim(
            f"{made.INTERVALS}, {rows:,} rows, {words}",
            [
                Reading("bundle", pair.bundle, rows),
                Reading("XML, tracekit, fast", pair.export, rows),
                Reading("XML, lxml iterparse", small.export, slow),
                Reading("XML, lxml, naive", small.export, slow),
            ],
        )


def _compare(pair: made.Pair) -> None:
    run = Bundle(pair.bundle).runs[0]
    found = difference(BundleReader(run, run.stores[0], ""), FastReader(pair.export))
    if found:
        sys.exit(f"{pair.bundle.name} and its export differ: {found}")


def _measured(claim: Claim, rounds: int) -> list[list[Answer]]:
    """Return the answers of each reading, round by round."""
    _say(claim.title)
    turns = [[_alone(one) for one in claim.readings] for _ in range(rounds)]
    return [list(answers) for answers in zip(*turns, strict=True)]


def _alone(reading: Reading) -> Answer:
    ran = subprocess.run(
        [sys.executable, "-m", "direct.alone", reading.way, str(reading.path)],
        env=os.environ | {"PYTHONPATH": str(_BENCH)},
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
    if ran.returncode:
        sys.exit(f"{reading.way} ended with {ran.returncode}: {ran.stderr.strip()[-500:]}")
    return json.loads(ran.stdout)


def _table(claim: Claim, answers: Sequence[Sequence[Answer]], clock: str) -> str:
    head = "| way | rows/s | ms | bundle is faster by | memory | of its columns |"
    lines = [f"**{claim.title}**", "", head, "| --- | ---: | ---: | ---: | ---: | ---: |"]
    rates = [_rates(one, found, clock) for one, found in zip(claim.readings, answers, strict=True)]
    for reading, found, rate in zip(claim.readings, answers, rates, strict=True):
        ratios = sorted(ours / theirs for ours, theirs in zip(rates[0], rate, strict=True))
        middle = f"{statistics.median(ratios):.2f} [{ratios[0]:.2f} - {ratios[-1]:.2f}]"
        seconds = statistics.median(one[clock] for one in found)
        taken = statistics.median(one["memory"] for one in found)
        size = statistics.median(one["bytes"] for one in found)
        cells = (
            reading.way,
            f"{statistics.median(rate):,.0f}",
            f"{seconds * 1e3:,.0f}",
            middle if rate is not rates[0] else "",
            f"{taken / 1e6:,.0f} MB",
            f"{taken / size:.2f} x" if size else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _rates(reading: Reading, answers: Sequence[Answer], clock: str) -> list[float]:
    return [reading.rows / one[clock] for one in answers]


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--rows", type=int, default=1_000_000, help="rows of the tables that are compared with XML")
    add("--records", type=int, default=10_000_000, help="rows of the large table")
    add("--table", action="append", choices=_TABLES, help="measure this alone")
    add("--rounds", type=int, default=5, help="rounds")
    add("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a busy machine")
    add("--data", type=Path, help="keep what is made in this folder, and use what it has")
    add("--markdown", type=Path, metavar="PAGE", help="put the tables into this page")
    return parser


if __name__ == "__main__":
    main()
