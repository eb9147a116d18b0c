"""Values as texts: numbers worded, processes and threads, labels of typed parts."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from bundle_writer import Backtrace, Encoder, Label, Part, Thread, Value, write_bundle
from small_bundle import PYTHON, SERVER, TICK
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.cells.labels import (
    Labels,
    RunIdentities,
    Values,
    decode_signed,
    format_numbers,
)
from tracekit.tables.bundle.errors import ArchiveError

MOST = (1 << 64) - 1
BIAS = (1 << 63) - 1
Saved = Callable[[], BundleRun]


def test_numbers_are_in_the_words_of_instruments_by_their_tags() -> None:
    for tag, values, words in (
        ("tid", (0, 16, MOST), ["0x0", "0x10", "0xffffffffffffffff"]),
        ("uint64-hex-lowercase", (0x8D43,), ["8d43"]),
        ("uint64", (0, 999, 1000, MOST), ["0", "999", "1,000", "18,446,744,073,709,551,615"]),
        ("duration", (0, 999, 1_000), ["0 ns", "999 ns", "1.00 µs"]),
        ("duration", (1_125, 1_135), ["1.12 µs", "1.14 µs"]),
        ("duration", (999_999, 1_295_000, 4_025_000), ["1000.00 µs", "1.29 ms", "4.03 ms"]),
        ("weight", (1_000_000, 59_999_000_000), ["1.00 ms", "60.00 s"]),
        ("size-in-bytes", (1023, 16_384, 3 << 40), ["1023 Bytes", "16.00 KiB", "3.00 TiB"]),
        ("start-time", (420_244_999, 61_000_000_000), ["00:00.420.244", "01:01.000.000"]),
        ("sample-time", (3_600_000_000_000,), ["60:00.000.000"]),
        ("gpu-frame-number", (1,), ["Frame 1"]),
        ("boolean", (0, 3), ["No", "Yes"]),
        ("private", (0,), ["<private>"]),
        ("os-signpost-identifier", (0xEEEEB0B5B2B2EEEE, 17), ["OS_SIGNPOST_ID_EXCLUSIVE", "0x11"]),
        ("time-sample-kind", (3, 77), ["Stackshot", "77"]),
        ("never-heard-of", (0, MOST), ["0", str(MOST)]),
        ("duration", (), []),
    ):
        assert format_numbers(tag, np.array(values, np.uint64)).to_pylist() == words


def test_signed_numbers_have_a_bias() -> None:
    stored = np.array([0x98A1BC38704D93FF, BIAS, BIAS - 5, 0], np.uint64)
    assert decode_signed(stored).tolist() == [1774906678749008896, 0, -5, -BIAS]


@pytest.fixture
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture
def saved(tmp_path: Path, encoder: Encoder) -> Saved:
    path = tmp_path / "x.trace"
    return lambda: Bundle(write_bundle(path, [TICK], encoder=encoder)).runs[0]


def ids(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_a_process_without_a_pid_is_not_known(encoder: Encoder, saved: Saved) -> None:
    process_ids = ids(encoder.arrays.id((MOST, 0)), encoder.arrays.id((1, MOST)))
    texts, pids = RunIdentities(saved()).processes(process_ids)
    assert (texts.to_pylist(), pids.to_pylist()) == ([None, "Unknown (1)"], [None, 1])


def test_threads_have_names_tids_and_the_pids_of_their_processes(
    encoder: Encoder, saved: Saved
) -> None:
    unowned = encoder.arrays.id((MOST, 0))
    thread_ids = ids(
        encoder.thread(Thread(0x10, PYTHON, "worker")),
        encoder.thread(Thread(0x20, SERVER)),
        encoder.thread(Thread(0x30, None)),
        encoder.arrays.id((7, unowned)),
        encoder.arrays.id((MOST, encoder.process(PYTHON))),
    )
    texts, tids, pids = RunIdentities(saved()).threads(thread_ids)
    assert texts.to_pylist() == [
        "worker 0x10 (python3, pid: 4711)",
        "Unknown 0x20 (WindowServer, pid: 420)",
        *[None] * 3,
    ]
    assert tids.to_pylist() == [0x10, 0x20, 0x30, 7, None]
    assert pids.to_pylist() == [4711, 420, None, None, 4711]


def test_a_thread_of_a_process_that_is_not_there_is_damage(encoder: Encoder, saved: Saved) -> None:
    thread_ids = ids(encoder.arrays.id((7, 1 << 30)), encoder.arrays.id((7, 1 << 63)))
    identities = RunIdentities(saved())
    for thread in thread_ids:
        with pytest.raises(ArchiveError, match="does not hold"):
            identities.threads(ids(thread))


def label(encoder: Encoder, *parts: tuple[str, Value]) -> int:
    return encoder.label(Label(tuple(Part(f"XR{name}TypeID", value) for name, value in parts)))


def labels(run: BundleRun) -> Labels:
    return Labels(run, Values(run))


def test_labels_of_several_shapes_keep_their_places(encoder: Encoder, saved: Saved) -> None:
    expected = {
        "one 21.46 µs": (("PrototypeString", "one"), ("Duration", 21_459)),
        "only": (("PrototypeString", "only"),),
        "two 583 ns": (("PrototypeString", "two"), ("Duration", 583)),
        "": (),
        "9.48 ms other way": (("Duration", 9_480_000), ("PrototypeString", "other way")),
        "by n/a": (("PrototypeString", "by"), ("Process", None)),
        "one 7 ns": (("PrototypeString", "one"), ("Duration", 7)),
        "by python3 (4711)": (("PrototypeString", "by"), ("Process", PYTHON)),
        "id 0xffffffffffffffff": (("PrototypeString", "id"), ("MetalCommandBufferID", MOST)),
        "CPU 4": (("CPUCore", 4),),
        "-0.500000000": (("FramesPerSecond", Decimal("-0.5")),),
        "at n/a": (("PrototypeString", "at"), ("CPUCore", None)),
        "in n/a": (("PrototypeString", "in"), ("Backtrace", Backtrace(((PYTHON, (1,)),)))),
    }
    label_ids = ids(*(label(encoder, *parts) for parts in expected.values()))
    assert labels(saved()).texts(label_ids).to_pylist() == [*expected]


def test_a_label_in_itself_is_refused(encoder: Encoder, saved: Saved) -> None:
    kind = encoder.type_number("XROSLogMetadataTypeID")
    cycle = encoder.typed_arrays.id((kind, 0, kind, 0))
    with pytest.raises(ArchiveError, match="nested too deeply"):
        labels(saved()).texts(ids(cycle))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1,), "parts are not whole"),
        ((9999, 0), "a type that the bundle does not list"),
        ((0,) * 8194, "parts are not whole, or too many"),
        (("PrototypeString", 99), "names a text"),
        (("Process", 1 << 40), "names an array"),
        (("UUID", 0), "names a"),
        (("Thread", 0), "names a"),
    ],
)
def test_parts_of_another_form_and_values_that_are_not_there_are_refused(
    encoder: Encoder, saved: Saved, values: tuple[str | int, ...], words: str
) -> None:
    encoder.arrays.id((1, 2, 3))
    stored = [
        encoder.type_number(f"XR{value}TypeID") if isinstance(value, str) else value
        for value in values
    ]
    label_ids = ids(encoder.typed_arrays.id(stored))
    with pytest.raises(ArchiveError, match=words):
        labels(saved()).texts(label_ids)


def test_a_label_of_more_text_than_there_can_be_is_refused(encoder: Encoder, saved: Saved) -> None:
    text = encoder.type_number("XRPrototypeStringTypeID")
    long = encoder.strings.id("x" * 1_000_000)
    label_ids = ids(encoder.typed_arrays.id([text, long] * 2000))
    with pytest.raises(ArchiveError, match="more text than"):
        labels(saved()).texts(label_ids)


def test_a_value_of_any_type_is_one(encoder: Encoder, saved: Saved) -> None:
    two = label(encoder, ("Duration", 1), ("Duration", 2))
    with pytest.raises(ArchiveError, match="several parts instead of one"):
        labels(saved()).single(ids(two))
