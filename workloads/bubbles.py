"""The workload `bubbles`: the device deliberately waits for the host for a known share of time."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracekit.workload import Measured, Results, Span, Step, StepReport, workload

if TYPE_CHECKING:
    import mlx.core as mx

Cause = Literal["sleep", "readback"]


@workload
def bubbles(
    *,
    idle: Annotated[
        float, typer.Option(min=0.0, max=0.95, help="Share of the time that the device waits.")
    ] = 0.3,
    cause: Annotated[
        Cause,
        typer.Option(help="Activity of the host meanwhile: sleep, or read results back."),
    ] = "sleep",
    size: Annotated[int, typer.Option(min=16, max=16384, help="Rows and columns.")] = 1024,
) -> Step:
    """Multiply matrices, and let the device wait between two steps.

    Before each step the host is busy otherwise for as long as the requested idle share needs,
    judged by the duration of the previous step. The span named after the cause shows this time,
    and the result `idle_on_purpose` is its share of the steady steps. The rule `bubbles` finds
    this time and the cost of submitting work, which on a GPU is smaller for larger matrices.
    """
    import mlx.core as mx

    from tracekit.workload import backend

    left, right = (mx.random.normal((size, size), key=mx.random.key(seed)) for seed in (0, 1))
    mx.eval(left, right)
    loop = _Loop(left, right, idle, cause)
    loop.wait(loop.submit())
    return Step(
        submit=loop.submit,
        wait=loop.wait,
        backend=backend(),
        bytes_read=left.nbytes + right.nbytes,
        bytes_unique=left.nbytes + right.nbytes,
        bytes_written=left.nbytes,
        flops=2 * size**3,
        tell=loop.tell,
        begin=loop.begin,
        finish=loop.finish,
    )


@dataclass
class _Loop:
    """Steps with a pause before each, and the durations of both."""

    left: "mx.array"
    right: "mx.array"
    idle: float
    cause: Cause
    out: "mx.array | None" = None
    handed_over: int = 0
    worked: int = 0  # ns that the device took for the last step
    pauses: list[Span] = field(default_factory=list[Span])
    begun: int = 0
    ended: int = 0

    def submit(self) -> "mx.array":
        """Let the device wait, then submit a product."""
        import mlx.core as mx

        start = time.monotonic_ns()
        self.begun = self.begun or start
        pause = round(self.worked * self.idle / (1 - self.idle))
        if pause and self.out is not None:
            _pass_time(self.cause, start + pause, self.out)
        self.pauses.append(Span(self.cause, start, time.monotonic_ns()))
        out = self.left @ self.right
        mx.async_eval(out)
        self.handed_over = time.monotonic_ns()
        return out

    def wait(self, out: "mx.array") -> None:
        """Wait until the product is there."""
        import mlx.core as mx

        mx.eval(out)
        self.ended = time.monotonic_ns()
        self.worked, self.out = self.ended - self.handed_over, out

    def tell(self) -> StepReport:
        """Report the last pause."""
        return StepReport(spans=self.pauses[-1:])

    def begin(self) -> None:
        """Forget the warm-up, except the duration of a step."""
        self.pauses.clear()
        self.begun = 0

    def finish(self) -> Results:
        """Report the share of the pauses in the steady steps."""
        paused = sum(pause.end - pause.start for pause in self.pauses)
        lasted = self.ended - self.begun
        if not self.pauses or lasted <= 0:
            absent = Measured(None, "ratio", reason="there was no steady step")
            return {"idle_on_purpose": absent}
        return {"idle_on_purpose": Measured(paused / lasted, "ratio")}


def _pass_time(cause: Cause, until: int, out: "mx.array") -> None:
    """Sleep, or read the result back and add up its rows, until a moment of the clock."""
    import numpy as np

    if cause == "sleep":
        time.sleep(max(0, until - time.monotonic_ns()) / 1e9)
        return
    rows, row = np.asarray(out), 0
    while time.monotonic_ns() < until:
        rows[row % len(rows)].sum()
        row += 1
