"""The tests' own writer against a real bundle: the same rows become the same bytes."""

import plistlib
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from bundle_writer import Col, Encoder, record_type, tables_of_exports
from bundle_writer.stores import records, write_records
from bundle_writer.uniquing import Arrays

pytestmark = pytest.mark.corpus

PAIRS = {
    77: "metal-gpu-intervals", 57: "metal-driver-intervals", 56: "metal-gpu-state-intervals",
    41: "metal-command-buffer-completed", 66: "metal-application-encoders-list",
    86: "life-cycle-period", 92: "time-sample",
}  # fmt: skip


@pytest.fixture(scope="module")
def history(corpus: Path) -> Path:
    return corpus / "Oichkatzelesfrettschen+steinmarder/_history_8227983"


@pytest.fixture(scope="module")
def core(history: Path) -> Path:
    return history / "gpu_baseline.trace/corespace/run1/core"


@pytest.fixture(scope="module")
def encoder(core: Path) -> Encoder:
    """An encoder that knows the texts, types and arrays of the real run by their numbers."""
    found = Encoder()
    found.strings._ids = {text: number for number, text in enumerate(strings_of(core))}
    objects = plistlib.loads(inflated(core / "uniquing/EngineeringTypes.etypes"))["$objects"]
    names = (objects[one.data]["NS.string"] for one in objects[1]["NS.objects"])
    found.types = {name: number for number, name in enumerate(names)}
    for arrays, name in ((found.arrays, "arrayUniquer"), (found.typed_arrays, "typedArrayUniquer")):
        real = arrays_of(core / "uniquing" / name)
        arrays._ids = {array: number for number, array in enumerate(real)}
        assert len(arrays._ids) == len(real)
    return found


def inflated(path: Path) -> bytes:
    return zlib.decompress(path.read_bytes())


def strings_of(core: Path) -> list[str]:
    return plistlib.loads(inflated(core / "uniquing/strings"))


def arrays_of(folder: Path) -> list[tuple[int, ...]]:
    data = inflated(folder / "integeruniquer.data")
    index = struct.iter_unpack("<II", inflated(folder / "integeruniquer.index")[40:])
    places = [block * (1 << 20) + offset for offset, block in index]
    counts = (struct.unpack_from("<I", data, place)[0] for place in places)
    return [
        struct.unpack_from(f"<{count}Q", data, place + 4)
        for place, count in zip(places, counts, strict=True)
    ]


def columns_of(store: Path) -> list[Col]:
    return [
        Col(
            one.get("mnemonic", ""), one.get("engineeringName", ""),
            one.get("engineeringType", ""), one.get("topologyField"),
        )
        for one in etree.fromstring(inflated(store / "schema.xml"))
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["arrayUniquer", "typedArrayUniquer"])
def test_arrays_of_a_real_run_become_the_same_two_files(core: Path, name: str) -> None:
    written = Arrays()
    for array in arrays_of(core / "uniquing" / name):
        written.append(array)
    assert written.data() == inflated(core / "uniquing" / name / "integeruniquer.data")
    assert written.index() == inflated(core / "uniquing" / name / "integeruniquer.index")


@pytest.mark.parametrize("number", PAIRS)
def test_a_real_store_is_written_byte_for_byte(core: Path, tmp_path: Path, number: int) -> None:
    store = core / f"stores/indexed-store-{number}"
    content = inflated(store / "bulkstore")
    layout = record_type(columns_of(store))
    rows = 1 + max(content.rfind(bytes([byte])) for byte in range(1, 256)) - 4096
    found = np.frombuffer(content, layout, -(-rows // layout.itemsize), 4096)
    write_records(tmp_path / "bulkstore", [found], layout.itemsize, level=1)
    assert inflated(tmp_path / "bulkstore") == content


@pytest.mark.parametrize(("number", "schema"), PAIRS.items(), ids=PAIRS.values())
def test_an_export_becomes_the_records_of_its_own_bundle(
    history: Path, core: Path, encoder: Encoder, number: int, schema: str
) -> None:
    converted = tables_of_exports([history / f"xctrace_gpu_baseline_{schema}.xml"])
    (table,) = converted.tables
    assert not converted.left_out
    store = core / f"stores/indexed-store-{number}"
    declared = columns_of(store)
    assert [one.title for one in table.columns] == [one.title for one in declared]
    assert [one.type_id for one in table.columns] == [one.type_id for one in declared]
    table.columns = declared
    made = records(table, encoder)
    real = np.frombuffer(inflated(store / "bulkstore"), made.dtype, len(made), 4096)
    order = np.argsort(real[declared[0].mnemonic], kind="stable")
    assert made.tobytes() == real[order].tobytes()
