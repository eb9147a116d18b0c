"""Writes a whole bundle.

Layout: docs/explanation/trace-bundles.md.
"""

import plistlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bundle_writer.document import RunInfo, document
from bundle_writer.encoding import Encoder
from bundle_writer.engineering_types import NEVER_REQUIRED, TYPES
from bundle_writer.issues import Issue, write_issues
from bundle_writer.keyed import Archived, archive, by_number, text
from bundle_writer.stores import INTERVAL, POINT, spec, write_store
from bundle_writer.symbols import symbols_archive
from bundle_writer.values import Process, Table, Thread

TIME_MAPPING = Issue("Data stream: Time Mapping")
_CAPABILITIES = {
    "com.apple.dt.Instruments.Hierarchies": (1, "This version has no track hierarchies."),
    "com.apple.dt.path-manager.compression": (1, "The data is compressed."),
    "com.apple.dt.trace": (5, "This document was saved by a newer version."),
} | {
    f"com.apple.dt.ac.topology.{one}": (1, "The stored data contains a newer topology.")
    for one in (POINT, INTERVAL)
}


@dataclass
class Run:
    """One run of a bundle.

    Args:
        tables: Its tables; each becomes a store, numbered in this order.
        encoder: What has encoded the blocks of tables that have no rows.
        info: How the run went, for the document.
        names: Processes and threads whose names no row mentions.
        modeling: Further `modelingParameters`.
        binding: Further `bindingParameters`.
        issues: What went wrong.
    """

    tables: Sequence[Table]
    encoder: Encoder | None = None
    info: RunInfo | None = None
    names: Sequence[Process | Thread] = ()
    modeling: Mapping[str, Any] | None = None
    binding: Mapping[str, Any] | None = None
    issues: Sequence[Issue] = (TIME_MAPPING,)


def write_bundle(  # the others are those of Run
    path: Path,
    tables: Sequence[Table],
    *,
    level: int = 1,
    with_document: bool = True,
    block: int = 1 << 20,
    **of_run: Any,
) -> Path:
    run = Run(tables, of_run.pop("encoder", None) or Encoder(block), **of_run)
    return write_runs(path, {1: run}, level=level, with_document=with_document)


def write_runs(
    path: Path, runs: Mapping[int, Run], *, level: int = 1, with_document: bool = True
) -> Path:
    path.mkdir(parents=True)
    compressed, used = list[str](), set[str]()
    documents: dict[int, tuple[RunInfo, Encoder]] = {}
    for number, run in runs.items():
        encoder = run.encoder or Encoder()
        compressed += _write_run(path, number, run, encoder, level)
        used |= encoder.used
        info = run.info or RunInfo()
        documents[number] = (info, encoder)
        write_issues(path / f"Trace{number}.run" / "RunIssues.storedata", run.issues)
        _write_symbols(path / "symbols/stores", info)
    _write_plist(path / "corespace/MANIFEST.plist", {"compressed-paths": compressed})
    _write_plist(path / "open.creq", requirements(used))
    if with_document:
        (path / "form.template").write_bytes(document(documents))
    return path


def requirements(used: Iterable[str]) -> dict[str, list[Any]]:
    """Return what `open.creq` holds for types that are used."""
    types = {
        f"com.apple.dt.etype.{one}": (
            1,
            f"This version does not support the new engineering type '{TYPES[one].tag}'.",
        )
        for one in sorted(set(used) - NEVER_REQUIRED)
    }
    return {name: list(entry) for name, entry in sorted((_CAPABILITIES | types).items())}


def _write_run(path: Path, number: int, run: Run, encoder: Encoder, level: int) -> list[str]:
    inside = f"run{number}/core"
    core = path / "corespace" / inside
    stores = [f"{inside}/stores/indexed-store-{place}" for place in range(len(run.tables))]
    for table, name in zip(run.tables, stores, strict=True):
        write_store(path / "corespace" / name, table, encoder, level)
    for named in run.names:
        if isinstance(named, Process):
            encoder.process(named)
        else:
            encoder.thread(named)
    _write_uniquing(core / "uniquing", encoder, level)
    _write_squeezed(core / "table-manager/tables.plist", _tables(run.tables, stores), level)
    _write_squeezed(core / "core-config/exposedTableInfo.plist", _exposed(run), level)
    return [*stores, f"{inside}/uniquing", f"{inside}/table-manager", f"{inside}/core-config"]


def _write_uniquing(folder: Path, encoder: Encoder, level: int) -> None:
    strings = plistlib.dumps(encoder.strings.texts, fmt=plistlib.FMT_BINARY)
    _write_squeezed(folder / "strings", strings, level)
    types = archive(root=[text(one) for one in encoder.types])
    _write_squeezed(folder / "EngineeringTypes.etypes", types, level)
    encoder.arrays.write(folder / "arrayUniquer", level)
    encoder.typed_arrays.write(folder / "typedArrayUniquer", level)


def _tables(tables: Sequence[Table], stores: Sequence[str]) -> bytes:
    pairs = zip(tables, stores, strict=True)
    details = {
        number: {"side": 1, "spec": spec(table), "storeSubpath": store}
        for number, (table, store) in enumerate(pairs, 1)
    }
    root = {
        "lastStoreIdx": len(tables),
        "nextTableID": len(tables) + 1,
        "tableDetails": by_number(details),
    }
    return archive(root=root)


def _exposed(run: Run) -> bytes:
    info = run.info or RunInfo()
    numerator, denominator = info.timebase
    binding = {
        "osx-version": 260301,
        "timebase-numerator": numerator,
        "timebase-denominator": denominator,
        "logical-cpu-count": 8,
        "physical-cpu-count": 8,
    }
    root = {
        "biproductTableIDs": frozenset[int](),
        "inputTableIDs": frozenset[int](),
        "readOnlySpecsByID": Archived("XRIntKeyedDictionary", {"$0": 0}),
        "bindingParameters": binding | dict(run.binding or {}),
        "modelingParameters": {"target-pid": info.pid} | dict(run.modeling or {}),
    }
    return archive(root=root)


def _write_symbols(folder: Path, info: RunInfo) -> None:
    images = {image.uuid: image for listed in info.images.values() for image in listed}
    folder.mkdir(parents=True, exist_ok=True)
    for image in images.values():
        if image.symbols:
            name = f"{str(image.uuid).upper()}.symbolsarchive"
            (folder / name).write_bytes(symbols_archive(image))


def _write_squeezed(path: Path, content: bytes, level: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(content, level))


def _write_plist(path: Path, value: Any) -> None:
    path.write_bytes(plistlib.dumps(value, fmt=plistlib.FMT_XML))
