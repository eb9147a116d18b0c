"""The workload `churn`: it deliberately makes new pipelines while it is measured."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracekit.base import ToolError
from tracekit.workload import COMPILE, Measured, Results, Span, Step, StepReport, workload

if TYPE_CHECKING:
    import mlx.core as mx

    Function = Callable[[mx.array], mx.array]

_LARGEST = 900_000  # a float32 still distinguishes neighbouring whole numbers of this size


@workload
def churn(
    *,
    every: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Steady steps from one pipeline to the next.")
    ] = 16,
    size: Annotated[int, typer.Option(min=8, max=2**26, help="Elements of a step.")] = 2**20,
) -> Step:
    """Make a new pipeline every few steps, like a loop that did not warm up.

    On Metal each is the same kernel with another template value; on a CPU each is a function of
    `mx.compile` with another constant, for which MLX runs g++. The span `compile` is the time
    that it took to submit such a step.
    """
    import mlx.core as mx

    from tracekit.workload import backend

    device = backend()
    data = mx.random.normal((size,), key=mx.random.key(0))
    mx.eval(data)
    loop = _Loop(_MetalKernels() if device == "metal" else _CompiledFunctions(), data, every)
    loop.wait(loop.submit())
    if not loop.pipelines.names:
        raise ToolError(
            "MLX compiled nothing here, so nothing can be compiled again.",
            hint="See whether MLX_DISABLE_COMPILE is set.",
        )
    return Step(
        submit=loop.submit,
        wait=loop.wait,
        backend=device,
        bytes_read=data.nbytes,
        bytes_unique=data.nbytes,
        bytes_written=data.nbytes,
        dispatches=1 if device == "metal" else None,
        specializations=lambda: frozenset(loop.pipelines.names),
        tell=loop.tell,
        begin=loop.begin,
        finish=loop.finish,
    )


@dataclass
class _Loop:
    """Calls one function repeatedly, and now and then a new one in the steady phase.

    It behaves while it warms up: a warm-up lasts until no pipeline is new.
    """

    pipelines: "_MetalKernels | _CompiledFunctions"
    data: "mx.array"
    every: int
    # Not the same in two runs: compilers keep what they made, even from one run to the next.
    number: int = field(default_factory=lambda: SystemRandom().randrange(_LARGEST))
    function: "Function | None" = None
    left: int | None = None  # steps until the next pipeline; None while it behaves
    compiled: list[Span] = field(default_factory=list[Span])
    told: int = 0

    def submit(self) -> "mx.array":
        """Call the function, or a new one."""
        import mlx.core as mx

        if self.left is not None:
            self.left -= 1
        if self.function is not None and self.left != 0:
            out = self.function(self.data)
            mx.async_eval(out)
            return out
        if self.left == 0:
            self.left = self.every
        self.number = (self.number + 1) % _LARGEST
        start = time.monotonic_ns()
        self.function, out = self.pipelines.first_call(self.number, self.data)
        self.compiled.append(Span(COMPILE, start, time.monotonic_ns()))
        return out

    def wait(self, out: "mx.array") -> None:
        """Wait until a step is complete."""
        import mlx.core as mx

        mx.eval(out)

    def tell(self) -> StepReport:
        """Report the compilations since the last report."""
        new = self.compiled[self.told :]
        self.told = len(self.compiled)
        return StepReport(spans=new)

    def begin(self) -> None:
        """Begin to misbehave."""
        self.compiled.clear()
        self.told, self.left = 0, self.every

    def finish(self) -> Results:
        """Behave again; report the number of new pipelines, and the time that they took."""
        self.left = None
        return {
            "pipelines_made": Measured(len(self.compiled), "count", "lower"),
            "compile_time": Measured(
                sum(span.end - span.start for span in self.compiled), "ns", "lower"
            ),
        }


class _MetalKernels:
    """One Metal kernel, specialized by a template value."""

    def __init__(self) -> None:
        import mlx.core as mx

        self.names: set[str] = set()
        self._kernel: Any = mx.fast.metal_kernel(
            name="churn",
            input_names=["x"],
            output_names=["out"],
            source="uint i = thread_position_in_grid.x;\nout[i] = metal::exp(-x[i]) + float(N);",
        )

    def first_call(self, number: int, data: "mx.array") -> "tuple[Function, mx.array]":
        """Make the kernel of a template value, call it for the first time, and submit that."""
        import mlx.core as mx

        def launch(data: "mx.array") -> "mx.array":
            (out,) = self._kernel(
                inputs=[data],
                template=[("N", number)],
                grid=(data.size, 1, 1),
                threadgroup=(256, 1, 1),
                output_shapes=[data.shape],
                output_dtypes=[mx.float32],
            )
            return out

        self.names.add(f"custom_kernel_churn__{number}_float_float")
        out = launch(data)
        mx.async_eval(out)
        return launch, out


class _CompiledFunctions:
    """Functions of mx.compile, whose libraries MLX keeps in a folder for temporary files.

    They get a separate folder: every file in it was compiled now, and it is removed with them.
    """

    def __init__(self) -> None:
        if shutil.which("g++") is None:
            raise ToolError(
                "MLX compiles functions for the CPU with g++, and there is none here.",
                hint="Install g++; without a compiler MLX makes no pipelines on a CPU.",
            )
        self.names: set[str] = set()
        self._folder = Path(tempfile.mkdtemp(prefix="tracekit-churn-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def first_call(self, number: int, data: "mx.array") -> "tuple[Function, mx.array]":
        """Make a function with a constant of its own, call it, and submit that."""
        import mlx.core as mx

        function: Function = mx.compile(lambda x: mx.exp(-x) + float(number))
        out = function(data)
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(self._folder)
        try:
            mx.async_eval(out)
        finally:
            os.environ.pop("TMPDIR")
            if before is not None:
                os.environ["TMPDIR"] = before
        self.names = {file.stem.removeprefix("lib") for file in self._folder.rglob("lib*.so")}
        return function, out
