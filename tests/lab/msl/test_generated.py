"""What MLX would compile, read from a trace of the function that calls the kernel."""

import re

import mlx.core as mx
import pytest

from tracekit.lab.msl.emulation import generated

DOUBLE = "uint i = thread_position_in_grid.x; o[i] = a[i] * T(2);"
SUM = "o[0] = a[0] + b; p[0] = a_strides[0];"
double = mx.fast.metal_kernel(name="dbl", input_names=["a"], output_names=["o"], source=DOUBLE)
total = mx.fast.metal_kernel(
    name="sum", input_names=["a", "b"], output_names=["o", "p"], source=SUM, header="// first\n"
)


def _double(a: mx.array, *, verbose: bool = False) -> mx.array:
    (out,) = double(
        inputs=[a],
        template=[("T", a.dtype), ("N", -3), ("SAFE", True)],
        grid=(8, 2, 1),
        threadgroup=(4, 1, 1),
        output_shapes=[a.shape],
        output_dtypes=[a.dtype],
        verbose=verbose,
    )
    return out


def _total(a: mx.array) -> mx.array:
    out, strides = total(
        inputs=[a, 2.5],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        output_shapes=[(1,), (1,)],
        output_dtypes=[a.dtype, mx.int32],
    )
    return out + strides


def test_the_text_is_what_mlx_prints_from_c(capfd: pytest.CaptureFixture[str]) -> None:
    def loud(a: mx.array) -> mx.array:
        return _double(a, verbose=True)

    (kernel,) = generated(loud, mx.zeros((8,), mx.float16))
    printed = capfd.readouterr().out
    assert "Generated source code for `dbl`" in printed
    (between,) = re.findall(r"```\n(.*?)\n```", printed, re.DOTALL)
    assert kernel.text == between
    assert generated(_double, mx.zeros((8,), mx.float16)) == (kernel,)
    assert capfd.readouterr().out == ""


def test_a_kernel_is_told_with_its_name_template_and_sizes() -> None:
    (kernel,) = generated(_double, mx.zeros((8,), mx.float16))
    assert kernel.name == "dbl"
    assert kernel.function == "custom_kernel_dbl__float16_t__3_1_float16_t_float16_t"
    assert kernel.template == "float16_t, -3, 1"
    assert f"[[kernel]] void {kernel.function}(" in kernel.text
    assert (kernel.grid, kernel.threadgroup) == ((8, 2, 1), (4, 1, 1))


def test_a_chain_is_told_in_running_order_with_headers() -> None:
    one, two = generated(lambda a: _total(mx.exp(_double(a))), mx.zeros((8,), mx.float32))
    assert (one.name, two.name) == ("dbl", "sum")
    assert two.template == ""
    assert two.text.startswith("// first\n")
    assert "const constant float& b [[buffer(2)]]" in two.text
    assert "const constant int64_t* a_strides" in two.text


@pytest.mark.parametrize("name", ["plain", "my__kernel", "to_float", "a_int32_t", "x_1"])
@pytest.mark.parametrize("template", [[], [("N", 1)], [("T", mx.bfloat16), ("N", -1)]], ids=str)
def test_the_users_name_is_found_in_mlxs(name: str, template: list[tuple[str, object]]) -> None:
    kernel = mx.fast.metal_kernel(
        name=name, input_names=["a"], output_names=["o"], source="o[0] = a[0];"
    )

    def launch(a: mx.array) -> mx.array:
        return kernel(
            inputs=[a],
            template=template,
            grid=(1, 1, 1),
            threadgroup=(1, 1, 1),
            output_shapes=[(1,)],
            output_dtypes=[mx.complex64],
        )[0]

    assert [one.name for one in generated(launch, mx.zeros((3,), mx.uint8))] == [name]
