"""How calls are shared out: literal sizes in, literal plans out."""

import mlx.core as mx
import pytest

from tracekit.base.errors import UsageError
from tracekit.ops.attention.metal import Plan, heads_at_once, partitions_for, plan
from tracekit.ops.attention.problem import Problem


def _problem(
    *,
    batch: int = 1,
    q_heads: int = 16,
    kv_heads: int = 8,
    head_dim: int = 128,
    tokens: int = 1024,
    dtype: mx.Dtype = mx.float16,
) -> Problem:
    blocks = tokens // 32
    pages = mx.zeros((batch * blocks, 32, kv_heads, head_dim), dtype)
    return Problem(
        mx.zeros((batch, q_heads, head_dim), dtype),
        pages,
        pages,
        mx.zeros((batch, blocks), mx.int32),
        mx.zeros((max(8, batch),), mx.int32),
    )


def test_a_large_batch_is_not_split() -> None:
    assert plan(_problem(batch=32)) == Plan("grouped", 256, 1, hd_tile=8, heads=2, tokens=4)
    assert plan(_problem(batch=32)).dispatches == 1


def test_a_single_sequence_is_split_in_parts_that_keep_256_tokens() -> None:
    assert plan(_problem(tokens=1024)).partitions == 4
    assert plan(_problem(tokens=1024), longest=300).partitions == 1
    assert plan(_problem(tokens=32768)).partitions == 32
    assert plan(_problem(tokens=1024)).dispatches == 2


@pytest.mark.parametrize(
    ("threadgroups", "longest", "partitions"),
    [(1, 0, 1), (1, 511, 1), (1, 512, 2), (1, 10**6, 64), (128, 4096, 2), (255, 4096, 2),
     (256, 4096, 1), (1000, 10**6, 1)],
)  # fmt: skip
def test_partitions(threadgroups: int, longest: int, partitions: int) -> None:
    assert partitions_for(threadgroups, longest) == partitions


@pytest.mark.parametrize(
    ("group", "hd_tile", "heads"),
    [(1, 8, 1), (8, 8, 8), (9, 8, 5), (16, 8, 8), (11, 8, 6), (4, 16, 4), (5, 16, 3), (8, 16, 4)],
)
def test_heads_are_shared_out_evenly(group: int, hd_tile: int, heads: int) -> None:
    assert heads_at_once(group, hd_tile) == heads


@pytest.mark.parametrize(
    ("sizes", "planned"),  # cores, batch, q heads, tokens; threads, partitions
    [
        # A core for each threadgroup.
        ((132, 16, 8, 1024), (512, 1)),
        ((132, 16, 16, 1024), (512, 1)),
        ((132, 16, 32, 2048), (384, 1)),
        ((132, 16, 64, 2048), (256, 1)),
        # More cores than threadgroups: parts, but none shorter than 256 tokens.
        ((132, 1, 32, 8192), (384, 16)),
        ((132, 1, 32, 2048), (384, 8)),
        ((132, 5, 32, 8192), (384, 3)),
        # More threadgroups than cores.
        ((40, 16, 32, 2048), (384, 1)),
        ((10, 2, 16, 2048), (512, 1)),
        ((10, 2, 64, 2048), (256, 1)),
    ],
)  # fmt: skip
def test_cores_that_are_known_are_filled(
    sizes: tuple[int, int, int, int], planned: tuple[int, int]
) -> None:
    cores, batch, q_heads, tokens = sizes
    how = plan(_problem(batch=batch, q_heads=q_heads, tokens=tokens), cores=cores)
    assert (how.threadgroup, how.partitions) == planned


def test_what_is_asked_for_is_had() -> None:
    how = plan(_problem(), hd_tile=16, threadgroup=512, partitions=3, ahead=True)
    assert (how.hd_tile, how.threadgroup, how.partitions, how.ahead) == (16, 512, 3, True)
    assert not plan(_problem()).ahead
    assert plan(_problem(), kernel="barriers", threadgroup=64).threadgroup == 64
    assert plan(_problem(), kernel="per-head", partitions=1).partitions == 1


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"hd_tile": 32}, "no HD_TILE of 32; there are 8 and 16"),
        ({"threadgroup": 100}, "100 threads cannot be launched"),
        ({"threadgroup": 0}, "0 threads cannot be launched"),
        ({"threadgroup": 2048}, "2048 threads cannot be launched"),
        ({"partitions": 0}, "0 partitions cannot be had"),
        ({"partitions": 65}, "there are 1 to 64"),
        ({"kernel": "per-head", "hd_tile": 8}, '"per-head" has neither tiles'),
        ({"kernel": "barriers", "partitions": 2}, '"barriers" has neither tiles'),
        ({"kernel": "per-head", "ahead": True}, "nor loads ahead"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(asked: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(_problem(), **asked)
    assert sentence in caught.value.message


@pytest.mark.parametrize("kernel", ["grouped", "per-head"])
def test_threadgroup_memory_is_checked_before_metal_refuses(kernel: str) -> None:
    problem = _problem(head_dim=256)
    with pytest.raises(UsageError, match="bytes of threadgroup memory") as caught:
        plan(problem, kernel=kernel, threadgroup=1024)
    most = int(caught.value.hint.split()[3])
    assert plan(problem, kernel=kernel, threadgroup=most).threadgroup == most
