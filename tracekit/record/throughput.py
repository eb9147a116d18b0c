"""What other programs print of their own speed, so that it stands beside the trace.

What is known is read from the end of an output: a user's patterns first; else llama-bench, whose
formats have a module of their own, hyperfine and mlx_lm; else the lines of `patterns.toml`.

hyperfine's document of `--export-json` has `results`, with the seconds of each run in `times`
(sharkdp/hyperfine, src/benchmark/benchmark_result.rs). Newer versions print it for `-`; 1.15 writes
a file of that name.

mlx_lm (ml-explore/mlx-lm, mlx_lm/generate.py and mlx_lm/benchmark.py): `generate` ends with
"Prompt: 7 tokens, 16.200 tokens-per-sec", the same for "Generation", and "Peak memory: 1.065 GB";
older ones left the number of tokens out. `benchmark` prints a line for each trial and their
averages: "prompt_tps=…, generation_tps=…, peak_memory=…". A GB is 1e9 bytes.
"""

import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from statistics import median

import msgspec

from tracekit.base import Recording
from tracekit.record.llama_bench import read_llama_bench, read_objects
from tracekit.record.patterns import Pattern, load_patterns, read_lines, shipped_patterns
from tracekit.workload import Measured

_SECOND = 1e9


class _CommandTime(msgspec.Struct):
    command: str
    mean: float
    stddev: float | None = None
    times: list[float] = []


class _HyperfineFile(msgspec.Struct):
    results: list[_CommandTime]


def read_hyperfine(text: str) -> dict[str, Measured]:
    """Return the mean time of each command, in ns, with those of all runs; numbered if several."""
    commands: list[_CommandTime] = []
    for document in read_objects(text):
        with suppress(msgspec.ValidationError):
            commands += msgspec.convert(document, _HyperfineFile).results
    results: dict[str, Measured] = {}
    for number, command in enumerate(commands, start=1):
        samples = [seconds * _SECOND for seconds in command.times]
        results[f"command_{number}_time" if len(commands) > 1 else "command_time"] = Measured(
            command.mean * _SECOND,
            "ns",
            "lower",
            samples=tuple(samples) if len(samples) > 1 else (),
            deviation=None if command.stddev is None else command.stddev * _SECOND,
        )
    return results


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
    lines = [
        (trial_match[1], dict(_PAIR.findall(trial_match[2])))
        for trial_match in _TRIAL.finditer(text)
    ]
    trials = [values for name, values in lines if name != "Averages" and "generation_tps" in values]
    summary_rows = [values for name, values in lines if name == "Averages"] or trials
    rates = [
        (rate_match[1].lower(), rate_match[3], rate_match[2]) for rate_match in _RATE.finditer(text)
    ]
    peaks = _PEAK.findall(text)
    if trials:
        names = (("prompt_tps", "prompt"), ("generation_tps", "generation"))
        rates = [(name, row[key], "") for row in summary_rows for key, name in names if key in row]
        peaks = [row["peak_memory"] for row in summary_rows if "peak_memory" in row]
        results["trials_measured"] = Measured(float(len(trials)), "count")
    for kind in ("prompt", "generation"):
        speeds = [float(rate) for name, rate, _ in rates if name == kind]
        tokens = [int(count) for name, _, count in rates if name == kind and count]
        if speeds:
            samples = [float(row[f"{kind}_tps"]) for row in trials if f"{kind}_tps" in row]
            results[f"{kind}_tokens_per_second"] = Measured(
                median(speeds), "tokens/s", "higher", samples=_keep_several(samples or speeds)
            )
        if tokens:
            results[f"{kind}_tokens"] = Measured(float(median(tokens)), "count")
        if len(speeds) > 1 and not trials:
            results[f"{kind}s_measured"] = Measured(float(len(speeds)), "count")
    if results and peaks:
        results["mlx_peak_memory"] = Measured(max(map(float, peaks)) * _GB, "bytes", "lower")
    return results


def _keep_several(samples: list[float]) -> tuple[float, ...]:
    return tuple(samples) if len(samples) > 1 else ()


_MOST = 2 << 20  # bytes from the end: programs say their speed last, and patterns take their time


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


def read_output(recording: Recording) -> dict[str, Measured]:
    """Return what the run's program printed of its own speed; nothing where that is not known.

    It is looked for at the end of the standard output, then of standard error, which only the host
    recorder can keep; that of a worker is not read. A user's patterns of the run go before what
    tracekit knows.
    """
    texts = [read_printed(recording.output_file)]
    if not recording.journal_file.exists():
        texts.append(read_printed(recording.host_errors))
    return read_texts(texts, load_patterns(recording.patterns_file))


def read_texts(texts: Iterable[str], patterns: Iterable[Pattern] = ()) -> dict[str, Measured]:
    """Return what the first of the texts says that says anything, by the first reader that can."""
    printed = [text for text in texts if text]
    readers = (
        lambda text: read_lines(text, patterns),
        read_llama_bench,
        read_hyperfine,
        read_mlx_lm,
        lambda text: read_lines(text, shipped_patterns()),
    )
    answers = (reader(text) for reader in readers for text in printed)
    return next(filter(None, answers), {})


def read_printed(file: Path, start: int = 0) -> str:
    """Return the end of what a program printed from a place in the file on, in bytes.

    It is empty where the file cannot be read, and where what was printed is data, not a text.
    """
    with suppress(OSError), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(start, size - _MOST))
        printed = opened.read()
        return "" if b"\0" in printed else printed.decode(errors="replace")
    return ""
