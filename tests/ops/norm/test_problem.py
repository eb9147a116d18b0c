import mlx.core as mx
import pytest

from tracekit.base.errors import UsageError
from tracekit.ops.norm import NormProblem


@pytest.mark.parametrize(
    ("x", "gain", "weight", "sentence"),
    [
        ((2, 8), (8,), (3, 9), r"weight must be \[outputs, dims\].* \[3, 9\]"),
        ((2, 8), (7,), (3, 8), r"gain must be \[dims\].* \[7\]"),
        ((8,), (8,), (3, 8), r"x must be \[rows, dims\]"),
        ((2, 8), (1, 8), (3, 8), r"gain must be \[dims\]"),
        ((2, 8), (8,), (0, 8), r"weight must be \[outputs, dims\], none of them 0"),
    ],
)
def test_arrays_that_do_not_fit_are_one_sentence(
    x: tuple[int, ...], gain: tuple[int, ...], weight: tuple[int, ...], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        NormProblem(mx.zeros(x), mx.zeros(gain), mx.zeros(weight))


def test_all_arrays_have_one_floating_type() -> None:
    with pytest.raises(UsageError, match="must all be float16"):
        NormProblem(mx.zeros((2, 8)), mx.zeros(8, mx.float16), mx.zeros((3, 8)))
    with pytest.raises(UsageError, match="must all be float16"):
        NormProblem(*(mx.zeros(shape, mx.int32) for shape in ((2, 8), (8,), (3, 8))))


@pytest.mark.parametrize("eps", [-1e-5, float("nan"), float("inf")])
def test_eps_is_a_number_of_at_least_nought(eps: float) -> None:
    with pytest.raises(UsageError, match="eps must be"):
        NormProblem(mx.zeros((2, 8)), mx.zeros(8), mx.zeros((3, 8)), eps)
