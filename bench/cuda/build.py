"""Compile the kernels of kernels/ for an NVIDIA GPU, and say how to call them.

    python bench/cuda/build.py FOLDER [--sweep | --registers]

needs nvcc and MLX, not a GPU. FOLDER gets cubins and cases.json, which bench/cuda/kernel_gpu.py
reads on the machine with the GPU. With --registers it gets compiled kernels only, and registers.csv
beside this file is written anew, in about ten minutes of a core.
"""

import argparse
import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mlx.core as mx

from norms import norm_checks, norm_timed
from registers import Counts, Launch, Row, default_launches, digest_of, make_problem, write_rows
from tracekit.lab.msl.emulation import Generated, generated
from tracekit.ops.attention.metal import paged_decode
from tracekit.ops.attention.planning import (
    THREADS,
    DecodePlan,
    fitting_tiles,
    heads_at_once,
    plan,
)
from tracekit.ops.attention.problem import HEAD_DIMS, DecodeProblem
from tracekit.ops.kernels import DTYPES
from translate import Translated, translate

FLAGS = ["-std=c++17", "-O3", "-arch=sm_90", "-ftz=true", "-cubin", "-Xptxas", "-v"]
GROUPS = (1, 4, 2, 8, 3, 16, 7)
KERNELS_OF_A_CUBIN = 32
TABLE = (  # batch, q heads, kv heads, tokens
    (16, 16, 8, 1024),
    (16, 32, 8, 2048),
    (1, 32, 8, 16384),
    (64, 32, 8, 1024),
    (16, 28, 4, 2048),
    (16, 64, 8, 2048),
    (1, 64, 8, 16384),
)
OTHERS = TABLE[:2]  # where the kernels that are much slower are timed too
CORES = 132  # multiprocessors of an H200


_COUNTS = re.compile(
    r"Compiling entry function 'entry_(?P<entry>\w+)'"
    r".*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores"
    r".*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


class Modules:
    """The kernels met so far, each once."""

    def __init__(self) -> None:
        self.kernels: dict[str, Translated] = {}

    def launches(self, call: Callable[..., mx.array], *arrays: mx.array) -> list[dict[str, Any]]:
        """Trace a call, and return its launches as JSON."""
        return [self._launch(one) for one in generated(call, *arrays)]

    def decode(self, problem: DecodeProblem, how: DecodePlan) -> dict[str, Any]:
        """Return how a decode call is shared out, and its launches, as JSON."""

        def call(*arrays: mx.array) -> mx.array:
            return paged_decode(DecodeProblem(*arrays), scale=1.0, how=how)

        pages = (problem.k_pages, problem.v_pages)
        arrays = (problem.q, *pages, problem.block_tables, problem.context_lens)
        return {"plan": asdict(how), "launches": self.launches(call, *arrays)}

    def _launch(self, kernel: Generated) -> dict[str, Any]:
        if kernel.function not in self.kernels:
            self.kernels[kernel.function] = translate(kernel)
        groups = [grid // size for grid, size in zip(kernel.grid, kernel.threadgroup, strict=True)]
        return {
            "kernel": kernel.name,
            "entry": kernel.function,
            "grid": groups,
            "block": kernel.threadgroup,
            "arguments": self.kernels[kernel.function].arguments,
        }


def described(
    lens: list[int], heads: tuple[int, int], head_dim: int, block_size: int, dtype: mx.Dtype
) -> tuple[DecodeProblem, dict[str, Any]]:
    """Return a problem of zeros, and its sizes as JSON."""
    q_heads, kv_heads = heads
    batch, blocks = len(lens), -(-max(lens) // block_size)
    pool = (batch * blocks, block_size, kv_heads, head_dim)
    pages = mx.zeros(pool, dtype)
    tables, lengths = mx.zeros((batch, blocks), mx.int32), mx.zeros((max(8, batch),), mx.int32)
    problem = DecodeProblem(
        mx.zeros((batch, q_heads, head_dim), dtype), pages, pages, tables, lengths
    )
    sizes = {"lens": lens, "q_heads": q_heads, "kv_heads": kv_heads, "head_dim": head_dim}
    dtype_name = str(dtype).removeprefix("mlx.core.")
    return problem, {**sizes, "block_size": block_size, "blocks": blocks, "dtype": dtype_name}


def checks(modules: Modules) -> Iterator[dict[str, Any]]:
    """Yield a ragged call of every specialization, in one partition and in several."""
    grid = [
        (dtype, head_dim, block, tile)
        for dtype, head_dim, block in itertools.product(DTYPES, HEAD_DIMS, (16, 32, 64))
        for tile in fitting_tiles(head_dim)
    ]
    for number, (dtype, head_dim, block, tile) in enumerate(grid):
        group = GROUPS[number % len(GROUPS)]
        lens = [1, block - 1, block, block + 1, 0, 7 * block + 3, 12 * block]
        problem, sizes = described(lens, (2 * group, 2), head_dim, block, dtype)
        for partitions in (1, 3):
            how = plan(problem, hd_tile=tile, partitions=partitions)
            yield {**sizes, **modules.decode(problem, how)}
        if tile == 8:
            for kernel in ("per-head", "barriers"):
                yield {**sizes, **modules.decode(problem, plan(problem, kernel=kernel))}


def timed(modules: Modules, *, sweep: bool) -> Iterator[dict[str, Any]]:
    """Yield the calls whose time is compared: all variants, or what is chosen and the others."""
    for shape in TABLE:
        batch, q_heads, kv_heads, tokens = shape
        problem, sizes = described([tokens] * batch, (q_heads, kv_heads), 128, 32, mx.float16)
        own = {
            "plan's choice": plan(problem),
            f"plan's choice for {CORES} cores": told(problem),
        }
        plans = variants(problem) if sweep else chosen(problem, others=shape in OTHERS)
        for how in plans:
            names = [name for name, one in own.items() if one == how]
            yield {**sizes, **modules.decode(problem, how), "names": names}


def told(problem: DecodeProblem) -> DecodePlan:
    """Return what `plan` chooses if it knows the device."""
    return plan(problem, cores=CORES)


def chosen(problem: DecodeProblem, *, others: bool) -> Iterator[DecodePlan]:
    """Yield what `plan` chooses by itself, other launches of it, and the other kernels."""
    plans = [plan(problem), told(problem)]
    for threads, partitions in itertools.product(THREADS, (1, 2)):
        plans.append(plan(problem, threadgroup=threads, partitions=partitions))
    if others:
        plans += [plan(problem, kernel="per-head"), plan(problem, kernel="barriers")]
    yield from dict.fromkeys(plans)


def variants(problem: DecodeProblem) -> Iterator[DecodePlan]:
    """Yield many ways to share the work out."""
    group = problem.q_heads // problem.kv_heads
    sizes = itertools.product((4, 8, 16), (1, 2, 4, 8), (128, 256, 384, 512, 1024))
    for (tile, tokens, threads), partitions in itertools.product(sizes, (1, 2, 3, 4, 8)):
        if tile * tokens <= 32 and not (threads == 1024 and tile * tokens > 16):
            heads = heads_at_once(group, tile)
            yield DecodePlan("grouped", threads, partitions, tile, heads, tokens)


def compiled(modules: Modules, folder: Path) -> dict[str, str]:
    """Compile all kernels; return which cubin holds which."""
    files: dict[str, str] = {}
    kernels = list(modules.kernels.values())
    for number, start in enumerate(range(0, len(kernels), KERNELS_OF_A_CUBIN)):
        batch = kernels[start : start + KERNELS_OF_A_CUBIN]
        source = folder / f"kernels{number}.cu"
        source.write_text("\n".join(['#include "metal.cuh"', *(one.text for one in batch)]))
        argv = ["nvcc", *FLAGS, "-I", str(Path(__file__).parent), str(source), "-o"]
        done = subprocess.run(
            [*argv, str(source.with_suffix(".cubin"))], check=True, capture_output=True, text=True
        )
        (folder / f"kernels{number}.log").write_text(done.stderr)
        files.update({one.entry: source.with_suffix(".cubin").name for one in batch})
    return files


def count_registers(folder: Path) -> None:
    """Compile every default launch of attention, write their registers and print the largest."""
    modules = Modules()
    entries: dict[Launch, str] = {}
    for launch in default_launches():
        problem = make_problem(getattr(mx, launch.dtype), launch.head_dim, launch.group)
        decode = modules.decode(problem, launch.how)["launches"][0]
        entries[launch] = decode["entry"]
    compiled(modules, folder)
    counts: dict[str, Counts] = {}
    for log in folder.glob("*.log"):
        for match in _COUNTS.finditer(log.read_text()):
            numbers = [int(match[name]) for name in ("registers", "stack", "stores")]
            counts[match["entry"]] = Counts(*numbers)
    rows = [Row(launch, counts[entry], digest_of(launch)) for launch, entry in entries.items()]
    write_rows(rows)
    most = max(row.counts.registers for row in rows)
    in_memory = sum(1 for row in rows if row.counts.stack or row.counts.spills)
    print(f"{len(rows)} launches: at most {most} registers, {in_memory} with a stack or spills")


def main() -> None:
    """Write cubins and cases.json, or the registers of default launches."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sweep", action="store_true", help="time many variants; check none")
    parser.add_argument("--registers", action="store_true", help="write registers.csv only")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.registers:
        count_registers(options.folder)
        return
    modules = Modules()
    cases = {
        "checks": [] if options.sweep else list(checks(modules)),
        "timed": list(timed(modules, sweep=options.sweep)),
        "norm_checks": [] if options.sweep else list(norm_checks(modules.launches)),
        "norm_timed": [] if options.sweep else list(norm_timed(modules.launches)),
    }
    files = compiled(modules, options.folder)
    text = json.dumps({**cases, "cubins": files}, indent=1)
    (options.folder / "cases.json").write_text(text)
    print(f"{len(files)} kernels, {len(cases['checks'])} checks, {len(cases['timed'])} timed")


if __name__ == "__main__":
    main()
