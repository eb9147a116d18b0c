"""A capture as tables, whole and damaged; and what is private in it."""

import json
import struct
import zlib
from pathlib import Path

import pytest

from capture_writer import (
    COMMANDS,
    DEVICE,
    ENCODER,
    LIBRARY,
    METALLIB,
    OUT,
    PIPELINE,
    call,
    group,
    small_capture,
)
from tracekit.base import UsageError
from tracekit.tables import MissingTableError, tables_of_bundle
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.captures import open_capture
from tracekit.tables.captures.rows import list_schemas
from tracekit.tables.losses import collecting

SOURCES = {"/Users/anne/src/probe.metal": b"// anne's secret\nkernel void probe() {}\n"}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return small_capture(SOURCES).write(tmp_path / "made.gputrace")


def test_all_tables_are_made(bundle: Path) -> None:
    tables = tables_of_bundle(bundle)
    (dispatch,) = tables["dispatches"].to_dict("records")
    assert dispatch["function"] == "probe"
    assert dispatch["function_index"] == 5
    assert (dispatch["threads_x"], dispatch["group_x"], dispatch["groups_x"]) == (100, 32, 4)
    assert dispatch["partial_groups"] == 1
    (function,) = tables["functions"].to_dict("records")
    assert (function["threadgroup_memory"], function["barriers"]) == (304, 3)
    assert function["intact"] is True
    (pipeline,) = tables["pipelines"].to_dict("records")
    assert (pipeline["instructions"], pipeline["registers"]) == (40, 12)
    assert len(tables["losses"]) == 0


def test_bindings_have_names_and_values(bundle: Path) -> None:
    bindings = tables_of_bundle(bundle)["bindings"]
    columns = ["index", "name", "type", "access", "active", "bound", "buffer", "length"]
    rows = bindings[columns].astype(object).where(bindings[columns].notna(), None)
    assert rows.to_numpy().tolist() == [
        [0, "out", "float", "read_write", True, True, 0, 1024],
        [1, "count", "uint", "read", True, True, 1, 4],
        [2, "spare", "uint", "read", False, False, None, None],
    ]
    assert bindings["value"].tolist()[1] == 100


def test_a_library_from_source_has_no_air(tmp_path: Path) -> None:
    made = small_capture()
    made.packed["5EED"] = b"kernel void probe() {}\0"
    library = call(0xC04F, "CU<b>Ut", DEVICE, "5EED", "5EED", 0, result=("t", LIBRARY))
    function = call(0xC05E, "CS", LIBRARY, "probe", result=("t", PIPELINE - 0x1000))
    made.resources[2] = group(
        "library", LIBRARY, library, group("function", 0x1_0000_6000, function)
    )
    bundle = made.write(tmp_path / "made.gputrace")
    tables = tables_of_bundle(bundle, include=("source",))
    (row,) = tables["functions"].to_dict("records")
    assert row["name"] == "probe"
    assert row["sources"] == 1
    assert tables["functions"]["threadgroup_memory"].isna().all()
    assert tables["capture_sources"]["text"].tolist() == ["kernel void probe() {}"]
    assert "there is no AIR of probe" in str(tables.losses[0])


def test_a_buffer_that_is_made_in_the_capture_is_listed(tmp_path: Path) -> None:
    made = small_capture()
    made.calls.insert(4, call(0xC046, "Culul", DEVICE, 512, 0, result=("t", 0x555)))
    made.calls.insert(8, call(0xC030, "Ctulul", ENCODER, 0x555, 0, 7))
    tables = tables_of_bundle(made.write(tmp_path / "made.gputrace"))
    assert tables["capture_buffers"]["length"].tolist() == [1024, 4, 512]
    extra = tables["bindings"].query("index == 7").iloc[0]
    assert extra["buffer"] == 2


def test_bytes_have_values(tmp_path: Path) -> None:
    made = small_capture()
    made.packed["B17E5"] = struct.pack("<I", 77)
    made.calls[6] = call(0xC09D, "CU<b>ulul", ENCODER, "B17E5", 4, 1)
    bindings = tables_of_bundle(made.write(tmp_path / "made.gputrace"))["bindings"]
    assert bindings["value"].tolist()[1] == 77
    assert bindings["length"].tolist()[1] == 4


def test_unknown_calls_are_named_and_counted(tmp_path: Path) -> None:
    made = small_capture()
    made.calls.insert(9, call(0xC7AC, "Cul", COMMANDS, 1))
    made.calls.insert(9, call(0xC7AC, "Cul", ENCODER, 1))
    capture = open_capture(made.write(tmp_path / "made.gputrace"))
    unread, strange = map(str, capture.losses)
    assert unread == (
        "made.gputrace: 1 call on an encoder is not read, call -14420 (Cul): bindings or sizes of "
        "its dispatches may be missing."
    )
    assert strange == "made.gputrace: 2 calls of unknown codes: call -14420 (Cul), 2 times."
    assert capture.count_unexplained_bytes() == 0


def test_a_cut_stream_keeps_the_rows_before_its_damage(bundle: Path) -> None:
    path = bundle / "capture"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-20] + bytes(20))
    assert path.stat().st_size == size
    with collecting() as ledger:
        tables = tables_of_bundle(bundle)
        assert len(tables["dispatches"]) == 1
        assert len(tables["capture_calls"]) == 10
    assert ledger.costs == ()
    content = path.read_bytes()
    index = bytearray((bundle / "index").read_bytes())
    place = index.index(struct.pack("<I", size) + struct.pack("<I", 5))
    struct.pack_into("<I", index, place, size - 300)
    (bundle / "index").write_bytes(index)
    path.write_bytes(content[:-300])
    with collecting() as ledger:
        tables = tables_of_bundle(bundle)
        assert len(tables["capture_calls"]) < 10
    assert "made.gputrace: capture is damaged after" in str(ledger.costs[0])


def test_a_damaged_part_leaves_the_others(bundle: Path) -> None:
    index = (bundle / "index").read_bytes()
    store = bytearray((bundle / "store0").read_bytes())
    content = open_capture(bundle).read_contents(METALLIB)
    place = store.index(zlib.compress(content))
    store[place + 200] ^= 0xFF
    (bundle / "store0").write_bytes(store)
    assert (bundle / "index").read_bytes() == index
    tables = tables_of_bundle(bundle)
    assert tables["functions"]["barriers"].isna().all()
    assert tables["dispatches"]["threads_x"].tolist() == [100]
    texts = " ".join(str(loss) for loss in tables.losses)
    assert f"made.gputrace: {METALLIB} cannot be inflated" in texts
    assert "there is no AIR of probe in the capture" in texts


def test_a_capture_without_calls_says_so(tmp_path: Path) -> None:
    bundle = small_capture().write(tmp_path / "made.gputrace")
    (bundle / "capture").unlink()
    texts = " ".join(str(loss) for loss in open_capture(bundle).losses)
    assert "made.gputrace: capture is missing." in texts


def test_the_data_of_a_replay_are_named(bundle: Path) -> None:
    (bundle / "made.gpuprofiler_raw").mkdir()
    (loss,) = open_capture(bundle).losses
    assert str(loss) == (
        "made.gputrace: the data of a replay in Xcode are not decoded: made.gpuprofiler_raw."
    )


def test_a_damaged_index_ends_as_a_damaged_trace_does(bundle: Path) -> None:
    (bundle / "index").write_bytes(b"xdic")
    with pytest.raises(BundleError, match=r"made\.gputrace: index is cut"):
        tables_of_bundle(bundle)


def test_numbers_that_no_column_holds_are_null_and_named(tmp_path: Path) -> None:
    made = small_capture()
    made.calls[5] = call(0xC030, "Ctulul", ENCODER, OUT, 2**64 - 1, 0)
    tables = tables_of_bundle(made.write(tmp_path / "made.gputrace"))
    assert tables["bindings"]["offset"].isna().tolist() == [True, False, True]
    assert "numbers that are too large: offset" in " ".join(map(str, tables.losses))


def test_private_parts_are_not_in_tables(bundle: Path) -> None:
    tables = tables_of_bundle(bundle)
    words = json.dumps({name: tables[name].to_csv() for name in tables})
    for secret in ("annes-mac", "0F5A9B1C", "/Users", "anne"):
        assert secret not in words, secret
    machine = json.dumps(open_capture(bundle).machine)
    assert "Mac14,2" in machine
    assert "anne" not in machine


def test_private_parts_are_tables_if_they_are_included(bundle: Path) -> None:
    tables = tables_of_bundle(bundle, include=("source", "buffers"))
    assert tables["capture_sources"].to_dict("records") == [
        {
            "library": 0,
            "file": "probe.metal",
            "text": SOURCES["/Users/anne/src/probe.metal"].decode(),
        }
    ]
    contents = tables["capture_contents"]
    assert contents["bytes"].map(len).tolist() == [2048, 8, 2048]
    assert contents["command_buffer"].isna().tolist() == [True, True, False]
    assert contents["bytes"].tolist()[1] == "64000000"


def test_without_include_there_is_no_such_table(bundle: Path) -> None:
    for name in ("capture_sources", "capture_contents"):
        with pytest.raises(MissingTableError):
            _ = tables_of_bundle(bundle)[name]


def test_a_trace_has_nothing_to_include(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a GPU frame capture"):
        tables_of_bundle(tmp_path / "a.trace", include=("source",))


def test_every_table_has_a_schema_of_its_own(bundle: Path) -> None:
    tables = tables_of_bundle(bundle, include=("source", "buffers"))
    assert set(tables.schemas) == set(list_schemas(("source", "buffers")))
    assert len(tables) == len(tables.schemas) + 1
