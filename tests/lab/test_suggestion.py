from dataclasses import replace

import mlx.core as mx
import pytest

from tracekit.base.errors import UsageError
from tracekit.lab.suggestion import DecodeShape, Suggestion, merge_memory, suggest
from tracekit.ops.attention.plan import THREADGROUP_BYTES, plan
from tracekit.ops.attention.problem import draw_problem

SEED = DecodeShape(batch=16, q_heads=16, kv_heads=8, head_dim=128, context=1024, itemsize=2)


def suggested(shape: DecodeShape, cores: int | None = 10) -> dict[str, Suggestion]:
    return {one.name: one for one in suggest(shape, cores)}


def values(shape: DecodeShape, cores: int | None = 10) -> dict[str, int | None]:
    return {one.name: one.value for one in suggest(shape, cores)}


def test_a_shape_has_a_launch() -> None:
    assert values(SEED) == {
        "block_size": 32,
        "hd_tile": 8,
        "heads_together": 2,
        "simdgroups": 8,
        "threadgroup": 256,
        "threadgroup_memory": 8 * (128 + 4) * 4,
        "partitions": 1,
    }


@pytest.mark.parametrize("head_dim", [64, 80, 96, 128, 256])
@pytest.mark.parametrize("q_heads", [2, 16])
@pytest.mark.parametrize("dtype", [mx.float16, mx.float32])
def test_what_is_suggested_the_kernel_can_launch(
    head_dim: int, q_heads: int, dtype: mx.Dtype
) -> None:
    shape = DecodeShape(1, q_heads, 2, head_dim, 512, dtype.size)
    found = values(shape)
    block = found["block_size"]
    assert block is not None
    problem = draw_problem(
        [512],
        q_heads=q_heads,
        kv_heads=2,
        head_dim=head_dim,
        block_size=block,
        max_blocks=512 // block,
        dtype=dtype,
        seed=0,
    )
    launch = plan(
        problem,
        hd_tile=found["hd_tile"],
        threadgroup=found["threadgroup"],
        partitions=found["partitions"],
    )
    assert launch.heads == found["heads_together"]
    assert merge_memory(head_dim, launch.heads, 8) <= THREADGROUP_BYTES


@pytest.mark.parametrize(
    ("context", "block"), [(5, 16), (300, 16), (512, 16), (1024, 32), (1600, 64), (100_000, 64)]
)
def test_longer_contexts_have_larger_blocks(context: int, block: int) -> None:
    assert values(replace(SEED, context=context))["block_size"] == block


def test_a_context_shorter_than_a_block_says_what_it_wastes() -> None:
    why = suggested(replace(SEED, context=5))["block_size"].why
    assert "about 61.5 % of the pool" in why
    assert "more than 2.0 %" in why


@pytest.mark.parametrize(
    ("q_heads", "together", "words"),
    [
        (8, 1, "a kv head of its own"),
        (24, 3, "loaded once for all"),
        (64, 8, "loaded once for all"),
        (128, 8, "loaded 2 times"),
    ],
)
def test_query_heads_share_rows_as_far_as_registers_go(
    q_heads: int, together: int, words: str
) -> None:
    found = suggested(replace(SEED, q_heads=q_heads))["heads_together"]
    assert found.value == together
    assert words in found.why


@pytest.mark.parametrize(
    ("context", "head_dim", "simdgroups", "at_once"),
    [(5, 128, 1, 8), (20, 128, 2, 8), (64, 128, 8, 8), (64, 256, 8, 4), (64, 64, 4, 16)],
)
def test_short_contexts_have_few_simdgroups(
    context: int, head_dim: int, simdgroups: int, at_once: int
) -> None:
    found = suggested(replace(SEED, context=context, head_dim=head_dim))
    assert found["simdgroups"].value == simdgroups
    assert found["threadgroup"].value == simdgroups * 32
    assert f"tokens, {at_once} at a time" in found["simdgroups"].why
    assert ("too little to do" in found["simdgroups"].why) == (simdgroups < 8)


def test_a_lane_loads_sixteen_bytes_at_a_time() -> None:
    assert suggested(SEED)["hd_tile"].why.startswith("one load of 16 bytes")
    assert suggested(replace(SEED, itemsize=4))["hd_tile"].why.startswith("2 loads of 16 bytes")


def test_a_head_that_the_kernel_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="no head size 100"):
        replace(SEED, head_dim=100)


@pytest.mark.parametrize(
    ("batch", "context", "cores", "parts"),
    [(16, 4096, 10, 1), (1, 4096, 10, 10), (1, 4096, 40, 16), (1, 400, 40, 1), (2, 2048, 40, 8)],
)
def test_tokens_are_split_only_where_the_cores_would_be_idle(
    batch: int, context: int, cores: int, parts: int
) -> None:
    shape = replace(SEED, batch=batch, context=context)
    assert values(shape, cores)["partitions"] == parts


def test_without_cores_nobody_knows_whether_to_split() -> None:
    found = suggested(SEED, None)["partitions"]
    assert found.value is None
    assert "depends on the number of GPU cores" in found.why


def test_every_choice_has_its_reason() -> None:
    assert all(one.why.endswith(".") and len(one.why) > 15 for one in suggest(SEED, 10))


@pytest.mark.parametrize("name", ["batch", "q_heads", "kv_heads", "head_dim", "context"])
def test_nothing_of_a_shape_is_nought(name: str) -> None:
    with pytest.raises(UsageError, match=f"The {name} of a shape must be at least 1"):
        replace(SEED, **{name: 0})


def test_heads_must_be_shared_out_evenly() -> None:
    with pytest.raises(UsageError, match="12 q heads cannot be shared out among 8 kv heads"):
        replace(SEED, q_heads=12)
