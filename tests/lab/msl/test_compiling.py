"""Compilers that are missing or fail, what is kept of those that work, arm64, included files."""

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pytest

from small_kernels import kernel, needs_emulation
from tracekit.base.errors import InputError, KernelError, ToolError, UsageError
from tracekit.lab.msl.compile import cache_folder, compile_kernel, expand_macros, unit
from tracekit.lab.msl.compiler import SHIM, Compiler, usable_compilers
from tracekit.lab.msl.edits import KernelText, with_includes
from tracekit.lab.msl.program import KernelProgram, ThreadOrder

SIZES: dict[str, Any] = {"grid": (4, 1, 1), "threadgroup": (4, 1, 1)}
SIMPLE = "out[i] = 7;"


def answer(program: KernelProgram) -> list[float]:
    output = np.zeros(4, np.float32)
    program.run({"out": output}, **SIZES)
    return output.tolist()


def simple(body: str = SIMPLE) -> KernelText:
    return kernel(body, "device float* out")


def test_without_a_compiler_the_error_names_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(ToolError, match="takes a C\\+\\+ compiler, and there is none") as caught:
        compile_kernel(simple())
    assert "clang 16" in caught.value.hint or "xcode-select" in caught.value.hint


@pytest.mark.processes
def test_a_preprocessor_that_failed_once_is_asked_again(tmp_path: Path) -> None:
    fake, mark = tmp_path / "g++", quote(str(tmp_path / "told"))
    fake.write_text(f"#!/bin/sh\n[ -e {mark} ] && echo expanded && exit 0; touch {mark}; exit 1\n")
    fake.chmod(0o755)
    compiler = Compiler(str(fake), "g++ 1")
    assert [expand_macros(simple(), compiler).strip() for _ in range(2)] == ["", "expanded"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 3", "does not say its version: status 3"),
        ("[ $1 = --version ] && echo g++ 1 && exit 0; echo no memory >&2; exit 1", "no memory"),
        ("[ $1 = --version ] && echo g++ 1 && exit 0; exit 9", "status 9, silently"),
    ],
)
def test_a_compiler_that_fails_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    fake = tmp_path / "c++"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(ToolError, match=says):
        compile_kernel(simple())


@pytest.fixture
def folder(compiled_kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of compiled kernels that no other test uses, with the engine in it."""
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path))
    cache_folder().mkdir()
    for file in compiled_kernels.glob("*.o*"):
        shutil.copy(file, cache_folder())
    return cache_folder()


def libraries(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_ino for path in folder.glob("*.so")}


@needs_emulation
def test_a_kernel_is_compiled_once(folder: Path) -> None:
    kernel_text = simple("out[i] = 11;")
    libraries_before = libraries(folder)
    assert answer(compile_kernel(kernel_text)) == [11] * 4
    libraries_after = libraries(folder)
    assert len(libraries_after) == len(libraries_before) + 1
    assert answer(compile_kernel(kernel_text)) == [11] * 4
    assert libraries(folder) == libraries_after
    compile_kernel(kernel_text, checked=True)
    assert len(libraries(folder)) == len(libraries_after) + 1


@needs_emulation
def test_libraries_that_nobody_used_for_a_month_are_removed(folder: Path) -> None:
    month = 31 * 24 * 3600
    used_kernel, forgotten = simple("out[i] = 15;"), simple("out[i] = 16;")
    library_paths: list[Path] = []
    for kernel_text in (used_kernel, forgotten):
        libraries_before = set(folder.glob("*.so"))
        compile_kernel(kernel_text)
        library_paths += set(folder.glob("*.so")) - libraries_before
        os.utime(library_paths[-1], (time.time() - month, time.time() - month))
    compile_kernel(used_kernel)
    compile_kernel(simple("out[i] = 17;"))
    assert [path.exists() for path in library_paths] == [True, False]
    assert answer(compile_kernel(forgotten)) == [16] * 4


@needs_emulation
def test_many_may_compile_one_kernel_at_the_same_time(folder: Path) -> None:
    kernel_text = simple("out[i] = 13;")
    with ThreadPoolExecutor(4) as pool:
        programs = list(pool.map(lambda _: compile_kernel(kernel_text), range(4)))
    assert [answer(program) for program in programs] == [[13] * 4] * 4
    assert not list(folder.glob("*unfinished*"))


def newest_clang() -> str:
    """Return the clang++ that tracekit would take; the test is skipped by name without one."""
    paths = (compiler.path for compiler in usable_compilers() if compiler.kind != "g++")
    return next(paths, None) or pytest.skip("there is no clang++ here that is new enough")


@needs_emulation
def test_clang_and_gcc_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", newest_clang())
    body = """
    threadgroup half4 room[4]; room[t] = half4(out[i] + 1.5);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    *(out + i) = simd_sum(float(room[3 - t].zx.y)) + max(0.5, out[i]); out[i] += bfloat(1);"""
    program = compile_kernel(simple(body), checked=True)
    assert answer(program) == [7.5] * 4
    with pytest.raises(KernelError, match=r" at k\.metal:8:52\n"):
        program.run({"out": np.zeros(2, np.float32)}, **SIZES)


KERNEL = '#include <metal_stdlib>\n#include "ops.h"\nkernel void k(device int* out) {{ {} }}\n'
OPS = "#pragma once\nMETAL_FUNC int twice(int a) { return 2 * a; }\n"
ONE: dict[str, Any] = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1)}


def _kernel(folder: Path, body: str, declarations: str = "", **files: str) -> KernelText:
    for name, text in files.items():
        (folder / f"{name}.h").write_text(text)
    text = KERNEL.format(body).replace("kernel void", f"{declarations}kernel void")
    joined, origins = with_includes(f"{declarations}{text}", folder / "k.metal", [folder / "other"])
    return KernelText(joined, "k", origins=origins)


@needs_emulation
def test_neighbouring_files_and_folders_are_included_once(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "more.h").write_text("constant int three = 3;\n")
    again = '#if 0\n#include "ops.h"\n#endif\n#include "ops.h"\n'
    ops = OPS.replace("once\n", 'once\n#include "more.h"\n')
    kernel = _kernel(tmp_path, "out[0] = twice(three);", again, ops=ops)
    output = np.zeros(1, np.int32)
    compile_kernel(kernel).run({"out": output}, **ONE)
    assert output[0] == 6


@needs_emulation
def test_messages_name_the_file_and_its_own_line(tmp_path: Path) -> None:
    ops = OPS.replace("2 * a", "2 * nothing")
    with pytest.raises(KernelError, match=r"\bops\.h:2:42: .*nothing"):
        compile_kernel(_kernel(tmp_path, "out[0] = 1;", ops=ops))
    with pytest.raises(KernelError, match=r"\bk\.metal:3:43: .*nix(.|\n)*    3 \| kernel"):
        compile_kernel(_kernel(tmp_path, "out[0] = nix;", ops=OPS))
    with pytest.raises(UsageError, match=r"^ops\.h:2:1: samplers cannot be run"):
        compile_kernel(_kernel(tmp_path, "out[0] = 1;", ops="\nsampler s;"))
    program = compile_kernel(_kernel(tmp_path, "out[7] = 1;", ops=OPS), checked=True)
    with pytest.raises(KernelError, match=r" at k\.metal:3:3\d\n"):
        program.run({"out": np.zeros(1, np.int32)}, **ONE)


@needs_emulation
def test_a_text_without_files_stays_as_it_is(tmp_path: Path) -> None:
    text = '#include <metal_stdlib>\n// #include "ops.h"\n#include "nowhere.h"\n'
    assert with_includes(text, tmp_path / "k.metal") == (text, ())
    with pytest.raises(UsageError, match=r'^k\.metal:3:1: "nowhere.h" is included, and not found'):
        compile_kernel(KernelText(f"{text}kernel void k(device int* a) {{}}", "k"))


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"includes too much; does a file include itself"):
        _kernel(tmp_path, "", ops='#include "more.h"\n', more='#include "ops.h"\n')
    (tmp_path / "ops.h").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        with_includes(KERNEL.format(""), tmp_path / "k.metal")


# g++ 12 knows no _Float16 on arm64 in C++; clang finds the libraries of the cross-compiler.
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64") or ""
ON_ARM64 = """
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
    tracekit::Request request{{130, 1, 1}, {64, 1, 1}, order, 2, 1, 0, 255, 2, 0,
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


@needs_emulation
@pytest.mark.skipif(
    not (QEMU and shutil.which("aarch64-linux-gnu-g++")),
    reason="there is no aarch64-linux-gnu-g++ or qemu-aarch64 here",
)
def test_arm64_and_this_processor_agree(tmp_path: Path) -> None:
    kernel_text = kernel(ON_ARM64, "const device float* a, device float* out")
    text = unit(kernel_text, checked=False, expand=lambda _: "")[0]
    (tmp_path / "main.cpp").write_text(f"{text}{MAIN}")
    argv = [newest_clang(), "-std=c++20", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off"]
    argv += ["--target=aarch64-linux-gnu", "-static", "-pthread", f"-I{SHIM}", "main.cpp"]
    subprocess.run([*argv, str(SHIM / "engine.cpp"), "-o", "program"], cwd=tmp_path, check=True)
    argv = [QEMU, str(tmp_path / "program")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    a = np.arange(130, dtype=np.float32) % 5
    for order, line in zip(ThreadOrder, done.stdout.splitlines(), strict=True):
        output = np.zeros_like(a)
        sizes = {"grid": (130, 1, 1), "threadgroup": (64, 1, 1)}
        here = compile_kernel(kernel_text).run(
            {"a": a, "out": output}, **sizes, order=order, seed=1
        )
        expected = (output[:128].astype(np.float64) * (1 + np.arange(128) % 7)).sum()
        expected_words = ["0", str(here.barriers), str(here.simd_operations), f"{expected:g}"]
        assert line.split() == expected_words, order
