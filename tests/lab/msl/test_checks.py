"""What goes wrong in a kernel is said, with its place; nothing ends the process."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from small_kernels import compiled, needs_compiler, one_output, run
from tracekit.base.errors import KernelError, UsageError
from tracekit.lab.msl.program import Order

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

A = np.arange(64, dtype=np.float32)
BOTH = "const device float* a, device float* out"

REVERSED = """\
threadgroup float room[64];
room[t] = a[i];
threadgroup_barrier(mem_flags::mem_threadgroup);
out[i] = room[63 - t];"""


def failure(body: str, *, threads: int = 64, checked: bool = False, **options: object) -> str:
    with pytest.raises(KernelError) as caught:
        one_output(body, A, threads=threads, threadgroup=64, checked=checked, **options)
    return caught.value.message


def test_with_its_barrier_every_order_agrees() -> None:
    for order in Order:
        assert one_output(REVERSED, A, threadgroup=64, order=order).tolist() == A[::-1].tolist()


def test_a_missing_barrier_shows_in_the_order_of_threads() -> None:
    body = REVERSED.replace("threadgroup_barrier(mem_flags::mem_threadgroup);", "")
    up, down = (
        one_output(body, A, threadgroup=64, order=order)
        for order in (Order.ASCENDING, Order.DESCENDING)
    )
    assert np.isnan(up).sum() == 32  # threadgroup memory is NaN before it is written
    assert not np.array_equal(up, down, equal_nan=True)


def test_a_barrier_that_some_never_reach() -> None:
    body = "if (t < 40) {\n  threadgroup_barrier(mem_flags::mem_none);\n}\nout[i] = a[i];"
    message = failure(body)
    assert "threadgroup (0,0,0): divergent threadgroup_barrier" in message
    assert "from thread 0: threadgroup_barrier at k.metal:" in message
    assert "from thread 40: returned" in message
    assert "threadgroup_barrier(mem_flags::mem_none);\n" in message  # the line itself


SOME = """float x = a[i];
if (lane < 7) { x = simd_sum(x); }
threadgroup_barrier(mem_flags::mem_none);
out[i] = x;"""


def test_lanes_at_a_barrier_while_others_sum() -> None:
    message = failure(SOME)
    assert "divergent simdgroup operation" in message
    assert "from thread 0: simd_sum at k.metal:8:" in message
    assert "from thread 7: threadgroup_barrier at k.metal:9:" in message


def test_leniently_the_lanes_that_came_are_enough() -> None:
    out = np.zeros_like(A)
    sizes = {"grid": (64, 1, 1), "threadgroup": (64, 1, 1)}
    counted = compiled(SOME, BOTH).run({"a": A, "out": out}, **sizes, lenient=True)
    assert out[:8].tolist() == [21] * 7 + [7]
    assert counted.simd_operations == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("out[i] = a[i + 1];", "access of 4 bytes at offset 256 of buffer 'a' (256 bytes)"),
        ("out[i] = a[int(i) - 1];", "access of 4 bytes at offset -4 of buffer 'a'"),
        ("out[i + 1] = 0;", "at offset 256 of buffer 'out'"),
        ("*(out + 64) = 0;", "at offset 256 of buffer 'out'"),
        ("out[i] = *(a + 1000000);", "at offset 4000000 of buffer 'a'"),
        ("out[64] += 1;", "at offset 256 of buffer 'out'"),
        ("((device float4*)out)[16] = 0;", "access of 16 bytes at offset 256 of buffer 'out'"),
        ("out[i] = ((const device float4*)(a + 62))[0].x;", "access of 16 bytes at offset 248"),
        ("const device float* p = nullptr; out[i] = p[0];", "access through a null pointer"),
    ],
)
def test_an_access_out_of_bounds_has_its_place(line: str, says: str) -> None:
    message = failure(f"int n = 0;\n  {line}", checked=True)
    assert says in message
    assert f"\n    8 |   {line}\n" in message
    assert " at k.metal:8:" in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("room[t + 1] = a[i];", "index 64 of threadgroup memory with 64 elements by thread 63"),
        ("out[i] = room[int(t) - 1];", "index -1 of threadgroup memory with 64 elements"),
        ("table[1][a[2] > 1.0 ? 3 : 0] = 0;", "index 3 of threadgroup memory with 3 elements"),
        ("table[2][0] = 0;", "index 2 of threadgroup memory with 2 elements"),
    ],
)
def test_an_index_beyond_threadgroup_memory_has_its_place(line: str, says: str) -> None:
    body = f"threadgroup float room[64], table[2][3];\n  {line}"
    message = failure(body, checked=True)
    assert says in message
    assert f"\n    8 |   {line}\n" in message


def test_an_unchecked_access_far_outside_ends_the_launch_only() -> None:
    message = failure("out[i + 1000000000000] = 1;")
    assert "access of memory that is not there" in message
    assert one_output("out[i] = a[i];", A).tolist() == A.tolist()


def test_private_arrays_larger_than_the_stack() -> None:
    body = "float many[40000];\nfor (int n = 0; n < 40000; ++n) many[n] = a[n % 64] + t;\n"
    message = failure(body + "out[i] = many[int(a[i]) * 600];")
    assert "thread 0 needs more than 65536 bytes of stack" in message


def test_too_much_threadgroup_memory() -> None:
    message = failure("threadgroup float room[8193]; room[t] = 1;")
    assert "threadgroup memory over 32768 bytes: 32784" in message
    assert one_output("threadgroup float room[8192]; room[t] = 1; out[i] = room[t];", A)[0] == 1


def test_more_than_1024_threads() -> None:
    with pytest.raises(UsageError, match=r"has 1025 threads; Metal allows 1024"):
        one_output("out[i] = a[i];", A, threads=2000, threadgroup=1025)


def test_edge_threadgroups_are_smaller() -> None:
    out = one_output("out[i] = simd_sum(1.0) + 100 * g;", A[:40])
    assert out.tolist() == [32] * 32 + [108] * 8


@pytest.mark.parametrize(
    "body", ["while (a[0] == 0) out[i] += 1;", "while (a[0] == 0) simd_sum(a[1]);"]
)
def test_a_kernel_that_never_ends_is_stopped(body: str) -> None:
    program = compiled(body, BOTH)
    out = np.zeros_like(A)
    sizes = {"grid": (64, 1, 1), "threadgroup": (64, 1, 1)}
    with pytest.raises(KernelError, match=r"did not end within 0\.05 s"):
        program.run({"a": A, "out": out}, **sizes, patience=0.05)


def test_an_interrupt_ends_a_launch() -> None:
    program = compiled("while (a[0] == 0) out[i] += 1;", BOTH)
    out = np.zeros_like(A)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while not any(thread.name == "launch" for thread in threading.enumerate()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            program.run({"a": A, "out": out}, grid=(64, 1, 1), threadgroup=(64, 1, 1), patience=60)
    finally:
        signal.signal(signal.SIGINT, before)


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
    out = room[4:].view(np.float32)
    run("((device float4*)out)[i] = 1;", "device float* out", {"out": out}, threads=16)
    assert out.tolist() == [1] * 64
