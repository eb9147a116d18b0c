"""Whose rows count, what work is called, and what sets a new name off."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysed import intervals, table
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.scope import Device, Recorded, families, own_rows, put_target_first
from tracekit.analysis.work_names import Chore, NamedWork, named_work, reasons


def test_equal_work_has_an_equal_name() -> None:
    for label, name in (
        (
            "Command Buffer 0:Compute Command 0      ( probe (37931) )  0xf269bad2",
            "Command Buffer 0:Compute Command 0",
        ),
        ("metal.gl:metal.gl      ( Firefox GPU Helper (63961) )  0xf269c3a9", "metal.gl:metal.gl"),
        ("      ( WindowServer (420) )  0xf169adeb", "unlabelled"),
        ("Render 81   ( Discord Helper (GPU) (6857) )  0xf169afd6", "Render 81"),
        ("paged_decode (f16)", "paged_decode (f16)"),
        ("copy 0x10", "copy"),
        ("", "unlabelled"),
    ):
        assert families(pd.Series([label]))[1] == (name,), label


def test_families_are_counted_from_zero_and_nulls_have_one() -> None:
    labels = pd.Series(["a  0x1", None, "b", "a  0x2"], index=[4, 3, 2, 1], dtype="string")
    codes, texts = families(labels)
    assert texts == ("a", "unlabelled", "b")
    assert list(codes.items()) == [(4, 0), (3, 1), (2, 2), (1, 0)]
    labels = pd.Series([f"kernel {i % 3}   ( probe (7) )  0x{i:x}" for i in range(5000)])
    codes, texts = families(labels)  # each label is one of a kind
    assert texts == ("kernel 0", "kernel 1", "kernel 2")
    assert codes.tolist() == [i % 3 for i in range(5000)]


_INSTANCE = re.compile(r"\s+0x[0-9a-fA-F]+\s*$")
_ASKER = re.compile(r"\s*\( .* \)\s*$")
pieces = st.sampled_from(
    [
        *("copy", "µ", " ( a (4) )", "(", ")", " ( ", " ) ", "  0x1f", "0x", " 0xg"),
        *" \t\n\v\x1c\x85\N{NO-BREAK SPACE}\N{EN QUAD}\N{LINE SEPARATOR}\N{ZERO WIDTH SPACE}",
    ]
)
label_texts = st.lists(pieces, max_size=7).map("".join)


@given(st.lists(label_texts, max_size=6))
def test_families_follow_from_consecutive_labels(labels: list[str]) -> None:
    codes, texts = families(pd.Series(labels, dtype="string"))
    expected_names = [
        _ASKER.sub("", _INSTANCE.sub("", label)).strip() or "unlabelled" for label in labels
    ]
    assert [texts[code] for code in codes] == expected_names
    assert len(set(texts)) == len(texts)


def test_the_rows_of_a_recorded_table_are_picked_once_and_cannot_be_spoilt() -> None:
    frame = pd.DataFrame({"start": [1, 2, 3], "target": [True, False, True]})
    table = Recorded.from_frame(frame)
    target_rows = own_rows(table)
    assert target_rows is own_rows(table)
    with pytest.raises(TypeError, match="does not change"):
        target_rows["start"] = 0
    frame["start"] = 0
    assert own_rows(table)["start"].tolist() == [1, 3]


US = 1_000
WINDOW = Window(0, 1_000 * US)


def name_work(labels: list[str], shaders: pd.DataFrame | None = None) -> NamedWork:
    frame = intervals([(place * 100 * US, 10 * US) for place in range(len(labels))])
    frame["label"] = pd.array(labels, dtype="string")
    return named_work(Device(frame, frame), WINDOW, shaders)


CHORES = {
    Chore.GATHER: ["Gather:Compute Command 0  ( py (4711) )  0xf2", "GatherAxis", "pages_to_dense"],
    Chore.SCATTER: ["Scatter:Compute Command 3", "SliceUpdate", "reshape_and_cache", "kv_write"],
    Chore.METADATA: ["Copy", "AsType", "Arange", "block_tables", "slot mapping", "Slice"],
}
MORE = ["ScaledDotProductAttention", "paged_gather_attention", "RMSNorm, Copy, Matmul"]
MORE += ["steel_gemm_fused", "mistake"]


def test_chores_are_known_by_name_and_must_do_nothing_else() -> None:
    for chore, labels in [*CHORES.items(), (None, MORE)]:
        work = name_work(labels)
        for kind in Chore:
            assert work.are(kind).tolist() == [kind is chore] * len(labels), (chore, kind)


def test_shaders_are_better_names_than_labels() -> None:
    rows = [(50, "gather_axis"), (20, "copy_g"), (5_000, "gather_axis")]
    shaders = table("start name", *rows, unit=US, duration=5, target=True)
    work = name_work(["Compute Command 0"], shaders)
    assert [work.names[code] for code in work.codes] == ["copy_g", "gather_axis"]
    other_shaders = shaders.assign(target=False)
    assert name_work(["Copy"], other_shaders).names == ("Copy",)


def test_a_launch_is_the_idle_time_before_if_it_is_short() -> None:
    rows = [(0, 10), (10, 20), (40, 30), (45, 5), (75, 5), (200, 10)]
    frame = table("start duration", *rows, unit=US, label="Copy", target=True, clock="gpu")
    work = named_work(Device(frame, frame), WINDOW, None)
    assert (work.launches // US).tolist() == [0, 0, 10, 0, 5, 0]
    assert (work.costs(work.are(Chore.METADATA)) // US).tolist() == [10, 20, 40, 5, 10, 10]


def test_the_longest_work_is_named_first() -> None:
    work = name_work(["Copy", "Arange", "Slice", "Arange", "AsType", "Copy", "Copy"])
    assert work.name_longest(work.are(Chore.METADATA)) == "“Copy”, “Arange”, “Slice” and 1 more"
    assert work.name_longest(work.are(Chore.METADATA), number=1) == "“Copy” and 3 more"


def test_a_window_without_work_has_no_names() -> None:
    frame = intervals([(2_000 * US, US)])
    with pytest.raises(Unavailable, match=r"no work of the target starts in the window\."):
        named_work(Device(frame, frame), WINDOW, None)


OLD = "custom_kernel_paged_decode__float16_t_128_16_4_float16_t_float16_t_int32_t_floats_float16_t"


def test_a_new_name_differs_from_the_nearest_one_by_its_words() -> None:
    for old, new, expected_reasons in (
        ("_128_16_", "_128_32_", ["template value 16 → 32"]),
        ("_128_16_4_", "_64_32_4_", ["template value 128 → 64", "template value 16 → 32"]),
        ("_t_floats", "_tc_floats", ["an input of 8 elements or more → fewer than 8 elements"]),
        ("_t_floats", "_ts_floats", ["an input of 8 elements or more → a scalar"]),
        ("floats_float16_t", "floats_float", ["dtype float16_t → float"]),
        ("_128_16_4_", "_128_16_4_8_", ["template value none → 8"]),
        ("_16_4_float16_t_", "_16_4_", ["template value float16_t → none"]),
    ):
        far = OLD.replace("128_16_4", "256_64_8").replace("float16_t", "bfloat16_t")
        actual_reasons = reasons(OLD.replace(old, new), [far, OLD, "custom_kernel_norm__float_1"])
        assert list(actual_reasons) == expected_reasons


def test_where_names_do_not_tell_nothing_is_said() -> None:
    for name, earlier_names in (
        (OLD, []),
        (OLD, ["custom_kernel_norm__float_1"]),  # no namesake
        ("CompiledMultiply_1234", ["CompiledMultiply_77"]),  # another scheme
        ("custom_kernel_dbl_float16_t", ["custom_kernel_dbl_float"]),  # no template
        (OLD, [OLD]),
    ):
        assert reasons(name, earlier_names) == ()


def test_the_targets_rows_are_a_part_of_a_table_that_has_them_first() -> None:
    starts = range(6)
    whole = pd.DataFrame({"start": starts, "target": [start % 3 != 1 for start in starts]})
    ordered = put_target_first(whole)
    assert ordered["start"].tolist() == [0, 2, 3, 5, 1, 4]
    assert list(ordered.index) == list(starts)
    device = Device(ordered, own_rows(ordered))
    for part in (device.target_intervals, device.other_intervals):
        assert np.shares_memory(part["start"].to_numpy(), ordered["start"].to_numpy()), len(part)
    for chosen in ([0, 1, 2], [4], []):
        neighbours = whole.assign(target=[start in chosen for start in starts])
        assert put_target_first(neighbours) is neighbours, chosen
