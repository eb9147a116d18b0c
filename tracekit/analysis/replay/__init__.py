"""Counters that Xcode exported of a GPU frame capture: values of a serialized replay."""

from tracekit.analysis.replay.replay import CaptureReplay, EncoderGroup, ReplayEncoder, replay_of
from tracekit.analysis.replay.table import (
    COST,
    GPU_TIME,
    OCCUPANCY,
    STACK,
    average_by_cost,
    encoders,
    is_timed,
)

__all__ = [
    "COST",
    "GPU_TIME",
    "OCCUPANCY",
    "STACK",
    "CaptureReplay",
    "EncoderGroup",
    "ReplayEncoder",
    "average_by_cost",
    "encoders",
    "is_timed",
    "replay_of",
]
