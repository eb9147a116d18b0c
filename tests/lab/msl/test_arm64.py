"""The engine on arm64: cross-compiled, with its own stack switch, and run by qemu."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from small_kernels import kernel
from tracekit.lab.msl.compile import compile_kernel, unit
from tracekit.lab.msl.compiler import SHIM
from tracekit.lab.msl.program import Order

# g++ 12 knows no _Float16 on arm64 in C++; clang finds the libraries of the cross-compiler.
CLANG = shutil.which("clang++-19") or shutil.which("clang++")
EMULATOR = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")

pytestmark = [
    pytest.mark.skipif(
        not (CLANG and EMULATOR and shutil.which("aarch64-linux-gnu-g++")),
        reason="there is no clang++, aarch64-linux-gnu-g++ or qemu-aarch64 here",
    ),
    pytest.mark.emulator,
    pytest.mark.usefixtures("compiled_kernels"),
]

BODY = """
  threadgroup float room[64];
  float x = a[i], kept = 0.5 * float(t);
  for (int n = 0; n < 3; ++n) {
    room[t] = simd_sum(x) + kept;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x += room[63 - t] - kept;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[i] = half(x) + half(0.5h) + kept;"""

MAIN = """
#include <stdio.h>
#include "launch.hpp"
extern "C" int tracekit_run(const tracekit::Entry*, const tracekit::Request*, tracekit::Counts*,
                            char*, size_t);
static int stop = 0;
int main() {
  static float a[130], out[130];
  for (int i = 0; i < 130; ++i) a[i] = i % 5;
  tracekit::Buffer buffers[] = {{(char*)a, sizeof(a), nullptr}, {(char*)out, sizeof(out), nullptr}};
  for (int order = 0; order < 3; ++order) {
    tracekit::Request request{{130, 1, 1}, {64, 1, 1}, order, 2, 1, 0, 2, 0,
                              buffers, nullptr, &stop};
    static tracekit::Counts counts;
    char message[4096];
    const int status = tracekit_run(&tracekit_entry_0, &request, &counts, message, sizeof(message));
    double sum = 0;
    for (int i = 0; i < 128; ++i) sum += out[i] * (1 + i % 7);  // of whole groups
    printf("%d %d %d %g %s\\n", status, int(counts.barriers), int(counts.simd_operations), sum,
           message);
  }
}
"""


def test_barriers_and_simdgroups_give_what_they_give_here(tmp_path: Path) -> None:
    given = kernel(BODY, "const device float* a, device float* out")
    text = unit(given, checked=False, expand=lambda _: "")[0]
    (tmp_path / "main.cpp").write_text(f"{text}{MAIN}")
    argv = [str(CLANG), "-std=c++20", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off"]
    argv += ["--target=aarch64-linux-gnu", "-static", "-pthread", f"-I{SHIM}", "main.cpp"]
    subprocess.run([*argv, str(SHIM / "engine.cpp"), "-o", "program"], cwd=tmp_path, check=True)
    argv = [str(EMULATOR), str(tmp_path / "program")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    a = np.arange(130, dtype=np.float32) % 5
    for order, line in zip(Order, done.stdout.splitlines(), strict=True):
        out = np.zeros_like(a)
        sizes = {"grid": (130, 1, 1), "threadgroup": (64, 1, 1)}
        here = compile_kernel(given).run({"a": a, "out": out}, **sizes, order=order, seed=1)
        expected = (out[:128].astype(np.float64) * (1 + np.arange(128) % 7)).sum()
        assert line.split() == ["0", str(here.barriers), str(here.simd_operations), f"{expected:g}"]
