"""An open-loop harness: a schedule of requests, and an engine that serves it tick by tick."""

from tracekit.ops.serving.arrivals import Rate, Spike, draw_arrivals
from tracekit.ops.serving.clock import Clock, SystemClock
from tracekit.ops.serving.engine import Attention, Engine
from tracekit.ops.serving.lengths import Distribution, Lengths
from tracekit.ops.serving.model import Model, Shape
from tracekit.ops.serving.rehearsal import Cost, measure, rehearse, verify
from tracekit.ops.serving.schedule import Job, Load, draw_schedule
from tracekit.ops.serving.scheduler import Chunk, Plan, Scheduler, Sequence
from tracekit.ops.serving.server import Limits, Server, serving_step

__all__ = [
    "Attention",
    "Chunk",
    "Clock",
    "Cost",
    "Distribution",
    "Engine",
    "Job",
    "Lengths",
    "Limits",
    "Load",
    "Model",
    "Plan",
    "Rate",
    "Scheduler",
    "Sequence",
    "Server",
    "Shape",
    "Spike",
    "SystemClock",
    "draw_arrivals",
    "draw_schedule",
    "measure",
    "rehearse",
    "serving_step",
    "verify",
]
