"""What llama-bench prints: JSON, JSONL, CSV and its default, a table of Markdown.

A test is named as llama-bench names it: pp512 (a prompt of 512 tokens), tg128 (128 tokens
generated), pp512+tg128, and @d512 behind it for tokens that the cache held already.

Source: ggml-org/llama.cpp, tools/llama-bench/llama-bench.cpp: `json_printer`, `jsonl_printer`,
`csv_printer` (a header without quotes, then every field in quotes, no samples) and
`markdown_printer` ("%.2f ± %.2f" of mean and standard deviation; how many samples there were is
not in the table; in older versions a test is "pp 512").
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from tracekit.workload import Measured

# What differs from test to test without saying what was tested.
_OUTCOMES = {"test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}
_SHAPE = {"n_prompt", "n_gen", "n_depth"}
_OPENING = re.compile(r"^[ \t]*([\[{])", re.MULTILINE)
_CELLS = {"test", "t/s"}
_SPEED = re.compile(r"(\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?")


class _BenchEntry(msgspec.Struct):
    n_prompt: int
    n_gen: int
    avg_ts: float
    n_depth: int = 0
    stddev_ts: float | None = None
    samples_ts: list[float] = []

    @property
    def name(self) -> str:
        parts = [f"pp{self.n_prompt}" * bool(self.n_prompt), f"tg{self.n_gen}" * bool(self.n_gen)]
        return "+".join(filter(None, parts)) + (f"@d{self.n_depth}" if self.n_depth else "")


@dataclass(frozen=True)
class _SpeedTest:
    """One test: its name, its speed, and the settings that may tell it from another."""

    name: str
    speed: Measured
    settings: Mapping[str, Any]


def read_llama_bench(text: str) -> dict[str, Measured]:
    """Return tokens per second of each test: the mean, with its samples or their deviation.

    The deviation is a result too, where it was printed.
    """
    tests = list(_read_json(text)) or list(_read_csv(text)) or list(_read_markdown(text))
    results: dict[str, Measured] = {}
    for test in tests:
        namesakes = [other_test.settings for other_test in tests if other_test.name == test.name]
        differing = [
            f"{key}={value}"
            for key, value in test.settings.items()
            if len({str(settings.get(key)) for settings in namesakes}) > 1
        ]
        full = "_".join([test.name, *differing])
        speed = _choose_name(full, results)
        results[speed] = test.speed
        if test.speed.deviation is not None:
            deviation = Measured(test.speed.deviation, "tokens/s", "neither")
            results[f"{speed}_stddev"] = deviation
    return results


def _choose_name(name: str, results: Mapping[str, Measured]) -> str:
    """Return what the speed of a test is called, numbered where a test before has that name."""
    speed = f"{name}_tokens_per_second"
    again = 1
    while speed in results:
        again += 1
        speed = f"{name}_{again}_tokens_per_second"
    return speed


def _read_json(text: str) -> Iterator[_SpeedTest]:
    for entry in read_objects(text):
        yield from _read_entry(entry)


def _read_csv(text: str) -> Iterator[_SpeedTest]:
    lines = text.splitlines()
    for place, line in enumerate(lines):
        fields = line.split(",")
        if {"n_prompt", "n_gen", "avg_ts"} <= set(fields):
            for values in csv.reader(_take_table(lines[place + 1 :], '"')):
                yield from _read_entry(dict(zip(fields, values, strict=False)), strict=False)


def _read_entry(entry: Any, *, strict: bool = True) -> Iterator[_SpeedTest]:
    with suppress(msgspec.ValidationError):
        row = msgspec.convert(entry, _BenchEntry, strict=strict)
        settings = {key: entry[key] for key in entry if key not in _OUTCOMES | _SHAPE}
        speed = Measured(
            row.avg_ts,
            "tokens/s",
            "higher",
            samples=tuple(row.samples_ts) if len(row.samples_ts) > 1 else (),
            deviation=row.stddev_ts,
        )
        yield _SpeedTest(row.name, speed, settings)


def _read_markdown(text: str) -> Iterator[_SpeedTest]:
    """Yield the rows of each table that has a column of tests and one of speeds."""
    lines = text.splitlines()
    for place, line in enumerate(lines):
        names = _split_row(line)
        if not set(names) >= _CELLS:
            continue
        for row in _take_table(lines[place + 1 :], "|"):
            cells = dict(zip(names, _split_row(row), strict=False))
            speed = _SPEED.fullmatch(cells.get("t/s", ""))
            if speed is None:
                continue
            settings = {key: value for key, value in cells.items() if key not in _CELLS}
            deviation = None if speed[2] is None else float(speed[2])
            measured = Measured(float(speed[1]), "tokens/s", "higher", deviation=deviation)
            yield _SpeedTest(cells["test"].replace(" ", ""), measured, settings)


def _split_row(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _take_table(lines: Sequence[str], opening: str) -> Iterator[str]:
    """Yield lines up to the first that does not open so, as those of a table do."""
    for line in lines:
        if not line.startswith(opening):
            return
        yield line


def read_objects(text: str) -> Iterator[Any]:
    """Yield what the arrays and objects of JSON hold in a text that may have other lines.

    Of an array that was cut short its whole objects count.
    """
    decoder, read_to = json.JSONDecoder(), 0
    for opening in _OPENING.finditer(text):
        if opening.start(1) < read_to:
            continue
        try:
            value, read_to = decoder.raw_decode(text, opening.start(1))
        except ValueError:
            continue
        yield from value if isinstance(value, list) else [value]
