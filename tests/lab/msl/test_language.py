"""What Metal has beside C++: vectors, literals, casts, constants, memory that threads share."""

import numpy as np
import pytest

from small_kernels import compiled, needs_compiler, one_output, run
from tracekit.base.errors import UsageError
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import Kernel

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

BOTH = pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
FOUR = np.array([1, 2, 3, 4], np.float32)

# A body that reads `a` and writes `out`, 1 to 4 of a type; what it writes; what stands before it.
CASES: dict[str, tuple[str, str, list[float], str]] = {
    "vectors are swizzled, read and written": (
        """float4 v = float4(a[0], a[1], a[2], a[3]);
        v.xy = v.zw * 10.0;
        float3 w = float3(v.zy, v.x) + float3(1, float2(2));
        out[0] = v.x; out[1] = w.z; out[2] = dot(w, float3(1)); out[3] = v.rgba.w;""",
        "float",
        [30, 32, 78, 4],
        "",
    ),
    "buffers are vectors through a cast": (
        """const device half2* p = (const device half2*)a;
        device half2* q = reinterpret_cast<device half2*>(out);
        q[0] = p[0] + half2(1.0h); q[1] = -p[1]; q[1] += q[0]; q[1].x = p[1].y;""",
        "half",
        [2, 3, 4, -1],
        "",
    ),
    "pointers walk and have addresses": (
        """const device float* p = &a[1];
        device float* o = out + 4; --o;
        auto first = *p++;
        *o-- = first + *p; *o = p[1]; *(o - 1) = float(p - a); o[-2] = a[0]; out[0] += 5;""",
        "float",
        [6, 2, 4, 5],
        "",
    ),
    "integers convert and saturate": (
        """out[0] = max(int(a[0]) - 3, -1); out[1] = popcount(7u); out[2] = clz(ushort(1));
        out[3] = select(1.0, 2.0, a[0] < 5.0) + clamp(a[3], 0.0, 1.5);""",
        "float",
        [-1, 3, 15, 3.5],
        "",
    ),
    "a half is rounded after each operation, in float it would be 2050": (
        "out[0] = a[0] * half(2048) + a[0] + a[0]; out[1] = out[2] = out[3] = 0;",
        "half",
        [2048, 0, 0, 0],
        "",
    ),
    "a literal is a float and no double": (
        "out[0] = (a[0] + 1e-8) - 1.0; out[1] = 0.1 == 0.1f; out[2] = out[3] = 0;",
        "float",
        [0, 1, 0, 0],
        "",
    ),
    "packed vectors compute and convert": (
        """device packed_float3* p = (device packed_float3*)out;
        packed_char4 c = packed_char4(1, 2, 3, 4);
        packed_float3 q = packed_float3(1.0f); q += float3(a[0]); q.y = 9;
        p[0] = q * 2.0f; out[3] = float4(c).w + p[0].x;""",
        "float",
        [4, 18, 4, 8],
        "",
    ),
    "matrices are columns that multiply vectors": (
        """float2x2 m = float2x2(float2(a[0], a[1]), float2(a[2], a[3]));
        float2 v = m * float2(1, 10);
        out[0] = v.x; out[1] = v.y; out[2] = (m * transpose(m))[1][0]; out[3] = determinant(m);""",
        "float",
        [31, 42, 14, -2],
        "",
    ),
    "functions that differ in address spaces alone are one": (
        """threadgroup float one;
        threadgroup float room[1]; room[0] = a[0]; out[0] = a[0]; one = 1;
        twice(out); twice(&room[0]);
        float own = first(a); add(own, 1); add(one, 1);
        typename element<device float*>::type last = pair<float>(own).sum();
        out[1] = room[0]; out[2] = last; out[3] = one;""",
        "float",
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
}


@BOTH
@pytest.mark.parametrize("name", CASES)
def test_a_text_gives_what_metal_gives(name: str, checked: bool) -> None:
    body, kind, expected, before = CASES[name]
    a = FOUR.astype(np.float16) if kind == "half" else FOUR
    out = one_output(body, a, threads=1, kind=kind, checked=checked, before=before)
    assert out.tolist() == expected


def test_bfloats_are_bits_rounded_to_nearest_even() -> None:
    a = np.array([0x3F80, 0x3F81, 0x7FC0, 0x4049], np.uint16)
    out = np.zeros(4, np.uint16)
    body = "out[i] = i < 2 ? bfloat16_t(a[i] + bfloat(0.00390625)) : a[i] * bfloat(1);"
    run(body, "const device bfloat* a, device bfloat16_t* out", {"a": a, "out": out}, threads=4)
    assert out.tolist() == [0x3F80, 0x3F82, 0x7FC0, 0x4049]


def test_function_constants_are_given_by_number() -> None:
    before = (
        "constant int size [[function_constant(3)]];\n"
        "constant bool twice [[function_constant(4)]];\n"
        "constant bool is_twice = is_function_constant_defined(twice) ? twice : false;\n"
    )
    body = "out[0] = is_twice ? 2 * size : size;"
    parameters = "device float* out"
    for constants, expected in (({3: 7}, 7), ({3: 7, 4: True}, 14)):
        out = np.zeros(1, np.float32)
        options = {"before": before, "constants": {4: False, **constants}}
        run(body, parameters, {"out": out}, threads=1, **options)
        assert out[0] == expected


def test_a_parameter_that_a_constant_switches_off_needs_no_buffer() -> None:
    before = "constant bool masked [[function_constant(0)]];\n"
    parameters = (
        "device float* out [[buffer(0)]], "
        "const device float* mask [[buffer(1), function_constant(masked)]]"
    )
    body = "out[0] = masked ? mask[0] : 3;"
    out = np.zeros(1, np.float32)
    run(body, parameters, {"out": out}, threads=1, before=before, constants={0: False})
    assert out[0] == 3
    given = {"out": out, "mask": FOUR}
    run(body, parameters, given, threads=1, before=before, constants={0: True})
    assert out[0] == 1
    with pytest.raises(UsageError, match="'mask' is not given"):
        run(body, parameters, {"out": out}, threads=1, before=before, constants={0: True})


def test_threadgroup_memory_may_be_an_argument() -> None:
    body = "room[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = room[3 - t];"
    parameters = (
        "const device float* a, device float* out, threadgroup float* room [[threadgroup(0)]]"
    )
    out = np.zeros(4, np.float32)
    program = compiled(body, parameters)
    sizes = {"grid": (4, 1, 1), "threadgroup": (4, 1, 1)}
    program.run({"a": FOUR, "out": out}, **sizes, threadgroup_bytes={0: 16})
    assert out.tolist() == [4, 3, 2, 1]


def test_atomics_count_over_all_threadgroups() -> None:
    parameters = "device atomic_int* counts, device atomic<float>* sum"
    body = """
    atomic_fetch_add_explicit(&counts[i % 2], 1, memory_order_relaxed);
    atomic_fetch_max_explicit(&counts[2], int(i), memory_order_relaxed);
    atomic_fetch_add_explicit(sum, 0.5f, memory_order_relaxed);"""
    for checked in (False, True):
        counts, total = np.zeros(3, np.int32), np.zeros(1, np.float32)
        buffers = {"counts": counts, "sum": total}
        run(body, parameters, buffers, threads=100, checked=checked)
        assert (counts.tolist(), total.tolist()) == ([50, 50, 99], [50.0])


def test_structs_of_the_text_keep_their_fields() -> None:
    before = "struct Shape { int ab; int rg; };\n"
    parameters = "const device Shape* shapes, constant Shape& one, device int* out"
    body = "out[i] = shapes[i].ab * 100 + shapes[i].rg * 10 + one.rg;"
    shapes, out = np.array([[1, 2], [3, 4]], np.int32), np.zeros(2, np.int32)
    for checked in (False, True):
        buffers = {"shapes": shapes, "one": shapes[:1], "out": out}
        run(body, parameters, buffers, threads=2, before=before, checked=checked)
        assert out.tolist() == [122, 342]


def test_macros_of_a_text_stay_in_it() -> None:
    text = (
        "#define HERE {}\n#define max(a, b) {}\nkernel void k(device int* out) {{ out[0] = HERE; }}"
    )
    one, other = (Kernel(text.format(n, n), "k") for n in (1, 2))
    for expected, given in enumerate((one, other), start=1):
        program = compile_kernel(given)
        out = np.zeros(1, np.int32)
        program.run({"out": out}, grid=(1, 1, 1), threadgroup=(1, 1, 1))
        assert out[0] == expected


def test_a_host_name_finds_its_instantiation() -> None:
    text = """
template <typename T, int N> [[kernel]] void scaled(device T* out [[buffer(0)]]) { out[0] = T(N); }
template [[host_name("scaled_2")]] [[kernel]] decltype(scaled<float, 2>) scaled<float, 2>;
template [[host_name("scaled_3")]] [[kernel]] void scaled<half, 3>(device half* out [[buffer(0)]]);
"""
    for name, dtype, expected in (("scaled_2", np.float32, 2), ("scaled_3", np.float16, 3)):
        out = np.zeros(1, dtype)
        sizes = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1)}
        compile_kernel(Kernel(text, name)).run({"out": out}, **sizes)
        assert out[0] == expected


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
    out = np.zeros((2, 3, 5, 6), np.uint32)
    program = compile_kernel(Kernel(text, "k"))
    program.run({"out": out}, grid=(5, 3, 2), threadgroup=(4, 2, 2))
    assert out[0, 0, 0].tolist() == [0, 0, 4, 4, 22, 0]
    assert out[1, 2, 4].tolist() == [0, 0, 1, 4, 22, 1]
    assert out[1, 1, 3].tolist() == [3, 1, 4, 4, 22, 15]
