"""What public kernels hold that C++ has not: conditions, macros, overloads by address space."""

from typing import Any

import numpy as np
import pytest

from small_kernels import compiled, needs_compiler, one_output, run
from tracekit.base.errors import KernelError, UsageError
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import Kernel

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

BOTH = pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
ONE: dict[str, Any] = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1)}
FOUR = np.array([1, 2, 3, 4], np.float32)


def _first(kernel: Kernel) -> float:
    out = np.zeros(1, np.float32)
    compile_kernel(kernel).run({"out": out}, **ONE)
    return float(out[0])


def test_what_a_condition_leaves_out_is_not_judged() -> None:
    before = """
#if __METAL_VERSION__ >= 400 || defined(MODERN)
#include <metal_tensor>
texture2d<float> t;
constant float one [[surprising]] = 2;
#else
constant float one = 1;
#endif
"""
    assert one_output("out[i] = one;", FOUR, before=before).tolist() == [1, 1, 1, 1]
    with pytest.raises(UsageError, match=r"k\.metal:4:1: textures cannot"):
        compiled("", "device float* out", before=f"#define MODERN{before}")


def test_kernels_and_instances_that_macros_make_are_found() -> None:
    text = """
#define KERNEL(NAME, VALUE) \\
  [[kernel]] void NAME(device float* out [[buffer(0)]]) { out[0] = VALUE; }
KERNEL(two, 2)
KERNEL(three, 3)
#define SIZES 5, 6
template <int A, int B> kernel void sum(device float* out) { out[0] = A + B; }
typedef decltype(sum<SIZES>) sum_t;
template [[host_name("sum_of_sizes")]] kernel sum_t sum<SIZES>;
#undef SIZES
#define instantiate(name, func, ...) \\
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;
#define instantiate_by(n) instantiate("sum_by_" #n, sum, 10, n)
instantiate_by(7)
"""
    names = {"two": 2, "three": 3, "sum_of_sizes": 11, "sum_by_7": 17}
    assert {name: _first(Kernel(text, name)) for name in names} == names
    with pytest.raises(UsageError, match="has no kernel function 'four'"):
        compile_kernel(Kernel(text, "four"))


def test_function_constants_may_be_numbered_by_macros() -> None:
    text = """
#define GROUP 40
#define FIRST (GROUP + 1)
static constant int size [[function_constant(FIRST + 2)]];
kernel void k(device float* out) { out[0] = size; }"""
    assert _first(Kernel(text, "k", constants={43: 7})) == 7
    with pytest.raises(UsageError, match=r"no value: 43 \(size\)"):
        compile_kernel(Kernel(text, "k"))
    with pytest.raises(UsageError, match="the index of a function constant, 'NIX', is no number"):
        compile_kernel(Kernel(text.replace("FIRST + 2", "NIX"), "k"))


def test_a_constant_that_only_another_kernel_needs_is_not_asked_for() -> None:
    text = """
constant int size [[function_constant(0)]];
kernel void other(device float* out) { out[0] = size; }
kernel void k(device float* out) { out[0] = 5; }"""
    assert _first(Kernel(text, "k")) == 5
    with pytest.raises(UsageError, match=r"no value: 0 \(size\)"):
        compile_kernel(Kernel(text, "other"))


def test_functions_of_one_form_with_two_bodies_stay_two() -> None:
    before = "float f(thread float& a) { return a; }\nfloat f(device float& a) { return -a; }\n"
    with pytest.raises(KernelError, match="redefinition"):
        compiled("out[0] = 1;", "device float* out", before=before)


@BOTH
def test_a_text_may_add_to_metals_namespace(checked: bool) -> None:
    text = """
#include <metal_stdlib>
namespace metal {
METAL_FUNC bfloat exp(bfloat x) { return bfloat(__metal_exp(float(x), __METAL_MAYBE_FAST_MATH__)); }
namespace fast { METAL_FUNC bfloat log(bfloat x) { return bfloat(7.0f); } }
struct mine { static constexpr constant int value = VALUE; };
}
using namespace metal;
kernel void k(device float* out) {
  out[0] = metal::exp(0.0f) + metal::fast::exp(0.0f) + float(metal::fast::log(bfloat(1.0f)))
      + metal::mine::value;
}"""
    for value, expected in ((10, 19), (20, 29)):
        given = Kernel(f"#define VALUE {value}\n{text}", "k")
        program = compile_kernel(given, checked=checked)
        out = np.zeros(1, np.float32)
        program.run({"out": out}, **ONE)
        assert out[0] == expected


@BOTH
def test_fields_of_structs_have_addresses(checked: bool) -> None:
    before = "struct block { half scale; uchar digits[4]; ushort more; };\n"
    body = """
    device const block* x = (device const block*)blocks;
    device const uchar* q = x[1].digits + 1;
    device const half* d = &x[1].scale;
    out[0] = q[0] + q[2] + d[0]; out[1] = *(&x[0].scale + 4);"""
    blocks = np.zeros(2, np.dtype([("scale", "f2"), ("digits", "u1", 4), ("more", "u2")]))
    blocks["scale"], blocks["digits"] = [1, 0.5], [[1, 2, 3, 4], [5, 6, 7, 8]]
    parameters = "device const char* blocks, device float* out"
    out = np.zeros(2, np.float32)
    buffers = {"blocks": blocks.view(np.int8), "out": out}
    run(body, parameters, buffers, threads=1, before=before, checked=checked)
    assert out.tolist() == [14.5, 0.5]
    if checked:
        beside = body.replace("q[0] +", "q[40] +")
        with pytest.raises(KernelError, match="access of 1 bytes at offset 51 of buffer 'blocks'"):
            run(beside, parameters, buffers, threads=1, before=before, checked=True)


def test_what_is_written_beside_a_buffer_is_told_also_unchecked() -> None:
    with pytest.raises(KernelError, match="writes outside the buffer 'out'") as caught:
        one_output("out[i + 2] = a[i];", FOUR)
    assert caught.value.hint == "Compile it with checked=True to learn where."


def test_two_buffers_of_one_memory_stay_one() -> None:
    a = FOUR.copy()
    body = "out[0] = 5; threadgroup_barrier(mem_flags::mem_device); out[1] = a[0];"
    run(body, "const device float* a, device float* out", {"a": a, "out": a}, threads=1)
    assert a.tolist() == [5, 5, 3, 4]


def test_what_no_compiler_gives_a_meaning_ends_the_launch_alone() -> None:
    body = "if (a[0] > 0) __builtin_trap(); out[0] = 1;"
    with pytest.raises(KernelError, match="thread 0 came to what has no meaning in C"):
        one_output(body, FOUR, threads=1)
    assert one_output(body, -FOUR, threads=1)[0] == 1


@BOTH
def test_parameters_may_be_arrays_and_vectors_be_stored_in_braces(checked: bool) -> None:
    before = "int last(constant const int sizes[3]) { return sizes[2]; }\n"
    body = """
    device float2* pairs = (device float2*)out;
    pairs[i] = {float(last(sizes)), x[i]};
    if (i > 1) pairs[i] = {1.5f, 0};"""
    out = np.zeros(4, np.float32)
    sizes = np.array([1, 2, 3], np.int32)
    parameters = "constant int* sizes, const device float x[2], device float* out"
    buffers = {"sizes": sizes, "x": FOUR[:2].copy(), "out": out}
    statistics = run(body, parameters, buffers, threads=2, before=before, checked=checked)
    assert out.tolist() == [3, 1, 3, 2]
    if checked:
        assert statistics.traffic["sizes"].loaded == statistics.traffic["x"].loaded == 8


def test_the_end_of_a_threadgroup_array_has_an_address_and_no_element() -> None:
    body = """
    threadgroup float room[4]; room[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup float* end = &room[4]; float sum = 0;
    for (threadgroup float* p = room; p != end; ++p) sum += *p;
    out[i] = sum;"""
    assert one_output(body, FOUR, checked=True).tolist() == [10] * 4
    with pytest.raises(KernelError, match="index 4 of threadgroup memory with 4 elements"):
        one_output(body.replace("sum = 0;", "sum = room[4];"), FOUR, checked=True)


@BOTH
def test_an_element_may_be_given_by_reference(checked: bool) -> None:
    before = "void put(device float& to, const device float& from) { to = 3 * from; }\n"
    out = one_output(
        "put(out[i], a[i]); float x = out[i]; out[i] = x + 1;", FOUR, before=before, checked=checked
    )
    assert out.tolist() == [4, 7, 10, 13]
    if checked:
        with pytest.raises(KernelError, match="offset 16 of buffer 'out'"):
            one_output("put(out[i + 1], a[i]);", FOUR, before=before, checked=True)
