"""The two real captures of the corpus: every byte, and each figure against its source.

The figures come from the kernels' sources, from the host programs, and from Xcode's CSV of the same
capture. None comes from this reader.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from tracekit.tables import Tables, tables_of_bundle, xcode_counters
from tracekit.tables.captures import open_capture

pytestmark = pytest.mark.corpus
_FOLDER = "Lazarus-931+MetalBench"


class RealCapture(NamedTuple):
    """A capture of the corpus, and the facts of its source and its host."""

    name: str
    source: str
    arguments: list[tuple[str, str, str, bool]]
    threads: tuple[int, int, int]
    group: tuple[int, int, int]
    threadgroup_memory: int
    barriers: tuple[int, int]
    line: int


RELU = RealCapture(
    "relu",
    "relu.metal",
    [
        ("x", "float", "read", True),
        ("y", "float", "read_write", True),
        ("N", "uint", "read", True),
        ("grid_size", "uint", "read", True),
    ],
    (65536, 1, 1),
    (1024, 1, 1),
    0,
    (0, 0),
    5,
)
MATMUL = RealCapture(
    "matmul_gelu_softmax",
    "matmul_gelu_softmax.metal",
    [
        ("X", "float", "read", True),
        ("W", "float", "read", True),
        ("Y", "float", "read_write", True),
        ("M", "uint", "read", False),
        ("N", "uint", "read", True),
        ("K", "uint", "read", True),
    ],
    (256, 256, 1),
    (256, 1, 1),
    16 * 256 * 4 + 16 * 16 * 4,
    (3, 2),
    25,
)
REAL = [RELU, MATMUL]


@pytest.fixture(params=REAL, ids=[real.name for real in REAL])
def real(request: pytest.FixtureRequest, corpus: Path) -> tuple[RealCapture, Path]:
    bundle = corpus / _FOLDER / f"{request.param.name}.gputrace"
    if not bundle.exists():
        pytest.skip(f"no {bundle.name} in the corpus")
    return request.param, bundle


def test_every_byte_is_explained(real: tuple[RealCapture, Path]) -> None:
    _, bundle = real
    capture = open_capture(bundle)
    assert capture.count_unexplained_bytes() == 0
    assert capture.losses == ()
    assert len(capture.list_streams()) == 7


def test_arguments_equal_the_source(real: tuple[RealCapture, Path]) -> None:
    facts, bundle = real
    bindings = tables_of_bundle(bundle)["bindings"]
    columns = ["name", "type", "access", "active"]
    assert list(bindings[columns].itertuples(index=False, name=None)) == facts.arguments
    assert bindings["bound"].all()
    source = (bundle.parent / facts.source).read_text()
    for name, kind, _, _ in facts.arguments:
        line = next(
            line for line in source.splitlines() if f" {name} " in f"{line} [[".replace("&", " ")
        )
        assert kind in line, name


def test_reflection_and_air_agree(real: tuple[RealCapture, Path]) -> None:
    facts, bundle = real
    capture = open_capture(bundle)
    (pipeline,) = capture.pipelines.values()
    air = capture.airs[pipeline.function]
    reflected = [(item.name, item.index, item.is_active) for item in pipeline.arguments]
    declared = [(item.name, item.index, item.is_used) for item in air.arguments]
    assert reflected == declared[: len(reflected)]
    assert [item.access for item in air.arguments[: len(reflected)]] == [
        access for _, _, access, _ in facts.arguments
    ]


def test_sizes_equal_those_of_the_host(real: tuple[RealCapture, Path]) -> None:
    facts, bundle = real
    (row,) = tables_of_bundle(bundle)["dispatches"].to_dict("records")
    assert tuple(row[f"threads_{axis}"] for axis in "xyz") == facts.threads
    assert tuple(row[f"group_{axis}"] for axis in "xyz") == facts.group
    assert row["partial_groups"] == 0


def test_threadgroup_memory_and_barriers_equal_the_source(real: tuple[RealCapture, Path]) -> None:
    facts, bundle = real
    (row,) = tables_of_bundle(bundle)["functions"].to_dict("records")
    assert row["threadgroup_memory"] == facts.threadgroup_memory
    assert (row["barriers"], row["loop_barriers"]) == facts.barriers
    assert row["line"] == facts.line
    assert row["file"] == facts.source
    assert row["intact"] is True


def test_the_source_comes_out_byte_for_byte(real: tuple[RealCapture, Path]) -> None:
    facts, bundle = real
    table = tables_of_bundle(bundle, include=("source",))["capture_sources"]
    (text,) = table.query("file == @facts.source")["text"]
    assert text == (bundle.parent / facts.source).read_text()


def test_statistics_of_the_compiler(real: tuple[RealCapture, Path]) -> None:
    facts, bundle = real
    tables = tables_of_bundle(bundle)
    (row,) = tables["pipelines"].to_dict("records")
    lines = tables["source_lines"]
    if facts is MATMUL:
        assert (row["instructions"], row["registers"], row["spilled"]) == (728, 48, 0)
        by_line = lines.set_index("line")["instructions"]
        assert (by_line[140], by_line[36]) == (492, 206)
    else:
        assert row["alu"] == 19


def test_constants_have_their_values(real: tuple[RealCapture, Path]) -> None:
    facts, bundle = real
    values = tables_of_bundle(bundle)["bindings"].dropna(subset="value")
    expected = {"M": 256, "N": 256, "K": 256}
    if facts is RELU:
        expected = {"N": 262_144, "grid_size": 65_536}
    assert dict(zip(values["name"], values["value"], strict=True)) == expected


def _counters(tables: Tables, path: Path) -> dict[str, float]:
    (dispatch,) = tables["dispatches"].to_dict("records")
    rows = xcode_counters.read_counters([path]).rows
    own_rows = rows[rows["function"] == dispatch["function_index"]]
    return dict(zip(own_rows["counter"], own_rows["value"], strict=True))


def test_xcodes_counters_agree_with_the_dispatch(corpus: Path) -> None:
    folder = corpus / _FOLDER
    tables = tables_of_bundle(folder / "relu.gputrace")
    counters = _counters(tables, folder / "relu.csv")
    (dispatch,) = tables["dispatches"].to_dict("records")
    assert counters["Kernel Invocations"] == 65_536 == dispatch["threads_x"]
    lengths = tables["capture_buffers"].set_index("index")["length"]
    read = counters["Bytes Read From Device Memory"]
    assert read == 1_050_240
    assert 0 < read - lengths[0] < 4_096
    written = counters["Last Level Cache Bytes Written"]
    assert written == 1_050_688
    assert 0 < written - lengths[1] < 4_096
    # 19 ALU instructions in the code; on average 17.0 of them are executed
    (pipeline,) = tables["pipelines"].to_dict("records")
    assert counters["Kernel ALU Instructions"] == pytest.approx(1_114_624)
    assert counters["Kernel ALU Instructions"] / dispatch["threads_x"] < pipeline["alu"]
