"""Work on the GPU finds its encoder, its command buffer and their times."""

from collections.abc import Callable

import pandas as pd

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Holds = Callable[[pd.DataFrame, str], bool]

INTERVALS = """
    start duration command_buffer encoder process pid target clock start_latency
    100 9 1 11 App 7 True gpu -
    120 9 1 12 App 7 True gpu -
    140 9 2 21 Other 8 False gpu -
    160 9 - - Other 8 False gpu -
"""
ENCODERS = """start duration command_buffer encoder label command_buffer_label event
    1 2 1 11 attention step Compute
    3 2 1 12 gemm - -"""


def test_labels_come_from_the_encoders_by_both_ids(joined: Joined, holds: Holds) -> None:
    jobs, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=ENCODERS)
    assert holds(
        jobs,
        """start encoder_label command_buffer_label encoder_kind target committed
        100 attention step Compute True -
        120 gemm - - True -
        140 - - - False -
        160 - - - False -""",
    )
    assert warnings == []


def test_labels_of_objects_fill_what_the_encoders_do_not_say(joined: Joined, holds: Holds) -> None:
    labels = "time object label\n0 11 taken-not\n0 21 render\n0 2 frame\n1 2 frame\n0 1 other"
    known = {"gpu_intervals": INTERVALS, "object_labels": labels}
    jobs, warnings = joined("gpu_jobs", encoders=ENCODERS, **known)
    assert holds(
        jobs,
        """encoder_label command_buffer_label
        attention step
        gemm other
        render frame
        - -""",
    )
    assert warnings == []
    alone, _ = joined("gpu_jobs", **known)
    assert holds(alone, "encoder_label\ntaken-not\n-\nrender\n-")


def test_no_row_is_repeated_by_an_ambiguous_key(joined: Joined, holds: Holds) -> None:
    twice = f"{ENCODERS}\n5 2 1 12 softmax - -"
    jobs, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=twice)
    assert holds(jobs, "start encoder_label\n100 attention\n120 -\n140 -\n160 -")
    assert warnings == [
        "gpu_jobs: 1 GPU intervals have several rows in encoders, and take none of them"
    ]
    alike = f"{ENCODERS}\n5 2 1 12 gemm - -"
    jobs, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=alike)
    assert holds(jobs[:2], "encoder_label\nattention\ngemm")
    assert warnings == []


def test_the_way_of_a_command_buffer_is_laid_beside_its_work(joined: Joined, holds: Holds) -> None:
    jobs, warnings = joined(
        "gpu_jobs",
        gpu_intervals=INTERVALS.replace(
            "100 9 1 11 App 7 True gpu -", "100 9 1 11 App 7 True gpu 70"
        ),
        commits="time command_buffer committed\n20 1 30",
        submissions="start duration command_buffer\n10 5 1\n125 5 2",
        completions="time command_buffer\n200 1",
    )
    assert holds(
        jobs,
        """committed submitted completed commit_to_complete latency
        30 10 200 170 70
        30 10 200 170 90
        - 125 - - 15
        - - - - -""",
    )
    assert warnings == [
        "gpu_jobs: the latency of 1 GPU intervals is counted from the commit",
        "gpu_jobs: the latency of 1 GPU intervals is counted from the start of the submission",
    ]


def test_ids_that_match_nothing_are_told(joined: Joined) -> None:
    strange = ENCODERS.replace(" 11 ", " 99 ").replace(" 12 ", " 99 ")
    _, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=strange)
    assert warnings == ["gpu_jobs: none of the 3 GPU intervals has its id in encoders"]
    _, warnings = joined("gpu_jobs", gpu_intervals=INTERVALS, encoders=ENCODERS.splitlines()[0])
    assert warnings == []
