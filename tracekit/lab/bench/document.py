"""What a bench leaves, as JSON and CSV: every sample, what it says, where it was measured."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from tracekit.base import (
    InputError,
    Shown,
    UsageError,
    Verdict,
    least_pairs,
    read_input,
    require_writable,
    sentence_of,
    write_whole,
)
from tracekit.base import save as save_json
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.metal_queue import Dispatch

LEAST_ROUNDS = least_pairs()
MOST_CALLS = 64
_SAMPLE = 20_000_000  # ns that a sample should last, for clocks and schedulers to be small beside


def calls_of(duration: float) -> int:
    """Return how many calls of so many nanoseconds make up a sample: 1 to 64."""
    return max(1, min(MOST_CALLS, math.ceil(_SAMPLE / max(duration, 1.0))))


def rounds_of(budget: float, costs: Sequence[float], max_rounds: int) -> int:
    """Return how many rounds of these costs fit into a budget for each thing, all in nanoseconds.

    Slower things take of what quicker ones leave. It is at least 6, as many as an interval takes,
    however little time there is, unless `max_rounds` is less.
    """
    fitting = math.floor(budget * len(costs) / max(sum(costs), 1.0))
    return max(1, min(max_rounds, max(LEAST_ROUNDS, fitting)))


_SIGMAS = 2


@dataclass(frozen=True)
class Summary:
    """Samples in numbers, in the unit of the samples.

    `std` has `count - 1` in the denominator, and is None of one sample. `mad` is the median of the
    distances from the median, not scaled to a standard deviation. Percentiles are linear between
    ranks. `filtered_mean` is of those at most 2 standard deviations from the mean, `filtered_out`
    how many that leaves out.
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
    """Summarize samples; raise InputError if there is none, or one is no finite number."""
    values = np.asarray(samples, np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise InputError("Statistics need samples, and each of them a finite number.")
    mean, median = float(values.mean()), float(np.median(values))
    std = float(values.std(ddof=1)) if values.size > 1 else None
    near = values if std is None else values[np.abs(values - mean) <= _SIGMAS * std]
    p50, p95, p99 = np.percentile(values, (50, 95, 99), method="linear")
    return Summary(
        count=values.size,
        mean=mean,
        std=std,
        median=median,
        mad=float(np.median(np.abs(values - median))),
        p50=float(p50),
        p95=float(p95),
        p99=float(p99),
        min=float(values.min()),
        max=float(values.max()),
        filtered_mean=float(near.mean()),
        filtered_out=values.size - near.size,
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
    "outliers": "none is dropped: the median and the MAD bear them; the filtered mean leaves out "
    "what is more than 2 standard deviations from the mean, and stands beside",
    "order": "round-robin, every other round backwards, so that drift hits all alike (ABBA)",
    "ratio": "median of the ratios of neighbours in a round, with an interval of 95 % confidence "
    "from order statistics; above 1 the subject is quicker",
    "error": "largest absolute error of a sequence over its largest absolute value, against "
    "float64, of the first and the last sequence, and of a prompt at 64 queries",
    "gb_per_s": "bytes that memory must move, each counted once, over the GPU time of a call, or "
    "over the median of micro where no GPU time was measured",
}


@dataclass(frozen=True)
class Timing:
    """Samples of one clock: nanoseconds of each, and what they say.

    `calls` is how many calls each sample was divided by.
    """

    samples: Sequence[float]
    calls: int
    summary: Summary


@dataclass(frozen=True)
class SubjectRatio:
    """How many times quicker a subject is than another; None with the reason if not known.

    `verdict` is that on the time of a call against the `threshold`, by the rule of all comparisons;
    None where none was asked for. `doubt` says why it is unclear.
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
        lower_bound, upper_bound = (
            None if end is None else 1 / end - 1 for end in (self.high, self.low)
        )
        change = (1 / self.median - 1, lower_bound, upper_bound)
        return sentence_of(self.verdict, Shown("ratio", "ns"), change, self.threshold, self.doubt)


@dataclass(frozen=True)
class BenchRow:
    """One subject.

    `state` is "partial" if the bench was stopped or the subject failed on its way, and `reason`
    says why it is not measured. `kernel` is "mlx" for MLX's own operations, `block_size` None where
    keys and values are in one piece. `micro` has times of a call, `macro` of a step, `dispatches`
    GPU times for each kernel of a call, and `no_gpu` says why there are none. `residence` is
    "cache" if the inputs fit the last cache. `speed_up` is against the family's naive subject,
    `against` against the one that was asked for. Where it was `disturbed`, its times do not count:
    it says what other processes took.
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

    @property
    def gpu_ns(self) -> float | None:
        """GPU nanoseconds of a call: the medians of its kernels together."""
        return sum(dispatch.median for dispatch in self.dispatches) if self.dispatches else None

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second of whole steps."""
        took = self.macro.summary.median if self.macro else 0
        return self.tokens * 1e9 / took if took else None

    @property
    def intensity(self) -> float | None:
        """Floating-point operations for each byte that memory must move."""
        moved = self.bytes_unique + self.bytes_written
        return self.flops / moved if moved else None

    @property
    def gb_per_s(self) -> float | None:
        """Bytes that memory must move, over the time of a call, in 10^9 bytes per second."""
        took = self.gpu_ns or (self.micro.summary.median if self.micro else None)
        return (self.bytes_unique + self.bytes_written) / took if took else None


@dataclass(frozen=True)
class Bench:
    """A whole bench, as the JSON file has it.

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


def _ms(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def columns(row: BenchRow, shape: Shape) -> dict[str, Any]:
    """Return what a line of the CSV holds, by column; what is not known is None."""
    micro = row.micro and row.micro.summary
    heads = None if row.family == "norm" else shape
    limits = row.dispatches[0] if row.dispatches else None
    speed_up, against = row.speed_up, row.against
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
        "host_ms": micro and _ms(micro.median),
        "host_ms_mad": micro and _ms(micro.mad),
        "host_ms_p95": micro and _ms(micro.p95),
        "samples": micro and micro.count,
        "clock": HOST if micro else None,
        "step_ms": row.macro and _ms(row.macro.summary.median),
        "tokens_per_s": row.tokens_per_s,
        "bytes": (row.bytes_unique + row.bytes_written) or None,
        "bytes_read": row.bytes_read or None,
        "flops": row.flops or None,
        "intensity": row.intensity,
        "gb_per_s": row.gb_per_s,
        "residence": row.residence,
        "error": row.error,
        "speed_up": speed_up and speed_up.median,
        "speed_up_low": speed_up and speed_up.low,
        "speed_up_high": speed_up and speed_up.high,
        "against": against and against.other,
        "ratio": against and against.median,
        "ratio_low": against and against.low,
        "ratio_high": against and against.high,
        "execution_width": limits and limits.execution_width,
        "most_threads": limits and limits.most_threads,
        "threadgroup_memory": limits and limits.threadgroup_memory,
        "verdict": against and against.verdict and str(against.verdict),
        "disturbed": row.disturbed,
        "reason": row.reason or row.no_gpu,
    }


def save(bench: Bench, path: Path) -> None:
    """Write a bench, as CSV if the name ends in .csv, else as JSON; may raise RecordingError."""
    if path.suffix == ".csv":
        write_whole(path, as_csv(bench).encode())
    else:
        save_json(path, bench_document(bench))


def check_writable(path: Path) -> None:
    """Refuse, before anything is measured, a file that could not be written at its end."""
    if path.suffix not in {".json", ".csv"}:
        raise UsageError(
            f"{path} ends neither in .json nor in .csv.", hint="The ending says what is written."
        )
    require_writable(path)


def bench_document(bench: Bench) -> dict[str, Any]:
    """Return a bench as plain values, with what follows from its numbers."""
    document: dict[str, Any] = msgspec.to_builtins(bench)
    for row, measured in zip(document["rows"], bench.rows, strict=True):
        row["gpu_ns"], row["tokens_per_s"] = measured.gpu_ns, measured.tokens_per_s
        row["intensity"], row["gb_per_s"] = measured.intensity, measured.gb_per_s
    return document | {"failures": bench.failures}


@dataclass(frozen=True)
class _Kinded:
    kind: str = ""
    version: int = VERSION


def document_kind(path: Path) -> str:
    """Return the kind that a JSON file states, such as "bench"; empty where it states none."""
    try:
        return msgspec.json.decode(read_input(path), type=_Kinded).kind
    except (FileNotFoundError, msgspec.MsgspecError):
        return ""


def read_bench(path: Path) -> Bench:
    """Read the JSON of a bench; raise InputError if it cannot be understood."""
    content = read_input(path)
    try:
        number = msgspec.json.decode(content, type=_Kinded).version
        if number > VERSION:
            raise InputError(
                f"{path} has version {number}; this tracekit reads up to {VERSION}.",
                hint="Use the tracekit that wrote it, or measure again.",
            )
        return msgspec.json.decode(content, type=Bench)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} cannot be read: {error}.", hint="Measure again: `tracekit bench -o FILE`."
        ) from error


def as_csv(bench: Bench) -> str:
    """Return a line for each subject; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns(BenchRow("", "", "failed"), bench.shape))
    writer.writerows(columns(row, bench.shape).values() for row in bench.rows)
    return text.getvalue()
