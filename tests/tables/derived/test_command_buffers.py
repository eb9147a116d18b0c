"""A command buffer's life, out of all tables that name it."""

from collections.abc import Callable

import pandas as pd

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Holds = Callable[[pd.DataFrame, str], bool]

INTERVALS = """
    start duration command_buffer process pid target clock
    200 10 2 Other 8 False gpu
    100 10 1 App 7 True gpu
    105 30 1 App 7 True gpu
    300 - 3 App 7 True gpu
    400 5 - Other 8 False gpu
"""


def test_work_is_summed_up_by_command_buffer(joined: Joined, holds: Holds) -> None:
    buffers, warnings = joined("command_buffers", gpu_intervals=INTERVALS)
    assert holds(
        buffers,
        """command_buffer gpu_start gpu_end gpu_intervals gpu_time process target clock encoders
        1 100 135 2 40 App True gpu -
        2 200 210 1 10 Other False gpu -
        3 300 - 1 - App True gpu -""",
    )
    assert warnings == []


def test_every_table_adds_what_it_knows(joined: Joined, holds: Holds) -> None:
    buffers, warnings = joined(
        "command_buffers",
        gpu_intervals=INTERVALS,
        encoders="""start duration command_buffer command_buffer_label process pid target clock
            1 4 1 step App 7 True gpu
            6 2 1 step App 7 True gpu""",
        commits="""time command_buffer committed frame process pid target clock
            9 1 50 1 App 7 True gpu
            9 4 90 2 Other 8 False gpu""",
        submissions="""start duration command_buffer process pid target clock
            40 1 1 App 7 True gpu""",
        completions="time command_buffer\n150 1\n160 5",
        command_buffer_errors="time command_buffer error\n151 1 3",
        object_labels="time object label\n0 1 taken-not\n0 2 frame",
    )
    assert holds(
        buffers,
        """command_buffer label submitted committed completed frame process target error
        1 step 40 50 150 1 App True 3
        4 - - 90 - 2 Other False -
        2 frame - - - - Other False -
        3 - - - - - App True -
        5 - - - 160 - - False -""",
    )
    assert holds(
        buffers[:2],
        """commit_to_start commit_to_complete encoders encoder_time
        50 100 2 6
        - - - -""",
    )
    assert warnings == []


def test_what_is_said_twice_in_two_ways_is_left_null(joined: Joined, holds: Holds) -> None:
    commits = """time command_buffer committed process pid target clock
        9 1 50 App 7 True gpu
        9 1 60 App 7 True gpu"""
    buffers, warnings = joined("command_buffers", gpu_intervals=INTERVALS, commits=commits)
    assert holds(buffers, "command_buffer committed\n1 -\n2 -\n3 -")
    assert warnings == [
        "command_buffers: 1 command buffers have several rows in commits, and take none of them"
    ]
