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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from tracekit.base import Recording
from tracekit.workload import Measured

_NEEDED = ("n_prompt", "n_gen", "avg_ts")
# What differs from test to test without saying what was tested.
_OUTCOMES = {"test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}
_OPENING = re.compile(r"^[ \t]*([\[{])", re.MULTILINE)
_SHAPE = {"n_prompt", "n_gen", "n_depth"}


def read_llama_bench(text: str) -> dict[str, Measured]:
    """Return tokens per second of each test: mean, standard deviation, median of the samples."""
    tests = [one for one in _objects(text) if _is_test(one)]
    results: dict[str, Measured] = {}
    for name, test in zip(_names(tests), tests, strict=True):
        speed = f"{name}_tokens_per_second"
        results[speed] = Measured(float(test["avg_ts"]), "tokens/s", "higher")
        if _is_number(test.get("stddev_ts")):
            spread = Measured(float(test["stddev_ts"]), "tokens/s", "neither")
            results[f"{speed}_stddev"] = spread
        samples: Any = test.get("samples_ts")
        if isinstance(samples, list) and samples and all(map(_is_number, samples)):
            results[f"{speed}_median"] = Measured(float(median(samples)), "tokens/s", "higher")
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


def _is_test(one: Any) -> bool:
    return isinstance(one, Mapping) and all(_is_number(one.get(name)) for name in _NEEDED)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names(tests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each test; those of one name are distinguished by the settings in which they differ."""
    plain = [_name(test) for test in tests]
    names: list[str] = []
    for name, test in zip(plain, tests, strict=True):
        alike = [other for known, other in zip(plain, tests, strict=True) if known == name]
        settings = [key for key in test if key not in _OUTCOMES | _SHAPE]
        varied = [key for key in settings if len({str(other.get(key)) for other in alike}) > 1]
        full = "_".join([name, *(f"{key}={test[key]}" for key in varied)])
        names.append(full if full not in names else f"{full}_{names.count(full) + 1}")
    return names


def _name(test: Mapping[str, Any]) -> str:
    prompt, generated, depth = (
        int(test.get(name) or 0) for name in ("n_prompt", "n_gen", "n_depth")
    )
    parts = [f"pp{prompt}" if prompt else "", f"tg{generated}" if generated else ""]
    return "+".join(filter(None, parts)) + (f"@d{depth}" if depth else "")


_RATE = re.compile(
    r"^(Prompt|Generation): (?:(\d+) tokens, )?(\d+(?:\.\d+)?) tokens-per-sec\s*$", re.MULTILINE
)
_PEAK = re.compile(r"^Peak memory: (\d+(?:\.\d+)?) GB\s*$", re.MULTILINE)
_TRIAL = re.compile(r"^Trial \d+:\s+(.*)$", re.MULTILINE)
_AVERAGES = re.compile(r"^Averages:\s+(.*)$", re.MULTILINE)
_PAIR = re.compile(r"(\w+)=(\d+(?:\.\d+)?)")
_GB = 1e9


def read_mlx_lm(text: str) -> dict[str, Measured]:
    """Return rates, tokens and peak memory; medians, if the program generated several times."""
    return _benchmarked(text) or _generated(text)


def _generated(text: str) -> dict[str, Measured]:
    results: dict[str, Measured] = {}
    for kind in ("Prompt", "Generation"):
        found = [one for one in _RATE.finditer(text) if one[1] == kind]
        if not found:
            continue
        name = kind.lower()
        rates = [float(one[3]) for one in found]
        results[f"{name}_tokens_per_second"] = Measured(median(rates), "tokens/s", "higher")
        tokens = [int(one[2]) for one in found if one[2]]
        if tokens:
            results[f"{name}_tokens"] = Measured(float(median(tokens)), "count")
        if len(found) > 1:
            results[f"{name}s_measured"] = Measured(float(len(found)), "count")
    peaks = [float(match_[1]) * _GB for match_ in _PEAK.finditer(text)]
    if results and peaks:
        results["mlx_peak_memory"] = Measured(max(peaks), "bytes", "lower")
    return results


def _benchmarked(text: str) -> dict[str, Measured]:
    trials = [dict(_PAIR.findall(match_[1])) for match_ in _TRIAL.finditer(text)]
    averages = [dict(_PAIR.findall(one[1])) for one in _AVERAGES.finditer(text)]
    trials = [trial for trial in trials if "generation_tps" in trial]
    if not trials:
        return {}
    counted = averages or trials
    results: dict[str, Measured] = {}
    for key, name in (("prompt_tps", "prompt"), ("generation_tps", "generation")):
        rates = [float(one[key]) for one in counted if key in one]
        if rates:
            results[f"{name}_tokens_per_second"] = Measured(median(rates), "tokens/s", "higher")
    peaks = [float(one["peak_memory"]) * _GB for one in counted if "peak_memory" in one]
    if peaks:
        results["mlx_peak_memory"] = Measured(max(peaks), "bytes", "lower")
    return {**results, "trials_measured": Measured(float(len(trials)), "count")}


_MOST = 16 << 20  # bytes from the end: programs say their speed last


def keep_output(recording: Recording, *places: Path) -> None:
    """Let `recording.output_file` be the first of the places that exists, without a copy."""
    for place in places:
        if not place.is_file():
            continue
        recording.output_file.unlink(missing_ok=True)
        try:
            recording.output_file.hardlink_to(place)
        except OSError:  # a file system without links
            shutil.copyfile(place, recording.output_file)
        return


def read_output(file: Path) -> dict[str, Measured]:
    """Return what the end of a file says of a known program's speed; nothing for any other."""
    with suppress(OSError), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - _MOST))
        text = opened.read().decode(errors="replace")
        return read_llama_bench(text) or read_mlx_lm(text)
    return {}
