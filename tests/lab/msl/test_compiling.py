"""Compilers that are missing or fail, what is kept of those that work, kernels in several files."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_kernels import emulated, kernel
from tracekit.base.errors import InputError, KernelError, ToolError, UsageError
from tracekit.lab.msl.compile import cache_folder, compile_kernel, expanded
from tracekit.lab.msl.compiler import Compiler
from tracekit.lab.msl.edits import Kernel, with_includes
from tracekit.lab.msl.program import Program

SIZES: dict[str, Any] = {"grid": (4, 1, 1), "threadgroup": (4, 1, 1)}
SIMPLE = "out[i] = 7;"


def answer(program: Program) -> list[float]:
    out = np.zeros(4, np.float32)
    program.run({"out": out}, **SIZES)
    return out.tolist()


def simple(body: str = SIMPLE) -> Kernel:
    return kernel(body, "device float* out")


def test_without_a_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(ToolError, match="takes a C\\+\\+ compiler, and there is none") as caught:
        compile_kernel(simple())
    assert "clang 16" in caught.value.hint or "xcode-select" in caught.value.hint


@pytest.mark.processes
def test_a_preprocessor_that_failed_once_is_asked_again(tmp_path: Path) -> None:
    fake, told = tmp_path / "g++", tmp_path / "told"
    fake.write_text(f"#!/bin/sh\n[ -e {told} ] && echo expanded && exit 0; touch {told}; exit 1\n")
    fake.chmod(0o755)
    compiler = Compiler(str(fake), "g++ 1")
    assert [expanded(simple(), compiler).strip() for _ in range(2)] == ["", "expanded"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("script", "error", "says"),
    [
        ("exit 3", ToolError, "does not say its version: status 3"),
        ("[ $1 = --version ] && echo g++ 1 && exit 0; echo out of memory >&2; exit 1",
         ToolError, "out of memory"),
        ("[ $1 = --version ] && echo g++ 1 && exit 0; exit 9", ToolError, "status 9, silently"),
    ],
)  # fmt: skip
def test_a_compiler_that_fails_is_quoted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    error: type[ToolError],
    says: str,
) -> None:
    fake = tmp_path / "c++"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(error, match=says):
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


@emulated
def test_a_kernel_is_compiled_once(folder: Path) -> None:
    one = simple("out[i] = 11;")
    before = libraries(folder)
    assert answer(compile_kernel(one)) == [11] * 4
    made = libraries(folder)
    assert len(made) == len(before) + 1
    assert answer(compile_kernel(one)) == [11] * 4
    assert libraries(folder) == made
    compile_kernel(one, checked=True)
    assert len(libraries(folder)) == len(made) + 1


@emulated
def test_libraries_that_nobody_used_for_a_month_are_removed(folder: Path) -> None:
    month = 31 * 24 * 3600
    kept, forgotten = simple("out[i] = 15;"), simple("out[i] = 16;")
    made: list[Path] = []
    for one in (kept, forgotten):
        before = set(folder.glob("*.so"))
        compile_kernel(one)
        made += set(folder.glob("*.so")) - before
        os.utime(made[-1], (time.time() - month, time.time() - month))
    compile_kernel(kept)
    compile_kernel(simple("out[i] = 17;"))
    assert [path.exists() for path in made] == [True, False]
    assert answer(compile_kernel(forgotten)) == [16] * 4


@emulated
def test_many_may_compile_one_kernel_at_the_same_time(folder: Path) -> None:
    given = simple("out[i] = 13;")
    with ThreadPoolExecutor(4) as pool:
        programs = list(pool.map(lambda _: compile_kernel(given), range(4)))
    assert [answer(program) for program in programs] == [[13] * 4] * 4
    assert not list(folder.glob("*unfinished*"))


CLANG = next((name for name in ("clang++", "clang++-19") if shutil.which(name)), "")


@pytest.mark.emulator
@pytest.mark.skipif(not CLANG, reason="there is no clang++ here")
@pytest.mark.parametrize("checked", [False, True])
def test_clang_compiles_what_gcc_does(checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", CLANG)
    body = """
    threadgroup half4 room[4]; room[t] = half4(out[i] + 1.5);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    *(out + i) = simd_sum(float(room[3 - t].zx.y)) + max(0.5, out[i]); out[i] += bfloat(1);"""
    program = compile_kernel(simple(body), checked=checked)
    assert answer(program) == [7.5] * 4
    if checked:
        with pytest.raises(KernelError, match=r" at k\.metal:8:52\n"):
            program.run({"out": np.zeros(2, np.float32)}, **SIZES)


KERNEL = '#include <metal_stdlib>\n#include "ops.h"\nkernel void k(device int* out) {{ {} }}\n'
OPS = "#pragma once\nMETAL_FUNC int twice(int a) { return 2 * a; }\n"
ONE: dict[str, Any] = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1)}


def _kernel(folder: Path, body: str, **files: str) -> Kernel:
    for name, text in files.items():
        (folder / f"{name}.h").write_text(text)
    file = folder / "k.metal"
    text, origins = with_includes(KERNEL.format(body), file, [folder / "other"])
    return Kernel(text, "k", origins=origins)


@emulated
def test_files_beside_and_in_folders_are_included(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "more.h").write_text("constant int three = 3;\n")
    kernel = _kernel(tmp_path, "out[0] = twice(three);", ops=f'#include "more.h"\n{OPS}')
    out = np.zeros(1, np.int32)
    compile_kernel(kernel).run({"out": out}, **ONE)
    assert out[0] == 6


@emulated
def test_a_file_that_is_included_often_stands_once(tmp_path: Path) -> None:
    again = '#if 0\n#include "ops.h"\n#endif\n#include "ops.h"\n'
    (tmp_path / "ops.h").write_text(OPS)
    text = KERNEL.format("out[0] = twice(4);").replace("kernel void", f"{again}kernel void")
    joined, origins = with_includes(f"{again}{text}", tmp_path / "k.metal")
    out = np.zeros(1, np.int32)
    compile_kernel(Kernel(joined, "k", origins=origins)).run({"out": out}, **ONE)
    assert out[0] == 8


@emulated
def test_messages_name_the_file_and_its_own_line(tmp_path: Path) -> None:
    ops = OPS.replace("2 * a", "2 * nothing")
    with pytest.raises(KernelError, match=r"\bops\.h:2:42: .*nothing"):
        compile_kernel(_kernel(tmp_path, "out[0] = 1;", ops=ops))
    with pytest.raises(KernelError, match=r"\bk\.metal:3:43: .*nix(.|\n)*    3 \| kernel"):
        compile_kernel(_kernel(tmp_path, "out[0] = nix;", ops=OPS))
    with pytest.raises(UsageError, match=r"^ops\.h:2:1: samplers cannot be run"):
        compile_kernel(_kernel(tmp_path, "out[0] = 1;", ops="\nsampler s;"))
    written = compile_kernel(_kernel(tmp_path, "out[7] = 1;", ops=OPS), checked=True)
    with pytest.raises(KernelError, match=r" at k\.metal:3:3\d\n"):
        written.run({"out": np.zeros(1, np.int32)}, **ONE)


def test_a_text_without_files_stays_as_it_is(tmp_path: Path) -> None:
    text = '#include <metal_stdlib>\n// #include "ops.h"\n#include "nowhere.h"\n'
    assert with_includes(text, tmp_path / "k.metal") == (text, ())
    with pytest.raises(UsageError, match=r'^k\.metal:3:1: "nowhere.h" is included, and not found'):
        compile_kernel(Kernel(f"{text}kernel void k(device int* a) {{}}", "k"))


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"includes too much; does a file include itself"):
        _kernel(tmp_path, "", ops='#include "more.h"\n', more='#include "ops.h"\n')
    (tmp_path / "ops.h").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        with_includes(KERNEL.format(""), tmp_path / "k.metal")
