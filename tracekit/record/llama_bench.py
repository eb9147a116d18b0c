"""The output of llama-bench: JSON, JSONL, CSV and its default, a table of Markdown.

A test is named as llama-bench names it: pp512 (a prompt of 512 tokens), tg128 (128 tokens
generated), pp512+tg128, and @d512 behind it for tokens that the cache held already.

Source: ggml-org/llama.cpp, tools/llama-bench/llama-bench.cpp: `json_printer`, `jsonl_printer`,
`csv_printer` (a header without quotes, then every field in quotes, no samples) and
`markdown_printer` ("%.2f ± %.2f" of mean and standard deviation, without the number of samples; in
older versions a test is "pp 512").
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

# Fields that differ from test to test without describing the test.
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
        parts: list[str] = []
        if self.n_prompt:
            parts.append(f"pp{self.n_prompt}")
        if self.n_gen:
            parts.append(f"tg{self.n_gen}")
        name = "+".join(parts)
        if self.n_depth:
            return f"{name}@d{self.n_depth}"
        return name


@dataclass(frozen=True)
class _SpeedTest:
    """One test: its name, its speed, and the settings that may distinguish it from another."""

    name: str
    speed: Measured
    settings: Mapping[str, Any]


def read_llama_bench(text: str) -> dict[str, Measured]:
    """Return tokens per second of each test: the mean, with its samples or their deviation.

    The deviation is a result too, if it was printed.
    """
    tests = list(_read_json(text)) or list(_read_csv(text)) or list(_read_markdown(text))
    results: dict[str, Measured] = {}
    for test in tests:
        name = _choose_name(_distinguish(test, tests), results)
        results[name] = test.speed
        if test.speed.deviation is not None:
            deviation = Measured(test.speed.deviation, "tokens/s", "neither")
            results[f"{name}_stddev"] = deviation
    return results


def _distinguish(test: _SpeedTest, tests: Sequence[_SpeedTest]) -> str:
    """Return the name of a test, with the settings in which tests of that name differ."""
    words = [test.name]
    namesakes = [other_test.settings for other_test in tests if other_test.name == test.name]
    for key, value in test.settings.items():
        values = {str(settings.get(key)) for settings in namesakes}
        if len(values) > 1:
            words.append(f"{key}={value}")
    return "_".join(words)


def _choose_name(name: str, results: Mapping[str, Measured]) -> str:
    """Return the name of a test's speed, numbered if an earlier test has that name."""
    speed = f"{name}_tokens_per_second"
    number = 1
    while speed in results:
        number += 1
        speed = f"{name}_{number}_tokens_per_second"
    return speed


def _read_json(text: str) -> Iterator[_SpeedTest]:
    for entry in read_objects(text):
        yield from _read_entry(entry)


def _read_csv(text: str) -> Iterator[_SpeedTest]:
    lines = text.splitlines()
    for place, line in enumerate(lines):
        fields = line.split(",")
        if {"n_prompt", "n_gen", "avg_ts"} <= set(fields):
            table_lines = _take_table(lines[place + 1 :], '"')
            for values in csv.reader(table_lines):
                yield from _read_entry(dict(zip(fields, values, strict=False)), strict=False)


def _read_entry(entry: Any, *, strict: bool = True) -> Iterator[_SpeedTest]:
    with suppress(msgspec.ValidationError):
        row = msgspec.convert(entry, _BenchEntry, strict=strict)
        settings = {key: entry[key] for key in entry if key not in _OUTCOMES | _SHAPE}
        samples: tuple[float, ...] = ()
        if len(row.samples_ts) > 1:
            samples = tuple(row.samples_ts)
        speed = Measured(row.avg_ts, "tokens/s", "higher", samples=samples, deviation=row.stddev_ts)
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
            deviation = None
            if speed[2] is not None:
                deviation = float(speed[2])
            measured = Measured(float(speed[1]), "tokens/s", "higher", deviation=deviation)
            yield _SpeedTest(cells["test"].replace(" ", ""), measured, settings)


def _split_row(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    inner_text = line.strip().strip("|")
    return [cell.strip() for cell in inner_text.split("|")]


def _take_table(lines: Sequence[str], opening: str) -> Iterator[str]:
    """Yield lines up to the first that does not open so, as those of a table do."""
    for line in lines:
        if not line.startswith(opening):
            return
        yield line


def read_objects(text: str) -> Iterator[Any]:
    """Yield the objects of JSON, and the items of its arrays, in a text that may have other lines.

    Of an array that was cut short the whole objects are read.
    """
    decoder = json.JSONDecoder()
    end = 0
    for opening in _OPENING.finditer(text):
        if opening.start(1) < end:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.start(1))
        except ValueError:
            continue
        if isinstance(value, list):
            yield from value
        else:
            yield value
