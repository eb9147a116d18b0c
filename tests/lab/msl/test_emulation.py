"""MLX functions with kernels of their own: traced, and run on this CPU, unmodified."""

import re
from functools import partial
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from small_kernels import EMULATED
from tracekit.base.errors import UsageError
from tracekit.lab.msl.emulation import emulation, generated

pytestmark = EMULATED

TOP = "// first\n"
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "metal-on-a-cpu.md"


def apply(source: str, *inputs: object, size: int, **options: object) -> mx.array:
    """Run one kernel over inputs called a, b, ...; its output is called out."""
    names = {"name": "small", "input_names": list("abcd"[: len(inputs)]), "output_names": ["out"]}
    how = {"ensure_row_contiguous": options.pop("ensure_row_contiguous", True)}
    how["header"] = options.pop("header", "")
    source = f"uint i = thread_position_in_grid.x;\n{source}"
    kernel = mx.fast.metal_kernel(source=source, **how, **names)
    sizes = {"grid": (size, 1, 1), "threadgroup": (32, 1, 1), "output_shapes": [(size,)]}
    dtypes = [options.pop("dtype", mx.float32)]
    return kernel(inputs=list(inputs), output_dtypes=dtypes, **sizes, **options)[0]


def run_two_kernels(x: mx.array) -> mx.array:
    """Double, add 1 by MLX, then sum neighbours: two kernels and an op between."""
    doubled = apply("out[i] = 2 * a[i];", x, size=x.size) + 1
    return apply("out[i] = a[i] + a[(i + 1) % a_shape[0]];", doubled, size=x.size)


def test_a_function_of_two_kernels_runs_unmodified() -> None:
    with emulation() as log:
        output = run_two_kernels(mx.arange(10, dtype=mx.float32))
    assert output.tolist() == [4, 8, 12, 16, 20, 24, 28, 32, 36, 20]
    assert [launch.kernel.file for launch in log] == ["small.metal", "small.metal"]
    assert "out[i] = 2 * a[i];" in log[0].kernel.text


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.int32, mx.uint8])
def test_every_dtype_goes_in_and_out(dtype: mx.Dtype) -> None:
    x = mx.arange(12).astype(dtype)
    with emulation():
        output = apply("out[i] = a[i] * T(2);", x, size=12, dtype=dtype, template=[("T", dtype)])
    assert output.dtype == dtype
    assert output.astype(mx.float32).tolist() == list(range(0, 24, 2))


def test_scalars_and_short_arrays_are_constants() -> None:
    with emulation(checked=True) as log:
        output = apply(
            "out[i] = a[i % 3] + b + c;", mx.array([1.0, 2, 3]), 10, mx.array(0.5), size=9
        )
    assert output.tolist() == [11.5, 12.5, 13.5] * 3
    assert "const constant float* a" in log[0].kernel.text
    assert log[0].statistics.traffic["a"].touched == 12


def test_strides_are_the_arrays_if_it_may_be_strided() -> None:
    x = mx.arange(12, dtype=mx.float32).reshape(3, 4).T
    source = "out[i] = a[elem_to_loc(i, a_shape, a_strides, a_ndim)] + 100 * a[i];"
    with emulation(checked=True):
        strided = apply(source, x, size=12, ensure_row_contiguous=False)
        copied = apply(source, x, size=12)
    rows = np.arange(12).reshape(3, 4).T.reshape(-1)
    assert strided.tolist() == (rows + 100 * np.arange(12)).tolist()
    assert copied.tolist() == (101 * rows).tolist()


def test_an_array_that_runs_backwards_is_refused() -> None:
    with emulation(), pytest.raises(UsageError, match="runs backwards through memory"):
        apply("out[i] = a[i];", mx.arange(9)[::-1], size=9, ensure_row_contiguous=False)


def test_unwritten_elements_are_nan_or_the_initial_value() -> None:
    for initial, unwritten_value in ((None, np.nan), (3.0, 3.0)):
        with emulation():
            output = apply("if (i < 2) out[i] = a[i];", mx.ones(9), size=9, init_value=initial)
        assert np.array_equal(np.array(output), [1, 1, *[unwritten_value] * 7], equal_nan=True)


def test_afterwards_all_is_as_before() -> None:
    original_kernel = mx.fast.metal_kernel
    with emulation() as outer:
        with emulation() as inner:
            run_two_kernels(mx.ones(8))
        run_two_kernels(mx.ones(8))
    assert (len(outer), len(inner)) == (2, 2)
    assert mx.fast.metal_kernel is original_kernel
    if not mx.metal.is_available():
        with pytest.raises(RuntimeError, match="No Metal back-end"):
            run_two_kernels(mx.ones(8))


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(example, {})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "array([0, 2, 4" in printed
    assert "'x': BufferTraffic(loaded=32, stored=0, touched=32" in printed


def double(a: mx.array, **options: object) -> mx.array:
    template = [("T", a.dtype), ("N", -3), ("SAFE", True)]
    return apply("out[i] = a[i] * T(2);", a, size=8, dtype=a.dtype, template=template, **options)


def test_the_text_equals_mlxs_in_c(capfd: pytest.CaptureFixture[str]) -> None:
    (kernel,) = generated(lambda a: double(a, verbose=True), mx.zeros((8,), mx.float16))
    printed = capfd.readouterr().out
    assert "Generated source code for `small`" in printed
    (printed_source,) = re.findall(r"```\n(.*?)\n```", printed, re.DOTALL)
    assert kernel.text == printed_source
    assert generated(double, mx.zeros((8,), mx.float16)) == (kernel,)
    assert capfd.readouterr().out == ""
    assert (kernel.name, kernel.template) == ("small", "float16_t, -3, 1")
    assert kernel.function == "custom_kernel_small__float16_t__3_1_float16_t_float16_t"
    assert f"[[kernel]] void {kernel.function}(" in kernel.text
    assert (kernel.grid, kernel.threadgroup) == ((8, 1, 1), (32, 1, 1))


def test_a_chain_is_listed_in_running_order_with_headers() -> None:
    def chain(a: mx.array) -> mx.array:
        return apply("out[0] = b + a_strides[0];", mx.exp(double(a)), 2.5, size=1, header=TOP)

    first_kernel, second = generated(chain, mx.zeros((8,), mx.float32))
    assert (first_kernel.template, second.template) == ("float, -3, 1", "")
    assert second.text.startswith(TOP)
    assert "const constant float& b [[buffer(2)]]" in second.text
    assert "const constant int64_t* a_strides" in second.text


@pytest.mark.parametrize("name", ["plain", "my__kernel", "to_float", "a_int32_t", "x_1"])
def test_the_users_name_is_found_in_mlxs(name: str) -> None:
    names = {"name": name, "input_names": ["a"], "output_names": ["o"]}
    kernel = mx.fast.metal_kernel(**names, source="o[0] = a[0];")
    sizes = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1), "output_shapes": [(1,)]}
    for template in ([], [("N", 1)], [("T", mx.bfloat16), ("N", -1)]):
        how = {**sizes, "output_dtypes": [mx.complex64], "template": template}
        launch = partial(lambda a, how: kernel(inputs=[a], **how)[0], how=how)
        kernels = generated(launch, mx.zeros((3,), mx.uint8))
        assert [generated_kernel.name for generated_kernel in kernels] == [name], template
