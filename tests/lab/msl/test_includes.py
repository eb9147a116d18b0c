"""Kernels in several files: found, put together, and told by the file and line of each piece."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_kernels import needs_compiler
from tracekit.base.errors import InputError, KernelError, UsageError
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import Kernel, with_includes

KERNEL = '#include <metal_stdlib>\n#include "ops.h"\nkernel void k(device int* out) {{ {} }}\n'
OPS = "#pragma once\nMETAL_FUNC int twice(int a) { return 2 * a; }\n"
ONE: dict[str, Any] = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1)}


def _kernel(folder: Path, body: str, **files: str) -> Kernel:
    for name, text in files.items():
        (folder / f"{name}.h").write_text(text)
    file = folder / "k.metal"
    text, origins = with_includes(KERNEL.format(body), file, [folder / "other"])
    return Kernel(text, "k", origins=origins)


@pytest.mark.emulator
@needs_compiler
@pytest.mark.usefixtures("compiled_kernels")
def test_files_beside_and_in_folders_are_included(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "more.h").write_text("constant int three = 3;\n")
    kernel = _kernel(tmp_path, "out[0] = twice(three);", ops=f'#include "more.h"\n{OPS}')
    out = np.zeros(1, np.int32)
    compile_kernel(kernel).run({"out": out}, **ONE)
    assert out[0] == 6


@pytest.mark.emulator
@needs_compiler
@pytest.mark.usefixtures("compiled_kernels")
def test_a_file_that_is_included_often_stands_once(tmp_path: Path) -> None:
    again = '#if 0\n#include "ops.h"\n#endif\n#include "ops.h"\n'
    (tmp_path / "ops.h").write_text(OPS)
    text = KERNEL.format("out[0] = twice(4);").replace("kernel void", f"{again}kernel void")
    joined, origins = with_includes(f"{again}{text}", tmp_path / "k.metal")
    out = np.zeros(1, np.int32)
    compile_kernel(Kernel(joined, "k", origins=origins)).run({"out": out}, **ONE)
    assert out[0] == 8


@pytest.mark.emulator
@needs_compiler
@pytest.mark.usefixtures("compiled_kernels")
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
