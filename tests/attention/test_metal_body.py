"""The body of the Metal kernel, run on a CPU: its arithmetic, its indices, its one barrier.

This proves the algorithm, not that Apple's compiler takes the text: address spaces are erased.
"""

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tracekit.attention import reference
from tracekit.attention.metal import SIMDGROUPS
from tracekit.shipped import shipped

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="there is no g++ on Linux"
)

MARK = "// ---- body ----\n"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
POISON = 10**6  # no page has this number

PROGRAM = """
#define SIMDGROUPS_OF_A_GROUP {simdgroups}
#include "simdgroups.hpp"
#define constant
{header}
using T = {kind};
constexpr int D = {head_dim}, BLOCK = {block_size}, KV_HEADS = {kv_heads};
constexpr int GROUP = {group}, SIMDGROUPS = {simdgroups};
static const T *q, *k_pages, *v_pages;
static const int *block_tables, *context_lens;
static int max_blocks;
static float scale;
static T* out;

void kernel_body() {{
  const uint thread_index_in_simdgroup = current % LANES_OF_A_SIMDGROUP;
  const uint simdgroup_index_in_threadgroup = current / LANES_OF_A_SIMDGROUP;
  const uint3 threadgroup_position_in_grid = group;
{body}
}}

extern "C" int run(const T* q_, const T* k_, const T* v_, const int* tables, const int* lens,
                   int blocks, float factor, T* out_, int heads, int batch, int descending) {{
  q = q_; k_pages = k_; v_pages = v_; block_tables = tables; context_lens = lens;
  max_blocks = blocks; scale = factor; out = out_;
  return run_grid(heads, batch, descending);
}}
"""

Build = Callable[..., Any]
Array = NDArray[Any]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile the kernel for some template values."""
    folder = tmp_path_factory.mktemp("kernels")

    def compiled(kind: str, change: Callable[[str], str] = str, **values: int) -> Any:
        header, _, body = (shipped("kernels") / "paged_decode.metal").read_text().partition(MARK)
        assert BARRIER in body
        text = PROGRAM.format(
            kind=kind,
            header=header.replace("constant constexpr", "constexpr"),
            body=change(body).replace("threadgroup float", "static float"),
            simdgroups=SIMDGROUPS,
            **values,
        )
        source = folder / f"kernel{len(list(folder.glob('*.cpp')))}.cpp"
        source.write_text(text)
        library = source.with_suffix(".so")
        argv = ["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", f"-I{Path(__file__).parent}"]
        subprocess.run([*argv, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))

    return compiled


def _pool(dtype: type, lens: list[int], blocks: int, values: dict[str, int]) -> list[Array]:
    """Draw a problem; what lies behind a sequence's end is NaN or a page that is not there."""
    random = np.random.default_rng(0)
    heads, size, block = values["kv_heads"], values["head_dim"], values["block_size"]
    pool = (len(lens) * blocks, block, heads, size)
    q = random.normal(size=(len(lens), heads * values["group"], size)).astype(dtype)
    keys, pages = (random.normal(size=pool).astype(dtype) for _ in range(2))
    tables = random.permutation(pool[0]).reshape(len(lens), blocks).astype(np.int32)
    for sequence, length in enumerate(lens):
        for token in range(length, blocks * block):
            page = tables[sequence, token // block]
            keys[page, token % block] = pages[page, token % block] = np.nan
        tables[sequence, -(-length // block) :] = POISON
    return [q, keys, pages, tables, np.array(lens, np.int32)]


def _run(library: Any, arrays: list[Array], *, descending: bool) -> tuple[int, Array]:
    q, _, _, tables, _ = arrays
    out = np.full_like(q, np.nan)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    factor = ctypes.c_float(q.shape[2] ** -0.5)
    last = out.ctypes.data_as(ctypes.c_void_p)
    sizes = (tables.shape[1], factor, last, q.shape[1], q.shape[0])
    return library.run(*pointers, *sizes, int(descending)), out


def _error(arrays: list[Array], out: Array) -> float:
    q, keys, pages, tables, lens = arrays
    floats = [array.astype(np.float64) for array in (q, keys, pages)]
    expected = reference(*floats, tables, lens, scale=q.shape[2] ** -0.5)
    return float(np.abs(out.astype(np.float64) - expected).max())


SHAPES = {
    "ragged": ((64, 2, 2, 16), [1, 33, 80]),
    "no multiple of 32": ((80, 2, 2, 16), [7, 8, 9]),
    "pages of one token": ((96, 1, 3, 1), [5, 0, 1]),
    "all heads share one": ((128, 1, 8, 32), [0, 33, 64]),
    "no sharing": ((256, 2, 1, 16), [80, 2, 31]),
}
KINDS = {"float": (np.float32, 1e-6), "_Float16": (np.float16, 1e-3)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_body_agrees_with_the_reference_in_any_order(
    build: Build, kind: str, shape: str
) -> None:
    (dtype, tolerance), (sizes, lens) = KINDS[kind], SHAPES[shape]
    names = ("head_dim", "kv_heads", "group", "block_size")
    values = dict(zip(names, sizes, strict=True))
    arrays = _pool(dtype, lens, 5, values)
    library = build(kind, **values)
    (one, up), (other, down) = (_run(library, arrays, descending=way) for way in (False, True))
    assert (one, other) == (0, 0)
    assert np.array_equal(up, down)
    assert _error(arrays, up) <= tolerance


SMALL = {"head_dim": 64, "kv_heads": 1, "group": 2, "block_size": 16}


def test_without_its_barrier_it_would_be_wrong(build: Build) -> None:
    library = build("float", lambda body: body.replace(BARRIER, ""), **SMALL)
    arrays = _pool(np.float32, [33, 80], 5, SMALL)
    errors = [_error(arrays, _run(library, arrays, descending=way)[1]) for way in (False, True)]
    assert not max(errors) <= 1e-3


def test_a_barrier_that_some_never_reach_is_seen(build: Build) -> None:
    early = "if (lane > 5) return;\n" + BARRIER
    library = build("float", lambda body: body.replace(BARRIER, early), **SMALL)
    arrays = _pool(np.float32, [33, 80], 5, SMALL)
    assert _run(library, arrays, descending=False)[0] == 2


def test_a_sum_that_some_lanes_miss_is_seen(build: Build) -> None:
    partly = "score = lane < 7 ? simd_sum(score) : score;"
    change = lambda body: body.replace("score = simd_sum(score);", partly)  # noqa: E731
    library = build("float", change, **SMALL)
    assert _run(library, _pool(np.float32, [33], 5, SMALL), descending=False)[0] == 1
