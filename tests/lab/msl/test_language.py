"""What Metal has beside C++: vectors, literals, casts, constants, simdgroups, memory of threads.

And what public kernels hold: conditions, macros, overloads by address space.
"""

from typing import Any

import numpy as np
import pytest

from small_kernels import EMULATED, compile_body, kernel, one_output, run
from tracekit.base.errors import KernelError, UsageError
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import BufferTraffic, ThreadOrder

pytestmark = EMULATED

BOTH = pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
FOUR = np.array([1, 2, 3, 4], np.float32)
ONE: dict[str, Any] = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1)}
IN_OUT = "const device float* a, device float* out"

# A body that reads `a`, 1 to 4, and writes `out`; what it writes; what stands before it, if any.
CASES: dict[str, tuple[Any, ...]] = {
    "vectors are swizzled, read and written": (
        """float4 v = float4(a[0], a[1], a[2], a[3]);
        v.xy = v.zw * 10.0;
        float3 w = float3(v.zy, v.x) + float3(1, float2(2));
        out[0] = v.x; out[1] = w.z; out[2] = dot(w, float3(1)); out[3] = v.rgba.w;""",
        [30, 32, 78, 4],
    ),
    "a number beside a vector becomes one": (
        """float4 v = float4(a[0], a[1], a[2], a[3]);
        v = fmax(v, 2.5f) + clamp(v, 0, 1.5) + mix(v, float4(1), 0.5f) + max(0.0f, -v);
        out[0] = v.x; out[1] = v.y; out[2] = fma(v, 2.0f, 1.0f).z; out[3] = min(v, half(3)).w;""",
        [4.5, 5.5, 14, 3],
    ),
    "buffers are vectors through a cast": (
        """const device half2* p = (const device half2*)a;
        device half2* q = reinterpret_cast<device half2*>(out);
        q[0] = p[0] + half2(1.0h); q[1] = -p[1]; q[1] += q[0]; q[1].x = p[1].y;""",
        [2, 3, 4, -1],
    ),
    "pointers walk and have addresses": (
        """const device float* p = &a[1];
        device float* o = out + 4; --o;
        auto first = *p++;
        *o-- = first + *p; *o = p[1]; *(o - 1) = float(p - a); o[-2] = a[0]; out[0] += 5;""",
        [6, 2, 4, 5],
    ),
    "integers convert and saturate": (
        """out[0] = max(int(a[0]) - 3, -1); out[1] = popcount(7u); out[2] = clz(ushort(1));
        out[3] = select(1.0, 2.0, a[0] < 5.0) + clamp(a[3], 0.0, 1.5);""",
        [-1, 3, 15, 3.5],
    ),
    "a half is rounded after each operation, in float it would be 2050": (
        "out[0] = a[0] * half(2048) + a[0] + a[0]; out[1] = out[2] = out[3] = 0;",
        [2048, 0, 0, 0],
    ),
    "a literal is a float and no double": (
        "out[0] = (a[0] + 1e-8) - 1.0; out[1] = 0.1 == 0.1f; out[2] = out[3] = 0;",
        [0, 1, 0, 0],
    ),
    "packed vectors compute and convert": (
        """device packed_float3* p = (device packed_float3*)out;
        packed_char4 c = packed_char4(1, 2, 3, 4);
        packed_float3 q = packed_float3(1.0f); q += float3(a[0]); q.y = 9;
        p[0] = q * 2.0f; out[3] = float4(c).w + p[0].x;""",
        [4, 18, 4, 8],
    ),
    "matrices are columns that multiply vectors": (
        """float2x2 m = float2x2(float2(a[0], a[1]), float2(a[2], a[3]));
        float2 v = m * float2(1, 10);
        out[0] = v.x; out[1] = v.y; out[2] = (m * transpose(m))[1][0]; out[3] = determinant(m);""",
        [31, 42, 14, -2],
    ),
    "functions that differ in address spaces alone are one": (
        """threadgroup float one;
        threadgroup float room[1]; room[0] = a[0]; out[0] = a[0]; one = 1;
        twice(out); twice(&room[0]);
        float own = first(a); add(own, 1); add(one, 1);
        typename element<device float*>::type last = pair<float>(own).sum();
        out[1] = room[0]; out[2] = last; out[3] = one;""",
        [2, 2, 4, 2],
        """
template <typename T> struct pair {
  T x, y;
  pair(T a) thread : x(a), y(a) {}
  pair(T a) threadgroup : x(a), y(a) {}
  T sum() const thread { return x + y; }
  T sum() const threadgroup { return x + y; }
};
void twice(device float* a) { a[0] *= 2; }
void twice(threadgroup float* a) { a[0] *= 2; }
float first(const device float* a) { return a[0]; }
float first(const thread float* a) { return a[0]; }
float first(constant float* a) { return a[0]; }
void add(thread float& to, float by) { to += by; }
void add(threadgroup float& to, float by) { to += by; }
template <typename T> struct element;
template <typename T> struct element<device T*> { typedef T type; };
template <typename T> struct element<threadgroup T*> { typedef T type; };
""",
    ),
    "an array is filled by a range of its indices": (
        "float f[4] = {[0 ... 4 - 1] = 7.0f}; for (int n = 0; n < 4; ++n) out[n] = f[n] + a[n];",
        [8, 9, 10, 11],
    ),
    "a text may add to Metal's namespace": (
        """out[0] = metal::exp(0.0f) + metal::fast::exp(0.0f); out[1] = metal::mine::value;
        out[2] = float(fast::log(bfloat(1.0f))); out[3] = float(metal::exp(bfloat(0.0f)));""",
        [2, 10, 7, 1],
        """
#define VALUE 10
#include <metal_stdlib>
namespace metal {
METAL_FUNC bfloat exp(bfloat x) { return bfloat(__metal_exp(float(x), __METAL_MAYBE_FAST_MATH__)); }
namespace fast { METAL_FUNC bfloat log(bfloat x) { return bfloat(7.0f); } }
struct mine { static constexpr constant int value = VALUE; };
}
using namespace metal;
""",
    ),
    "structs keep their fields, which have addresses": (
        """const device shape* s = (const device shape*)a;
        device block* x = (device block*)out;
        device half* d = &x[1].scale;
        device uchar* q = x[0].digits + 1;
        out[0] = s[1].ab * 10 + s[1].rg; out[1] = 0; out[2] = sum(s[0]); out[3] = 0;
        d[0] = half(1.5h); q[1] = 0; *(&x[1].scale + 4) = half(1.5h);""",
        [34, 0.125, 3, 0.125],
        """struct shape { float ab; float rg; };
struct block { half scale; uchar digits[4]; };
float sum(const device shape& of) { return of.ab + of.rg; }
""",
    ),
    "an element may be given by reference": (
        "put(out[0], a[0]); float x = out[0]; out[0] = x + 1; out[1] = out[2] = out[3] = 0;",
        [4, 0, 0, 0],
        "void put(device float& to, const device float& from) { to = 3 * from; }\n",
    ),
    "what a condition leaves out is not judged": (
        "out[0] = one; out[1] = out[2] = out[3] = 0;",
        [1, 0, 0, 0],
        """
#if __METAL_VERSION__ >= 400 || defined(MODERN)
#include <metal_tensor>
texture2d<float> t;
constant float one [[surprising]] = 2;
#else
constant float one = 1;
#endif
""",
    ),
}
HALVES = {
    "buffers are vectors through a cast",
    "a half is rounded after each operation, in float it would be 2050",
}


@BOTH
@pytest.mark.parametrize("name", CASES)
def test_a_text_gives_metals_result(name: str, checked: bool) -> None:
    body, expected, *declarations = CASES[name]
    kind, a = ("half", FOUR.astype(np.float16)) if name in HALVES else ("float", FOUR)
    output = one_output(
        body, a, threads=1, kind=kind, checked=checked, before="".join(declarations)
    )
    assert output.tolist() == expected


def test_bfloats_are_bits_rounded_to_nearest_even() -> None:
    a = np.array([0x3F80, 0x3F81, 0x7FC0, 0x4049], np.uint16)
    output = np.zeros(4, np.uint16)
    body = "out[i] = i < 2 ? bfloat16_t(a[i] + bfloat(0.00390625)) : a[i] * bfloat(1);"
    run(body, "const device bfloat* a, device bfloat16_t* out", {"a": a, "out": output}, threads=4)
    assert output.tolist() == [0x3F80, 0x3F82, 0x7FC0, 0x4049]


def run_one_thread(kernel_text: KernelText, **buffers: np.ndarray) -> float:
    """Run one thread of a kernel; return the first number that it writes."""
    output = np.zeros(1, np.float32)
    compile_kernel(kernel_text).run({"out": output, **buffers}, **ONE)
    return float(output[0])


def test_function_constants_are_given_by_number() -> None:
    declarations = (
        "#define GROUP 2\n#define FIRST (GROUP + 1)\n"
        "static constant int size [[function_constant(FIRST + 0)]];\n"
        "constant bool twice [[function_constant(4)]];\n"
        "constant bool is_twice = is_function_constant_defined(twice) ? twice : false;\n"
    )
    body, parameters = "out[0] = is_twice ? 2 * size : size;", "device float* out"
    for constants, expected in (({3: 7, 4: False}, 7), ({3: 7, 4: True}, 14)):
        assert (
            run_one_thread(kernel(body, parameters, before=declarations, constants=constants))
            == expected
        )
    with pytest.raises(UsageError, match=r"no value: 3 \(size\)"):
        run_one_thread(kernel(body, parameters, before=declarations, constants={4: True}))
    declarations += "kernel void other(device float* out) { out[0] = size; }\n"
    assert (
        run_one_thread(kernel("out[0] = 5;", parameters, before=declarations, constants={4: True}))
        == 5
    )
    message = "the index of a function constant, 'NIX', is not a number"
    with pytest.raises(UsageError, match=message):
        run_one_thread(kernel(body, parameters, before=declarations.replace("FIRST + 0", "NIX")))


def test_a_parameter_that_a_constant_switches_off_needs_no_buffer() -> None:
    declarations = "constant bool masked [[function_constant(0)]];\n"
    mask = "const device float* mask [[buffer(1), function_constant(masked)]]"
    body_and_parameters = (
        "out[0] = masked ? mask[0] : 3;",
        f"device float* out [[buffer(0)]], {mask}",
    )
    off, on = (
        kernel(*body_and_parameters, before=declarations, constants={0: value})
        for value in (False, True)
    )
    assert (run_one_thread(off), run_one_thread(on, mask=FOUR)) == (3, 1)
    with pytest.raises(UsageError, match="'mask' is not given"):
        run_one_thread(on)


def test_threadgroup_memory_may_be_an_argument() -> None:
    body = "room[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = room[3 - t];"
    room = "threadgroup float* room [[threadgroup(0)]]"
    output = np.zeros(4, np.float32)
    sizes = {"grid": (4, 1, 1), "threadgroup": (4, 1, 1), "threadgroup_bytes": {0: 16}}
    compile_body(body, f"{IN_OUT}, {room}").run({"a": FOUR, "out": output}, **sizes)
    assert output.tolist() == [4, 3, 2, 1]


@BOTH
def test_atomics_count_over_all_threadgroups(checked: bool) -> None:
    parameters = "device atomic_int* counts, device atomic<float>* sum"
    body = """
    atomic_fetch_add_explicit(&counts[i % 2], 1, memory_order_relaxed);
    atomic_fetch_max_explicit(&counts[2], int(i), memory_order_relaxed);
    atomic_fetch_add_explicit(sum, 0.5f, memory_order_relaxed);"""
    counts, total = np.zeros(3, np.int32), np.zeros(1, np.float32)
    run(body, parameters, {"counts": counts, "sum": total}, threads=100, checked=checked)
    assert (counts.tolist(), total.tolist()) == ([50, 50, 99], [50.0])


def test_kernels_and_instances_are_found_by_the_names_that_a_host_gives() -> None:
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
template <typename T, int N> [[kernel]] void scaled(device T* out [[buffer(0)]]) { out[0] = T(N); }
template [[host_name("scaled_8")]] [[kernel]] decltype(scaled<float, 8>) scaled<float, 8>;
template [[host_name("scaled_9")]] [[kernel]] void scaled<float, 9>(device float* o [[buffer(0)]]);
"""
    names = {"two": 2, "three": 3, "sum_of_sizes": 11, "sum_by_7": 17, "scaled_8": 8, "scaled_9": 9}
    assert {name: run_one_thread(KernelText(text, name)) for name in names} == names
    with pytest.raises(UsageError, match="has no kernel function 'four'"):
        compile_kernel(KernelText(text, "four"))


def test_macros_of_a_text_stay_in_it() -> None:
    text = (
        "#define HERE {}\n#define max(a, b) {}\nkernel void k(device float* out) {{ *out = HERE; }}"
    )
    assert [run_one_thread(KernelText(text.format(n, n), "k")) for n in (1, 2)] == [1, 2]


def test_functions_of_one_form_with_two_bodies_stay_two() -> None:
    declarations = (
        "float f(thread float& a) { return a; }\nfloat f(device float& a) { return -a; }\n"
    )
    with pytest.raises(KernelError, match="redefinition"):
        compile_body("out[0] = 1;", "device float* out", before=declarations)


def test_the_places_of_a_thread_in_three_dimensions() -> None:
    text = """
kernel void k(device uint* out, uint3 at [[thread_position_in_grid]],
              ushort2 in [[thread_position_in_threadgroup]],
              uint3 size [[threads_per_threadgroup]],
              uint3 full [[dispatch_threads_per_threadgroup]],
              uint3 grid [[threads_per_grid]], uint3 count [[threadgroups_per_grid]],
              uint t [[thread_index_in_threadgroup]]) {
  device uint* o = out + 6 * (at.x + grid.x * (at.y + grid.y * at.z));
  o[0] = in.x; o[1] = in.y; o[2] = size.x; o[3] = full.x; o[4] = count.x * 10 + count.y; o[5] = t;
}"""
    output = np.zeros((2, 3, 5, 6), np.uint32)
    compile_kernel(KernelText(text, "k")).run(
        {"out": output}, grid=(5, 3, 2), threadgroup=(4, 2, 2)
    )
    thread_rows = [output[place].tolist() for place in ((0, 0, 0), (1, 2, 4), (1, 1, 3))]
    assert thread_rows == [[0, 0, 4, 4, 22, 0], [0, 0, 1, 4, 22, 1], [3, 1, 4, 4, 22, 15]]


@BOTH
def test_parameters_may_be_arrays_and_vectors_be_stored_in_braces(checked: bool) -> None:
    declarations = "int last(constant const int sizes[3]) { return sizes[2]; }\n"
    body = """
    device float2* pairs = (device float2*)out;
    pairs[i] = {float(last(sizes)), x[i]};
    if (i > 1) pairs[i] = {1.5f, 0};"""
    output, sizes = np.zeros(4, np.float32), np.array([1, 2, 3], np.int32)
    parameters = "constant int* sizes, const device float x[2], device float* out"
    buffers = {"sizes": sizes, "x": FOUR[:2].copy(), "out": output}
    run(body, parameters, buffers, threads=2, before=declarations, checked=checked)
    assert output.tolist() == [3, 1, 3, 2]


def test_two_buffers_of_one_memory_stay_one() -> None:
    a = FOUR.copy()
    body = "out[0] = 5; threadgroup_barrier(mem_flags::mem_device); out[1] = a[0];"
    run(body, IN_OUT, {"a": a, "out": a}, threads=1)
    assert a.tolist() == [5, 5, 3, 4]


LANES = np.arange(32)
A = (LANES * 3 % 7 + 1).astype(np.float32)
QUADS = A.reshape(8, 4)
OPERATIONS = {
    "simd_sum(x)": A.sum(),
    "simd_max(x)": A.max(),
    "simd_min(x)": A.min(),
    "simd_product(simd_min(x) + 1)": 2.0**32,
    "simd_shuffle(x, 5)": A[5],
    "simd_shuffle_xor(x, 3)": A[LANES ^ 3],
    "simd_shuffle_down(x, 4)": np.concatenate([A[4:], A[-4:]]),
    "simd_shuffle_up(x, 4)": np.concatenate([A[:4], A[:-4]]),
    "simd_shuffle_and_fill_down(x, -x, 4)": np.concatenate([A[4:], -A[:4]]),
    "simd_shuffle_and_fill_up(x, -x, 4)": np.concatenate([-A[-4:], A[:-4]]),
    "simd_shuffle_rotate_down(x, 4)": np.roll(A, -4),
    "simd_shuffle_rotate_up(x, 4)": np.roll(A, 4),
    "simd_broadcast(x, 9)": A[9],
    "simd_broadcast_first(x)": A[0],
    "simd_prefix_inclusive_sum(x)": np.cumsum(A),
    "simd_prefix_exclusive_sum(x)": np.cumsum(A) - A,
    "simd_any(x > 6.5)": 1,
    "simd_all(x > 1.5)": 0,
    "popcount(uint64_t(simd_ballot(x > 6.5)))": (A > 6.5).sum(),
    "simd_sum(float4(x, 1, 2, 3)).y": 32,
    "simd_or(lane)": 31,
    "quad_sum(x)": np.repeat(QUADS.sum(1), 4),
    "quad_shuffle_xor(x, 1)": A[LANES ^ 1],
    "quad_broadcast(x, 2)": np.repeat(QUADS[:, 2], 4),
    "quad_shuffle_up(x, 1)": A[np.where(LANES % 4 >= 1, LANES - 1, LANES)],
}


@pytest.mark.parametrize("order", ThreadOrder)
def test_every_simd_operation_follows_its_definition(order: ThreadOrder) -> None:
    body = "float x = a[i];\n" + "\n".join(
        f"out[{32 * index} + lane] = {operation};" for index, operation in enumerate(OPERATIONS)
    )
    program = compile_body(body, IN_OUT)
    output = np.full((len(OPERATIONS), 32), np.nan, np.float32)
    sizes = {"grid": (32, 1, 1), "threadgroup": (32, 1, 1)}
    program.run({"a": A, "out": output}, **sizes, order=order, seed=3)
    for row, (operation, expected) in zip(output, OPERATIONS.items(), strict=True):
        assert np.array_equal(row, np.broadcast_to(expected, 32)), operation


def test_lanes_that_returned_or_are_not_there_take_no_part() -> None:
    output = one_output("if (lane >= 7) return; out[i] = simd_sum(a[i]);", A)
    assert output[:7].tolist() == [A[:7].sum()] * 7
    assert np.isnan(output[7:]).all()
    output = one_output("out[i] = simd_sum(a[i]) + simd_shuffle_down(a[i], 1);", A[:5])
    assert output[:4].tolist() == (A[1:5] + A[:5].sum()).tolist()
    assert np.isnan(output[4])  # Metal leaves it undefined: the lane is not there


@pytest.mark.parametrize(
    ("order", "checked"),
    [(ThreadOrder.ASCENDING, False), (ThreadOrder.DESCENDING, True), (ThreadOrder.RANDOM, True)],
)
def test_simdgroup_matrices_multiply_and_add(checked: bool, order: ThreadOrder) -> None:
    body = """
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.5f);
    simdgroup_load(x, a, 16, ulong2(8, 0)); simdgroup_load(y, b, 8, ulong2(0, 0), true);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, out, 8);"""
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(8, 16)).astype(np.float32), draw.normal(size=(8, 8)).astype(np.float32)
    output = np.full((8, 8), np.nan, np.float32)
    parameters = "const device float* a, const device float* b, device float* out"
    buffers = {"a": a, "b": b, "out": output}
    statistics = run(body, parameters, buffers, threads=32, checked=checked, order=order)
    assert np.abs(output - (a[:, 8:].astype(float) @ b.T + 0.5)).max() < 1e-5
    assert statistics.simd_operations == 4  # two loads, a product, a store
    if checked:
        assert statistics.traffic["a"].loaded == statistics.traffic["out"].stored == 256
        with pytest.raises(KernelError, match=r"offset 480 of buffer 'a' \(480 bytes\)(.|\n)*:9:"):
            run(body, parameters, buffers | {"a": a.reshape(-1)[:120]}, threads=32, checked=True)


def test_lanes_hold_two_neighbours_of_a_row() -> None:
    """The layout that MLX's kernels depend on: lanes 0 ... 3 begin rows 0 and 1."""
    body = """
    simdgroup_matrix<float, 8, 8> m;
    simdgroup_load(m, a);
    float2 own = m.thread_elements();
    out[2 * lane] = own[0]; out[2 * lane + 1] = own[1];
    m.thread_elements()[0] = 0;"""
    lane_elements = one_output(body, np.arange(64, dtype=np.float32), threads=32).reshape(32, 2)
    first_by_lane = {0: 0, 1: 2, 2: 8, 3: 10, 4: 16, 8: 4, 16: 32}
    assert {lane: lane_elements[lane].tolist() for lane in first_by_lane} == {
        lane: [element, element + 1] for lane, element in first_by_lane.items()
    }
    assert sorted(lane_elements.reshape(-1)) == list(range(64))


IN_HALVES = "const device half* a, device float* out"
LOADS = {
    "out[i] = a[i] + a[0];": (64, BufferTraffic(256, 0, 128), BufferTraffic(0, 256, 256)),
    "out[i / 2] += 1; out[99]++;": (64, BufferTraffic(0, 0, 0), BufferTraffic(512, 512, 132)),
    "const device half4* p = (const device half4*)a; out[0] = p[i].x;": (
        3, BufferTraffic(24, 0, 24), BufferTraffic(0, 12, 4),
    ),
    "device float4* p = (device float4*)out; p[i].y = p[i].z;": (
        3, BufferTraffic(0, 0, 0), BufferTraffic(12, 12, 24),
    ),
    "((device Pair*)out)[i].other = 2;": (4, BufferTraffic(0, 0, 0), BufferTraffic(0, 0, 32)),
}  # fmt: skip


@pytest.mark.parametrize("body", LOADS)
def test_every_access_is_counted_and_every_byte_touched_once(body: str) -> None:
    threads, a, output_traffic = LOADS[body]
    buffers = {"a": np.zeros(100, np.float16), "out": np.zeros(100, np.float32)}
    declarations = "struct Pair { float one, other; };\n"
    statistics = run(body, IN_HALVES, buffers, threads=threads, before=declarations, checked=True)
    assert statistics.traffic == {"a": a, "out": output_traffic}


def test_barriers_simdgroup_operations_and_memory_are_counted() -> None:
    body = """threadgroup half room[40]; room[t % 40] = a[i];
    for (int n = 0; n < 3; ++n) threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = simd_sum(room[0]) + simd_max(1.0);"""
    buffers = {"a": np.zeros(128, np.float16), "out": np.zeros(128, np.float32)}
    statistics = run(body, IN_HALVES, buffers, threads=128, threadgroup=64)
    assert (statistics.barriers, statistics.simd_operations) == (2 * 3, 4 * 2)
    assert statistics.threadgroup_bytes == 80
