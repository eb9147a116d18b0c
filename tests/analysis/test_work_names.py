"""What names of work say of it, and what sets a new one off."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.scope import Device
from tracekit.analysis.work_names import Chore, NamedWork, named_work, reasons

Make = Callable[..., pd.DataFrame]
US = 1_000
WINDOW = Window(0, 1_000 * US)


def named(labels: list[str], shaders: pd.DataFrame | None = None) -> NamedWork:
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
        # what does more is no chore
        ("ScaledDotProductAttention", None),
        ("paged_gather_attention", None),
        ("RMSNorm, Copy, Matmul", None),
        ("steel_gemm_fused", None),
        ("mistake", None),
    ],
)
def test_chores_are_known_by_their_names(label: str, chore: Chore | None) -> None:
    work = named([label])
    assert [kind for kind in Chore if work.are(kind).all()] == ([] if chore is None else [chore])


def test_shaders_are_better_names_than_labels() -> None:
    shaders = pd.DataFrame(
        {
            "start": [50 * US, 20 * US, 5_000 * US],
            "duration": pd.array([5 * US, 5 * US, 5 * US], dtype="Int64"),
            "name": ["gather_axis", "copy_g", "gather_axis"],
            "target": [True, True, True],
        }
    )
    work = named(["Compute Command 0"], shaders)
    assert [work.names[code] for code in work.codes] == ["copy_g", "gather_axis"]
    others = shaders.assign(target=False)
    assert named(["Copy"], others).names == ("Copy",)


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
    work = named(["Copy", "Arange", "Slice", "Arange", "AsType", "Copy", "Copy"])
    assert work.most(work.are(Chore.METADATA)) == "“Copy”, “Arange”, “Slice” and 1 more"
    assert work.most(work.are(Chore.METADATA), shown=1) == "“Copy” and 3 more"


def test_a_window_without_work_has_no_names() -> None:
    frame = intervals([(2_000 * US, US)])
    with pytest.raises(Unavailable, match=r"no work of the target starts in the window\."):
        named_work(Device(frame, frame), WINDOW, None)


OLD = "custom_kernel_paged_decode__float16_t_128_16_4_float16_t_float16_t_int32_t_floats_float16_t"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(("_128_16_", "_128_32_"), ("template value 16 → 32",), id="a value"),
        pytest.param(
            ("_128_16_4_", "_64_32_4_"),
            ("template value 128 → 64", "template value 16 → 32"),
            id="two values",
        ),
        pytest.param(
            ("int32_t_floats", "int32_tc_floats"),
            ("an input of 8 elements or more → fewer than 8 elements",),
            id="a short input",
        ),
        pytest.param(
            ("int32_t_floats", "int32_ts_floats"),
            ("an input of 8 elements or more → a scalar",),
            id="a scalar",
        ),
        pytest.param(
            ("floats_float16_t", "floats_float"), ("dtype float16_t → float",), id="a dtype"
        ),
        pytest.param(("_128_16_4_", "_128_16_4_8_"), ("template value none → 8",), id="one more"),
    ],
)
def test_what_a_new_name_has_that_the_nearest_one_has_not(
    change: tuple[str, str], said: tuple[str, ...]
) -> None:
    far = OLD.replace("128_16_4", "256_64_8").replace("float16_t", "bfloat16_t")
    assert reasons(OLD.replace(*change), [far, OLD, "custom_kernel_norm__float_1"]) == said


@pytest.mark.parametrize(
    ("name", "earlier"),
    [
        pytest.param(OLD, [], id="nothing before"),
        pytest.param(OLD, ["custom_kernel_norm__float_1"], id="no namesake"),
        pytest.param("CompiledMultiply_1234", ["CompiledMultiply_77"], id="another scheme"),
        pytest.param("custom_kernel_dbl_float16_t", ["custom_kernel_dbl_float"], id="no template"),
        pytest.param(OLD, [OLD], id="the same"),
    ],
)
def test_where_names_do_not_tell_nothing_is_said(name: str, earlier: list[str]) -> None:
    assert reasons(name, earlier) == ()
