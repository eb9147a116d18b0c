"""The dispatches of two captures are paired, and their facts compared."""

from dataclasses import replace

from tracekit.analysis.dispatches import RecordedDispatch, compare_dispatches
from tracekit.analysis.dispatches.recorded import BoundArgument, SourceLine

QUERY = BoundArgument(0, "buffer", "q", is_active=True, is_bound=True, buffer=4, offset=0)
DECODE = RecordedDispatch(
    0, "decode", (256, 8, 1), (256, 1, 1), (1, 8, 1), 8, 0, static_memory=512,
    counts={"registers": 96, "fp16": 12}, arguments=(QUERY,),
    lines=(SourceLine("paged.metal", 40, 120),),
)  # fmt: skip
MERGE = RecordedDispatch(1, "merge", (32, 1, 1), (32, 1, 1), (1, 1, 1), 1, 0)


def changes_of(before: RecordedDispatch, after: RecordedDispatch) -> dict[str, object]:
    (difference,) = compare_dispatches([before], [after])
    return {change.name: (change.value_before, change.value_after) for change in difference.changes}


def test_equal_dispatches_have_no_changes() -> None:
    differences = compare_dispatches([DECODE, MERGE], [DECODE, MERGE])
    assert [item.is_same for item in differences] == [True, True]


def test_numbers_of_the_capture_do_not_count() -> None:
    elsewhere = replace(DECODE, index=7, arguments=(replace(QUERY, buffer=9, address=4096),))
    assert changes_of(DECODE, elsewhere) == {}


def test_a_change_of_a_tile_is_listed() -> None:
    wider = replace(
        DECODE,
        group=(128, 1, 1),
        static_memory=1024,
        counts={"registers": 64, "fp16": 12},
        arguments=(replace(QUERY, offset=64),),
        lines=(SourceLine("paged.metal", 40, 90), SourceLine("paged.metal", 55, 8)),
    )
    assert changes_of(DECODE, wider) == {
        "threadgroup": (256, 128),
        "threadgroup.x": (256, 128),
        "threadgroup_memory": (512, 1024),
        "static_threadgroup_memory": (512, 1024),
        "registers": (96, 64),
        "bindings.q.offset": (0, 64),
        "instructions at paged.metal:40": (120, 90),
        "instructions at paged.metal:55": (None, 8),
    }


def test_a_renamed_specialization_is_the_counterpart() -> None:
    renamed = replace(DECODE, function="decode_64")
    assert changes_of(DECODE, renamed) == {"function": ("decode", "decode_64")}


def test_dispatches_of_one_function_are_paired_in_order() -> None:
    second = replace(DECODE, index=2, grid=(512, 8, 1))
    pairs = [
        (item.index_before, item.index_after)
        for item in compare_dispatches([DECODE, MERGE, second], [MERGE, DECODE])
    ]
    assert pairs == [(0, 0), (1, 1), (2, None)]
    more = compare_dispatches([MERGE], [MERGE, replace(MERGE, index=5)])
    assert [(item.index_before, item.index_after) for item in more] == [(1, 1), (None, 5)]
