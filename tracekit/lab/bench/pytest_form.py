"""A bench in the form of pytest-benchmark, whose tools compare such files.

The form is that of its `--benchmark-json`, as version 5.3 writes and reads it. Times are seconds of
a call. Quartiles of an odd number of samples weigh two neighbours, those of an even one are medians
of the halves, as there.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tracekit.lab.bench.document import Bench, BenchRow, Timing

_NANOSECONDS = 1e9
_FENCE = 1.5  # of the distance of the quartiles; samples beyond are outliers


@dataclass(frozen=True)
class PytestStatistics:
    """Statistics of samples in seconds, by the names of pytest-benchmark.

    `ld15iqr` and `hd15iqr` are the least and the largest sample within the fences of the quartiles.
    """

    min: float
    max: float
    mean: float
    stddev: float
    rounds: int
    median: float
    iqr: float
    q1: float
    q3: float
    iqr_outliers: int
    stddev_outliers: int
    outliers: str
    ld15iqr: float
    hd15iqr: float
    ops: float
    total: float
    data: Sequence[float]
    iterations: int


@dataclass(frozen=True)
class PytestMeasurement:
    """One subject; `group` is its family, and `extra_info` has its other numbers."""

    name: str
    fullname: str
    group: str
    stats: PytestStatistics
    extra_info: Mapping[str, object]
    options: Mapping[str, object]
    params: None = None
    param: None = None


@dataclass(frozen=True)
class PytestDocument:
    """A whole file; `commit_info` is that of a folder without versions."""

    machine_info: Mapping[str, object]
    benchmarks: Sequence[PytestMeasurement]
    datetime: str
    version: str
    commit_info: Mapping[str, object] = field(
        default_factory=lambda: {
            "id": "unversioned",
            "time": None,
            "author_time": None,
            "dirty": False,
            "project": "tracekit",
            "branch": "(unknown)",
        }
    )


def pytest_document(bench: Bench) -> PytestDocument:
    """Return the subjects that were measured."""
    measurements = [
        _make_measurement(row, row.micro, bench.settings) for row in bench.rows if row.micro
    ]
    version = f"tracekit {bench.environment['tracekit']}"
    machine_info = _describe_machine(bench.environment["machine"])
    return PytestDocument(machine_info, measurements, bench.started, version)


def _make_measurement(
    row: BenchRow, timing: Timing, settings: Mapping[str, object]
) -> PytestMeasurement:
    seconds = [sample / _NANOSECONDS for sample in timing.samples]
    extra_info = {
        "error": row.error,
        "tokens_per_s": row.tokens_per_s,
        "gb_per_s": row.gb_per_s,
        "gpu_ns": row.gpu_ns,
        "peak_memory": row.peak_memory,
        "disturbed": row.disturbed,
    }
    options = {
        "disable_gc": False,
        "timer": "perf_counter_ns",
        "min_rounds": 1,
        "max_time": settings["budget"],
        "min_time": 0,
        "warmup": settings["warmup"],
    }
    return PytestMeasurement(
        name=row.name,
        fullname=f"{row.family}::{row.name}",
        group=row.family,
        stats=summarize_seconds(seconds, timing.calls),
        extra_info=extra_info,
        options=options,
    )


def summarize_seconds(samples: Sequence[float], iterations: int) -> PytestStatistics:
    """Return the statistics of samples, each the mean of `iterations` calls in seconds."""
    ordered = sorted(samples)
    count = len(ordered)
    mean = sum(ordered) / count
    deviation = 0.0
    if count > 1:
        squares = sum((sample - mean) ** 2 for sample in ordered)
        deviation = (squares / (count - 1)) ** 0.5
    lower_quartile, upper_quartile = find_quartiles(ordered)
    distance = upper_quartile - lower_quartile
    lower_fence = lower_quartile - _FENCE * distance
    upper_fence = upper_quartile + _FENCE * distance
    near = [sample for sample in ordered if lower_fence <= sample <= upper_fence]
    usual = [sample for sample in ordered if abs(sample - mean) <= deviation]
    far_count = count - len(near)
    unusual_count = count - len(usual)
    return PytestStatistics(
        min=ordered[0],
        max=ordered[-1],
        mean=mean,
        stddev=deviation,
        rounds=count,
        median=median(ordered),
        iqr=distance,
        q1=lower_quartile,
        q3=upper_quartile,
        iqr_outliers=far_count,
        stddev_outliers=unusual_count,
        outliers=f"{unusual_count};{far_count}",
        ld15iqr=near[0],
        hd15iqr=near[-1],
        ops=1 / mean if mean else 0.0,
        total=sum(ordered),
        data=samples,
        iterations=iterations,
    )


def find_quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the quartiles of samples in rising order.

    They are the medians of both halves of an even number. Of 4 n + 1 samples, the n-th and the next
    have weights 1/4 and 3/4 (counted from 1), of 4 n + 3 the next two 3/4 and 1/4; the upper
    quartile mirrors the lower one.
    """
    count = len(ordered)
    half = count // 2
    if count == 1:
        return ordered[0], ordered[0]
    if count % 2 == 0:
        return median(ordered[:half]), median(ordered[half:])
    place = count // 4
    share = 0.25
    if count % 4 == 1:
        place -= 1
        share = 0.75
    lower = (1 - share) * ordered[place] + share * ordered[place + 1]
    upper = (1 - share) * ordered[-1 - place] + share * ordered[-2 - place]
    return lower, upper


def _describe_machine(facts: Mapping[str, object]) -> dict[str, object]:
    """Return facts of the machine without its name."""
    python_build = platform.python_build()
    return {
        "node": "",
        "processor": platform.processor(),
        "machine": facts.get("architecture", ""),
        "python_compiler": platform.python_compiler(),
        "python_implementation": platform.python_implementation(),
        "python_implementation_version": platform.python_version(),
        "python_version": platform.python_version(),
        "python_build": list(python_build),
        "release": facts.get("release", ""),
        "system": facts.get("system", ""),
        "cpu": {"brand_raw": facts.get("chip", ""), "count": facts.get("cores")},
    }
