"""Kernels of `.metal` files: what the command line says of buffers and of a launch."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_kernels import needs_emulation
from tracekit.base.errors import InputError, TracekitError, UsageError
from tracekit.lab.msl.program import ThreadOrder
from tracekit.lab.verification.metal_file import LaunchWords, buffer, metal_subject
from tracekit.lab.verification.verify import ProofOutcome, Question, Verification, verify

Write = Callable[..., Path]
GOOD = LaunchWords(
    template="float16_t, 64",
    buffers=("in=float16[4,64]", "out=float16[4,64]", "rows=int32[4]=0:4"),
    grid="64,4",
    threadgroup="32",
    constants=("0=2.5",),
)


def test_floats_are_normal_and_the_same_for_the_same_seed() -> None:
    drawn, same_seed, other_seed = (buffer("q=float16[16, 128]", seed=seed) for seed in (3, 3, 4))
    assert (drawn.name, drawn.dtype, drawn.is_given) == ("q", "float16", False)
    assert (drawn.array.shape, drawn.array.dtype) == ((16, 128), np.float16)
    numbers = drawn.array.astype(np.float64)
    assert (numbers.mean(), numbers.std()) == pytest.approx((0, 1), abs=0.1)
    assert drawn.array.tolist() == same_seed.array.tolist() != other_seed.array.tolist()


def test_values_can_be_given() -> None:
    for words, values in (
        ("n=int32[3]", [0, 0, 0]),
        ("n=int32=7", [7]),
        ("n=uint8[2]=255", [255, 255]),
        ("n=int8=-128", [-128]),
        ("n=float32[2]=1e-3", [np.float32(1e-3)] * 2),
        ("n=bool[2]=1", [True, True]),
        ("n=bfloat16[2]=1.5", [0x3FC0] * 2),  # its bits
        ("n=bfloat16=1.00390625", [0x3F80]),  # half way between two: to the even one
    ):
        assert buffer(words, seed=0).array.tolist() == values


def test_ranges_leave_their_end_out() -> None:
    drawn = buffer("table=int32[1000]=2:5", seed=0).array
    assert sorted(set(drawn.tolist())) == [2, 3, 4]
    floats = buffer("x=float32[1000]=-1:0.5", seed=0).array
    assert -1 <= floats.min() < -0.9
    assert 0.4 < floats.max() < 0.5


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16", "int32"])
def test_poison_is_nan_in_types_that_have_it(dtype: str) -> None:
    new_buffer = buffer(f"x={dtype}[4]", seed=0)
    poison = new_buffer.make_poison()
    assert bool(np.isnan(new_buffer.readable(poison).astype(np.float64)).all()) is (
        "float" in dtype
    )
    assert poison.tobytes() == b"\xff" * poison.nbytes


def test_words_that_cannot_be_read_are_refused(subtests: pytest.Subtests) -> None:
    for words in (
        *("q", "=float16[2]", "q=", "q=float16[", "q=float16[2,]", "q=float16[-2]", "q=double[2]"),
        *("q=float16[0]", "q=int8=128", "q=uint32=-1", "q=int32[2]=5:5", "q=float32=1.2.3"),
        *("3q=float16[2]", "q=float32[99999999999,99999]", "q=float64[2]"),
        *("q=int32=0.2:0.5", "q=int32=0:1e-30", "q=int32=0:99999999999999999999"),
    ):
        with subtests.test(words), pytest.raises(UsageError):
            buffer(words, seed=0)


def test_a_file_of_numpy_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "q.npy"
    file.write_bytes(b"no array")
    np.save(tmp_path / "text.npy", np.array(["text"]))
    for name, message in (
        ("nothing.npy", r"nothing\.npy cannot be read: No such file"),
        ("q.npy", r"q\.npy cannot be read as an array"),
        ("text.npy", r"holds <U4"),
    ):
        with pytest.raises(InputError, match=message):
            buffer(f"q={tmp_path / name}", seed=0)
    np.save(file, np.arange(6, dtype=np.float16).reshape(2, 3)[:, ::-1])
    new_buffer = buffer(f"q={file}", seed=0)
    assert new_buffer.array.tolist() == [[2, 1, 0], [5, 4, 3]]
    assert (new_buffer.array.flags.c_contiguous, new_buffer.dtype, new_buffer.is_given) == (
        True,
        "float16",
        True,
    )


def _outcome(verification: Verification, question: Question) -> ProofOutcome:
    return next(
        verdict.outcome for verdict in verification.verdicts if verdict.question is question
    )


def _save_array(folder: Path, name: str, array: np.ndarray) -> str:
    np.save(folder / f"{name}.npy", array)
    return f"{name}={folder / name}.npy"


def test_a_kernel_without_expectation_is_judged_by_all_else(scale: Write) -> None:
    verification = verify(metal_subject(scale(), GOOD, seed=0))
    assert (verification.name, verification.defects) == ("scale.metal scale", ())
    assert _outcome(verification, Question.ERROR) is ProofOutcome.NOT_CHECKED
    assert _outcome(verification, Question.ORDERS) is ProofOutcome.PASSED
    stored = {moved.buffer: moved.stored for moved in verification.traffic}
    assert stored == {"in": 0, "out": 512, "rows": 0}


@pytest.mark.parametrize(
    ("factor", "bound", "outcome"),
    [
        (2.5, GOOD.bound, ProofOutcome.PASSED),
        (2.4, GOOD.bound, ProofOutcome.DEFECT),
        (2.4, 0.05, ProofOutcome.PASSED),
    ],
)
def test_expected_outputs_can_be_given(
    scale: Write, tmp_path: Path, factor: float, bound: float, outcome: ProofOutcome
) -> None:
    values = np.arange(256, dtype=np.float16).reshape(4, 64) / 64
    rows = _save_array(tmp_path, "rows", np.arange(4, dtype=np.int32))
    buffers = (_save_array(tmp_path, "in", values), "out=float16[4,64]", rows)
    expected = (_save_array(tmp_path, "out", values * factor),)
    launch = replace(GOOD, buffers=buffers, expected=expected, bound=bound)
    verification = verify(metal_subject(scale(), launch, seed=0), orders=(ThreadOrder.ASCENDING,))
    assert _outcome(verification, Question.ERROR) is outcome


def test_an_output_that_is_read_first_is_nan_unless_it_is_given(scale: Write) -> None:
    file = scale("+ at.x] = in", "+ at.x] += in")
    verification = verify(metal_subject(file, GOOD, seed=0))
    assert _outcome(verification, Question.WRITTEN) is ProofOutcome.DEFECT
    launch_with_zeros = replace(
        GOOD, buffers=(GOOD.buffers[0], "out=float16[4,64]=0", GOOD.buffers[2])
    )
    assert verify(metal_subject(file, launch_with_zeros, seed=0)).defects == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"grid": ""}, "--grid is not given"),
        ({"threadgroup": "x"}, "Invalid size --threadgroup 'x'"),
        ({"grid": "0,1"}, "Invalid size --grid '0,1'"),
        ({"buffers": GOOD.buffers[:2]}, "buffers that are not given: rows"),
        ({"buffers": (*GOOD.buffers, "x=int32")}, "there is none called 'x'"),
        ({"buffers": ("in=int8[256]", *GOOD.buffers[1:])}, "in is int8; the kernel takes float16"),
        ({"function": "scales"}, "no kernel function 'scales'"),
        ({"constants": ()}, "function constants that have no value"),
        ({"constants": ("x=1",)}, "'x' is not a whole number"),
        ({"constants": ("0=yes",)}, "--constant: 'yes' is not a number"),
        ({"constants": ("0=-NaN",)}, "--constant: '-NaN' is not a number"),
        ({"constants": ("0=1", "0=2")}, "--constant gives '0' twice"),
        ({"constants": ("0",)}, "--constant '0' is not a pair"),
        ({"expected": ("x=a.npy",)}, "there is no --buffer x"),
        ({"grid": "4096", "threadgroup": "2048"}, "1024 at most"),
    ],
)
def test_a_mistaken_launch_is_said(scale: Write, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        verify(metal_subject(scale(), replace(GOOD, **changes), seed=0))
    assert "is not a number" not in said or "Write true, false or a number" in caught.value.hint


def test_a_kernel_is_chosen_among_several(scale: Write) -> None:
    file = scale()
    file.write_text(file.read_text() + "\nkernel void other(device int* a) { a[0] = 1; }\n")
    with pytest.raises(UsageError, match="2 kernels: scale, other") as caught:
        metal_subject(file, GOOD, seed=0)
    assert "--function" in caught.value.hint
    launch = LaunchWords(
        "other", buffers=("a=int32[1]",), grid="1", threadgroup="1", constants=("0=1",)
    )
    assert metal_subject(file, launch, seed=0).name == "scale.metal other"


def test_a_file_without_a_kernel_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "k.metal"
    for content, message in ((b"\xff\xfe", "cannot be read as text"), (b"int x;", "has no kernel")):
        file.write_bytes(content)
        with pytest.raises(InputError, match=message):
            metal_subject(file, GOOD, seed=0)
    with pytest.raises(TracekitError, match="cannot be read"):
        metal_subject(tmp_path / "nothing.metal", GOOD, seed=0)


@needs_emulation
def test_files_and_structs_that_a_kernel_needs_are_found(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "sizes.h").write_text("struct sizes { int first; float by; };\n")
    (tmp_path / "add.metal").write_text(
        '#include "sizes.h"\n'
        "kernel void add(constant sizes& s, device float* out,"
        " uint i [[thread_position_in_grid]]) {\n"
        "  out[i] = s.by + i;\n  out[s.first] = 0;\n}\n"
    )
    sizes = _save_array(tmp_path, "s", np.array([(2, 0.5)], [("first", "i4"), ("by", "f4")]))
    launch = LaunchWords(
        buffers=(sizes, "out=float32[3]"),
        grid="3",
        threadgroup="1",
        expected=(_save_array(tmp_path, "out", np.array([0.5, 1.5, 0.0], np.float32)),),
        includes=(str(tmp_path / "shared"),),
    )
    verification = verify(
        metal_subject(tmp_path / "add.metal", launch, seed=0), orders=(ThreadOrder.ASCENDING,)
    )
    assert _outcome(verification, Question.ERROR) is ProofOutcome.PASSED
    assert _outcome(verification, Question.ADDRESS_SPACES) is not ProofOutcome.DEFECT
    short_launch = replace(launch, buffers=(launch.buffers[0], "out=float32[2]"), expected=())
    verification = verify(metal_subject(tmp_path / "add.metal", short_launch, seed=0))
    (defect,) = verification.defects
    assert "add.metal:3:" in defect.detail or "add.metal:4:" in defect.detail
    with pytest.raises(UsageError, match=r'^add\.metal:1:1: "sizes.h" is included, and not found'):
        verify(metal_subject(tmp_path / "add.metal", replace(launch, includes=()), seed=0))
