"""Kernels of `.metal` files: what the command line says of a launch."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tracekit.base.errors import InputError, TracekitError, UsageError
from tracekit.lab.msl.program import Order
from tracekit.lab.verification.metal_file import Launch, metal_subject
from tracekit.lab.verification.verify import Outcome, Question, Verification, verify

pytestmark = [pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

Write = Callable[..., Path]
GOOD = Launch(
    template="float16_t, 64",
    buffers=("in=float16[4,64]", "out=float16[4,64]", "rows=int32[4]=0:4"),
    grid="64,4",
    threadgroup="32",
    constants=("0=2.5",),
)


def _outcome(found: Verification, question: Question) -> Outcome:
    return next(one.outcome for one in found.verdicts if one.question is question)


def _expecting(scale: float, folder: Path, launch: Launch = GOOD) -> Launch:
    values = np.arange(256, dtype=np.float16).reshape(4, 64) / 64
    np.save(folder / "in.npy", values)
    np.save(folder / "wanted.npy", values * scale)
    buffers = (f"in={folder / 'in.npy'}", "out=float16[4,64]", f"rows={folder / 'rows.npy'}")
    np.save(folder / "rows.npy", np.arange(4, dtype=np.int32))
    return replace(launch, buffers=buffers, expected=(f"out={folder / 'wanted.npy'}",))


def test_a_kernel_without_expectation_is_judged_by_all_else(scale: Write) -> None:
    found = verify(metal_subject(scale(), GOOD, seed=0))
    assert found.name == "scale.metal scale"
    assert found.defects == ()
    assert _outcome(found, Question.ERROR) is Outcome.NOT_CHECKED
    assert _outcome(found, Question.ORDERS) is Outcome.PASSED
    assert [(one.buffer, one.stored) for one in found.traffic] == [
        ("in", 0),
        ("out", 512),
        ("rows", 0),
    ]


@pytest.mark.parametrize(("factor", "outcome"), [(2.5, Outcome.PASSED), (2.4, Outcome.DEFECT)])
def test_what_must_come_out_can_be_given(
    scale: Write, tmp_path: Path, factor: float, outcome: Outcome
) -> None:
    found = verify(metal_subject(scale(), _expecting(factor, tmp_path), seed=0))
    assert _outcome(found, Question.ERROR) is outcome


def test_an_output_that_is_read_first_is_nan_unless_it_is_given(scale: Write) -> None:
    file = scale("+ at.x] = in", "+ at.x] += in")
    found = verify(metal_subject(file, GOOD, seed=0))
    assert _outcome(found, Question.WRITTEN) is Outcome.DEFECT
    given = replace(GOOD, buffers=(GOOD.buffers[0], "out=float16[4,64]=0", GOOD.buffers[2]))
    assert verify(metal_subject(file, given, seed=0)).defects == ()


MISTAKES = {
    "no grid": ({"grid": ""}, "--grid is not given"),
    "no threadgroup": ({"threadgroup": "x"}, "--threadgroup 'x' is no size"),
    "a buffer is missing": ({"buffers": GOOD.buffers[:2]}, "buffers that are not given: rows"),
    "a buffer too many": ({"buffers": (*GOOD.buffers, "x=int32")}, "there is none called 'x'"),
    "another dtype": ({"buffers": ("in=int8[256]", *GOOD.buffers[1:])}, "in is int8"),
    "no such function": ({"function": "scales"}, "no kernel function 'scales'"),
    "a constant without a value": ({"constants": ()}, "function constants that have no value"),
    "a constant without a number": ({"constants": ("x=1",)}, "'x' is no whole number"),
    "an expectation of nothing": ({"expected": ("x=a.npy",)}, "there is no --buffer x"),
    "a threadgroup too large": ({"grid": "4096", "threadgroup": "2048"}, "1024 at most"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_on_the_command_line_is_told(scale: Write, name: str) -> None:
    changes, said = MISTAKES[name]
    with pytest.raises(UsageError, match=said):
        verify(metal_subject(scale(), replace(GOOD, **changes), seed=0))


def test_the_kernel_is_chosen_where_there_are_several(scale: Write) -> None:
    file = scale()
    file.write_text(file.read_text() + "\nkernel void other(device int* a) { a[0] = 1; }\n")
    with pytest.raises(UsageError, match="2 kernels: scale, other") as told:
        metal_subject(file, GOOD, seed=0)
    assert "--function" in told.value.hint
    launch = replace(
        GOOD, function="other", template="", buffers=("a=int32[1]",), grid="1", threadgroup="1"
    )
    found = verify(metal_subject(file, launch, seed=0))
    assert found.name == "scale.metal other"
    assert _outcome(found, Question.COMPILES) is Outcome.PASSED


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe", "cannot be read as text"), (b"int x;", "has no kernel function")],
)
def test_a_file_that_is_no_kernel_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "k.metal"
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        metal_subject(file, GOOD, seed=0)
    with pytest.raises(TracekitError, match="cannot be read"):
        metal_subject(tmp_path / "nothing.metal", GOOD, seed=0)


def test_files_and_structs_that_a_kernel_needs_are_found(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "sizes.h").write_text("struct sizes { int first; float by; };\n")
    (tmp_path / "add.metal").write_text(
        '#include "sizes.h"\n'
        "kernel void add(constant sizes& s, device float* out,"
        " uint i [[thread_position_in_grid]]) {\n"
        "  out[i] = s.by + i;\n  out[s.first] = 0;\n}\n"
    )
    sizes = np.array([(2, 0.5)], [("first", "i4"), ("by", "f4")])
    np.save(tmp_path / "sizes.npy", sizes)
    np.save(tmp_path / "wanted.npy", np.array([0.5, 1.5, 0.0], np.float32))
    launch = Launch(
        buffers=(f"s={tmp_path / 'sizes.npy'}", "out=float32[3]"),
        grid="3",
        threadgroup="1",
        expected=(f"out={tmp_path / 'wanted.npy'}",),
        includes=(str(tmp_path / "shared"),),
    )
    found = verify(metal_subject(tmp_path / "add.metal", launch, seed=0), orders=(Order.ASCENDING,))
    assert _outcome(found, Question.ERROR) is Outcome.PASSED
    assert _outcome(found, Question.ADDRESS_SPACES) is not Outcome.DEFECT
    beside = replace(launch, buffers=(launch.buffers[0], "out=float32[2]"), expected=())
    found = verify(metal_subject(tmp_path / "add.metal", beside, seed=0))
    told = next(one.detail for one in found.defects)
    assert "add.metal:3:" in told or "add.metal:4:" in told
    with pytest.raises(UsageError, match=r'^add\.metal:1:1: "sizes.h" is included, and not found'):
        verify(metal_subject(tmp_path / "add.metal", replace(launch, includes=()), seed=0))
