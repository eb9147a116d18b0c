"""Subjects of layers and of training: a wrong one is refused, and the sizes that they state."""

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn

from tracekit.base.errors import ToolError
from tracekit.lab.bench.inputs import Cache, Inputs, Shape
from tracekit.lab.bench.run import SUBJECTS
from tracekit.lab.bench.subjects import elementwise, experts, products
from tracekit.lab.bench.subjects.operation import choose_rows, make_subjects

SHAPE = Shape(
    batch=2, q_heads=4, kv_heads=2, head_dim=64, block_size=16, active_blocks=3, queries=24,
    rows=6, dims=64, out_dims=32, experts=4, top_k=2, dtype="float32",
)  # fmt: skip
INPUTS = Inputs(SHAPE, Cache(1 << 10, "a test"))
BY_NAME = {subject.name: subject for subject in SUBJECTS}
OPERATIONS = [subject for subject in SUBJECTS if subject.suite in {"layers", "training"}]


@pytest.mark.parametrize(
    "name", [name for name in BY_NAME if BY_NAME[name] in OPERATIONS and BY_NAME[name].naive]
)
def test_a_result_that_is_a_little_off_is_not_measured(name: str) -> None:
    family, implementation = BY_NAME[name].prepare.args
    right = implementation.call

    def call(shape: Shape, arrays: tuple[mx.array, ...]) -> tuple[mx.array, ...]:
        *others, last = right(shape, arrays)
        return (*others, last * 1.001)

    (wrong,) = make_subjects(family, [replace(implementation, call=call)])
    with pytest.raises(ToolError, match=f"The result of {name} is off by 0.00"):
        wrong.prepare(INPUTS)


def test_an_expert_that_is_chosen_twice_or_badly_is_an_error() -> None:
    family, implementation = BY_NAME["route-sort"].prepare.args
    arrays = family.draw(SHAPE, 0)
    indices, shares = implementation.call(SHAPE, arrays)
    twice = mx.stack([indices[:, 0], indices[:, 0]], axis=1)
    assert family.measure_error(SHAPE, arrays, (twice, shares)) == float("inf")
    last = 3 * mx.ones_like(indices[:, :1]) - indices[:, :1]  # another expert
    worse = mx.concatenate([last, indices[:, :1]], axis=1)
    assert family.measure_error(SHAPE, arrays, (worse, shares)) > 0.01


def test_packed_integers_are_unpacked_as_mlx_unpacks_them() -> None:
    weight = mx.random.normal((8, 64), key=mx.random.key(4))
    for bits in (2, 4, 8):
        packed = mx.quantize(weight, group_size=32, bits=bits)
        unpacked = products.unpack_weight(*packed, bits=bits)
        theirs = mx.dequantize(*packed, group_size=32, bits=bits)
        assert np.allclose(unpacked, np.array(theirs), atol=1e-6), bits


def test_operations_do_the_work_of_layers_of_mlx() -> None:
    heads, *tables = elementwise.ROPE[0].prepare.args[0].draw(SHAPE, 1)
    rope = nn.RoPE(64)(heads)
    for subject in elementwise.ROPE:
        (rotated,) = subject.prepare.args[1].call(SHAPE, (heads, *tables))
        assert mx.allclose(rotated, rope, atol=1e-5), subject.name
    x, weight, down = products.MLP[0].prepare.args[0].draw(SHAPE, 1)
    activated = nn.silu(x @ weight[:32].T) * (x @ weight[32:].T)
    for subject in products.MLP:
        (output,) = subject.prepare.args[1].call(SHAPE, (x, weight, down))
        assert mx.allclose(output, activated @ down.T, atol=1e-5), subject.name


def test_bytes_and_operations_are_those_of_the_formulas() -> None:
    wanted = {
        # 2 m n k; x, weight and result once
        "matmul": (2 * 6 * 64 * 32, 4 * (6 * 64 + 64 * 32), 4 * 6 * 32),
        # a byte for two weights, and a scale and a bias for 64 of them
        "quantized-matmul": (2 * 6 * 64 * 32, 4 * 6 * 64 + 32 * (32 + 8), 4 * 6 * 32),
        "softmax": (5 * 6 * 64, 4 * 6 * 64, 4 * 6 * 64),
        "rope": (3 * 4 * 24 * 64, 4 * 4 * 24 * 64, 4 * 4 * 24 * 64),
    }
    for name, (flops, unique, written) in wanted.items():
        step = BY_NAME[name].prepare(INPUTS).step
        assert (step.flops, step.bytes_unique, step.bytes_written) == (flops, unique, written), name
    rows = BY_NAME["matmul-rows"].prepare(INPUTS).step
    assert rows.bytes_read == 4 * (6 * 64 + 6 * 64 * 32)


def test_only_experts_that_a_row_chose_are_read() -> None:
    one_row = Inputs(replace(SHAPE, rows=1, experts=32), INPUTS.cache)
    step = experts.EXPERTS[1].prepare(one_row).step
    matrices = 2 * 32 * 64
    other = 64 + 2 + 2 + 2 * 32  # x, indices, shares, products
    assert step.bytes_unique == 4 * (matrices + other)


def test_rows_of_the_check_reach_from_the_first_to_the_last() -> None:
    assert choose_rows(3).tolist() == [0, 1, 2]
    rows = choose_rows(1000)
    assert (len(rows), rows[0], rows[-1]) == (64, 0, 999)
