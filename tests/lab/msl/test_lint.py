"""Address spaces, judged by a real clang: what it must find, and what it must not."""

import os
from pathlib import Path

import mlx
import mlx.core as mx
import pytest

from tracekit.base.errors import ToolError
from tracekit.lab.msl.emulation import Generated, generated
from tracekit.lab.msl.lint import Complaint, Lint, excerpt, find_clang, lint

pytestmark = pytest.mark.emulator


@pytest.fixture(autouse=True)
def _with_clang() -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)


TEXT = """\
#include <metal_stdlib>
#include <metal_simdgroup>
using namespace metal;
#define N 4 /* a comment of
   two lines, with « letters » of two bytes */
constant bool wide [[function_constant(0)]];
enum class Kind : uint { X = 1 };
struct Args { int n; float scale; uint4 dims; };
struct Pair {
  float a, b;
  Pair(float x, float y) : a(x), b(y) {}
  float sum() const { return a + b; }
};
template <typename T> struct Sum {
  static constexpr constant T init = T(0);
  T operator()(T a, T b) { return a + b; }
};
constant float table[4] = {1, 2, 3, 4};
constant constexpr float eps = 1e-5f;

template <typename T, typename Op = Sum<T>>
METAL_FUNC T reduce(threadgroup T* buf, uint lid, uint n, Op op = Op()) {
  for (uint s = n / 2; s > 0; s >>= 1) {
    if (lid < s) buf[lid] = op(buf[lid], buf[lid + s]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  return buf[0];
}
inline float gelu(float x) { return 0.5f * x * (1.0f + precise::tanh(0.8f * x * x)); }

[[kernel]] void k(
    device const float4* a [[buffer(0)]],
    device float* out [[buffer(1)]],
    constant Args& args [[buffer(2)]],
    device atomic_uint* counter [[buffer(3)]],
    device atomic<float>* total [[buffer(4)]],
    threadgroup float* shared [[threadgroup(0)]],
    uint tid [[thread_position_in_grid]],
    uint2 position [[thread_position_in_threadgroup]],
    ushort lane [[thread_index_in_simdgroup]],
    uint n [[threads_per_threadgroup]]) {
  threadgroup float buf[256];
  threadgroup atomic_int flag;
  threadgroup float2 pairs[N][2];
  const uint lid = position.x;
  float4 v = a[tid];
  v.xy = v.zw;
  v = fma(v, v, float4(1)) * 2.0f;
  half4 h = half4(v);
  float3 f3 = float3(h.xyz);
  packed_float3 p3 = packed_float3(1, 2, 3);
  float d = dot(v, v) + length(f3) + p3.x;
  uint4 u = uint4(v);
  float s = select(1.0f, 2.0f, any(v > 0)) + clamp(d, 0.0f, 1.0f) + mix(0.f, 1.f, .5f);
  buf[lid] = gelu(s) + table[lid & 3] * eps * args.scale + metal::exp(s) + Sum<float>::init;
  buf[lid] += as_type<float>(u.x) + popcount(u.y) + metal::fast::log(s);
  pairs[0][1] = float2(1, 2);
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  float r = reduce<float>(buf, lid, n);
  Pair q(r, 1.0f);
  Pair w = {1.0f, 2.0f};
  auto twice = [&](float x) { return x * r; };
  r += q.sum() + w.sum() + twice(2.0f) + simd_shuffle_down(r, 1) + simd_broadcast_first(r);
  shared[lid] = r + simd_prefix_exclusive_sum(r);
  atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);
  atomic_fetch_add_explicit(total, r, memory_order_relaxed);
  atomic_store_explicit(&flag, 0, memory_order_relaxed);
  #pragma clang loop unroll(full)
  for (short i = 0; i < N; ++i) { r += i; }
  switch (args.n) { case 0: r = 1; break; default: r = 2; }
  thread float* pr = &r;
  *pr += 1;
  device float* o = out + tid;
  const device char* raw = (const device char*)a;
  device auto& first = *o;
  first += 1 + float(raw[0]) + float(Kind::X) + numeric_limits<float>::infinity() + M_PI_F;
  uchar4 bytes = *(const device uchar4*)raw;
  o[1] = as_type<char>(bytes.x) + max(1, int(tid)) + (isnan(r) ? 1 : 0);
  simdgroup_barrier(mem_flags::mem_none);
  const size_t big = size_t(tid) * 4ul;
  int64_t wide = 4;
  vec<float, 4> four(1.0f);
  float zeros[3] = {0};
  o[2] = float(big + wide) + lane + four.x + zeros[0];
  if (wide) { o[3] = 2; }
  if constexpr (sizeof(float) == 4) { o[3] = 1; }
  static_assert(N == 4, "four");
}
"""


def lint_change(right: str, wrong: str) -> Lint:
    assert TEXT.count(right) == 1
    return lint(TEXT.replace(right, wrong), "k")


def test_much_of_the_language_is_clean() -> None:
    assert lint(TEXT, "k") == Lint((), ())


UNFIT = (
    "59:13: no matching function for call to 'reduce' (candidate function template not viable: "
    "cannot pass pointer to address space 'device' as a pointer to address space 'threadgroup'"
)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("reduce<float>(buf, lid, n)", "reduce<float>(out, lid, n)", UNFIT),
        ("thread float* pr = &r;", "thread float* pr = &buf[0];", "71:17: cannot initialize a"),
        ("device float* o = out + tid;", "device float* o = shared + tid;", "73:17: "),
        ("(const device char*)a", "(const threadgroup char*)a", "74:"),
        ("_explicit(&flag, 0,", "_explicit((device atomic_int*)&flag, 0,", "67:"),
        ("device auto& first = *o;", "device auto& first = buf[0];", "75:"),
        ("pairs[0][1] = float2(1, 2);", "device float2* p = pairs[0];", "57:"),
        ("  float zeros[3]", "  /* é */ double d2 = 2; float zeros[3]", "83:11: use of type"),
        ("zeros[3] = {0};", "zeros[3] = {0}", "83:23: expected ';' at end of declaration"),
    ],
)
def test_a_planted_error_is_found_at_its_place(right: str, wrong: str, said: str) -> None:
    defects = lint_change(right, wrong).defects
    assert f"{defects[0].line}:{defects[0].column}: {defects[0].message}".startswith(said)


@pytest.mark.parametrize(
    ("line", "doubt"),
    [
        ("bool4 b = v > 0;", "cannot initialize a variable"),
        ("ulong e = simd_vote::vote_t(simd_ballot(r > 0));", "default address space"),
        ("vec<float, 2> two = vec<float, 2>(1.0f, 2.0f);", "excess elements"),
        ("r = fast::erfcx(r);", "no member named 'erfcx'"),  # the declarations lack it
    ],
)
def test_differences_between_clang_and_metal_are_not_defects(line: str, doubt: str) -> None:
    lint_result = lint_change("  *pr += 1;", f"  *pr += 1; {line}")
    assert (lint_result.defects, [unknown.line for unknown in lint_result.unknown]) == ((), [72])
    assert doubt in lint_result.unknown[0].message


@pytest.mark.parametrize(
    "comment", ["/* float* z = buf; */ ", '// float* "\n', "// goes on \\\n  float* z = buf;\n"]
)
def test_comments_and_strings_are_not_code(comment: str) -> None:
    assert lint_change("  *pr += 1;", f"  {comment}*pr += 1;") == Lint((), ())


def test_the_excerpt_puts_a_caret_below_the_place() -> None:
    text = "a\n\tfoo(é, bar);\n"
    assert list(excerpt(text, [Complaint(2, 8, "no bar")])) == [
        "2:8: no bar",
        "  \tfoo(é, bar);",
        "  \t      ^",
    ]
    assert list(excerpt(text, [Complaint(9, 1, "no such line")])) == ["9:1: no such line"]


def _generate_kernel(size: int, body: str) -> Generated:
    kernel = mx.fast.metal_kernel(
        name="k", input_names=["a", "lens"], output_names=["o"], source=body
    )
    arrays = (mx.zeros((64,), mx.float16), mx.zeros((size,), mx.int32))
    sizes = {"grid": (64, 1, 1), "threadgroup": (64, 1, 1)}
    shapes = {"output_shapes": [(64,)], "output_dtypes": [mx.float16]}
    (generated_kernel,) = generated(
        lambda *arrays: kernel(inputs=list(arrays), **sizes, **shapes)[0], *arrays
    )
    return generated_kernel


@pytest.mark.parametrize(("size", "defects"), [(7, 1), (8, 0)])
def test_the_trap_of_seven_elements_is_found(size: int, defects: int) -> None:
    """MLX binds fewer than 8 elements as constants: the same body compiles for 8 and not for 7."""
    kernel = _generate_kernel(size, "const device int* l = lens; o[l[0]] = a[0];")
    lint_result = lint(kernel.text, kernel.function, kernel.template)
    assert len(lint_result.defects) == defects
    assert lint_result.unknown == ()


KERNELS = Path(next(iter(mlx.__path__))) / "include/mlx/backend/metal/kernels"


def test_mlxs_own_kernels_are_clean() -> None:
    text, function = (KERNELS / "sdpa_vector.h").read_text(), "sdpa_vector_2pass_1_gqa"
    assert lint(text, "sdpa_vector", "float16_t, 128") == Lint((), ())
    assert lint(text, function, "float, 128, 128, 8, 4") == Lint((), ())
    position = text.index("typedef float U;", text.index(f"void {function}("))
    bad = text[:position] + "const device int* z = &blocks; " + text[position:]
    (defect, *_) = lint(bad, function, "float, 128, 128, 8, 4").defects
    assert defect.line == text[:position].count("\n") + 1
    assert "const device int *thread" in defect.message


def test_an_unsuitable_clang_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, program in {
        "clang": "echo 'error: unable to create target: spir64' >&2; exit 1",
        "clang-19": "exit 0",
        "clang-18": "sleep 0; echo '<kernel>:1:1: error: no such thing' >&2; exit 1",
    }.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n/bin/cat > /dev/null\n{program}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError) as caught:
        find_clang()
    assert "clang: " in caught.value.message
    assert "unable to create target" in caught.value.message
    assert "clang-19: it accepts a device pointer to threadgroup memory" in caught.value.message
    assert "clang-18: no such thing" in caught.value.message


JUDGES = """#!/bin/sh
if /bin/grep -q 'a = b'; then echo '<kernel>:1:1: error: of two spaces' >&2; exit 1; fi
"""


def test_a_clang_that_was_replaced_or_removed_is_not_the_one_that_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "clang"
    file.write_text(JUDGES)
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_clang() == str(file)
    file.write_text("#!/bin/sh\nexit 0\n")
    os.utime(file, ns=(1, 1))
    with pytest.raises(ToolError, match="it accepts a device pointer"):
        find_clang()
    file.unlink()
    with pytest.raises(ToolError, match="There is no clang here"):
        find_clang()


SLOW = """#!/bin/sh
if [ -e slow ]; then exec /bin/sleep 600; fi
text=$(/bin/cat)
case "$*$text" in
  *"a = b"*) echo '<kernel>:1:1: error: of two spaces' >&2; exit 1 ;;
  *x86_64-linux-gnu*"device bfloat* b) { b[0] = a[0]; }"*)
    echo "<kernel>:1:60: warning: implicit conversion loses precision: 'float' to '__bf16'" >&2 ;;
esac
"""


def test_a_slow_probe_is_forgotten_and_the_next_one_judges_bfloats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "clang"
    file.write_text(SLOW)
    file.chmod(0o755)
    (tmp_path / "slow").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with monkeypatch.context() as hurry:
        hurry.setattr("tracekit.lab.msl.compiler._PATIENCE", 0.2)
        with pytest.raises(ToolError, match=r"took more than 0\.2 s"):
            find_clang()
    (tmp_path / "slow").unlink()
    assert find_clang() == str(file)
    text = "void f(device float* a, device bfloat* b) { b[0] = a[0]; }"
    (defect,) = lint(text, "f").defects
    assert defect.message.startswith("a float becomes a bfloat without a conversion")
