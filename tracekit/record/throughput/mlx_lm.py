"""Reads what `mlx_lm.generate` and `mlx_lm.benchmark` print at their end.

`generate` ends with "Prompt: 7 tokens, 16.200 tokens-per-sec", the same for "Generation", and
"Peak memory: 1.065 GB"; older ones left the number of tokens out. `benchmark` prints a line for
each trial and their averages: "prompt_tps=…, generation_tps=…, peak_memory=…". A GB is 1e9 bytes.
"""

import re
from statistics import median

from tracekit.workload.workload import Measured

MLX_LM = "mlx_lm"

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
    peaks = [float(one[1]) * _GB for one in _PEAK.finditer(text)]
    if results and peaks:
        results["mlx_peak_memory"] = Measured(max(peaks), "bytes", "lower")
    return results


def _benchmarked(text: str) -> dict[str, Measured]:
    trials = [dict(_PAIR.findall(one[1])) for one in _TRIAL.finditer(text)]
    averages = [dict(_PAIR.findall(one[1])) for one in _AVERAGES.finditer(text)]
    trials = [one for one in trials if "generation_tps" in one]
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
