"""Texts that are refused: hostile, damaged, or beyond what this engine knows."""

import time

import pytest

from small_kernels import compile_body, kernel, needs_emulation
from tracekit.base.errors import KernelError, UsageError
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import Edit, KernelText, apply_edits
from tracekit.lab.msl.rewrite import rewritten
from tracekit.lab.msl.signature import instances_of, kernels_of, parameters_of, split_parameters

BOTH = "const device float* a, device float* out"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("texture2d<float> t;", "k.metal:7:1: textures cannot be run on a CPU"),
        ("  simdgroup_event e;", "k.metal:7:3: asynchronous copies cannot be run on a CPU"),
        ("out[0] = 1; /* and so on", "k.metal:7:13: a comment begins that never ends"),
        ("threadgroup auto x = a[0];", "k.metal:7:1: this use of `threadgroup` is not understood"),
        ("int x [[surprising]] = 1;", "k.metal:7:7: the attribute 'surprising' is not known"),
        ('#include "mine.h"', 'k.metal:7:1: "mine.h" is included'),
    ],
)
def test_unsupported_code_is_refused_at_its_place(body: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        rewritten(kernel(body, BOTH), checked=False)
    assert caught.value.message.startswith(says)


@needs_emulation
@pytest.mark.parametrize(
    ("text", "function", "says"),
    [
        ("", "k", "has no kernel function 'k'"),
        ("void k(device float* a) {}", "j", "has no kernel function 'j'"),
        ("kernel void k(device float* a);", "k", "has no kernel function 'k'"),
        ("kernel void k(float a) {}", "k", "the parameter 'float a' is neither memory nor one"),
        ("kernel void k(device int* a [[buffer(70)]]) {}", "k", "a number of its own, below 64"),
    ],
)
def test_a_text_without_the_kernel_is_refused(text: str, function: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        compile_kernel(KernelText(text, function))


def test_a_text_too_large_or_with_nul_is_refused() -> None:
    with pytest.raises(UsageError, match="5000000 characters"):
        KernelText(" " * 5_000_000, "k")
    with pytest.raises(UsageError, match="NUL character"):
        KernelText("kernel void k() {}\0", "k")


@pytest.mark.parametrize("piece", ["threadgroup float a[", "device x<", "((((", "[[buffer("])
def test_a_long_text_of_brackets_takes_no_time(piece: str) -> None:
    unknown = "kernel void k(device int* a) { " + piece * 2000 + "texture2d<float> }"
    start = time.process_time()
    with pytest.raises(UsageError):
        rewritten(KernelText(unknown, "k"), checked=True)
    with pytest.raises(UsageError):
        parameters_of(unknown, "other", "k.metal")
    assert time.process_time() - start < 60  # hours, if it tried all ways to pair brackets


@needs_emulation
def test_the_compilers_words_have_the_kernels_line_and_column() -> None:
    body = "threadgroup float room[4]; float x = 1.5 + nothing; /* two\n lines */ out[i] = nix;"
    with pytest.raises(KernelError) as caught:
        compile_body(body, BOTH, name="mine.metal")
    lines = caught.value.message.splitlines()
    assert any(line.startswith("mine.metal:7:44: ") and "nothing" in line for line in lines)
    assert any(line.startswith("mine.metal:8:20: ") and "nix" in line for line in lines)
    assert lines[-2].endswith("| threadgroup float room[4]; float x = 1.5 + nothing; /* two")
    assert lines[-1].index("^") - lines[-2].index("threadgroup") == 43
    text = "template <typename T> [[kernel]] void k(device T* out) { out[0] = T(1); }"
    with pytest.raises(KernelError, match=r"k\.metal, where the kernel is called.*nonsense"):
        compile_kernel(KernelText(text, "k", "nonsense"))


def test_edits_know_the_columns_from_before() -> None:
    edited_text = apply_edits(
        "ab cd ef\ngh", [Edit(3, 5, "longer"), Edit(6, 6, "x"), Edit(9, 11, "i")]
    )
    assert edited_text.text == "ab longer xef\ni"
    assert [edited_text.column(1, column) for column in (1, 2, 10, 12, 13)] == [1, 2, 6, 7, 8]
    assert edited_text.column(2, 1) == 1


def test_declarations_of_a_text_are_read() -> None:
    text = """
template <typename T, int N = 2>
[[kernel, max_total_threads_per_threadgroup(64)]] void one(
    const device T* a [[buffer(2)]], device half *b, constant int& n [[buffer(0)]],
    threadgroup float* room [[threadgroup(1)]], ushort3 at [[thread_position_in_grid]]) { }
kernel void two(constant const int* sizes) {}
template [[host_name("one_x")]] [[kernel]] decltype(one<half, 4>) one<half, 4>;
"""
    assert kernels_of(text) == ["one", "two"]
    a, b, n, room, position = parameters_of(text, "one", "x.metal")
    a_properties = (a.name, a.kind, a.index, a.address_space, a.element, a.writable)
    assert a_properties == ("a", "buffer", 2, "device", "T", False)
    assert (b.name, b.index, b.element, b.writable) == ("b", 1, "half", True)
    assert (n.index, n.is_reference, n.writable) == (0, True, False)
    assert (room.kind, room.index) == ("threadgroup", 1)
    assert (position.kind, position.builtin) == ("builtin", "thread_position_in_grid")
    (instance,) = instances_of(text)
    assert (instance.host_name, instance.function, instance.template) == ("one_x", "one", "half, 4")
    assert split_parameters("a<b, c> d, e[f, g]") == ["a<b, c> d", " e[f, g]"]
