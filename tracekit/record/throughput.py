"""What other programs print of their own speed, so that it stands beside the trace.

A test is named as llama-bench names it: pp512 (a prompt of 512 tokens), tg128 (128 tokens
generated), pp512+tg128, and @d512 behind it for tokens that the cache held already.

`generate` ends with "Prompt: 7 tokens, 16.200 tokens-per-sec", the same for "Generation", and
"Peak memory: 1.065 GB"; older ones left the number of tokens out. `benchmark` prints a line for
each trial and their averages: "prompt_tps=…, generation_tps=…, peak_memory=…". A GB is 1e9 bytes.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from tracekit.base import Recording
from tracekit.workload import Measured

# What differs from test to test without saying what was tested.
_OUTCOMES = {"test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}
_OPENING = re.compile(r"^[ \t]*([\[{])", re.MULTILINE)
_SHAPE = {"n_prompt", "n_gen", "n_depth"}


class _Test(msgspec.Struct):
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


def read_llama_bench(text: str) -> dict[str, Measured]:
    """Return tokens per second of each test: mean, standard deviation, median of the samples."""
    tests: list[tuple[dict[str, Any], _Test]] = []
    for entry in _objects(text):
        with suppress(msgspec.ValidationError):
            tests.append((entry, msgspec.convert(entry, _Test)))
    results: dict[str, Measured] = {}
    for said, test in tests:
        alike = [other for other, known in tests if known.name == test.name]
        settings = [key for key in said if key not in _OUTCOMES | _SHAPE]
        varied = [key for key in settings if len({str(other.get(key)) for other in alike}) > 1]
        name = full = "_".join([test.name, *(f"{key}={said[key]}" for key in varied)])
        again = 1
        while (speed := f"{name}_tokens_per_second") in results:
            again += 1
            name = f"{full}_{again}"
        results[speed] = Measured(test.avg_ts, "tokens/s", "higher")
        if test.stddev_ts is not None:
            results[f"{speed}_stddev"] = Measured(test.stddev_ts, "tokens/s", "neither")
        if test.samples_ts:
            middle = float(median(test.samples_ts))
            results[f"{speed}_median"] = Measured(middle, "tokens/s", "higher")
    return results


def _objects(text: str) -> Iterator[Any]:
    """Yield what the arrays and objects of JSON hold in a text that may have other lines.

    Of an array that was cut short its whole objects count.
    """
    decoder, read_to = json.JSONDecoder(), 0
    for found in _OPENING.finditer(text):
        if found.start(1) < read_to:
            continue
        try:
            value, read_to = decoder.raw_decode(text, found.start(1))
        except ValueError:
            continue
        yield from value if isinstance(value, list) else [value]


_RATE = re.compile(
    r"^(Prompt|Generation): (?:(\d+) tokens, )?(\d+(?:\.\d+)?) tokens-per-sec\s*$", re.MULTILINE
)
_PEAK = re.compile(r"^Peak memory: (\d+(?:\.\d+)?) GB\s*$", re.MULTILINE)
_TRIAL = re.compile(r"^(Trial \d+|Averages):\s+(.*)$", re.MULTILINE)
_PAIR = re.compile(r"(\w+)=(\d+(?:\.\d+)?)")
_GB = 1e9


def read_mlx_lm(text: str) -> dict[str, Measured]:
    """Return rates, tokens and peak memory; medians, if the program generated several times."""
    results: dict[str, Measured] = {}
    lines = [(found[1], dict(_PAIR.findall(found[2]))) for found in _TRIAL.finditer(text)]
    trials = [values for name, values in lines if name != "Averages" and "generation_tps" in values]
    counted = [values for name, values in lines if name == "Averages"] or trials
    rates = [(found[1].lower(), found[3], found[2]) for found in _RATE.finditer(text)]
    peaks = _PEAK.findall(text)
    if trials:
        names = (("prompt_tps", "prompt"), ("generation_tps", "generation"))
        rates = [(name, row[key], "") for row in counted for key, name in names if key in row]
        peaks = [row["peak_memory"] for row in counted if "peak_memory" in row]
        results["trials_measured"] = Measured(float(len(trials)), "count")
    for kind in ("prompt", "generation"):
        speeds = [float(rate) for name, rate, _ in rates if name == kind]
        tokens = [int(count) for name, _, count in rates if name == kind and count]
        if speeds:
            results[f"{kind}_tokens_per_second"] = Measured(median(speeds), "tokens/s", "higher")
        if tokens:
            results[f"{kind}_tokens"] = Measured(float(median(tokens)), "count")
        if len(speeds) > 1 and not trials:
            results[f"{kind}s_measured"] = Measured(float(len(speeds)), "count")
    if results and peaks:
        results["mlx_peak_memory"] = Measured(max(map(float, peaks)) * _GB, "bytes", "lower")
    return results


_MOST = 16 << 20  # bytes from the end: programs say their speed last


def keep_output(recording: Recording, *places: Path) -> None:
    """Let `recording.output_file` be the first of the places that exists, without a copy."""
    place = next(filter(Path.is_file, places), None)
    if place is None:
        return
    recording.output_file.unlink(missing_ok=True)
    try:
        recording.output_file.hardlink_to(place)
    except OSError:  # a file system without links
        shutil.copyfile(place, recording.output_file)


def read_output(file: Path) -> dict[str, Measured]:
    """Return what the end of a file says of a known program's speed; nothing for any other."""
    with suppress(OSError), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - _MOST))
        text = opened.read().decode(errors="replace")
        return read_llama_bench(text) or read_mlx_lm(text)
    return {}
