"""Run the Metal kernels of kernels/ on an NVIDIA GPU: are they right, and how fast.

    python bench/cuda/kernel_gpu.py FOLDER [--rounds 30] [--output FILE]

needs CuPy and PyTorch; FOLDER comes from bench/cuda/build.py, which made CUDA of the Metal text
and cubins of that. First every specialization is compared with a float64 reference, over ragged
lengths, with NaN in unused rows and page numbers that do not exist in unused entries. Then kernels
are timed side by side with PyTorch on the same data: attention with its dense and gathered
attention, RMSNorm and the linear layer in one with the two in a row.
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false
# CuPy and PyTorch are on the machine with the GPU, not here.

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cupy
import torch
from torch.nn import functional

from cuda_calls import Case, Tensors, drawn, error, prepared, reference
from norm_calls import drawn_norm, fused, norm_reference, separate

BOUNDS = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
SETS = 4
CALLS = 32  # of one graph, over all sets in turn
COPIED = 1 << 30


def checked(modules: dict[str, Any], cases: list[Case]) -> dict[str, float]:
    """Compare every case with the reference; return the largest errors by kernel and dtype."""
    worst: dict[str, float] = {}
    for number, case in enumerate(cases):
        data = drawn(case, number, poison=True)
        found = error(prepared(modules, case, data)(), reference(case, data))
        if found > BOUNDS[case["dtype"]]:
            raise SystemExit(f"off by {found:.2g}: {case}")
        name = f"{case['plan']['kernel']} {case['dtype']}"
        worst[name] = max(worst.get(name, 0.0), found)
    return worst


def checked_norms(modules: dict[str, Any], cases: list[Case]) -> dict[str, float]:
    """Compare the calls of the fused norm; return the largest errors by dtype."""
    worst: dict[str, float] = {}
    for number, case in enumerate(cases):
        data = drawn_norm(case, number)
        found = error(fused(modules, case, data)(), norm_reference(case, data))
        if found > BOUNDS[case["dtype"]]:
            raise SystemExit(f"off by {found:.2g}: {case}")
        name = f"rmsnorm_linear {case['dtype']}"
        worst[name] = max(worst.get(name, 0.0), found)
    return worst


def dense(data: Tensors, case: Case) -> tuple[torch.Tensor, ...]:
    """Return q, keys and values as PyTorch attends to them, gathered out of the pages."""
    shape = (len(case["lens"]), -1, case["kv_heads"], case["head_dim"])
    keys, values = (
        data[name][data["block_tables"].long()].reshape(shape).transpose(1, 2)
        for name in ("k_pages", "v_pages")
    )
    return data["q"][:, :, None], keys, values


def sdpa(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Attend with PyTorch's own choice of kernel."""
    return functional.scaled_dot_product_attention(q, keys, values, enable_gqa=True)


def captured(calls: list[Callable[[], Any]]) -> torch.cuda.CUDAGraph:
    """Record `CALLS` calls, one set after the other, in a graph: launches cost no host time."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(CALLS):
            calls[number % len(calls)]()
    return graph


def measured(graphs: dict[str, torch.cuda.CUDAGraph], rounds: int) -> dict[str, list[float]]:
    """Replay all graphs in turn, `rounds` times; return microseconds of one call."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(rounds + 2):
        for name, graph in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            if number >= 2:
                times[name].append(start.elapsed_time(end) * 1000 / CALLS)
    return times


def label(case: Case) -> str:
    """Name a plan in a word."""
    how = case["plan"]
    if how["kernel"] != "grouped":
        return how["kernel"]
    words = "tile{hd_tile} tokens{tokens} threads{threadgroup} heads{heads} parts{partitions}"
    return "".join([words.format(**how), *(f", {name}" for name in case["names"])])


def compared(modules: dict[str, Any], cases: list[Case], rounds: int) -> dict[str, list[float]]:
    """Time the plans of one shape and PyTorch's attention side by side, on the same data."""
    sets = [drawn(cases[0], 1000 + number, poison=False) for number in range(SETS)]
    expected = reference(cases[0], sets[0])
    graphs: dict[str, torch.cuda.CUDAGraph] = {}
    kept: list[Callable[[], Any]] = []  # a graph does not keep what its kernels write to
    for case in cases:
        calls = [prepared(modules, case, data) for data in sets]
        kept += calls
        graphs[label(case)] = captured(calls)
        found = error(calls[0](), expected)
        if found > BOUNDS[case["dtype"]]:
            raise SystemExit(f"off by {found:.2g}: {label(case)}")
    flat = [tuple(one.contiguous() for one in dense(data, cases[0])) for data in sets]
    graphs["dense SDPA"] = captured([lambda one=one: sdpa(*one) for one in flat])
    graphs["gather + SDPA"] = captured(
        [lambda one=one: sdpa(*dense(one, cases[0])) for one in sets]
    )
    return measured(graphs, rounds)


def compared_norms(modules: dict[str, Any], case: Case, rounds: int) -> dict[str, list[float]]:
    """Time the fused norm and PyTorch's two ops side by side, on the same data."""
    sets = [drawn_norm(case, 2000 + number) for number in range(SETS)]
    calls = [fused(modules, case, data) for data in sets]
    graphs = {
        "fused": captured(calls),
        "PyTorch": captured([lambda one=one: separate(case, one) for one in sets]),
    }
    return measured(graphs, rounds)


def copy_bandwidth() -> float:
    """Return the GB/s, read and written, of a copy on the device."""
    source = torch.rand(COPIED // 4, device="cuda")
    target = torch.empty_like(source)
    times = measured({"copy": captured([lambda: torch.neg(source, out=target)])}, 5)["copy"]
    return 2 * COPIED / statistics.median(times) / 1e3


class Shape(NamedTuple):
    """The sizes that calls have in common if they are timed side by side."""

    batch: int
    q_heads: int
    kv_heads: int
    tokens: int


def shape_of(case: Case) -> Shape:
    """Return the sizes of a timed case, whose contexts are all of one length."""
    return Shape(len(case["lens"]), case["q_heads"], case["kv_heads"], max(case["lens"]))


def table(cases: list[Case], times: dict[str, list[float]]) -> list[str]:
    """Write a line for each contestant, the fastest first."""
    case = cases[0]
    elements = 2 * sum(case["lens"]) * case["kv_heads"] * case["head_dim"]
    medians = {name: statistics.median(one) for name, one in times.items()}
    heading = f"B {len(case['lens'])}, Hq {case['q_heads']}, Hkv {case['kv_heads']}, "
    lines = [heading + f"L {case['lens'][0]}: us, GB/s of K and V, x dense, x gather + SDPA"]
    for name, median in sorted(medians.items(), key=lambda one: one[1]):
        spread = statistics.median(abs(one - median) for one in times[name])
        lines.append(
            f"{median:9.2f} +-{spread:5.2f} {elements * 2 / median / 1e3:7.0f} "
            f"{medians['dense SDPA'] / median:6.2f} "
            f"{medians['gather + SDPA'] / median:6.2f}  {name}"
        )
    return lines


def main() -> None:
    """Check, time, print, and keep the raw samples."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--best", type=int, default=1000, help="lines of a table")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    cases = json.loads((options.folder / "cases.json").read_text())
    loaded = {
        file: cupy.RawModule(path=str(options.folder / file))
        for file in set(cases["cubins"].values())
    }
    modules = {entry: loaded[file] for entry, file in cases["cubins"].items()}
    results: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    results["errors"] = checked(modules, cases["checks"])
    results["errors"] |= checked_norms(modules, cases["norm_checks"])
    print(f"{results['device']}, PyTorch {torch.__version__}, copies {copy_bandwidth():.0f} GB/s")
    calls = len(cases["checks"]) + len(cases["norm_checks"])
    print(f"{calls} calls agree; largest relative errors: {results['errors']}")
    results["times"] = []
    for shape in dict.fromkeys(map(shape_of, cases["timed"])):
        same = [case for case in cases["timed"] if shape_of(case) == shape]
        times = compared(modules, same, options.rounds)
        results["times"].append({**shape._asdict(), "microseconds": times})
        print("\n".join(table(same, times)[: options.best]))
    for case in cases["norm_timed"]:
        times = compared_norms(modules, case, options.rounds)
        results["times"].append({"rows": case["rows"], "microseconds": times})
        medians = {name: f"{statistics.median(one):.2f}" for name, one in times.items()}
        print(f"RMSNorm and Linear, {case['rows']} x {case['dims']} x {case['outputs']}: {medians}")
    if options.output:
        options.output.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
