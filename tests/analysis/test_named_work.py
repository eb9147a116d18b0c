"""What a label tells of the work, and what it does not."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.scope import Device
from tracekit.analysis.work_names import Chore, NamedWork, named_work

Make = Callable[..., pd.DataFrame]
US = 1_000
WINDOW = Window(0, 1_000 * US)


def named(intervals: Make, labels: list[str], shaders: pd.DataFrame | None = None) -> NamedWork:
    frame = intervals([(place * 100 * US, 10 * US) for place in range(len(labels))])
    frame["label"] = pd.array(labels, dtype="string")
    return named_work(Device(frame, frame), WINDOW, shaders)


@pytest.mark.parametrize(
    ("label", "chore"),
    [
        ("Gather:Compute Command 0  ( python3 (4711) )  0xf2", Chore.GATHER),
        ("GatherAxis", Chore.GATHER),
        ("pages_to_dense", Chore.GATHER),
        ("Scatter:Compute Command 3", Chore.SCATTER),
        ("SliceUpdate", Chore.SCATTER),
        ("reshape_and_cache_f16", Chore.SCATTER),
        ("kv_write", Chore.SCATTER),
        ("Copy", Chore.METADATA),
        ("AsType", Chore.METADATA),
        ("Arange", Chore.METADATA),
        ("block_tables", Chore.METADATA),
        ("slot mapping", Chore.METADATA),
        ("Slice", Chore.METADATA),
    ],
)
def test_chores_are_known_by_their_names(label: str, chore: Chore) -> None:
    work = named(intervals, [label])
    assert [one for one in Chore if work.are(one).all()] == [chore]


@pytest.mark.parametrize(
    "label",
    [
        "ScaledDotProductAttention",
        "paged_gather_attention",
        "RMSNorm, Copy, Matmul",
        "steel_gemm_fused",
        "mistake",
        "multiply",
    ],
)
def test_what_does_more_is_no_chore(label: str) -> None:
    work = named(intervals, [label])
    assert not any(work.are(one).any() for one in Chore)


@pytest.mark.parametrize(
    "labels",
    [
        ["Command Buffer 0:Compute Command 0      ( probe (37931) )  0xf269bad2"],
        ["Compute Command 1", "", "Blit Command 7"],
    ],
)
def test_default_labels_name_nothing(labels: list[str]) -> None:
    with pytest.raises(Unavailable, match=r"do not name kernels\..*MLX_METAL_DEBUG"):
        named(intervals, labels)


def test_shaders_are_better_names_than_labels() -> None:
    shaders = pd.DataFrame(
        {
            "start": [50 * US, 20 * US, 5_000 * US],
            "duration": pd.array([5 * US, 5 * US, 5 * US], dtype="Int64"),
            "name": ["gather_axis", "copy_g", "gather_axis"],
            "target": [True, True, True],
        }
    )
    work = named(intervals, ["Compute Command 0"], shaders)
    assert [work.names[code] for code in work.codes] == ["copy_g", "gather_axis"]
    others = shaders.assign(target=False)
    assert named(intervals, ["Copy"], others).names == ("Copy",)


def test_a_launch_is_the_idle_time_before_if_it_is_short() -> None:
    starts, lengths = [0, 10 * US, 40 * US, 45 * US, 200 * US], [10, 20, 30, 5, 10]
    frame = pd.DataFrame(
        {
            "start": starts,
            "duration": pd.array([length * US for length in lengths], dtype="Int64"),
            "label": ["Copy"] * 5,
            "target": [True] * 5,
            "clock": ["gpu"] * 5,
        }
    )
    work = named_work(Device(frame, frame), WINDOW, None)
    assert work.launches.tolist() == [0, 0, 10 * US, 0, 0]
    assert work.costs(work.are(Chore.METADATA)).tolist() == [
        10 * US,
        20 * US,
        40 * US,
        5 * US,
        10 * US,
    ]


def test_what_took_most_is_named_first() -> None:
    work = named(intervals, ["Copy", "Arange", "Slice", "Arange", "AsType", "Copy", "Copy"])
    assert work.most(work.are(Chore.METADATA)) == "“Copy”, “Arange”, “Slice” and 1 more"
    assert work.most(work.are(Chore.METADATA), shown=1) == "“Copy” and 3 more"


def test_a_window_without_work_has_no_names() -> None:
    frame = intervals([(2_000 * US, US)])
    with pytest.raises(Unavailable, match=r"no work of the target starts in the window\."):
        named_work(Device(frame, frame), WINDOW, None)
