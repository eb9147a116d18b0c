"""GPU time of single kernels: a Metal queue of our own, beside MLX's, through PyObjC."""

from tracekit.lab.metal_queue.bridge import load_metal
from tracekit.lab.metal_queue.launches import Launch, recorded
from tracekit.lab.metal_queue.queue import PROTOCOL, GpuTime, Protocol, Queue
from tracekit.lab.metal_queue.timing import time_kernels

__all__ = [
    "PROTOCOL",
    "GpuTime",
    "Launch",
    "Protocol",
    "Queue",
    "load_metal",
    "recorded",
    "time_kernels",
]
