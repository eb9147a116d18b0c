"""An open-loop harness: a schedule of requests, and an engine that serves it tick by tick."""

from tracekit.serving.arrivals import Rate, Spike, draw_arrivals
from tracekit.serving.clock import Clock, SystemClock
from tracekit.serving.engine import Attention, Engine
from tracekit.serving.lengths import Distribution, Lengths
from tracekit.serving.model import Model, Shape
from tracekit.serving.rehearsal import Cost, measure, rehearse, verify
from tracekit.serving.schedule import Job, Load, draw_schedule
from tracekit.serving.scheduler import Chunk, Plan, Scheduler, Sequence
from tracekit.serving.server import Limits, Server, serving_step

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
