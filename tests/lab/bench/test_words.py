"""What a person reads of a bench."""

import pytest

from tracekit.lab.bench.document import Bench, Comparison, Row, Timing, summarize
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.words import families, remarks, times_words, warnings
from tracekit.lab.metal_queue import Dispatch

SHAPE = Shape()
HOST_ONLY = "GPU time is not available, because MLX runs on the CPU here."


def timing(*samples: float) -> Timing:
    return Timing(samples, 1, summarize(samples))


def row(name: str, **known: object) -> Row:
    times = timing(*[2e6] * 9)
    values = {"micro": times, "macro": times, "residence": "memory", "no_gpu": HOST_ONLY, **known}
    return Row(name, str(values.pop("family", "decode")), "measured", **values)  # type: ignore[arg-type]


def bench(*rows: Row, against: str | None = None) -> Bench:
    environment = {"cache": 32 << 20, "cache_known_from": "this system does not tell"}
    return Bench(environment, SHAPE, {"against": against}, rows)


def test_a_table_names_its_clock_and_has_a_row_for_each_subject() -> None:
    naive = Comparison("naive", 2.5, 2.25, 2.75, 9)
    done = bench(
        row("paged", tokens=16, bytes_unique=4_000_000, error=1.5e-4, speed_up=naive, sets=2),
        row("naive", tokens=16),
    )
    ((title, (head, rows)),) = families(done)
    assert title.startswith("decode: 16 sequences of 1024 tokens, 16 q heads, 8 kv heads of 128")
    assert head == (
        *("subject", "call, host clock", "MAD", "p95", "tokens/s", "GB/s", "error"),
        "x naive",
    )
    assert rows[0] == (
        *("paged", "2 ms", "0 ns", "2 ms", "8,000", "2", "1.5e-04"),
        "2.50 (2.25 to 2.75)",
    )
    assert rows[1][-2:] == ("", "")


def test_gpu_time_has_a_column_only_where_there_is_one() -> None:
    dispatch = Dispatch("decode", (1e5,), 1e5, 1e5, 32, 1024, 2176)
    done = bench(row("paged", kernel="grouped", dispatches=(dispatch, dispatch), no_gpu=""))
    ((_, (head, rows)),) = families(done)
    assert head[4] == "GPU time"
    assert rows[0][0] == "paged (grouped)"
    assert rows[0][4] == "200 µs"
    said = list(remarks(done))
    assert said[0].startswith("GPU time is of the kernels alone")
    assert said[1] == (
        "paged: decode takes 100 µs of the GPU; simdgroups of 32, at most 1024 threads in a "
        "threadgroup, 2.12 KiB of its memory."
    )


def test_the_clock_is_said_in_a_sentence() -> None:
    assert next(remarks(bench(row("paged")))) == (
        f"All times are by the host's clock. {HOST_ONLY} Medians and MAD; percentiles linear "
        "between ranks."
    )


def test_inputs_that_fit_a_cache_are_said_to() -> None:
    done = bench(row("paged", residence="cache", working_set=1 << 20), row("sdpa"))
    assert (
        "cache-resident: paged. Their inputs take at most 1 MiB, and the last cache holds "
        "32 MiB: this is no bandwidth of memory."
    ) in list(remarks(done))


def test_inputs_that_may_fit_a_cache_are_said_to_be_unknown() -> None:
    done = bench(row("paged", residence="unknown"))
    said = "Whether caches served paged is not known: this system does not tell."
    assert said in list(remarks(done))


def test_calls_that_may_overlap_are_said_to() -> None:
    done = bench(row("norm-fused", family="norm", chained=False), row("norm-separate"))
    said = "norm-fused: calls of a chain do not wait for each other, and may overlap."
    assert said in list(remarks(done))
    assert not [one for one in remarks(bench(row("paged"))) if "overlap" in one]


def test_few_samples_are_said_to_be_few() -> None:
    done = bench(row("flash", micro=timing(1.0, 2.0)), row("sdpa"))
    assert "flash: 6 samples or fewer; a larger --budget takes more." in list(remarks(done))


def test_what_is_not_there_is_said_and_is_no_warning() -> None:
    done = bench(Row("norm-fused", "norm", "unavailable", "it needs Metal"))
    assert "norm-fused is not available here: it needs Metal." in list(remarks(done))
    assert list(warnings(done)) == []
    assert list(families(done)) == []


def test_failures_are_warnings_and_interrupts_are_not() -> None:
    done = bench(
        Row("broken", "decode", "failed", "ValueError: no"),
        Row("cut", "decode", "partial", "the bench was interrupted"),
    )
    assert list(warnings(done)) == ["broken failed: ValueError: no"]


def test_a_missing_ratio_has_its_reason() -> None:
    done = bench(row("paged", against=Comparison("sdpa", reason="sdpa was not measured")))
    assert list(warnings(done)) == ["paged has no ratio: sdpa was not measured."]


def test_other_families_are_said_to_have_no_ratio() -> None:
    done = bench(row("sdpa"), row("norm-separate", family="norm"), against="sdpa")
    said = "sdpa is compared with those of its family only; the others do other work."
    assert said in list(remarks(done))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, ""),
        (Comparison("naive", reason="why"), ""),
        (Comparison("naive", 2.0, None, None, 5), "2.00 (5 pairs: no interval)"),
        (Comparison("naive", 0.5, 0.25, 1.0, 8), "0.50 (0.25 to 1.00)"),
    ],
)
def test_a_ratio_comes_with_its_interval(found: Comparison | None, words: str) -> None:
    assert times_words(found) == words


@pytest.mark.parametrize(
    ("family", "begins"),
    [
        ("prefill", "prefill: 512 tokens, 16 q heads"),
        ("norm", "norm: 16 rows, 2048 to 2048 elements"),
        ("append", "append: 16 tokens a call, 16 q heads"),
    ],
)
def test_each_family_has_a_title_of_its_sizes(family: str, begins: str) -> None:
    ((title, _),) = families(bench(row("one", family=family, tokens=16)))
    assert title.startswith(begins)


def test_one_of_a_thing_is_not_several() -> None:
    one = Shape(batch=1, q_heads=1, kv_heads=1, active_blocks=1, block_size=1)
    ((title, _),) = families(Bench({}, one, {}, (row("paged"),)))
    assert title.startswith("decode: 1 sequence of 1 token, 1 q head, 1 kv head of 128, blocks of")
