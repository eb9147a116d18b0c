"""What a checked launch counts: bytes loaded, stored, touched; and what each launch counts."""

import numpy as np
import pytest

from small_kernels import needs_compiler, run
from tracekit.lab.msl.program import Traffic

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

BOTH = "const device half* a, device float* out"


def traffic(body: str, parameters: str = BOTH, *, threads: int = 64) -> dict[str, Traffic]:
    buffers = {"a": np.zeros(100, np.float16), "out": np.zeros(100, np.float32)}
    return dict(run(body, parameters, buffers, threads=threads, checked=True).traffic)


def test_every_access_is_loaded_and_every_byte_touched_once() -> None:
    counted = traffic("out[i] = a[i] + a[0];")
    assert counted == {"a": Traffic(256, 0, 128), "out": Traffic(0, 256, 256)}


def test_what_is_added_to_is_loaded_and_stored() -> None:
    counted = traffic("out[i / 2] += 1; out[99]++;")
    assert counted["out"] == Traffic(512, 512, 132)
    assert counted["a"] == Traffic(0, 0, 0)


def test_a_vector_counts_all_its_elements_and_a_part_its_own() -> None:
    body = "const device half4* p = (const device half4*)a; out[0] = p[i].x;"
    assert traffic(body, threads=3)["a"] == Traffic(24, 0, 24)
    body = "device float4* p = (device float4*)out; p[i].y = p[i].z;"
    assert traffic(body, threads=3)["out"] == Traffic(12, 12, 24)


def test_a_struct_that_may_be_read_or_written_is_referenced() -> None:
    before = "struct Pair { float one, other; };\n"
    out = np.zeros(8, np.float32)
    body = "out[i].other = 2;"
    counted = run(body, "device Pair* out", {"out": out}, threads=4, before=before, checked=True)
    assert counted.traffic["out"] == Traffic(0, 0, 32)
    assert out.tolist() == [0, 2] * 4


def test_barriers_simdgroup_operations_and_memory_are_counted() -> None:
    body = """threadgroup half room[40]; room[t % 40] = a[i];
    for (int n = 0; n < 3; ++n) threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = simd_sum(room[0]) + simd_max(1.0);"""
    buffers = {"a": np.zeros(128, np.float16), "out": np.zeros(128, np.float32)}
    counted = run(body, BOTH, buffers, threads=128, threadgroup=64)
    assert (counted.barriers, counted.simd_operations) == (2 * 3, 4 * 2)
    assert counted.threadgroup_bytes == 80
