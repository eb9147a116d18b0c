"""A bench as a person reads it: tables, and the sentences beside them."""

from collections.abc import Iterator, Mapping, Sequence

from tracekit.base import Verdict, duration, quantity, size
from tracekit.lab.bench.document import INTERRUPTED, LEAST_ROUNDS, Bench, BenchRow, SubjectRatio
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.tune import Tuning

MARK = "(!)"
"""Behind times that do not count."""
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def families(bench: Bench) -> Iterator[tuple[str, Table]]:
    """Yield a title and a table for each family that was measured."""
    for name in dict.fromkeys(row.family for row in bench.rows):
        rows = [row for row in bench.rows if row.family == name and row.micro]
        if rows:
            sets, working_set = rows[0].sets, size(rows[0].working_set)
            inputs = f"; {sets} inputs in turns, {working_set}" if sets > 1 else ""
            yield _sizes(name, bench.shape) + inputs, _table(rows)


def remarks(bench: Bench) -> Iterator[str]:
    """Yield what to know of the numbers: verdicts, clocks, caches, what is not there."""
    yield from verdicts(bench.rows)
    yield f"{_clocks(bench)} Medians and MAD; percentiles linear between ranks."
    for row in bench.rows:
        for dispatch in row.dispatches:
            yield (
                f"{row.name}: {dispatch.function} takes {duration(dispatch.median)} of the GPU; "
                f"simdgroups of {dispatch.execution_width}, "
                f"at most {dispatch.most_threads} threads in a threadgroup, "
                f"{size(dispatch.threadgroup_memory)} of its memory."
            )
    unchained_rows = [row for row in bench.rows if row.micro and not row.chained]
    if unchained_rows:
        yield (
            f"{_names(unchained_rows)}: calls of a chain do not wait for each other, and may "
            "overlap."
        )
    cached = [row for row in bench.rows if row.micro and row.residence == "cache"]
    if cached:
        yield (
            f"cache-resident: {_names(cached)}. Their inputs take at most "
            f"{size(max(row.working_set for row in cached))}, and the last cache holds "
            f"{size(bench.environment.get('cache'))}: this is no bandwidth of memory."
        )
    unsure = [row for row in bench.rows if row.micro and row.residence == "unknown"]
    if unsure:
        yield (
            f"Whether caches served {_names(unsure)} is not known: "
            f"{bench.environment.get('cache_known_from')}."
        )
    for row in bench.rows:
        if row.state == "unavailable":
            yield _missing(row)
    against = bench.settings.get("against")
    other_rows = [row for row in bench.rows if row.micro and row.name != against]
    if against is not None and any(row.against is None for row in other_rows):
        yield f"{against} is compared with those of its family only; the others do other work."
    sparse_rows = [
        row for row in bench.rows if row.micro and row.micro.summary.count <= LEAST_ROUNDS
    ]
    if sparse_rows:
        yield (
            f"{_names(sparse_rows)}: {LEAST_ROUNDS} samples or fewer; a larger --budget takes more."
        )


def verdicts(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield the verdict on each subject that was compared with one that was asked for."""
    for row in rows:
        if row.against is not None and row.against.verdict is not None:
            verb = "has" if row.against.verdict is Verdict.UNCLEAR else "is"
            yield f"{row.name} against {row.against.other} {verb} {row.against.sentence}."


def warnings(bench: Bench) -> Iterator[str]:
    """Yield what makes numbers not count, and each subject that failed or was cut short."""
    yield from disturbances(bench.rows)
    for row in bench.rows:
        if row.state in {"failed", "partial"} and row.reason != INTERRUPTED:
            yield _missing(row)
    for row in bench.rows:
        if row.against is not None and row.against.reason:
            yield f"{row.name} has no ratio: {row.against.reason}."


def disturbances(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield of which families the times do not count, for others used the cores meanwhile."""
    for family in dict.fromkeys(row.family for row in rows):
        disturbed_rows = [
            row for row in rows if row.family == family and row.micro and row.disturbed
        ]
        if disturbed_rows:
            words = disturbed_rows[0].disturbed
            yield (
                f"{family}: {words} while it was measured. Times marked with {MARK} do not count: "
                "measure again on an idle machine."
            )


def ranking(tuning: Tuning) -> tuple[str, Table]:
    """Return a title, and the candidates of a sweep, fastest first."""
    gpu = any(entry.row.gpu_ns for entry in tuning.ranked)
    head = ("launch", "call, host clock", "MAD", *(["GPU time"] if gpu else []), "x of fastest")
    rows: list[tuple[str, ...]] = []
    for ranked in tuning.ranked:
        timing = ranked.row.micro
        assert timing is not None
        mark = f" {MARK}" if ranked.row.disturbed else ""
        times = tuple(
            f"{duration(value)}{mark}" for value in (timing.summary.median, timing.summary.mad)
        )
        on_gpu = (duration(ranked.row.gpu_ns),) if gpu else ()
        verdict = "fastest" if ranked.behind is None else times_words(ranked.behind)
        tie = " (a tie)" if ranked.tied else ""
        rows.append((ranked.candidate.name, *times, *on_gpu, verdict + tie))
    return _sizes("launches", tuning.shape), (head, rows)


def tuning_remarks(tuning: Tuning) -> Iterator[str]:
    """Yield what a sweep cannot say, what failed, and what the kernel chooses itself."""
    yield from disturbances([ranked.row for ranked in tuning.ranked])
    yield "Ratios are of neighbours in a round, with their interval of 95 % confidence."
    if tuning.without_meaning:
        yield f"Not swept: {tuning.without_meaning}."
    yield from map(_missing, tuning.failed)
    if (plan := tuning.planned) is not None:
        yield (
            f"Without options the kernel takes TG {plan.threadgroup}, HD_TILE {plan.hd_tile} and "
            f"partitions {plan.partitions}."
        )


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
    head = [
        *("subject", "call, host clock", "MAD", "p95"),
        *(["GPU time"] if gpu else []),
        *("tokens/s", "GB/s", "error"),
        *([f"x {naive}"] if naive else []),
        *([f"x {reference}"] if reference else []),
    ]
    return tuple(head), [_cells(row, gpu, bool(naive), bool(reference)) for row in rows]


def _cells(row: BenchRow, gpu: bool, naive: bool, has_reference: bool) -> tuple[str, ...]:
    assert row.micro is not None
    summary = row.micro.summary
    name = row.name if row.kernel in {"", "mlx"} else f"{row.name} ({row.kernel})"
    mark = f" {MARK}" if row.disturbed else ""
    return (
        name,
        *(f"{duration(value)}{mark}" for value in (summary.median, summary.mad, summary.p95)),
        *([duration(row.gpu_ns)] if gpu else []),
        _add_mark(quantity(row.tokens_per_s, ""), mark),
        _add_mark(quantity(row.gb_per_s, ""), mark),
        f"{row.error:.1e}" if row.error is not None else "",
        *([times_words(row.speed_up)] if naive else []),
        *([times_words(row.against)] if has_reference else []),
    )


def _add_mark(words: str, mark: str) -> str:
    return f"{words}{mark}" if words else words


_SIZES: Mapping[str, tuple[str, ...]] = {
    "decode": ("batch", "context", "q_heads", "kv_heads", "head_dim", "block_size", "dtype"),
    "launches": ("batch", "context", "q_heads", "kv_heads", "head_dim", "dtype"),
    "prefill": ("queries", "q_heads", "kv_heads", "head_dim", "dtype"),
    "norm": ("rows", "dims", "out_dims", "dtype"),
}


def _sizes(family: str, shape: Shape) -> str:
    names = _SIZES.get(family, _SIZES["decode"])
    sizes = [f"{name} {getattr(shape, name)}" for name in names]
    ragged = ["ragged"] if shape.ragged and "context" in names else []
    return f"{family}: {', '.join([*sizes, *ragged])}"


def _clocks(bench: Bench) -> str:
    if any(row.dispatches for row in bench.rows):
        return "GPU time is of the kernels alone; everything else is by the host's clock."
    reasons = {row.no_gpu for row in bench.rows if row.micro and row.no_gpu}
    return f"All times are by the host's clock. {' '.join(sorted(reasons))}".strip()


def _missing(row: BenchRow) -> str:
    if row.state == "unavailable":
        return f"{row.name} is not available here: {row.reason}."
    return f"{row.name} failed: {row.reason}"


def _names(rows: Sequence[BenchRow]) -> str:
    return ", ".join(row.name for row in rows)
