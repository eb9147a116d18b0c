"""Writes a whole bundle.

Layout: docs/explanation/trace-bundles.md.
"""

import plistlib
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from bundle_writer.document import TIMEBASE, RunInfo, document
from bundle_writer.encoding import Encoder
from bundle_writer.engineering_types import NEVER_REQUIRED, TYPES
from bundle_writer.keyed import Archived, archive, by_number, text
from bundle_writer.stores import INTERVAL, POINT, spec, write_store
from bundle_writer.symbols import symbols_archive
from bundle_writer.values import Process, Table, Thread

_CAPABILITIES = {
    "com.apple.dt.Instruments.Hierarchies": (1, "This version has no track hierarchies."),
    "com.apple.dt.path-manager.compression": (1, "The data is compressed."),
    "com.apple.dt.trace": (5, "This document was saved by a newer version."),
} | {
    f"com.apple.dt.ac.topology.{topology}": (1, "The stored data contains a newer topology.")
    for topology in (POINT, INTERVAL)
}


@dataclass(frozen=True)
class Issue:
    message: str
    kind: int = 2
    count: int = 1
    nanoseconds: int = 0


@dataclass
class Run:
    """One run of a bundle.

    Args:
        tables: Its tables; each becomes a store, numbered in this order.
        encoder: What encodes their rows, and has encoded the blocks of those without.
        info: How the run went, for the document.
        names: Processes and threads whose names no row mentions.
        modeling: Further `modelingParameters`.
        binding: Further `bindingParameters`.
        issues: What went wrong.
    """

    tables: Sequence[Table]
    encoder: Encoder = field(default_factory=Encoder)
    info: RunInfo = field(default_factory=RunInfo)
    names: Sequence[Process | Thread] = ()
    modeling: Mapping[str, Any] = field(default_factory=dict[str, Any])
    binding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    issues: Sequence[Issue] = (Issue("Data stream: Time Mapping"),)


def write_bundle(
    path: Path, tables: Sequence[Table], *, with_document: bool = True, **of_run: Any
) -> Path:
    """Write a bundle of one run; the others are the arguments of `Run`."""
    return write_runs(path, {1: Run(tables, **of_run)}, with_document=with_document)


def write_runs(path: Path, runs: Mapping[int, Run], *, with_document: bool = True) -> Path:
    path.mkdir(parents=True)
    compressed, used_types = list[str](), set[str]()
    for number, run in runs.items():
        compressed += _write_run(path, number, run)
        used_types |= run.encoder.used
        _write_issues(path / f"Trace{number}.run" / "RunIssues.storedata", run.issues)
        _write_symbols(path / "symbols/stores", run.info)
    _write_plist(path / "corespace/MANIFEST.plist", {"compressed-paths": compressed})
    _write_plist(path / "open.creq", _requirements(used_types))
    if with_document:
        documents = {number: (run.info, run.encoder) for number, run in runs.items()}
        (path / "form.template").write_bytes(document(documents))
    return path


def _requirements(used_types: set[str]) -> dict[str, list[Any]]:
    words = "This version does not support the new engineering type '{}'."
    types = {
        f"com.apple.dt.etype.{name}": (1, words.format(TYPES[name].tag))
        for name in used_types - NEVER_REQUIRED
    }
    return {name: list(entry) for name, entry in sorted((_CAPABILITIES | types).items())}


def _write_run(path: Path, number: int, run: Run) -> list[str]:
    core_name, encoder = f"run{number}/core", run.encoder
    core = path / "corespace" / core_name
    stores = [f"{core_name}/stores/indexed-store-{place}" for place in range(len(run.tables))]
    for table, name in zip(run.tables, stores, strict=True):
        write_store(path / "corespace" / name, table, encoder)
    for owner in run.names:
        if isinstance(owner, Process):
            encoder.process(owner)
        else:
            encoder.thread(owner)
    _write_uniquing(core / "uniquing", encoder)
    _write_squeezed(core / "table-manager/tables.plist", _tables(run.tables, stores))
    _write_squeezed(core / "core-config/exposedTableInfo.plist", _encode_table_info(run))
    return [
        *stores,
        f"{core_name}/uniquing",
        f"{core_name}/table-manager",
        f"{core_name}/core-config",
    ]


def _write_uniquing(folder: Path, encoder: Encoder) -> None:
    strings = plistlib.dumps([*encoder.strings.ids], fmt=plistlib.FMT_BINARY)
    types = archive(root=[*map(text, encoder.types)])
    _write_squeezed(folder / "strings", strings)
    _write_squeezed(folder / "EngineeringTypes.etypes", types)
    encoder.arrays.write(folder / "arrayUniquer")
    encoder.typed_arrays.write(folder / "typedArrayUniquer")


def _tables(tables: Sequence[Table], stores: Sequence[str]) -> bytes:
    pairs = zip(tables, stores, strict=True)
    details = {
        number: {"side": 1, "spec": spec(table), "storeSubpath": store}
        for number, (table, store) in enumerate(pairs, 1)
    }
    count = {"lastStoreIdx": len(tables), "nextTableID": len(tables) + 1}
    return archive(root=count | {"tableDetails": by_number(details)})


def _encode_table_info(run: Run) -> bytes:
    binding = {
        "osx-version": 260301,
        "timebase-numerator": TIMEBASE[0],
        "timebase-denominator": TIMEBASE[1],
        "logical-cpu-count": 8,
        "physical-cpu-count": 8,
    }
    root = {
        "biproductTableIDs": frozenset[int](),
        "inputTableIDs": frozenset[int](),
        "readOnlySpecsByID": Archived("XRIntKeyedDictionary", {"$0": 0}),
        "bindingParameters": binding | dict(run.binding),
        "modelingParameters": {"target-pid": run.info.pid} | dict(run.modeling),
    }
    return archive(root=root)


def _write_issues(path: Path, issues: Sequence[Issue]) -> None:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE ZISSUE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
            "ZCOUNT INTEGER, ZRELATIVETIMESTAMP INTEGER, ZSUBTYPE INTEGER, ZTYPE INTEGER, "
            "ZPARENT INTEGER, Z_FOK_PARENT INTEGER, ZMESSAGE VARCHAR)"
        )
        database.executemany(
            "INSERT INTO ZISSUE (ZMESSAGE, ZTYPE, ZCOUNT, ZRELATIVETIMESTAMP, ZSUBTYPE) "
            "VALUES (?, ?, ?, ?, 0)",
            [astuple(issue) for issue in issues],
        )


def _write_symbols(folder: Path, info: RunInfo) -> None:
    images = {image.uuid: image for listed in info.images.values() for image in listed}
    folder.mkdir(parents=True, exist_ok=True)
    for image in images.values():
        if image.symbols:
            name = f"{str(image.uuid).upper()}.symbolsarchive"
            (folder / name).write_bytes(symbols_archive(image))


def _write_squeezed(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(content, 1))


def _write_plist(path: Path, value: Any) -> None:
    path.write_bytes(plistlib.dumps(value, fmt=plistlib.FMT_XML))
