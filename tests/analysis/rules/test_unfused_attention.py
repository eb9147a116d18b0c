"""`unfused-attention`: products around a softmax, by the names of work."""

import pytest

from analysed import intervals, judged


@pytest.mark.parametrize(
    ("names", "number"),
    [
        (("steel_gemm_nt", "block_softmax_float16", "steel_gemm_nn"), 30),
        (("gemv_t", "Multiply", "Add", "looped_softmax", "gemv", "RMSNorm"), 30),
        (("steel_gemm_nt", "block_softmax", "steel_gemm_nn"), 8),
    ],
)
def test_a_softmax_between_products_is_found(names: tuple[str, ...], number: int) -> None:
    work = intervals([(at * 10, 10) for at in range(number * len(names))])
    [finding] = judged("unfused-attention", gpu_intervals=work.assign(label=names * number))
    assert f"{number:,} times a product, a softmax and a product" in finding.message


@pytest.mark.parametrize(
    ("names", "number"),
    [
        (("steel_gemm_nt", "sdpa_vector_float16", "steel_gemm_nn"), 30),
        (("steel_gemm", "rope", "rms_norm", "add", "mul", "softmax", "steel_gemm"), 30),
        (("steel_gemm_nt", "block_softmax", "steel_gemm_nn"), 7),
        (("softmax_in_attention", "steel_gemm"), 30),
    ],
)
def test_it_is_silent_on(names: tuple[str, ...], number: int) -> None:
    work = intervals([(at * 10, 10) for at in range(number * len(names))])
    assert not judged("unfused-attention", gpu_intervals=work.assign(label=names * number))


def test_it_takes_a_share_of_the_time() -> None:
    names = ("gemm", "softmax", "gemm", "other") * 10
    lengths = (1, 1, 1, 57) * 10
    rows = [(at * 100, length) for at, length in enumerate(lengths)]
    work = intervals(rows).assign(label=names)
    assert not judged("unfused-attention", gpu_intervals=work)
    rows = [(start, length - (length == 57)) for start, length in rows]
    assert not judged("unfused-attention", {"limit": 0.1}, gpu_intervals=work)
    assert judged("unfused-attention", gpu_intervals=intervals(rows).assign(label=names))
