"""Work on the GPU finds its encoder, its command buffer and their times."""

from collections.abc import Callable
from typing import Any

import pandas as pd

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Values = Callable[[pd.DataFrame, str], list[Any]]

APP = {"process": "App", "pid": 7, "target": True, "clock": "gpu"}
OTHER = {"process": "Other", "pid": 8, "target": False, "clock": "gpu"}
INTERVALS = [
    {"start": 100, "duration": 9, "command_buffer": 1, "encoder": 11, **APP},
    {"start": 120, "duration": 9, "command_buffer": 1, "encoder": 12, **APP},
    {"start": 140, "duration": 9, "command_buffer": 2, "encoder": 21, **OTHER},
    {"start": 160, "duration": 9, **OTHER},
]
ENCODERS = [
    {
        "start": 1,
        "duration": 2,
        "command_buffer": 1,
        "encoder": 11,
        "label": "attention",
        "command_buffer_label": "step",
        "event": "Compute",
    },
    {"start": 3, "duration": 2, "command_buffer": 1, "encoder": 12, "label": "gemm"},
]


def test_labels_come_from_the_encoders_by_both_ids(joined: Joined, values: Values) -> None:
    jobs, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=ENCODERS)
    assert values(jobs, "start") == [100, 120, 140, 160]
    assert values(jobs, "encoder_label") == ["attention", "gemm", None, None]
    assert values(jobs, "command_buffer_label") == ["step", None, None, None]
    assert values(jobs, "encoder_kind") == ["Compute", None, None, None]
    assert values(jobs, "target") == [True, True, False, False]
    assert values(jobs, "committed") == [None] * 4
    assert warnings == []


def test_labels_of_objects_fill_what_the_encoders_do_not_say(
    joined: Joined, values: Values
) -> None:
    labels = [
        {"time": 0, "object": 11, "label": "not taken"},
        {"time": 0, "object": 21, "label": "render"},
        {"time": 0, "object": 2, "label": "frame"},
        {"time": 1, "object": 2, "label": "frame"},
        {"time": 0, "object": 1, "label": "step of another name"},
    ]
    jobs, warnings = joined(
        "gpu_jobs", gpu_intervals=INTERVALS, encoders=ENCODERS, object_labels=labels
    )
    assert values(jobs, "encoder_label") == ["attention", "gemm", "render", None]
    assert values(jobs, "command_buffer_label") == [
        "step",
        "step of another name",
        "frame",
        None,
    ]
    assert warnings == []
    alone, _ = joined("gpu_jobs", gpu_intervals=INTERVALS, object_labels=labels)
    assert values(alone, "encoder_label") == ["not taken", None, "render", None]


def test_no_row_is_repeated_by_an_ambiguous_key(joined: Joined, values: Values) -> None:
    twice = [*ENCODERS, {**ENCODERS[1], "label": "softmax"}]
    jobs, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=twice)
    assert len(jobs) == len(INTERVALS)
    assert values(jobs, "encoder_label") == ["attention", None, None, None]
    assert warnings == [
        "gpu_jobs: 1 GPU intervals have several rows in encoders, and take none of them"
    ]
    alike, warnings = joined(
        "gpu_jobs", gpu_intervals=INTERVALS, encoders=[*ENCODERS, {**ENCODERS[1], "start": 5}]
    )
    assert values(alike, "encoder_label")[1] == "gemm"
    assert warnings == []


def test_the_way_of_a_command_buffer_is_laid_beside_its_work(
    joined: Joined, values: Values
) -> None:
    intervals = [{**one, "start_latency": 70} for one in INTERVALS[:1]] + INTERVALS[1:]
    jobs, warnings = joined(
        "gpu_jobs",
        gpu_intervals=intervals,
        commits=[{"time": 20, "command_buffer": 1, "committed": 30}],
        submissions=[
            {"start": 10, "duration": 5, "command_buffer": 1},
            {"start": 125, "duration": 5, "command_buffer": 2},
        ],
        completions=[{"time": 200, "command_buffer": 1}],
    )
    assert values(jobs, "committed") == [30, 30, None, None]
    assert values(jobs, "submitted") == [10, 10, 125, None]
    assert values(jobs, "completed") == [200, 200, None, None]
    assert values(jobs, "commit_to_complete") == [170, 170, None, None]
    assert values(jobs, "latency") == [70, 90, 15, None]
    assert warnings == [
        "gpu_jobs: the latency of 1 GPU intervals is counted from the commit",
        "gpu_jobs: the latency of 1 GPU intervals is counted from the start of the submission",
    ]


def test_ids_that_match_nothing_are_told(joined: Joined) -> None:
    strange = [{**one, "encoder": 99} for one in ENCODERS]
    _, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=strange)
    assert warnings == ["gpu_jobs: none of the 3 GPU intervals has its id in encoders"]
    _, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=[])
    assert warnings == []
