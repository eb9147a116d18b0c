"""`avoidable-kernels`: copies and sorts by name and share."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals, judged

Make = Callable[..., pd.DataFrame]


def mixed(intervals: Make, name: str, share: int) -> pd.DataFrame:
    """Make work of which that name takes so many percent."""
    return intervals([(0, 100 - share), (200, share)]).assign(label=["steel_gemm", name])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("g3_copyfloat16bfloat16", "layout"),
        ("AsType", "layout"),
        ("Contiguous", "layout"),
        ("carg_block_sort_float32", "argpartition"),
        ("ArgPartition", "argpartition"),
    ],
)
def test_either_kind_is_found_above_a_tenth(name: str, said: str) -> None:
    [finding] = judged("avoidable-kernels", gpu_intervals=mixed(intervals, name, 11))
    assert said in finding.advice
    assert finding.saving == 11
    assert not judged("avoidable-kernels", gpu_intervals=mixed(intervals, name, 10))


@pytest.mark.parametrize("name", ["resort_attention", "steel_gemm_splitk", "rms_norm_copy", "vn"])
def test_what_computes_is_not_avoidable(name: str) -> None:
    assert not judged("avoidable-kernels", gpu_intervals=mixed(intervals, name, 50))
