from dataclasses import replace

import pytest

from tracekit.errors import UsageError
from tracekit.tuning import THREADGROUP_MEMORY, Choice, Shape, merge_memory, suggest

SEED = Shape(batch=16, q_heads=16, kv_heads=8, head_dim=128, context=1024, itemsize=2)


def suggested(shape: Shape, cores: int | None = 10) -> dict[str, Choice]:
    return {one.name: one for one in suggest(shape, cores)}


def values(shape: Shape, cores: int | None = 10) -> dict[str, int | None]:
    return {one.name: one.value for one in suggest(shape, cores)}


def test_a_shape_has_a_geometry() -> None:
    assert values(SEED) == {
        "block_size": 32,
        "heads_together": 2,
        "simdgroups": 8,
        "threadgroup": 256,
        "threadgroup_memory": 8 * 2 * 130 * 4,
        "hd_tile": 8,
        "partitions": 1,
    }


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
        (32, 4, "loaded once for all"),
        (64, 4, "loaded 2 times"),
        (56, 1, "loaded 7 times"),
    ],
)
def test_query_heads_share_rows_as_far_as_registers_go(
    q_heads: int, together: int, words: str
) -> None:
    found = suggested(replace(SEED, q_heads=q_heads))["heads_together"]
    assert found.value == together
    assert words in found.why


def test_the_merge_fits_into_a_threadgroups_memory() -> None:
    found = suggested(replace(SEED, q_heads=32, head_dim=256))
    assert found["simdgroups"].value == 4
    assert "8 would need 32.2 KiB of 32 KiB to merge" in found["simdgroups"].why
    assert found["threadgroup"].value == 128
    assert found["threadgroup_memory"].value == merge_memory(256, 4, 4) <= THREADGROUP_MEMORY


def test_a_head_that_no_threadgroup_can_merge_is_refused() -> None:
    with pytest.raises(UsageError, match="32 KiB of a threadgroup's memory"):
        suggest(replace(SEED, q_heads=32, head_dim=3000), 10)


def test_short_contexts_have_few_simdgroups() -> None:
    found = suggested(replace(SEED, context=5))["simdgroups"]
    assert found.value == 1
    assert "2 would have nothing to do" in found.why


@pytest.mark.parametrize(
    ("head_dim", "itemsize", "tile"),
    [(128, 2, 8), (128, 4, 4), (80, 2, 8), (100, 2, 5), (96, 4, 4)],
)
def test_a_lane_loads_sixteen_bytes_where_they_divide_a_head(
    head_dim: int, itemsize: int, tile: int
) -> None:
    found = suggested(replace(SEED, head_dim=head_dim, itemsize=itemsize))["hd_tile"]
    assert found.value == tile
    assert ("do not divide" in found.why) == (tile * itemsize < 16)


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
