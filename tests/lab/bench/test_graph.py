"""The transposes of a call: literal graphs of MLX, and the words about them."""

import mlx.core as mx

from tracekit.lab.bench.document import BenchRow, GraphTranspose
from tracekit.lab.bench.graph import list_transposes
from tracekit.lab.bench.words import _transpose_remarks


def test_transposes_have_their_place_length_and_reader() -> None:
    weight = mx.ones((3, 4))
    x = mx.ones((2, 4))
    mx.eval(weight, x)  # else the graph has the operations that make them

    def apply() -> list[tuple[mx.array, mx.array]]:
        unused = mx.exp(weight).T
        assert unused.shape == (4, 3)
        return [(mx.exp(x) @ weight.T, x.T)]

    product, result = list_transposes(apply)
    assert (product.shape, product.elements, product.reader) == ((4, 3), 12, "Matmul")
    assert (result.shape, result.elements, result.reader) == ((4, 2), 8, "the result")
    assert (product.place, result.place, result.operations) == (2, 4, 4)


def test_a_call_without_transposes_has_none() -> None:
    x = mx.ones((2, 4))
    assert list_transposes(lambda: x * 2) == ()


def test_transposes_are_compared_with_the_fewest_of_the_family() -> None:
    step = GraphTranspose(2, 9, (2, 3), 6, "Matmul")
    rows = [
        BenchRow("wide", "norm", "measured", transposes=(step, step)),
        BenchRow("short", "norm", "measured", transposes=(step,)),
        BenchRow("unknown", "norm", "measured"),
        BenchRow("other", "rope", "measured", transposes=()),
    ]
    words = "operation 2 of 9, 2 x 3 = 6 elements, read by Matmul"
    assert list(_transpose_remarks(rows)) == [
        f"wide, transposes of a call: 2, 1 more than short: {words}; {words}.",
        f"short, transposes of a call: 1: {words}.",
        "other, transposes of a call: 0.",
    ]
