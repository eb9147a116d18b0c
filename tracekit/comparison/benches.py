"""A bench as a side of a comparison: the times of each subject are its own results."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from tracekit.analysis import Better, Measurement, Result
from tracekit.base import Provenance
from tracekit.comparison.samples import Sample

if TYPE_CHECKING:
    from tracekit.lab import document

_NO_TABLES = "a bench records no tables."


def bench_sample(bench: "document.Bench", name: str) -> Sample:
    """Return a bench as a run that measured its subjects, in ns, with the samples of each.

    The result is named after the subject for a call by the host's clock, with `_step` behind it for
    a whole step, and with `_gpu` behind it for a call by the GPU's clock. A subject without times
    has the reason in their place. If one time was measured next to busy processes, no time decides.
    """
    parameters = {name: value for name, value in asdict(bench.shape).items() if value is not None}
    parameters.update(bench.environment.get("variables", {}))
    tracekit = str(bench.environment.get("tracekit", ""))
    warmup = bench.settings.get("warmup")
    machine = dict(bench.environment.get("machine", {}))
    provenance = Provenance(
        tracekit=tracekit,
        created=bench.started,
        recorder="bench",
        workload="bench",
        parameters=parameters,
        started=bench.started,
        warmup=warmup,
        machine=machine,
    )
    times: list[Measurement] = []
    disturbed = ""
    for row in bench.rows:
        times += _times(row)
        disturbed = disturbed or row.disturbed
    result = Result(provenance, results=tuple(times))
    return Sample(name, result, absence=_NO_TABLES, disturbed=disturbed, is_bench=True)


def _times(row: "document.BenchRow") -> Iterator[Measurement]:
    """Yield the known times of a subject: of a call, of a step, of a call on the GPU."""
    if row.micro is None:
        reason = row.reason or "it was not measured."
        yield Measurement(row.name, None, "ns", Better.LOWER, reason)
    else:
        yield _time(row.name, row.micro)
    if row.macro is not None:
        yield _time(f"{row.name}_step", row.macro)
    if row.gpu_ns is not None:
        samples = _gpu_ns(row)
        yield Measurement(f"{row.name}_gpu", row.gpu_ns, "ns", Better.LOWER, samples=samples)


def _time(name: str, timing: "document.Timing") -> Measurement:
    samples = tuple(timing.samples)
    return Measurement(name, timing.summary.median, "ns", Better.LOWER, samples=samples)


def _gpu_ns(row: "document.BenchRow") -> tuple[float, ...]:
    """Return the GPU nanoseconds of each call; nothing if its kernels were not sampled alike."""
    kernel_samples = [dispatch.samples for dispatch in row.dispatches]
    sample_counts = set(map(len, kernel_samples))
    if len(sample_counts) > 1:
        return ()
    return tuple(map(sum, zip(*kernel_samples, strict=True)))
