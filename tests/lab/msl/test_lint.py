"""Address spaces, judged by a real clang: what it must find, and what it must not."""

import re
from pathlib import Path

import mlx
import mlx.core as mx
import pytest

from tracekit.base.errors import ToolError
from tracekit.lab.msl.emulation import Generated, generated
from tracekit.lab.msl.lint import Complaint, Lint, excerpt, find_clang, lint

pytestmark = pytest.mark.emulator


def _clang() -> str:
    try:
        return find_clang()
    except ToolError as error:
        return pytest.skip(error.message)


@pytest.fixture(autouse=True, scope="module")
def _with_clang(request: pytest.FixtureRequest) -> None:
    _clang()


GOOD = """\
#include <metal_stdlib>
using namespace metal;
/* a comment of
   two lines, with « letters » of two bytes */
constant bool wide [[function_constant(0)]];
constant constexpr int LANES = 32;

template <typename T, int D>
[[kernel]] void scale(
    const device T* in [[buffer(0)]],
    device T* out [[buffer(1)]],
    const constant int& n [[buffer(2)]],
    uint lane [[thread_index_in_simdgroup]],
    uint3 group [[threadgroup_position_in_grid]]) {
  threadgroup float sums[D / LANES], total;
  float mine[D / LANES] = {0};
  const device T* from = in + group.x * D;
  for (int i = lane; i < n; i += LANES) {
    mine[i / LANES] = fast::exp(float(from[i])) + 1.0;
  }
  sums[0] = simd_sum(mine[0]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (wide) {
    float4 four = float4(sums[0], 1, 2, 3) * total;
    out[group.x] = T(max(four.x, four.yz.y));
  }
}
"""


def _messages(text: str, function: str = "scale", template: str = "float16_t, 64") -> list[str]:
    return [
        f"{one.line}:{one.column}: {one.message}" for one in lint(text, function, template).defects
    ]


@pytest.mark.parametrize("template", ["float16_t, 64", "bfloat16_t, 128", "float, 64", "half, 96"])
def test_a_good_kernel_is_clean(template: str) -> None:
    found = lint(GOOD, "scale", template)
    assert found == Lint((), ())


PLANTED = {
    "threadgroup memory is not device memory": (
        "  sums[0] = simd_sum(mine[0]);",
        "  device float* z = sums;",
        (
            "21:17: cannot initialize a variable of type 'device float *thread' with an lvalue of "
            "type 'threadgroup float[2]'"
        ),
    ),
    "there is no double": (
        "  if (wide) {",
        "  double d = 2; if (wide) {",
        "23:3: use of type 'double' requires cl_khr_fp64 and __opencl_c_fp64 support",
    ),
    "a semicolon is missing": (
        "  float mine[D / LANES] = {0};",
        "  float mine[D / LANES] = {0}",
        "16:30: expected ';' at end of declaration",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_found_at_its_place(name: str) -> None:
    good, bad, message = PLANTED[name]
    assert good in GOOD
    assert message in _messages(GOOD.replace(good, bad))


def test_a_wrong_argument_says_which() -> None:
    head = "template <typename T, int D>"
    helper = "inline float first(threadgroup const float* a) { return a[0]; }"
    bad = GOOD.replace(head, f"{helper}\n{head}")
    assert _messages(bad) == []
    (message,) = _messages(bad.replace("fast::exp(float(from[i]))", "first(mine)"))
    assert message.startswith("20:23: no matching function for call to 'first' (candidate")
    assert "no known conversion from 'thread float[2]' to 'const threadgroup float *" in message


def test_a_name_that_the_declarations_lack_is_no_defect() -> None:
    found = lint(GOOD.replace("fast::exp(", "fast::erfcx("), "scale", "float, 64")
    assert found.defects == ()
    assert [(one.line, "erfcx" in one.message) for one in found.unknown] == [(19, True)]


def test_what_stands_in_comments_and_strings_is_no_code() -> None:
    text = GOOD.replace("  if (wide) {", '  /* device float* z = sums; */ if (wide) { // float* "')
    assert _messages(text) == []
    text = GOOD.replace(
        "  if (wide) {", "  // goes on \\\n  device float* z = sums;\n  if (wide) {"
    )
    assert _messages(text) == []


def test_the_excerpt_puts_a_caret_below_the_place() -> None:
    text = "a\n\tfoo(é, bar);\n"
    assert list(excerpt(text, [Complaint(2, 9, "no bar")])) == [
        "2:9: no bar",
        "  \tfoo(é, bar);",
        "  \t      ^",
    ]
    assert list(excerpt(text, [Complaint(9, 1, "no such line")])) == ["9:1: no such line"]


def _generated(size: int, body: str, header: str = "") -> Generated:
    kernel = mx.fast.metal_kernel(
        name="k", input_names=["a", "lens"], output_names=["o"], source=body, header=header
    )
    arrays = (mx.zeros((64,), mx.float16), mx.zeros((size,), mx.int32))
    (found,) = generated(
        lambda a, lens: kernel(
            inputs=[a, lens],
            template=[("T", a.dtype)],
            grid=(64, 1, 1),
            threadgroup=(64, 1, 1),
            output_shapes=[a.shape],
            output_dtypes=[a.dtype],
        )[0],
        *arrays,
    )
    return found


@pytest.mark.parametrize(("size", "defects"), [(7, 1), (8, 0)])
def test_the_trap_of_seven_elements_is_found(size: int, defects: int) -> None:
    """MLX binds fewer than 8 elements as constants: the same body compiles for 8 and not for 7."""
    kernel = _generated(size, "const device int* l = lens; o[l[0]] = a[0];")
    found = lint(kernel.text, kernel.function, kernel.template)
    assert len(found.defects) == defects
    assert found.unknown == ()


KERNELS = Path(next(iter(mlx.__path__))) / "include/mlx/backend/metal/kernels"


@pytest.mark.parametrize(
    ("function", "template"),
    [
        ("sdpa_vector", "float16_t, 128"),
        ("sdpa_vector_2pass_1_gqa", "float, 128, 128, 8, 4"),
    ],
)
def test_mlxs_own_kernels_are_clean(function: str, template: str) -> None:
    text = (KERNELS / "sdpa_vector.h").read_text()
    assert lint(text, function, template) == Lint((), ())
    (line,) = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(rf"\bvoid {function}\(", line)
    ]
    at = text.index("typedef float U;", text.index(f"void {function}("))
    bad = text[:at] + "const device int* z = &blocks; " + text[at:]
    (one, *_) = lint(bad, function, template).defects
    assert one.line > line
    assert "const device int *thread" in one.message


def test_a_clang_that_cannot_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, program in {
        "clang": "echo 'error: unable to create target: spir64' >&2; exit 1",
        "clang-19": "exit 0",
        "clang-18": "sleep 0; echo '<kernel>:1:1: error: no such thing' >&2; exit 1",
    }.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n/bin/cat > /dev/null\n{program}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    find_clang.cache_clear()
    with pytest.raises(ToolError) as told:
        find_clang()
    assert "clang: " in told.value.message
    assert "unable to create target" in told.value.message
    assert "clang-19: it accepts a device pointer to threadgroup memory" in told.value.message
    assert "clang-18: no such thing" in told.value.message


@pytest.fixture(autouse=True)
def _fresh() -> None:
    find_clang.cache_clear()
