"""Write and read a bench as JSON and CSV: every sample, its summary, the circumstances."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from tracekit.base import InputError, UsageError, Verdict, documents, files, paired, verdicts
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.metal_queue import Dispatch

LEAST_ROUNDS = paired.least_pairs()
MOST_CALLS = 64
_SAMPLE = 20_000_000  # ns that a sample should last, so that clocks and schedulers matter little


def calls_of(duration: float) -> int:
    """Return how many calls of `duration` nanoseconds make up a sample: 1 to 64."""
    calls = math.ceil(_SAMPLE / max(duration, 1.0))
    return max(1, min(MOST_CALLS, calls))


def rounds_of(budget: float, costs: Sequence[float], max_rounds: int) -> int:
    """Return how many rounds of these costs fit into a budget for each subject, in nanoseconds.

    Slower subjects use the time that quicker ones leave. The result is at least 6, as many as an
    interval takes, however little time there is, unless `max_rounds` is less.
    """
    total_cost = max(sum(costs), 1.0)
    fitting = math.floor(budget * len(costs) / total_cost)
    return max(1, min(max_rounds, max(LEAST_ROUNDS, fitting)))


_SIGMAS = 2


@dataclass(frozen=True)
class Summary:
    """Samples in numbers, in the unit of the samples.

    `std` has `count - 1` in the denominator, and is None for one sample. `mad` is the median of the
    distances from the median, not scaled to a standard deviation. Percentiles are linear between
    ranks. `filtered_mean` is that of the samples at most 2 standard deviations from the mean,
    `filtered_out` the number of the others.
    """

    count: int
    mean: float
    std: float | None
    median: float
    mad: float
    p50: float
    p95: float
    p99: float
    min: float
    max: float
    filtered_mean: float
    filtered_out: int


def summarize(samples: Sequence[float]) -> Summary:
    """Summarize samples; raise InputError if there is none, or one is not a finite number."""
    values = np.asarray(samples, np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise InputError("Statistics need samples, and each of them a finite number.")
    mean = float(values.mean())
    median = float(np.median(values))
    std = None
    near = values
    if values.size > 1:
        std = float(values.std(ddof=1))
        is_near = np.abs(values - mean) <= _SIGMAS * std
        near = values[is_near]
    p50, p95, p99 = np.percentile(values, (50, 95, 99), method="linear")
    distances = np.abs(values - median)
    mad = float(np.median(distances))
    filtered_mean = float(near.mean())
    filtered_out = values.size - near.size
    return Summary(
        count=values.size,
        mean=mean,
        std=std,
        median=median,
        mad=mad,
        p50=float(p50),
        p95=float(p95),
        p99=float(p99),
        min=float(values.min()),
        max=float(values.max()),
        filtered_mean=filtered_mean,
        filtered_out=filtered_out,
    )


VERSION = 1
BENCH = "bench"
INTERRUPTED = "the bench was interrupted"
HOST = "host"
GPU = "GPU"

DEFINITIONS: Mapping[str, str] = {
    "micro": "evaluation of a chain of calls that was built before, divided by their number",
    "macro": "one step as the workload takes it: built, submitted and waited for",
    "percentiles": "linear between ranks",
    "outliers": "none is dropped: the median and the MAD tolerate them; a separate filtered mean "
    "leaves out samples more than 2 standard deviations from the mean",
    "order": "round-robin, every other round backwards, so that drift hits all alike (ABBA)",
    "ratio": "median of the ratios of neighbours in a round, with an interval of 95 % confidence "
    "from order statistics; above 1 the subject is quicker",
    "error": "largest absolute error of a sequence over its largest absolute value, against "
    "float64, of the first and the last sequence, and of a prompt at 64 queries",
    "gb_per_s": "bytes that memory must move, each counted once, over the GPU time of a call, or "
    "over the median of micro if no GPU time was measured",
}


@dataclass(frozen=True)
class Timing:
    """Samples of one clock in nanoseconds, and their summary.

    Each sample was divided by the number of `calls`.
    """

    samples: Sequence[float]
    calls: int
    summary: Summary


@dataclass(frozen=True)
class SubjectRatio:
    """How many times quicker a subject is than another; None with the reason if not known.

    `verdict` is that on the time of a call against the `threshold`, by the rule of all comparisons;
    None without a reference to judge by. `doubt` says why it is unclear.
    """

    other: str
    median: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    reason: str = ""
    verdict: Verdict | None = None
    doubt: str = ""
    threshold: float | None = None

    @property
    def sentence(self) -> str:
        """The verdict with its interval: "faster by 52.4 % ± 1.2, beyond your limit of 3 %"."""
        if self.verdict is None or self.median is None or self.threshold is None:
            return ""
        middle_change = 1 / self.median - 1
        change = (middle_change, _change_of(self.high), _change_of(self.low))
        formatter = verdicts.Shown("ratio", "ns")
        return verdicts.sentence_of(self.verdict, formatter, change, self.threshold, self.doubt)


def _change_of(speed_up: float | None) -> float | None:
    """Return the change of a time that a speed-up makes."""
    if speed_up is None:
        return None
    return 1 / speed_up - 1


@dataclass(frozen=True)
class ReplayedCounters:
    """Shares of the GPU's capacity in Xcode's replay of a frame capture, at a fixed clock.

    `occupancy` is that of threads, `alu` and `memory` are utilizations of the arithmetic units and
    of the last cache. Each is a mean over encoders by their cost, None if it was not exported.
    """

    files: tuple[str, ...]
    encoders: int
    occupancy: float | None
    alu: float | None
    memory: float | None


@dataclass(frozen=True)
class GraphTranspose:
    """A transpose in the graph of a call: operation number `place` of `operations`.

    `shape` is that of its result of `elements` elements, and `reader` the operation that reads it
    first. It is a view: a copy is made only if the reader needs elements in a row.
    """

    place: int
    operations: int
    shape: tuple[int, ...]
    elements: int
    reader: str


@dataclass(frozen=True)
class BenchRow:
    """One subject.

    `state` is "partial" if the bench was stopped or the subject failed on its way, and `reason`
    says why it is not measured. `kernel` is "mlx" for MLX's own operations, `block_size` None if
    keys and values are in one piece. `micro` has times of a call, `macro` of a step, `dispatches`
    GPU times for each kernel of a call, and `no_gpu` says why there are none. `residence` is
    "cache" if the inputs fit the last cache. `speed_up` compares with the family's naive subject,
    `against` with the reference of the settings. If it was `disturbed`, its times do not count: the
    text is the share of other processes. `peak_memory` are bytes that a step takes beyond those of
    its inputs, the median of five; None if it was not measured. `replayed` are counters of its
    frame capture, if given. `transposes` are those of a call; None if they were not listed, or MLX
    could not trace it.
    """

    name: str
    family: str
    state: Literal["measured", "partial", "failed", "unavailable"]
    reason: str = ""
    kernel: str = ""
    threadgroup: int | None = None
    hd_tile: int | None = None
    partitions: int | None = None
    block_size: int | None = None
    chained: bool = True
    micro: Timing | None = None
    macro: Timing | None = None
    dispatches: Sequence[Dispatch] = ()
    no_gpu: str = ""
    tokens: int = 0
    sequence: int = 0
    bytes_read: int = 0
    bytes_unique: int = 0
    bytes_written: int = 0
    flops: int = 0
    error: float | None = None
    sets: int = 0
    working_set: int = 0
    residence: Literal["memory", "cache", "unknown"] = "unknown"
    speed_up: SubjectRatio | None = None
    against: SubjectRatio | None = None
    disturbed: str = ""
    peak_memory: int | None = None
    replayed: ReplayedCounters | None = None
    transposes: Sequence[GraphTranspose] | None = None

    @property
    def gpu_ns(self) -> float | None:
        """GPU nanoseconds of a call: the sum of the medians of its kernels."""
        if not self.dispatches:
            return None
        return sum(dispatch.median for dispatch in self.dispatches)

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second of whole steps."""
        if self.macro is None or not self.macro.summary.median:
            return None
        return self.tokens * 1e9 / self.macro.summary.median

    @property
    def intensity(self) -> float | None:
        """Floating-point operations for each byte that memory must move."""
        moved = self.bytes_unique + self.bytes_written
        if not moved:
            return None
        return self.flops / moved

    @property
    def gb_per_s(self) -> float | None:
        """Bytes that memory must move, over the time of a call, in 10^9 bytes per second."""
        took = self.gpu_ns
        if not took and self.micro is not None:
            took = self.micro.summary.median
        if not took:
            return None
        return (self.bytes_unique + self.bytes_written) / took


@dataclass(frozen=True)
class Bench:
    """A whole bench, as in the JSON file.

    If it was `interrupted`, rows may be few and partial.
    """

    environment: Mapping[str, Any]
    shape: Shape
    settings: Mapping[str, Any]
    rows: Sequence[BenchRow]
    started: str = ""
    interrupted: bool = False
    version: int = VERSION
    kind: str = BENCH
    definitions: Mapping[str, str] = field(default_factory=lambda: dict(DEFINITIONS))

    @property
    def failures(self) -> list[str]:
        """Names of subjects that failed."""
        broken = {"failed", "partial"}
        return [row.name for row in self.rows if row.state in broken and row.reason != INTERRUPTED]


@dataclass(frozen=True)
class MeasuredRow(BenchRow):
    """One subject as in the JSON, where the results of its numbers are numbers, too."""

    gpu_ns: float | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    tokens_per_s: float | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    intensity: float | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    gb_per_s: float | None = None  # pyright: ignore[reportIncompatibleMethodOverride]


@dataclass(frozen=True)
class BenchDocument(Bench):
    """The JSON of `tracekit bench run`; `failures` are the names of subjects that failed."""

    rows: Sequence[MeasuredRow]
    failures: Sequence[str] = ()  # pyright: ignore[reportIncompatibleMethodOverride]


def _ms(nanoseconds: float | None) -> float | None:
    if nanoseconds is None:
        return None
    return nanoseconds / 1e6


def columns(row: BenchRow, shape: Shape) -> dict[str, Any]:
    """Return a line of the CSV by column; unknown values are None."""
    values = _launch_columns(row, shape)
    values.update(_time_columns(row))
    values.update(_traffic_columns(row))
    values.update(_comparison_columns(row))
    values.update(_limit_columns(row))
    verdict = row.against and row.against.verdict
    values["verdict"] = verdict and str(verdict)
    values["disturbed"] = row.disturbed
    values["reason"] = row.reason or row.no_gpu
    return values


_WITH_HEADS = ("decode", "prefill", "append", "append-run", "rope", "residual")


def _launch_columns(row: BenchRow, shape: Shape) -> dict[str, Any]:
    heads = None
    if row.family in _WITH_HEADS:
        heads = shape
    return {
        "tokens": row.tokens or None,
        "seq_len": row.sequence or None,
        "heads": heads and heads.q_heads,
        "head_dim": heads and heads.head_dim,
        "BLOCK_SIZE": row.block_size,
        "TG_SIZE": row.threadgroup,
        "gpu_ms": _ms(row.gpu_ns),
        "subject": row.name,
        "family": row.family,
        "state": row.state,
        "kernel": row.kernel,
        "kv_heads": heads and heads.kv_heads,
        "dtype": shape.dtype,
        "HD_TILE": row.hd_tile,
        "partitions": row.partitions,
    }


def _time_columns(row: BenchRow) -> dict[str, Any]:
    micro = row.micro and row.micro.summary
    host_ms = micro and _ms(micro.median)
    host_ms_mad = micro and _ms(micro.mad)
    host_ms_p95 = micro and _ms(micro.p95)
    step_ms = row.macro and _ms(row.macro.summary.median)
    return {
        "host_ms": host_ms,
        "host_ms_mad": host_ms_mad,
        "host_ms_p95": host_ms_p95,
        "samples": micro and micro.count,
        "clock": HOST if micro else None,
        "step_ms": step_ms,
        "tokens_per_s": row.tokens_per_s,
    }


def _traffic_columns(row: BenchRow) -> dict[str, Any]:
    moved_bytes = row.bytes_unique + row.bytes_written
    return {
        "bytes": moved_bytes or None,
        "bytes_read": row.bytes_read or None,
        "flops": row.flops or None,
        "intensity": row.intensity,
        "gb_per_s": row.gb_per_s,
        "residence": row.residence,
        "error": row.error,
        "peak_memory": row.peak_memory,
        "occupancy": row.replayed and row.replayed.occupancy,
        "alu": row.replayed and row.replayed.alu,
        "memory": row.replayed and row.replayed.memory,
    }


def _comparison_columns(row: BenchRow) -> dict[str, Any]:
    speed_up = row.speed_up
    against = row.against
    return {
        "speed_up": speed_up and speed_up.median,
        "speed_up_low": speed_up and speed_up.low,
        "speed_up_high": speed_up and speed_up.high,
        "against": against and against.other,
        "ratio": against and against.median,
        "ratio_low": against and against.low,
        "ratio_high": against and against.high,
    }


def _limit_columns(row: BenchRow) -> dict[str, Any]:
    limits = None
    if row.dispatches:
        limits = row.dispatches[0]
    return {
        "execution_width": limits and limits.execution_width,
        "most_threads": limits and limits.most_threads,
        "threadgroup_memory": limits and limits.threadgroup_memory,
    }


def save(bench: Bench, path: Path) -> None:
    """Write a bench, as CSV if the name ends in .csv, else as JSON; may raise RecordingError."""
    if path.suffix == ".csv":
        files.write_whole(path, as_csv(bench).encode())
    else:
        documents.save(path, bench_document(bench))


def save_for_pytest(bench: Bench, path: Path) -> None:
    """Write the subjects that were measured in the form of pytest-benchmark."""
    from tracekit.lab.bench.pytest_form import pytest_document  # noqa: PLC0415  it imports this

    documents.save(path, pytest_document(bench))


def check_writable(path: Path) -> None:
    """Refuse, before any measurement, a file that could not be written at its end."""
    if path.suffix not in {".json", ".csv"}:
        raise UsageError(
            f"{path} ends neither in .json nor in .csv.", hint="The ending selects the format."
        )
    files.require_writable(path)


def bench_document(bench: Bench) -> dict[str, Any]:
    """Return a bench as plain values, with the results of its numbers."""
    document: dict[str, Any] = msgspec.to_builtins(bench)
    measured_rows = zip(document["rows"], bench.rows, strict=True)
    for row, measured in measured_rows:
        row["gpu_ns"] = measured.gpu_ns
        row["tokens_per_s"] = measured.tokens_per_s
        row["intensity"] = measured.intensity
        row["gb_per_s"] = measured.gb_per_s
    document["failures"] = bench.failures
    return document


@dataclass(frozen=True)
class _Kinded:
    kind: str = ""
    version: int = VERSION


def document_kind(path: Path) -> str:
    """Return the kind that a JSON file states, such as "bench"; empty if it states none."""
    try:
        return documents.decode_json(files.read_input(path), _Kinded).kind
    except (FileNotFoundError, msgspec.MsgspecError):
        return ""


def read_bench(path: Path) -> Bench:
    """Read the JSON of a bench; raise InputError if it cannot be understood."""
    content = files.read_input(path)
    try:
        number = documents.decode_json(content, _Kinded).version
        if number > VERSION:
            raise InputError(
                f"{path} has version {number}; this tracekit reads up to {VERSION}.",
                hint="Use the tracekit that wrote it, or measure again.",
            )
        return documents.decode_json(content, Bench)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} cannot be read: {error}.", hint="Measure again: `tracekit bench run -o FILE`."
        ) from error


def as_csv(bench: Bench) -> str:
    """Return a line for each subject; unknown values are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns(BenchRow("", "", "failed"), bench.shape))
    writer.writerows(columns(row, bench.shape).values() for row in bench.rows)
    return text.getvalue()
