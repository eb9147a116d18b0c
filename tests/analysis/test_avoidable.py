"""Names of kernels, as programs and frameworks give them, that stand for copies and sorts."""

import pytest

from tracekit.analysis.avoidable import Avoidable, avoidable

SORTS = (
    *("asort_desc_f32", "asort_asc_bf16", "kernel_argsort_f32_i32_desc", "kernel_top_k_f32"),
    *("carg_block_sort_float32_uint32_bn512_tn8", "sort_mbsort_float32", "partition_mbsort"),
    *("ArgSort", "ArgPartition", "TopK", "radixSortReorder", "radix_sort_block_sum"),
    *("bitonic_step", "odd_even_sort", "Command Buffer 0:asort_desc_f32"),
)
COPIES = (
    *("g3_copyfloat16bfloat16", "s_copy", "kernel_cpy_f32_f16", "kernel_cpy_q4_0_f32"),
    *("kernel_dup_f32", "kernel_cont", "kernel_concat", "ucopy_f32", "copy2d_f16", "copyBuffer"),
    *("cast_bf16_f32", "cat_int64_float_float", "aten::cat", "AsType", "Contiguous", "transpose2d"),
)
OTHERS = (
    *("steel_gemm_splitk_axpby", "rms_norm_copy", "conv_transpose2d_f32", "ConvTranspose", "vn"),
    *("kernel_flash_attn_ext_f16_dup", "sdpa_vector_2pass_partition", "kernel_soft_max_f32"),
    *("kernel_mul_mm_q4_K_f32", "resort_attention", "sorted_scatter", "assorted", "category"),
    *("contour", "continue", "broadcast", "forecast", "duplex", "topology", "gather", "scatter"),
    *("Compute Command 3", "kernel_set_rows_f32", "E_49152_32_4", "unlabelled", ""),
)


@pytest.mark.parametrize("name", SORTS)
def test_sorts_are_recognized_by_a_word_ending_in_sort(name: str) -> None:
    assert avoidable(name) is Avoidable.SORT


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_recognized_by_a_word_beginning_with_copy(name: str) -> None:
    assert avoidable(name) is Avoidable.COPY


@pytest.mark.parametrize("name", OTHERS)
def test_work_that_computes_is_neither(name: str) -> None:
    assert avoidable(name) is None
