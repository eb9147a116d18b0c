"""Every way to read that is measured arrives at the truth, and what does not is told."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from reading.decoded import Batches, Column, Decoded, Identity, header, stack_array
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
        found = named(name).load()(path)
        assert found.table.num_rows > 200
        assert difference(found, truth(path)) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_what_convert_writes_is_the_truth(exports: dict[str, Path], kind: str) -> None:
    made = named("tracekit convert").load()(exports[kind])
    expected = without_stacks(truth(exports[kind]), exports[kind])
    assert difference(written(made), expected) == ""
    shutil.rmtree(made.parent)


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
    other = expected.stacks.to_pylist()
    other[1] = other[1][:-1]
    assert difference(replace(expected, stacks=stack_array(other)), expected).startswith(
        "stack, row 2: "
    )
    assert difference(replace(expected, stacks=stack_array(other[1:])), expected) == (
        f"{len(other) - 1} stacks, not {len(other)}"
    )
    names = ["?", *expected.frames["name"].to_pylist()[1:]]
    frames = expected.frames.set_column(0, "name", pa.array(names))
    assert difference(replace(expected, frames=frames), expected).startswith(
        "frame name, row 1: '?', not "
    )


def test_ids_stand_beside_processes_and_threads() -> None:
    batches = Batches([Column("who", "thread"), Column("of", "process"), Column("n", "uint64")])
    batches.add([[Identity("t", 4, 9), Identity("p", 4), 2**64 - 1], [None, None, None]])
    assert batches.table().to_pylist() == [
        {"who": "t", "who.tid": 9, "who.pid": 4, "of": "p", "of.pid": 4, "n": 2**64 - 1},
        dict.fromkeys(("who", "who.tid", "who.pid", "of", "of.pid", "n")),
    ]


def test_a_file_without_a_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.xml"
    path.write_text("<trace-query-result/>")
    with pytest.raises(ValueError, match="has no header"):
        header(path)


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert named("xmllint --sax").missing == "there is no xmllint"
    assert named("read(2)").missing == ""
