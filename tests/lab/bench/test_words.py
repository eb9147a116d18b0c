"""What a person reads of a bench and of a sweep: one file holds the words."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tracekit.lab.bench import words
from tracekit.lab.bench.document import Bench, BenchRow, SubjectRatio, Timing, summarize
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.tune import MEANINGLESS, Candidate, Tuning, rank_rows
from tracekit.lab.metal_queue import Dispatch
from tracekit.ops.attention.planning import DecodePlan

HOST_ONLY = "GPU time is not available, because MLX runs on the CPU here."
ONE = Shape(batch=1, q_heads=1, kv_heads=1, active_blocks=1, block_size=1)


def row(name: str, *samples: float, **facts: object) -> BenchRow:
    times = Timing(samples, 1, summarize(samples or [2e6] * 9))
    values = {"micro": times, "macro": times, "residence": "memory", "no_gpu": HOST_ONLY, **facts}
    return BenchRow(name, str(values.pop("family", "decode")), "measured", **values)  # type: ignore[arg-type]


def bench(*rows: BenchRow, against: str | None = None, shape: Shape = Shape()) -> Bench:  # noqa: B008
    environment = {"cache": 32 << 20, "cache_known_from": "this system does not tell"}
    return Bench(environment, shape, {"against": against}, rows)


DISPATCH = Dispatch("decode", (1e5,), 1e5, 1e5, 32, 1024, 2176)
BENCHES = (
    bench(
        row(
            "paged", tokens=16, bytes_unique=4_000_000, error=1.5e-4, sets=2,
            speed_up=SubjectRatio("naive", 2.5, 2.25, 2.75, 9),
            against=SubjectRatio("sdpa", reason="sdpa was not measured"),
            working_set=1 << 21, residence="unknown",
        ),
        row("naive", 1.0, 2.0, tokens=16, speed_up=SubjectRatio("naive", 2.0, pairs=5)),
        row("sdpa", *[5.0] * 6),
        row("gather-sdpa", *[5.0] * 7),
        row("append", family="append", tokens=16, residence="cache", working_set=1 << 20),
        row("flash", family="prefill"),
        row("norm-compiled", family="norm", chained=False),
        BenchRow("norm-fused", "norm", "unavailable", "it needs Metal"),
        BenchRow("broken", "decode", "failed", "ValueError: no"),
        BenchRow("cut", "decode", "partial", "the bench was interrupted"),
        against="sdpa",
    ),
    bench(
        row("paged", kernel="grouped", dispatches=(DISPATCH, DISPATCH), no_gpu=""),
        shape=replace(ONE, ragged=True),
    ),
)  # fmt: skip
TUNING = Tuning(
    Shape(),
    rank_rows(
        [row("quick", *[10.0] * 8), row("near", 9, 11, 12, 9, 11, 12, 11, 9)],
        {"quick": Candidate(16), "near": Candidate(32)},
    ),
    (
        BenchRow("block 64", "decode", "failed", "why"),
        BenchRow("TG 512", "decode", "unavailable", "it is too large"),
    ),
    DecodePlan("grouped", 256, 2, 8),
    MEANINGLESS,
)


def lines(title: str, table: words.Table) -> Iterator[str]:
    yield from (title, *("\t".join(cells) for cells in (table[0], *table[1])))


def iter_all_lines() -> Iterator[str]:
    for done in BENCHES:
        for title, table in words.families(done):
            yield from lines(title, table)
        yield from words.remarks(done)
        yield from (f"warning: {warning}" for warning in words.warnings(done))
    yield from lines(*words.ranking(TUNING))
    yield from words.tuning_remarks(TUNING)


def test_the_words_are_those_of_the_file(golden: Callable[..., None]) -> None:
    golden("words.txt", "\n".join(iter_all_lines()) + "\n")
