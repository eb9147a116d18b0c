"""A command buffer's life, out of all tables that name it."""

from collections.abc import Callable
from typing import Any

import pandas as pd

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Values = Callable[[pd.DataFrame, str], list[Any]]

APP = {"process": "App", "pid": 7, "target": True, "clock": "gpu"}
OTHER = {"process": "Other", "pid": 8, "target": False, "clock": "gpu"}
INTERVALS = [
    {"start": 200, "duration": 10, "command_buffer": 2, **OTHER},
    {"start": 100, "duration": 10, "command_buffer": 1, **APP},
    {"start": 105, "duration": 30, "command_buffer": 1, **APP},
    {"start": 300, "duration": None, "command_buffer": 3, **APP},
    {"start": 400, "duration": 5, **OTHER},
]


def test_work_is_summed_up_by_command_buffer(joined: Joined, values: Values) -> None:
    buffers, warnings = joined("command_buffers", gpu_intervals=INTERVALS)
    assert values(buffers, "command_buffer") == [1, 2, 3]
    assert values(buffers, "gpu_start") == [100, 200, 300]
    assert values(buffers, "gpu_end") == [135, 210, None]
    assert values(buffers, "gpu_intervals") == [2, 1, 1]
    assert values(buffers, "gpu_time") == [40, 10, None]
    assert values(buffers, "process") == ["App", "Other", "App"]
    assert values(buffers, "target") == [True, False, True]
    assert values(buffers, "clock") == ["gpu"] * 3
    assert values(buffers, "encoders") == [None] * 3
    assert warnings == []


def test_every_table_adds_what_it_knows(joined: Joined, values: Values) -> None:
    buffers, warnings = joined(
        "command_buffers",
        gpu_intervals=INTERVALS,
        encoders=[
            {"start": 1, "duration": 4, "command_buffer": 1, "command_buffer_label": "step", **APP},
            {"start": 6, "duration": 2, "command_buffer": 1, "command_buffer_label": "step", **APP},
        ],
        commits=[
            {"time": 9, "command_buffer": 1, "committed": 50, "frame": 1, **APP},
            {"time": 9, "command_buffer": 4, "committed": 90, "frame": 2, **OTHER},
        ],
        submissions=[{"start": 40, "duration": 1, "command_buffer": 1, **APP}],
        completions=[{"time": 150, "command_buffer": 1}, {"time": 160, "command_buffer": 5}],
        command_buffer_errors=[{"time": 151, "command_buffer": 1, "error": 3}],
        object_labels=[
            {"time": 0, "object": 1, "label": "not taken"},
            {"time": 0, "object": 2, "label": "frame"},
        ],
    )
    assert values(buffers, "command_buffer") == [1, 4, 2, 3, 5]
    assert values(buffers, "label") == ["step", None, "frame", None, None]
    assert values(buffers, "submitted") == [40, None, None, None, None]
    assert values(buffers, "committed") == [50, 90, None, None, None]
    assert values(buffers, "completed") == [150, None, None, None, 160]
    assert values(buffers, "commit_to_start") == [50, None, None, None, None]
    assert values(buffers, "commit_to_complete") == [100, None, None, None, None]
    assert values(buffers, "encoders") == [2, None, None, None, None]
    assert values(buffers, "encoder_time") == [6, None, None, None, None]
    assert values(buffers, "error") == [3, None, None, None, None]
    assert values(buffers, "frame") == [1, 2, None, None, None]
    assert values(buffers, "process") == ["App", "Other", "Other", "App", None]
    assert values(buffers, "target") == [True, False, False, True, False]
    assert warnings == []


def test_what_is_said_twice_in_two_ways_is_left_null(joined: Joined, values: Values) -> None:
    buffers, warnings = joined(
        "command_buffers",
        gpu_intervals=INTERVALS,
        commits=[
            {"time": 9, "command_buffer": 1, "committed": 50, **APP},
            {"time": 9, "command_buffer": 1, "committed": 60, **APP},
        ],
    )
    assert values(buffers, "command_buffer") == [1, 2, 3]
    assert values(buffers, "committed") == [None] * 3
    assert warnings == [
        "command_buffers: 1 command buffers have several rows in commits, and take none of them"
    ]
