"""What goes wrong in a kernel is said, with its place; nothing ends the process."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from small_kernels import EMULATED, compile_body, one_output, run
from tracekit.base.errors import KernelError, UsageError

pytestmark = EMULATED

A = np.arange(64, dtype=np.float32)
BOTH = "const device float* a, device float* out"
SIZES = {"grid": (64, 1, 1), "threadgroup": (64, 1, 1)}


def failure(body: str, *, threads: int = 64, checked: bool = False, **options: object) -> str:
    with pytest.raises(KernelError) as caught:
        one_output(body, A, threads=threads, threadgroup=64, checked=checked, **options)
    return caught.value.message


def test_lanes_that_do_not_meet_are_named() -> None:
    barrier = "threadgroup_barrier(mem_flags::mem_none);\n"
    message = failure(f"if (t < 40) {{\n  {barrier}}}\nout[i] = a[i];")
    for expected_text in (
        "threadgroup (0,0,0): divergent threadgroup_barrier",
        "from thread 0: threadgroup_barrier at k.metal:",
        "from thread 40: returned",
        barrier,  # the line itself
    ):
        assert expected_text in message
    some = f"float x = a[i];\nif (lane < 7) {{ x = simd_sum(x); }}\n{barrier}out[i] = x;"
    message = failure(some)
    assert "divergent simdgroup operation" in message
    assert "from thread 0: simd_sum at k.metal:8:" in message
    assert "from thread 7: threadgroup_barrier at k.metal:9:" in message
    output = np.zeros_like(A)  # leniently the lanes that came are enough
    statistics = compile_body(some, BOTH).run({"a": A, "out": output}, **SIZES, lenient=True)
    assert output[:8].tolist() == [21] * 7 + [7]
    assert statistics.simd_operations == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("out[i] = a[i + 1];", "access of 4 bytes at offset 256 of buffer 'a' (256 bytes)"),
        ("out[i] = a[int(i) - 1];", "access of 4 bytes at offset -4 of buffer 'a'"),
        ("out[i + 1] = 0;", "at offset 256 of buffer 'out'"),
        ("out[i] = *(a + 1000000);", "at offset 4000000 of buffer 'a'"),
        ("out[64] += 1;", "at offset 256 of buffer 'out'"),
        ("((device float4*)out)[16] = 0;", "access of 16 bytes at offset 256 of buffer 'out'"),
        ("out[i] = ((const device float4*)(a + 62))[0].x;", "access of 16 bytes at offset 248"),
        ("const device float* p = nullptr; out[i] = p[0];", "access through a null pointer"),
        ("room[t + 1] = a[i];", "index 64 of threadgroup memory with 64 elements by thread 63"),
        ("out[i] = room[int(t) - 1];", "index -1 of threadgroup memory with 64 elements"),
        ("table[1][a[2] > 1.0 ? 3 : 0] = 0;", "index 3 of threadgroup memory with 3 elements"),
        ("table[2][0] = 0;", "index 2 of threadgroup memory with 2 elements"),
    ],
)
def test_an_access_out_of_bounds_has_its_place(line: str, says: str) -> None:
    body = f"threadgroup float room[64], table[2][3];\n  {line}"
    message = failure(body, checked=True)
    assert says in message
    assert f"\n    8 |   {line}\n" in message
    assert " at k.metal:8:" in message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("out[i + 1000000000000] = 1;", "access of memory that is not there"),
        ("if (a[1] > 0) __builtin_trap();", "thread 0 came to what has no meaning in C"),
        ("if (t == 63) out[i + 2] = a[i];", "writes outside the buffer 'out'"),
        ("threadgroup float room[8193]; room[t] = 1;", "memory over 32768 bytes: 32784"),
        (
            "float b[40000]; for (int n = 0; n < 40000; ++n) b[n] = a[n % 64] + t; out[i] = b[7];",
            "thread 0 needs more than 65536 bytes of stack",
        ),
    ],
)
def test_unchecked_errors_end_the_launch_alone(body: str, said: str) -> None:
    assert said in failure(body)
    assert one_output("threadgroup float room[8192]; room[t] = 1; out[i] = room[t];", A)[0] == 1


def test_threadgroups_are_at_most_metals_and_smaller_at_an_edge() -> None:
    with pytest.raises(UsageError, match=r"has 1025 threads; Metal allows 1024"):
        one_output("out[i] = a[i];", A, threads=2000, threadgroup=1025)
    output = one_output("out[i] = simd_sum(1.0) + 100 * g;", A[:40])
    assert output.tolist() == [32] * 32 + [108] * 8
    assert one_output("out[i] = a[i];", A, threads=64, threadgroup=1024).tolist() == A.tolist()


def test_kernels_that_never_end_are_stopped_even_two_at_once() -> None:
    bodies = ("out[i] += 1", "simd_sum(a[1])")
    never = [compile_body(f"while (a[0] == 0) {body};", BOTH) for body in bodies]

    def require_stop(patience: float) -> None:
        with pytest.raises(KernelError, match=f"did not end within {patience} s"):
            never.pop().run({"a": A, "out": A.copy()}, **SIZES, patience=patience)

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(require_stop, (0.05, 0.2))) == [None, None]


def test_an_interrupt_ends_a_launch() -> None:
    program = compile_body("while (a[0] == 0) out[i] += 1;", BOTH)
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while not any(thread.name == "launch" for thread in threading.enumerate()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            program.run({"a": A, "out": A.copy()}, **SIZES, patience=60)
    finally:
        signal.signal(signal.SIGINT, previous_handler)


@pytest.mark.parametrize(
    ("buffers", "says"),
    [
        ({"a": A}, "'out' is not given"),
        ({"a": A, "out": A, "b": A}, "there is none called 'b'"),
        ({"a": A.astype(np.float64), "out": A}, "a is float64; the kernel takes float32"),
        ({"a": A[::2], "out": A}, "a is not contiguous"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(buffers: dict[str, np.ndarray], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        run("out[i] = a[i];", BOTH, buffers, threads=1)


def test_an_output_at_an_odd_address_is_written_all_the_same() -> None:
    room = np.zeros(64 * 4 + 4, np.uint8)
    output = room[4:].view(np.float32)
    run("((device float4*)out)[i] = 1;", "device float* out", {"out": output}, threads=16)
    assert output.tolist() == [1] * 64


def test_the_end_of_a_threadgroup_array_has_an_address_and_no_element() -> None:
    body = """
    threadgroup float room[64]; room[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup float* end = &room[64]; float sum = 0;
    for (threadgroup float* p = room; p != end; ++p) sum += *p;
    out[i] = sum;"""
    assert one_output(body, A, threadgroup=64, checked=True).tolist() == [2016] * 64
    message = failure(body.replace("sum = 0;", "sum = room[64];"), checked=True)
    assert "index 64 of threadgroup memory with 64 elements" in message
