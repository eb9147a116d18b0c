"""The speeds that other programs print, to be shown next to the trace.

They are read from the end of an output: by a user's patterns first; else as output of llama-bench,
whose formats have a module of their own, of hyperfine or of mlx_lm; else by `patterns.toml`.

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
    if len(commands) == 1:
        return {"command_time": _measure_command(commands[0])}
    results: dict[str, Measured] = {}
    for number, command in enumerate(commands, start=1):
        results[f"command_{number}_time"] = _measure_command(command)
    return results


def _measure_command(command: _CommandTime) -> Measured:
    samples = [seconds * _SECOND for seconds in command.times]
    deviation = None
    if command.stddev is not None:
        deviation = command.stddev * _SECOND
    return Measured(
        command.mean * _SECOND,
        "ns",
        "lower",
        samples=_keep_several(samples),
        deviation=deviation,
    )


_RATE = re.compile(
    r"^(Prompt|Generation): (?:(\d+) tokens, )?(\d+(?:\.\d+)?) tokens-per-sec\s*$", re.MULTILINE
)
_PEAK = re.compile(r"^Peak memory: (\d+(?:\.\d+)?) GB\s*$", re.MULTILINE)
_TRIAL = re.compile(r"^(Trial \d+|Averages):\s+(.*)$", re.MULTILINE)
_PAIR = re.compile(r"(\w+)=(\d+(?:\.\d+)?)")
_GB = 1e9
_KINDS = ("prompt", "generation")


def read_mlx_lm(text: str) -> dict[str, Measured]:
    """Return rates, tokens and peak memory; medians, if the program generated several times."""
    trials, averages = _read_trials(text)
    if trials:
        return _measure_trials(trials, averages or trials)
    results: dict[str, Measured] = {}
    matches = list(_RATE.finditer(text))
    for kind in _KINDS:
        kind_matches = [match for match in matches if match[1].lower() == kind]
        speeds = [float(match[3]) for match in kind_matches]
        tokens = [int(match[2]) for match in kind_matches if match[2]]
        if speeds:
            results[f"{kind}_tokens_per_second"] = _measure_rate(speeds, speeds)
        if tokens:
            results[f"{kind}_tokens"] = Measured(float(median(tokens)), "count")
        if len(speeds) > 1:
            results[f"{kind}s_measured"] = Measured(float(len(speeds)), "count")
    peaks = [float(peak) for peak in _PEAK.findall(text)]
    if results and peaks:
        results["mlx_peak_memory"] = _measure_peak(peaks)
    return results


_Numbers = dict[str, str]  # of one line of `benchmark`, by name


def _read_trials(text: str) -> tuple[list[_Numbers], list[_Numbers]]:
    """Return the lines of trials that generated something, and the lines of averages."""
    trials: list[_Numbers] = []
    averages: list[_Numbers] = []
    for match in _TRIAL.finditer(text):
        numbers = dict(_PAIR.findall(match[2]))
        if match[1] == "Averages":
            averages.append(numbers)
        elif "generation_tps" in numbers:
            trials.append(numbers)
    return trials, averages


def _measure_trials(trials: list[_Numbers], summaries: list[_Numbers]) -> dict[str, Measured]:
    results = {"trials_measured": Measured(float(len(trials)), "count")}
    for kind in _KINDS:
        speeds = _select_numbers(summaries, f"{kind}_tps")
        samples = _select_numbers(trials, f"{kind}_tps")
        if speeds:
            results[f"{kind}_tokens_per_second"] = _measure_rate(speeds, samples or speeds)
    peaks = _select_numbers(summaries, "peak_memory")
    if peaks:
        results["mlx_peak_memory"] = _measure_peak(peaks)
    return results


def _select_numbers(lines: list[_Numbers], name: str) -> list[float]:
    return [float(line[name]) for line in lines if name in line]


def _measure_rate(speeds: list[float], samples: list[float]) -> Measured:
    return Measured(median(speeds), "tokens/s", "higher", samples=_keep_several(samples))


def _measure_peak(peaks: list[float]) -> Measured:
    return Measured(max(peaks) * _GB, "bytes", "lower")


def _keep_several(samples: list[float]) -> tuple[float, ...]:
    if len(samples) <= 1:
        return ()
    return tuple(samples)


_MOST = 2 << 20  # bytes from the end: programs print their speed last, and patterns are slow


def keep_output(recording: Recording, *places: Path) -> None:
    """Make `recording.output_file` a link to the first of the places that exists."""
    place = next(filter(Path.is_file, places), None)
    if place is None:
        return
    recording.output_file.unlink(missing_ok=True)
    try:
        recording.output_file.hardlink_to(place)
    except OSError:  # a file system without links
        shutil.copyfile(place, recording.output_file)


def read_output(recording: Recording) -> dict[str, Measured]:
    """Return the speeds that the run's program printed; nothing if they are not known.

    They are searched at the end of the standard output, then of standard error, which only the
    host recorder can keep; that of a worker is not read. A user's patterns of the run are tried
    before those of tracekit; a number that none of their lines has is not available.
    """
    texts = [read_printed(recording.output_file)]
    if not recording.journal_file.exists():
        texts.append(read_printed(recording.host_errors))
    patterns = load_patterns(recording.patterns_file)
    results = read_texts(texts, patterns)
    for pattern in patterns:
        if pattern.name not in results:
            reason = f"no line of the output matches --read {pattern.line!r}."
            results[pattern.name] = Measured(None, pattern.result_unit, pattern.better, reason)
    return results


def read_texts(texts: Iterable[str], patterns: Iterable[Pattern] = ()) -> dict[str, Measured]:
    """Return the numbers of a user's patterns, each of the first text that has it.

    If there are none, return the results of the first reader that finds any, from the first text
    that has some.
    """
    printed_texts = [text for text in texts if text]
    user_patterns = tuple(patterns)
    user_results: dict[str, Measured] = {}
    for text in printed_texts:
        user_results = read_lines(text, user_patterns) | user_results
    if user_results:
        return user_results
    readers = (
        read_llama_bench,
        read_hyperfine,
        read_mlx_lm,
        lambda text: read_lines(text, shipped_patterns()),
    )
    for reader in readers:
        for text in printed_texts:
            results = reader(text)
            if results:
                return results
    return {}


def read_printed(file: Path, start: int = 0) -> str:
    """Return the end of a program's output, from a place in the file on, in bytes.

    It is empty if the file cannot be read, or if the output is data, not a text.
    """
    with suppress(OSError), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(start, size - _MOST))
        output = opened.read()
        if b"\0" not in output:
            return output.decode(errors="replace")
    return ""
