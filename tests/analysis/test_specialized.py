"""Names of MLX's kernels, and what sets a new one off."""

import pytest

from tracekit.analysis.work_names import reasons

OLD = "custom_kernel_paged_decode__float16_t_128_16_4_float16_t_float16_t_int32_t_floats_float16_t"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(("_128_16_", "_128_32_"), ("template value 16 → 32",), id="a value"),
        pytest.param(
            ("_128_16_4_", "_64_32_4_"),
            ("template value 128 → 64", "template value 16 → 32"),
            id="two values",
        ),
        pytest.param(
            ("int32_t_floats", "int32_tc_floats"),
            ("an input of 8 elements or more → fewer than 8 elements",),
            id="a short input",
        ),
        pytest.param(
            ("int32_t_floats", "int32_ts_floats"),
            ("an input of 8 elements or more → a scalar",),
            id="a scalar",
        ),
        pytest.param(
            ("floats_float16_t", "floats_float"), ("dtype float16_t → float",), id="a dtype"
        ),
        pytest.param(("_128_16_4_", "_128_16_4_8_"), ("template value none → 8",), id="one more"),
    ],
)
def test_what_a_new_name_has_that_the_nearest_one_has_not(
    change: tuple[str, str], said: tuple[str, ...]
) -> None:
    far = OLD.replace("128_16_4", "256_64_8").replace("float16_t", "bfloat16_t")
    assert reasons(OLD.replace(*change), [far, OLD, "custom_kernel_norm__float_1"]) == said


@pytest.mark.parametrize(
    ("name", "earlier"),
    [
        pytest.param(OLD, [], id="nothing before"),
        pytest.param(OLD, ["custom_kernel_norm__float_1"], id="no namesake"),
        pytest.param("CompiledMultiply_1234", ["CompiledMultiply_77"], id="another scheme"),
        pytest.param("custom_kernel_dbl_float16_t", ["custom_kernel_dbl_float"], id="no template"),
        pytest.param(OLD, [OLD], id="the same"),
    ],
)
def test_where_names_do_not_tell_nothing_is_said(name: str, earlier: list[str]) -> None:
    assert reasons(name, earlier) == ()
