"""The engine on arm64: cross-compiled, with its own stack switch, and run by qemu."""

import shutil
import subprocess
from pathlib import Path

import pytest

from small_kernels import kernel
from tracekit.lab.msl.compile import unit
from tracekit.lab.msl.compiler import SHIM

# g++ 12 knows no _Float16 on arm64 in C++; clang finds the libraries of the cross-compiler.
CLANG = shutil.which("clang++-19") or shutil.which("clang++")
EMULATOR = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
ARM64 = ("--target=aarch64-linux-gnu", "-static")

pytestmark = [
    pytest.mark.skipif(
        not (CLANG and EMULATOR and shutil.which("aarch64-linux-gnu-g++")),
        reason="there is no clang++, aarch64-linux-gnu-g++ or qemu-aarch64 here",
    ),
    pytest.mark.emulator,
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
  tracekit::Buffer buffers[] = {{(char*)a, SIZE, nullptr}, {(char*)out, sizeof(out), nullptr}};
  static uint64_t touched[2][100];
  for (int i = 0; i < 2; ++i) buffers[i].touched = touched[i];
  for (int order = 0; order < 3; ++order) {
    tracekit::Request request{{130, 1, 1}, {64, 1, 1}, order, 2, 1, 0, 2, 0,
                              buffers, nullptr, &stop};
    static tracekit::Counts counts;
    char message[4096];
    const int status = tracekit_run(&tracekit_entry_0, &request, &counts, message, sizeof(message));
    double sum = 0;
    for (int i = 0; i < 130; ++i) sum += out[i] * (1 + i % 7);
    printf("%d %d %d %g %s\\n", status, int(counts.barriers), int(counts.simd_operations), sum,
           message);
  }
}
"""


def printed(folder: Path, compiler: str, *flags: str, checked: bool, size: str) -> list[str]:
    given = kernel(BODY, "const device float* a, device float* out")
    text = unit(given, checked=checked, expand=lambda _: "")[0]
    (folder / "main.cpp").write_text(f"#define SIZE {size}\n{text}{MAIN}")
    program = folder / f"program-{len(flags)}"
    files = ["main.cpp", str(SHIM / "engine.cpp")]
    argv = [compiler, "-std=c++20", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off"]
    argv += ["-pthread", *flags, f"-I{SHIM}", *files, "-o", str(program)]
    subprocess.run(argv, cwd=folder, check=True)
    argv = [str(EMULATOR), str(program)] if flags else [str(program)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_barriers_and_simdgroups_give_what_they_give_here(tmp_path: Path) -> None:
    there = printed(tmp_path, str(CLANG), *ARM64, checked=False, size="sizeof(a)")
    assert [line.rsplit(maxsplit=1)[0] for line in there] == ["0 18 15"] * 3
    if shutil.which("g++"):
        assert there == printed(tmp_path, "g++", checked=False, size="sizeof(a)")
