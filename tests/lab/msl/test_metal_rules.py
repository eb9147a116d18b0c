"""Constructs that Metal refuses and clang's OpenCL accepts, each planted in a kernel."""

import pytest

from tracekit.base.errors import ToolError
from tracekit.lab.msl.lint import Lint, find_clang, lint

pytestmark = pytest.mark.emulator


@pytest.fixture(autouse=True)
def _with_clang() -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)


KERNEL = """\
#include <metal_stdlib>
using namespace metal;
{before}
[[kernel]] void k(device float* o [[buffer(0)]], device bfloat* b [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {{
  {body}
}}
"""


def lint_planted(body: str = "", before: str = "") -> Lint:
    return lint(KERNEL.format(before=before, body=body), "k")


REFUSED = [
    ("bfloat x = o[i]; b[i] = x;", "", "6:14: a float becomes a bfloat"),
    ("b[i] = o[i];", "", "6:10: a float becomes a bfloat"),
    ("bfloat x = b[i]; b[i] = x > bfloat(0) ? x : 0.5f;", "", "6:47: a float becomes a bfloat"),
    ("bfloat x = 0.0; b[i] = x;", "", "6:14: a float becomes a bfloat"),
    ("b[i] = b[i] * 2.f;", "", "6:15: a float becomes a bfloat"),
    ("b[i] = f(o[i]);", "bfloat f(float x) { return x; }", "3:28: a float becomes a bfloat"),
    ("f(o[i]);", "void f(bfloat x) {}", "6:5: a float becomes a bfloat"),
    ("", "float f(const float* p) { return p[0]; }", "3:22: pointer type must have explicit"),
    ("", "void f(float& x) { x = 2; }", "3:15: reference type must have explicit"),
    ("", "void f(float (&to)[4]) { to[0] = 1; }", "3:16: reference type must have explicit"),
    ("", "struct A { float x; void set(float* p) { x = 1; } };", "3:37: pointer type must have"),
    ("", "struct A { float* p; };", "3:19: pointer type must have explicit"),
    ("", "#define REF(T) T& x\nvoid f(REF(float)) { x = 1; }", "4:22: reference type must have"),
    ("f();", "void f() { threadgroup float s[4]; s[0] = 1; }", "3:30: f declares the threadgroup"),
    ("", "threadgroup float s[4];", "3:19: the threadgroup variable 's' is outside"),
    ("again: o[i] += 1; if (o[i] < 3) { goto again; }", "", "6:37: Metal has no goto"),
    ("threadgroup float s[8448]; o[i] = s[i];", "", "4:17: the threadgroup variables of k"),
    ("threadgroup float s[5000]; threadgroup half4 q[2000]; o[i] = s[i];", "", "4:17: the thr"),
    ("static float n; o[i] = n;", "", "6:16: static local variable must"),
    ("double d = 2.0; o[i] = d;", "", "6:3: use of type 'double'"),
]  # fmt: skip
DOUBTED = [
    ("b[i] += o[i];", "", "6:11: a bfloat takes the result of arithmetic in float"),
    ("o[i] = f(3);", "float f(int n) { return n > 0 ? f(n - 1) : 1.0f; }", "3:7: f calls itself"),
    ("", "float g(int);\nvoid f(int n) { g(n); }\nfloat g(int n) { f(n); }", "4:6: f calls itself"),
    (
        "",
        "struct A { float x[4]; thread float& operator[](int i) { return x[i]; } };",
        "3:38: A::operator[] returns `thread T&`",
    ),
    ("", "struct A { virtual float f(); };", "3:12: virtual functions are not"),
    ("thread float* p = new float;", "", "6:21: 'default new' is not supported"),
    ("try { o[i] = 1; } catch (int) {}", "", "6:3: cannot use 'try'"),
    ("", "float f(float a, ...);", "3:7: invalid prototype"),
    ("", "float f(float (*q)(float)) { return q(1.0f); }", "3:16: pointers to functions"),
    ("float v[i]; o[i] = v[0];", "", "6:11: array size is not a constant"),
]


@pytest.mark.parametrize(("body", "before", "said"), REFUSED)
def test_a_construct_that_metal_refuses_is_a_defect(body: str, before: str, said: str) -> None:
    defects = lint_planted(body, before).defects
    words = [f"{defect.line}:{defect.column}: {defect.message}" for defect in defects]
    assert [word for word in words if word.startswith(said)], words


@pytest.mark.parametrize(("body", "before", "said"), DOUBTED)
def test_a_construct_that_some_metal_refuses_is_doubted(body: str, before: str, said: str) -> None:
    result = lint_planted(body, before)
    words = [f"{doubt.line}:{doubt.column}: {doubt.message}" for doubt in result.unknown]
    assert result.defects == ()
    assert [word for word in words if word.startswith(said)], words


def test_constructs_that_look_alike_are_clean() -> None:
    before = """
    struct Box {
      float x[4];
      const thread float& at(int i) const thread { return x[i]; }
      float sum(int n) const { return n > 0 ? x[n] : 0.0f; }
    };
    float sum(thread Box& box, int n) { return box.sum(n); }
    float area(float a) { return a; }
    float area(float a, float b) { return area(a * b); }
    template <int N> float powers(float x) {
      if constexpr (N == 0) { return 1.0f; } else { return x * powers<N - 1>(x); }
    }
    #if __METAL_VERSION__ < 100
    float never(float* p) { goto end; end: return p[0]; }
    #endif
    // float* p; goto end;
    void shift(threadgroup float* s, thread float (&to)[4]) { to[0] = s[0]; }
    constant constexpr float halves[2] = {0.5f, 1.0f};
    static_assert(0.5f * 2.0f == 1.0f, "floats keep their values where they are computed with");
    """
    body = """
    threadgroup float s[8192];
    Box box;
    float to[4];
    shift(s, to);
    const bool wide = o[i] * b[i] > 1.0f;
    half h = o[i];
    bfloat x = bfloat(o[i]);
    b[i] = x * x + bfloat(0.5f);
    o[i] = area(1.0f, 2.0f) + sum(box, 2) + powers<3>(2.0f) + float(x) + x + h + halves[wide];
    """
    assert lint_planted(body, before) == Lint((), ())


TEMPLATE = """\
template <typename T, int N>
[[kernel]] void k(device T* o [[buffer(0)]], device float* a [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  threadgroup T s[N];
  threadgroup float q[100];
  s[i] = VALUE;
  o[i] = s[i] + T(q[0]);
}
"""


@pytest.mark.parametrize(
    ("value", "template", "defects"),
    [
        ("T(a[i])", "bfloat, 4000", []),
        ("a[i]", "half, 4000", []),
        ("a[i]", "bfloat, 4000", ["6:10"]),
        ("T(a[i])", "float, 8092", []),  # 32,368 + 400 bytes are all
        ("T(a[i])", "float, 8096", ["2:17"]),
    ],
)
def test_a_template_is_judged_with_its_arguments(
    value: str, template: str, defects: list[str]
) -> None:
    result = lint(TEMPLATE.replace("VALUE", value), "k", template)
    assert [f"{defect.line}:{defect.column}" for defect in result.defects] == defects
    assert result.unknown == ()


def test_each_instantiation_is_measured_by_itself() -> None:
    def instantiate(*sizes: int) -> str:
        lines = [f"template [[kernel]] decltype(k<float, {n}>) k<float, {n}>;" for n in sizes]
        return TEMPLATE.replace("VALUE", "T(a[i])") + "\n".join(lines)

    assert lint(instantiate(5000, 6000), "k") == Lint((), ())
    (large,) = lint_planted("threadgroup float s[8448]; o[i] = s[i];").defects
    assert large.message.endswith("of k take 33,792 bytes; a threadgroup has 32,768")
    (defect,) = lint(instantiate(5000, 9000), "k").defects
    assert "36,400 bytes" in defect.message
