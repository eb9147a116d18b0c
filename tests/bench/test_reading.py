"""Every way to read that is measured arrives at the truth, and what does not is told."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from reading.decoded import Decoded, stack_array
from reading.methods import named
from reading.truth import difference, load, without_stacks, written
from synthetic import KINDS, truth_of

DECODERS = ("tracekit, fast", "tracekit, exact", "lxml, tuned", "lxml, naive", "ElementTree, naive")


def truth(path: Path) -> Decoded:
    files = truth_of(path)
    return load(files.table, files.stacks, files.frames)


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_reads_the_truth(exports: dict[str, Path], name: str) -> None:
    for path in exports.values():
        decoding = named(name).load()(path)
        assert decoding.table.num_rows > 200, path
        assert difference(decoding, truth(path)) == "", path


@pytest.mark.parametrize("kind", KINDS)
def test_convert_writes_the_truth(exports: dict[str, Path], kind: str) -> None:
    converted_path = named("tracekit convert").load()(exports[kind])
    expected = without_stacks(truth(exports[kind]), exports[kind])
    assert difference(written(converted_path), expected) == ""
    shutil.rmtree(converted_path.parent)


def one_table(**columns: list[object]) -> Decoded:
    return Decoded(pa.table(columns))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param(one_table(a=[1, 2], b=["x", None]), "", id="equal"),
        pytest.param(one_table(b=["x", None], a=[1, 2], c=[0, 0]), "", id="more-columns"),
        pytest.param(one_table(a=[1, 3], b=["x", None]), "a, row 2: 3, not 2", id="a-value"),
        pytest.param(one_table(a=[1, None], b=["x", None]), "a, row 2: None, not 2", id="a-null"),
        pytest.param(one_table(a=[1, 2], b=["x", ""]), "b, row 2: '', not None", id="no-null"),
        pytest.param(one_table(a=[1, 2]), "no column 'b' among 1", id="a-column"),
        pytest.param(one_table(a=[1], b=["x"]), "1 rows, not 2", id="rows"),
    ],
)
def test_the_first_difference_is_named(found: Decoded, words: str) -> None:
    assert difference(found, one_table(a=[1, 2], b=["x", None])) == words


def test_stacks_and_frames_are_compared(exports: dict[str, Path]) -> None:
    expected = truth(exports["time-profile"])
    other_stacks = expected.stacks.to_pylist()
    other_stacks[1] = other_stacks[1][:-1]
    assert difference(replace(expected, stacks=stack_array(other_stacks)), expected).startswith(
        "stack, row 2: "
    )
    assert difference(replace(expected, stacks=stack_array(other_stacks[1:])), expected) == (
        f"{len(other_stacks) - 1} stacks, not {len(other_stacks)}"
    )
    names = ["?", *expected.frames["name"].to_pylist()[1:]]
    frames = expected.frames.set_column(0, "name", pa.array(names))
    assert difference(replace(expected, frames=frames), expected).startswith(
        "frame name, row 1: '?', not "
    )
