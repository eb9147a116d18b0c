"""The harness as a step: shapes are rehearsed in the warm-up, then the schedule runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.base.errors import UsageError
from tracekit.ops.attention.metal import specializations
from tracekit.ops.cache.blocks import Blocks
from tracekit.ops.serving.clock import SystemClock
from tracekit.ops.serving.engine import Engine, HandedOver
from tracekit.ops.serving.model import Model, Shape
from tracekit.ops.serving.rehearsal import Cost, measure, rehearse, verify
from tracekit.ops.serving.schedule import Job, Load, draw_schedule
from tracekit.ops.serving.scheduler import Plan, Scheduler
from tracekit.workload.workload import Measured, Step, Told

MILLISECOND = 1_000_000


@dataclass(frozen=True)
class Limits:
    """What a run is judged by; None where nothing is demanded.

    Attributes:
        ttft: Milliseconds until the first token at most.
        tpot: Milliseconds for each token after it at most.
        tick: Milliseconds above which a tick is a spike.
    """

    ttft: float | None = None
    tpot: float | None = None
    tick: float = 200.0


class Server:
    """An engine that plays to an empty house until it is told to begin."""

    def __init__(self, engine: Engine, model: Model) -> None:
        self._engine = engine
        self._model = model
        self._pieces = rehearse(model)
        self._live = False

    def begin(self) -> None:
        """Let the schedule start now."""
        self._live = True
        self._engine.begin()

    def submit(self) -> HandedOver:
        """Hand over a tick, or before the beginning a rehearsal of one."""
        if self._live:
            return self._engine.submit()
        chunk, batch = next(self._pieces)
        model = self._model
        model.write_prompt(chunk)
        model.write_tokens(batch)
        parts = (("prefill", model.attend_prompt(chunk)), ("decode", model.attend_tokens(batch)))
        return HandedOver(Plan(), parts)

    def wait(self, work: HandedOver) -> None:
        """Wait for a tick, or a rehearsal."""
        if self._live:
            self._engine.wait(work)
            return
        for _, part in work.parts:
            self._model.wait(part)

    def tell(self) -> Told:
        """Say what the tick was; a rehearsal produces no tokens."""
        return self._engine.tell() if self._live else Told(tokens=0)


def serving_step(load: Load, shape: Shape, limits: Limits) -> Step:
    """Make the step of a server that serves a load; see what it costs and that it is right.

    Raises:
        UsageError: The load or the shape cannot be had.
        ToolError: The results are wrong.
    """
    jobs, clock = draw_schedule(load), SystemClock()
    _require_room(jobs, shape)
    model = Model(shape, load.seed)
    error = verify(model)
    cost = measure(model, clock)
    scheduler = Scheduler(
        slots=shape.slots,
        blocks=Blocks(shape.blocks),
        block_size=shape.block_size,
        prefill_chunk=shape.chunk,
    )
    engine = Engine(jobs, scheduler, model, clock, _levels(shape, limits))
    server = Server(engine, model)
    return Step(
        submit=server.submit,
        wait=server.wait,
        backend=model.backend,
        specializations=specializations,
        results={"max_error": error, **_offered(jobs, cost, shape)},
        tell=server.tell,
        begin=server.begin,
        exhausted=engine.exhausted,
        finish=engine.finish,
        leave=engine.leave,
    )


def _levels(shape: Shape, limits: Limits) -> dict[tuple[str, str], float]:
    levels = {
        ("limit_active_sequences", "count"): float(shape.slots),
        ("limit_blocks", "count"): float(shape.blocks),
        ("limit_tick", "ns"): limits.tick * MILLISECOND,
    }
    for name, value in (("limit_ttft", limits.ttft), ("limit_tpot", limits.tpot)):
        if value is not None:
            levels[name, "ns"] = value * MILLISECOND
    return levels


def _offered(jobs: tuple[Job, ...], cost: Cost, shape: Shape) -> dict[str, float | Measured]:
    seconds = jobs[-1].at / 1e9
    load = cost.load(jobs, seconds=seconds, slots=shape.slots, chunk=shape.chunk)
    tokens = sum(job.output_tokens for job in jobs)
    return {
        "scheduled_requests": Measured(len(jobs), "count"),
        "schedule_length": Measured(float(jobs[-1].at), "ns"),
        "scheduled_request_rate": Measured(len(jobs) / seconds, "requests/s"),
        "scheduled_token_rate": Measured(tokens / seconds, "tokens/s"),
        "offered_load": Measured(load, "ratio"),
        "rehearsed_decode": Measured(cost.decode, "ns", "lower"),
        "rehearsed_prefill_chunk": Measured(cost.chunk, "ns", "lower"),
    }


def _require_room(jobs: Sequence[Job], shape: Shape) -> None:
    fewest = min((-(-job.tokens // shape.block_size) for job in jobs), default=0)
    if fewest > shape.blocks:
        raise UsageError(
            f"The pool of {shape.blocks} blocks holds no request: the smallest takes {fewest}.",
            hint="Give more --blocks, or shorter prompts and outputs.",
        )
