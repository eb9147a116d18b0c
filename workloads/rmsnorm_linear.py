"""The workload `rmsnorm-linear`: RMSNorm and a linear layer, fused against separate."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded where it is used

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracekit.errors import ToolError
from tracekit.paired import paired_ratio
from tracekit.told import Measured, Told, Work
from tracekit.workload import Step, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.norm import Problem, Traffic

Dtype = Literal["float16", "bfloat16", "float32"]
# How far a result may be from float64, as a part of the largest.
TOLERANCE: dict[str, float] = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
ORDER = (0, 1, 1, 0)  # ABBA: what drifts from step to step is shared out evenly
TIMES = "times"  # a speed-up of 1.2 reads "1.2 times"
NEEDS_METAL = "the fused kernel needs Metal; here both variants are MLX's own ops"


@workload
def rmsnorm_linear(
    *,
    rows: Annotated[int, typer.Option(min=1, max=65536, help="Rows of x: tokens.")] = 8,
    dims: Annotated[int, typer.Option(min=1, max=65536, help="Elements of a row.")] = 4096,
    out_dims: Annotated[int, typer.Option(min=1, max=262144, help="Elements of a result.")] = 4096,
    dtype: Annotated[Dtype, typer.Option(help="Type of the elements.")] = "float16",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the contents.")] = 0,
) -> Step:
    """Compare RMSNorm and Linear in one kernel with the two in a row.

    Steps take turns in the order ABBA, so that clocks and heat are the same for both. Without
    Metal there is no kernel: the two are then compared with what `mx.compile` makes of them.
    """
    import mlx.core as mx

    from tracekit.norm import draw_problem

    problem = draw_problem(rows, dims, out_dims, dtype=getattr(mx, dtype), seed=seed)
    return _step(problem, TOLERANCE[dtype])


@dataclass
class Turns:
    """Two variants that take turns, and how long each turn took, in ns."""

    names: tuple[str, str]
    calls: tuple[Callable[[], "mx.array"], Callable[[], "mx.array"]]
    made: int = 0
    started: int = 0
    times: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))

    def submit(self) -> "mx.array":
        """Hand over the variant whose turn it is."""
        import mlx.core as mx

        self.started = time.monotonic_ns()
        out = self.calls[self._turn]()
        mx.async_eval(out)
        return out

    def wait(self, out: "mx.array") -> None:
        """Wait for it."""
        import mlx.core as mx

        mx.eval(out)
        self.times[self._turn].append(time.monotonic_ns() - self.started)

    def tell(self) -> Told:
        """Say which variant it was, and pass the turn on."""
        told = Told(variant=self.names[self._turn])
        self.made += 1
        return told

    def begin(self) -> None:
        """Forget the turns so far, and start with the first variant again."""
        self.made = 0
        for times in self.times:
            times.clear()

    def pairs(self) -> tuple[list[int], list[int]]:
        """Return the times of both variants, without a last turn that has no partner."""
        whole = min(len(times) for times in self.times)
        return self.times[0][:whole], self.times[1][:whole]

    @property
    def _turn(self) -> int:
        return ORDER[self.made % len(ORDER)]


def _step(problem: "Problem", tolerance: float) -> Step:
    import mlx.core as mx

    from tracekit.norm import compiled, fused_kernel, separate, separate_traffic, specializations

    metal = mx.default_device() != mx.Device(mx.cpu) and mx.metal.is_available()
    merged, name = (fused_kernel, "fused") if metal else (compiled, "compiled")
    turns = Turns(("separate", name), (lambda: separate(problem), lambda: merged(problem)))
    moved = separate_traffic(
        problem.rows, problem.dims, problem.outputs, itemsize=problem.dtype.size
    )
    works = {"separate": _work(moved, problem.rows), name: _merged_work(problem, metal)}
    return Step(
        submit=turns.submit,
        wait=turns.wait,
        backend="metal" if metal else "cpu",
        tokens=problem.rows,
        specializations=specializations,
        results={
            f"{one}_error": _error(problem, call(), one, tolerance)
            for one, call in zip(turns.names, turns.calls, strict=True)
        },
        variants=works,
        tell=turns.tell,
        begin=turns.begin,
        finish=lambda: _compared(turns),
    )


def _merged_work(problem: "Problem", metal: bool) -> Work:
    from tracekit.norm import kernel_traffic, separate_traffic

    if metal:
        return _work(kernel_traffic(problem), problem.rows, dispatches=1)
    sizes = (problem.rows, problem.dims, problem.outputs)
    # The product needs its rows in memory, compiled or not.
    return _work(separate_traffic(*sizes, itemsize=problem.dtype.size), problem.rows)


def _work(moved: "Traffic", rows: int, dispatches: int | None = None) -> Work:
    return Work(
        tokens=rows,
        bytes_read=moved.read,
        bytes_unique=moved.unique,
        bytes_written=moved.written,
        flops=moved.flops,
        dispatches=dispatches,
    )


def _error(problem: "Problem", out: "mx.array", name: str, tolerance: float) -> float:
    """Compare a variant with float64; refuse a wrong result."""
    from tracekit.norm import relative_error

    error = relative_error(problem, out)
    if error > tolerance:
        raise ToolError(
            f"The variant {name} is off by {error:.2g} of the largest result; "
            f"{problem.dtype} allows {tolerance:g}.",
            hint="A wrong result is not measured; the kernel or MLX must be mended first.",
        )
    return error


def _compared(turns: Turns) -> Mapping[str, Measured]:
    """Say how many times as fast the second variant is: the median over pairs of turns."""
    name = turns.names[1]
    found = _speedup(turns, name)
    if name == "fused":
        return found
    return {"fused_speedup": Measured(None, TIMES, "higher", NEEDS_METAL), **found}


def _speedup(turns: Turns, name: str) -> dict[str, Measured]:
    ratio = paired_ratio(*turns.pairs())
    why = f"{ratio.pairs} pairs of steps are too few"
    values = {
        f"{name}_speedup": ratio.median,
        f"{name}_speedup_low": ratio.low,
        f"{name}_speedup_high": ratio.high,
    }
    found = {
        key: Measured(value, TIMES, "higher", "" if value is not None else why)
        for key, value in values.items()
    }
    return {**found, "pairs": Measured(ratio.pairs, "count")}
