"""Reads what `llama-bench -o json` or `-o jsonl` prints: tests, each with its samples.

A test is named as llama-bench names it: pp512 (a prompt of 512 tokens), tg128 (128 tokens
generated), pp512+tg128, and @d512 behind it for tokens that the cache held already.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from tracekit.workload.workload import Measured

LLAMA_BENCH = "llama-bench"

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
    """Name each test; those of one name are told apart by the settings in which they differ."""
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
