"""Read bundles directly and their exports as XML, side by side, and print the cost of each.

python bench/bundle.py --rows 100000 --records 1000000 --rounds 3
python bench/bundle.py --rounds 5 --markdown docs/reference/reading-measured.md

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
_BEGIN = "<!-- written by bench/bundle.py -->"
_END = "<!-- end of bundles -->"
_SLOW_ROWS = 20_000
_CLOCKS = {"wall": "wall time", "cpu": "CPU time of all threads"}
_LONGEST = 3600
_TABLES = ("intervals", "states", "many")
Answer = dict[str, float]


class Reading(NamedTuple):
    """A way to read, the path that it reads, and the number of rows there."""

    way: str
    path: Path
    rows: int


class Claim(NamedTuple):
    """A title, and the readings to measure; the first is compared with each of the others."""

    title: str
    readings: Sequence[Reading]


def main(arguments: list[str] | None = None) -> None:
    """Make, compare and time the readings, and print the results."""
    chosen = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tracekit-bench-", dir=chosen.data) as temporary:
        folder = chosen.data or Path(temporary)
        claims = list(_claims(chosen, folder))
        answers = [_measured(claim, chosen.rounds) for claim in claims]
    facts = machine()
    facts["clock"] = _CLOCKS[chosen.clock]
    about = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    clock = "cpu" if chosen.clock == "cpu" else "seconds"
    sections = [about]
    for claim, claim_answers in zip(claims, answers, strict=True):
        sections.append(_table(claim, claim_answers, clock))
    page = "\n\n".join(sections)
    print(page)
    if chosen.markdown:
        text = chosen.markdown.read_text()
        before, _, rest = text.partition(_BEGIN)
        _, _, after = rest.partition(_END)
        chosen.markdown.write_text(f"{before}{_BEGIN}\n\n{page}\n\n{_END}{after}")


def _claims(chosen: argparse.Namespace, folder: Path) -> Iterator[Claim]:
    wanted = chosen.table or _TABLES
    if "intervals" in wanted:
        yield from _against_xml(chosen.rows, folder)
    if "states" in wanted:
        _say(f"{chosen.records:,} records: being made")
        states = made.states(folder, chosen.records)
        state_readings = [
            Reading("bundle", states, chosen.records),
            Reading("inflate alone", states, chosen.records),
        ]
        yield Claim(f"{made.STATES}, {chosen.records:,} rows", state_readings)
    if "many" in wanted:
        tables = made.many_tables(folder)
        yield Claim(f"a bundle of {made.STORES} tables", [Reading("open", tables, made.STORES)])


def _against_xml(rows: int, folder: Path) -> Iterator[Claim]:
    slow = min(_SLOW_ROWS, rows)
    for distinct, words in ((False, "few labels"), (True, "a label for each row")):
        _say(f"{rows:,} rows with {words}: being made")
        pair = made.intervals(folder, rows, distinct=distinct)
        small = made.intervals(folder, slow, distinct=distinct)
        _compare(pair)
        _compare(small)
        readings = [
            Reading("bundle", pair.bundle, rows),
            Reading("XML, tracekit, fast", pair.export, rows),
            Reading("XML, lxml iterparse", small.export, slow),
            Reading("XML, lxml, naive", small.export, slow),
        ]
        yield Claim(f"{made.INTERVALS}, {rows:,} rows, {words}", readings)


def _compare(pair: made.Pair) -> None:
    run = Bundle(pair.bundle).runs[0]
    found = difference(BundleReader(run, run.stores[0], ""), FastReader(pair.export))
    if found:
        sys.exit(f"{pair.bundle.name} and its export differ: {found}")


def _measured(claim: Claim, rounds: int) -> list[list[Answer]]:
    """Return the answers of each reading, round by round."""
    _say(claim.title)
    answers: list[list[Answer]] = [[] for _ in claim.readings]
    for _ in range(rounds):
        for reading, reading_answers in zip(claim.readings, answers, strict=True):
            reading_answers.append(_alone(reading))
    return answers


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
    bundle_rates: list[float] = []
    for reading, reading_answers in zip(claim.readings, answers, strict=True):
        rates = [reading.rows / answer[clock] for answer in reading_answers]
        speedup = ""
        if bundle_rates:
            speedup = _speedup(bundle_rates, rates)
        else:
            bundle_rates = rates
        seconds = statistics.median(answer[clock] for answer in reading_answers)
        memory = statistics.median(answer["memory"] for answer in reading_answers)
        size = statistics.median(answer["bytes"] for answer in reading_answers)
        memory_ratio = ""
        if size:
            memory_ratio = f"{memory / size:.2f} x"
        cells = (
            reading.way,
            f"{statistics.median(rates):,.0f}",
            f"{seconds * 1e3:,.0f}",
            speedup,
            f"{memory / 1e6:,.0f} MB",
            memory_ratio,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _speedup(bundle_rates: Sequence[float], rates: Sequence[float]) -> str:
    """Return by how much the bundle is faster: the median, the least and the most of all rounds."""
    ratios: list[float] = []
    for bundle_rate, rate in zip(bundle_rates, rates, strict=True):
        ratios.append(bundle_rate / rate)
    return f"{statistics.median(ratios):.2f} [{min(ratios):.2f} - {max(ratios):.2f}]"


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
