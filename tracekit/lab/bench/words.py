"""Turn a bench into tables and sentences for a person."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tracekit.base import Verdict, units
from tracekit.lab.bench.document import (
    INTERRUPTED,
    LEAST_ROUNDS,
    Bench,
    BenchRow,
    GraphTranspose,
    SubjectRatio,
)
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.tune import Ranked, Tuning

MARK = "(!)"
"""Behind times that do not count."""
_MEMORY_STEP = 1.1
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def families(bench: Bench) -> Iterator[tuple[str, Table]]:
    """Yield a title and a table for each family that was measured."""
    for name in _family_names(bench.rows):
        rows = [row for row in _measured_rows(bench.rows) if row.family == name]
        if rows:
            yield _title(name, bench.shape, rows[0]), _table(rows)


def _family_names(rows: Sequence[BenchRow]) -> Iterable[str]:
    return dict.fromkeys(row.family for row in rows)


def _measured_rows(rows: Sequence[BenchRow]) -> list[BenchRow]:
    return [row for row in rows if row.micro]


def _title(family: str, shape: Shape, row: BenchRow) -> str:
    title = _sizes(family, shape)
    if row.sets > 1:
        title += f"; {row.sets} inputs in turns, {units.size(row.working_set)}"
    return title


def remarks(bench: Bench) -> Iterator[str]:
    """Yield remarks on the numbers: verdicts, clocks, caches, missing subjects."""
    yield from verdict_sentences(bench.rows)
    yield f"{_clocks(bench)} Medians and MAD; percentiles linear between ranks."
    yield from _dispatch_remarks(bench.rows)
    measured_rows = _measured_rows(bench.rows)
    unchained_rows = [row for row in measured_rows if not row.chained]
    if unchained_rows:
        yield (
            f"{_names(unchained_rows)}: calls of a chain do not wait for each other, and may "
            "overlap."
        )
    yield from _transpose_remarks(measured_rows)
    yield from _counter_remarks(measured_rows)
    yield from _memory_remarks(measured_rows)
    yield from _cache_remarks(bench, measured_rows)
    for row in bench.rows:
        if row.state == "unavailable":
            yield _missing(row)
    against = bench.settings.get("against")
    if against is not None and _has_other_families(measured_rows, against):
        yield f"{against} is compared with those of its family only; the others do other work."
    sparse_rows = [row for row in measured_rows if _is_sparse(row)]
    if sparse_rows:
        yield (
            f"{_names(sparse_rows)}: {LEAST_ROUNDS} samples or fewer; a larger --budget takes more."
        )


def _dispatch_remarks(rows: Sequence[BenchRow]) -> Iterator[str]:
    for row in rows:
        for dispatch in row.dispatches:
            gpu_time = units.duration(dispatch.median)
            memory = units.size(dispatch.threadgroup_memory)
            yield (
                f"{row.name}: {dispatch.function} takes {gpu_time} of the GPU; "
                f"simdgroups of {dispatch.execution_width}, "
                f"at most {dispatch.most_threads} threads in a threadgroup, "
                f"{memory} of its memory."
            )


def _transpose_remarks(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield the transposes of each call with length and place, against the family's fewest."""
    fewest: dict[str, BenchRow] = {}
    for row in rows:
        if row.transposes is None:
            continue
        base = fewest.setdefault(row.family, row)
        if base.transposes is not None and len(row.transposes) < len(base.transposes):
            fewest[row.family] = row
    for row in rows:
        if row.transposes is None:
            continue
        base_row = fewest[row.family]
        excess = len(row.transposes) - len(base_row.transposes or ())
        words = f"{row.name}, transposes of a call: {len(row.transposes)}"
        if excess:
            words += f", {excess} more than {base_row.name}"
        places = [_describe_transpose(transpose) for transpose in row.transposes]
        if places:
            words += f": {'; '.join(places)}"
        yield f"{words}."


def _describe_transpose(transpose: GraphTranspose) -> str:
    shape = " x ".join(map(str, transpose.shape))
    return (
        f"operation {transpose.place} of {transpose.operations}, {shape} = "
        f"{transpose.elements:,} elements, read by {transpose.reader}"
    )


def _counter_remarks(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield the counters of frame captures, with the bytes of a token by the model."""
    for row in rows:
        if row.replayed is None:
            continue
        shares = {
            "occupancy": row.replayed.occupancy,
            "ALU": row.replayed.alu,
            "last level cache": row.replayed.memory,
        }
        words: list[str] = []
        for name, share in shares.items():
            value = units.NOT_AVAILABLE if share is None else units.quantity(share, "ratio")
            words.append(f"{name} {value}")
        moved = row.bytes_unique + row.bytes_written
        if row.tokens:
            words.append(f"{units.size(round(moved / row.tokens))} a token by the model")
        yield (
            f"{row.name}, by Xcode's counters of {row.replayed.encoders} encoders of its capture, "
            f"as you state, replayed one after another: {', '.join(words)}."
        )


def _memory_remarks(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield the memory of families whose subjects differ in it by a tenth or more."""
    family_sizes: list[str] = []
    for family in _family_names(rows):
        peaks: dict[str, int] = {}
        for row in rows:
            if row.family == family and row.peak_memory is not None:
                peaks[row.name] = row.peak_memory
        if peaks and min(peaks.values()) * _MEMORY_STEP < max(peaks.values()):
            sizes = [f"{name} {units.size(peak)}" for name, peak in peaks.items()]
            family_sizes.append(", ".join(sizes))
    if family_sizes:
        yield f"Memory of a step beyond its inputs: {'; '.join(family_sizes)}."


def _cache_remarks(bench: Bench, rows: Sequence[BenchRow]) -> Iterator[str]:
    cached_rows = [row for row in rows if row.residence == "cache"]
    if cached_rows:
        largest = max(row.working_set for row in cached_rows)
        cache_size = units.size(bench.environment.get("cache"))
        yield (
            f"cache-resident: {_names(cached_rows)}. Their inputs take at most "
            f"{units.size(largest)}, and the last cache holds "
            f"{cache_size}: this is not a bandwidth of memory."
        )
    unsure_rows = [row for row in rows if row.residence == "unknown"]
    if unsure_rows:
        yield (
            f"Whether caches served {_names(unsure_rows)} is not known: "
            f"{bench.environment.get('cache_known_from')}."
        )


def _has_other_families(rows: Sequence[BenchRow], reference: str) -> bool:
    """Return whether a row has no comparison with the reference, as its family is another."""
    return any(row.against is None for row in rows if row.name != reference)


def _is_sparse(row: BenchRow) -> bool:
    return row.micro is not None and row.micro.summary.count <= LEAST_ROUNDS


def verdict_sentences(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield the verdict on each subject that was compared with the reference."""
    for row in rows:
        comparison = row.against
        if comparison is None or comparison.verdict is None:
            continue
        verb = "has" if comparison.verdict is Verdict.UNCLEAR else "is"
        yield f"{row.name} against {comparison.other} {verb} {comparison.sentence}."


def warnings(bench: Bench) -> Iterator[str]:
    """Yield why numbers do not count, and each subject that failed or was cut short."""
    yield from disturbances(bench.rows)
    for row in bench.rows:
        if row.state in {"failed", "partial"} and row.reason != INTERRUPTED:
            yield _missing(row)
    for row in bench.rows:
        if row.against is not None and row.against.reason:
            yield f"{row.name} has no ratio: {row.against.reason}."


def disturbances(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield a warning for each family whose times do not count, as others used the cores."""
    disturbed_rows = [row for row in _measured_rows(rows) if row.disturbed]
    words_by_family: dict[str, str] = {}
    for row in disturbed_rows:
        words_by_family.setdefault(row.family, row.disturbed)
    for family in _family_names(rows):
        if family in words_by_family:
            yield (
                f"{family}: {words_by_family[family]} while it was measured. Times marked with "
                f"{MARK} do not count: measure again on an idle machine."
            )


def ranking(tuning: Tuning) -> tuple[str, Table]:
    """Return a title, and the candidates of a sweep, fastest first."""
    gpu = any(entry.row.gpu_ns for entry in tuning.ranked)
    head = ["launch", "call, host clock", "MAD"]
    if gpu:
        head.append("GPU time")
    head.append("x of fastest")
    rows = [_rank_cells(ranked, gpu) for ranked in tuning.ranked]
    title = _sizes("launches", tuning.shape)
    return title, (tuple(head), rows)


def _rank_cells(ranked: Ranked, gpu: bool) -> tuple[str, ...]:
    timing = ranked.row.micro
    assert timing is not None
    mark = _mark_of(ranked.row)
    median = units.duration(timing.summary.median)
    deviation = units.duration(timing.summary.mad)
    cells = [
        ranked.candidate.name,
        f"{median}{mark}",
        f"{deviation}{mark}",
    ]
    if gpu:
        cells.append(units.duration(ranked.row.gpu_ns))
    verdict = "fastest"
    if ranked.behind is not None:
        verdict = times_words(ranked.behind)
    if ranked.tied:
        verdict += " (a tie)"
    cells.append(verdict)
    return tuple(cells)


def tuning_remarks(tuning: Tuning) -> Iterator[str]:
    """Yield the limits of a sweep, its failures, and the launch that the kernel itself chooses."""
    yield from disturbances([ranked.row for ranked in tuning.ranked])
    yield "Ratios are of neighbours in a round, with their interval of 95 % confidence."
    if tuning.without_meaning:
        yield f"Not swept: {tuning.without_meaning}."
    for row in tuning.failed:
        yield _missing(row)
    yield from _describe_memory_of(tuning)
    plan = tuning.planned
    if plan is not None:
        yield (
            f"Without options the kernel takes TG {plan.threadgroup}, HD_TILE {plan.hd_tile} and "
            f"partitions {plan.partitions}."
        )


def _describe_memory_of(tuning: Tuning) -> Iterator[str]:
    """Yield the launches that are remembered, with the things that they count for."""
    if tuning.forgotten:
        yield f"Not remembered: {tuning.forgotten}."
        return
    for launch in tuning.remembered:
        key = launch.key
        values = {
            "TG": launch.threadgroup,
            "HD_TILE": launch.hd_tile,
            "partitions": launch.partitions,
        }
        words = [f"{name} {value}" for name, value in values.items() if value is not None]
        yield (
            f"Remembered for {key.chip}, MLX {key.mlx}, kernel {key.kernel[:8]}, {key.dtype}, "
            f"batch {_class_words(key.batch)}, context {_class_words(key.context)}, {key.q_heads} "
            f"and {key.kv_heads} heads of {key.head_dim}, block {key.block_size}: "
            f"{', '.join(words) or 'no parameter'}. "
            "paged_attention takes it for these alone."
        )


def _class_words(largest: int) -> str:
    """Return the numbers that round up to a power of two."""
    least = largest // 2 + 1
    if least == largest:
        return str(largest)
    return f"{least} to {largest}"


def times_words(ratio: SubjectRatio | None) -> str:
    """Return a ratio with its interval: "2.10 (2.05 to 2.31)"."""
    if ratio is None or ratio.median is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return f"{ratio.median:.2f} ({ratio.pairs} pairs: no interval)"
    return f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _table(rows: Sequence[BenchRow]) -> Table:
    gpu = any(row.dispatches for row in rows)
    naive = next((row.speed_up.other for row in rows if row.speed_up), "")
    reference = next((row.against.other for row in rows if row.against), "")
    head = ["subject", "call, host clock", "MAD", "p95"]
    if gpu:
        head.append("GPU time")
    head += ["tokens/s", "GB/s", "error"]
    if naive:
        head.append(f"x {naive}")
    if reference:
        head.append(f"x {reference}")
    columns = tuple(head)
    return columns, [_cells(row, gpu, bool(naive), bool(reference)) for row in rows]


def _cells(row: BenchRow, gpu: bool, naive: bool, has_reference: bool) -> tuple[str, ...]:
    assert row.micro is not None
    summary = row.micro.summary
    name = row.name
    if row.kernel not in {"", "mlx"}:
        name = f"{row.name} ({row.kernel})"
    mark = _mark_of(row)
    median = units.duration(summary.median)
    deviation = units.duration(summary.mad)
    high = units.duration(summary.p95)
    cells = [
        name,
        f"{median}{mark}",
        f"{deviation}{mark}",
        f"{high}{mark}",
    ]
    if gpu:
        cells.append(units.duration(row.gpu_ns))
    cells.append(_add_mark(units.quantity(row.tokens_per_s, ""), mark))
    cells.append(_add_mark(units.quantity(row.gb_per_s, ""), mark))
    cells.append("" if row.error is None else f"{row.error:.1e}")
    if naive:
        cells.append(times_words(row.speed_up))
    if has_reference:
        cells.append(times_words(row.against))
    return tuple(cells)


def _mark_of(row: BenchRow) -> str:
    """Return the suffix of the times of a row: a mark if they do not count."""
    if row.disturbed:
        return f" {MARK}"
    return ""


def _add_mark(words: str, mark: str) -> str:
    return words and f"{words}{mark}"


_LAYER = ("rows", "dims", "out_dims", "dtype")
_SIZES: Mapping[str, tuple[str, ...]] = {
    "decode": ("batch", "context", "q_heads", "kv_heads", "head_dim", "block_size", "dtype"),
    "launches": ("batch", "context", "q_heads", "kv_heads", "head_dim", "dtype"),
    "prefill": ("queries", "q_heads", "kv_heads", "head_dim", "dtype"),
    "norm": _LAYER,
    "matmul": _LAYER,
    "quantized": _LAYER,
    "mlp": _LAYER,
    "routing": ("rows", "dims", "experts", "top_k", "dtype"),
    "experts": ("rows", "dims", "out_dims", "experts", "top_k", "dtype"),
    "softmax": ("rows", "dims", "dtype"),
    "rope": ("queries", "q_heads", "head_dim", "dtype"),
    "residual": ("batch", "context", "q_heads", "kv_heads", "head_dim", "dtype"),
    "train": _LAYER,
}


def _sizes(family: str, shape: Shape) -> str:
    names = _SIZES.get(family, _SIZES["decode"])
    sizes = [f"{name} {getattr(shape, name)}" for name in names]
    if shape.ragged and "context" in names:
        sizes.append("ragged")
    return f"{family}: {', '.join(sizes)}"


def _clocks(bench: Bench) -> str:
    if any(row.dispatches for row in bench.rows):
        return "GPU time is of the kernels alone; everything else is by the host's clock."
    reasons = {row.no_gpu for row in _measured_rows(bench.rows) if row.no_gpu}
    return f"All times are by the host's clock. {' '.join(sorted(reasons))}".strip()


def _missing(row: BenchRow) -> str:
    if row.state == "unavailable":
        return f"{row.name} is not available here: {row.reason}."
    return f"{row.name} failed: {row.reason}"


def _names(rows: Sequence[BenchRow]) -> str:
    return ", ".join(row.name for row in rows)
