"""A recording as a bundle of the real layout, by the tests' own writer of bundles.

`bundles.py` puts the writer and NumPy on the path before it imports this module.
"""

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import documents
from rows import Label, Process, Row, Thread, Value, rows_of
from tables import Listed, list_tables
from versions import BY_BUILD

import bundle_writer as writer
from bundle_writer.engineering_types import BY_TAG

_DECIMALS = {"fixed-decimal", "percent", "time-since-epoch"}
_TIME = "-time"  # the end of the types of a moment


def write(bundle: Path, state: dict[str, Any]) -> None:
    """Write a new bundle."""
    tables = [_table(listed, rows_of(state, listed.schema)) for listed in list_tables(state)]
    writer.write_bundle(bundle, tables, info=writer.RunInfo(**_describe_run(state)))


def _table(listed: Listed, rows: list[Row]) -> writer.Table:
    """Return a table for the writer, without columns of types that it cannot store."""
    kinds = [text.split(":")[1] for text in listed.columns]
    places = [place for place, kind in enumerate(kinds) if kind in BY_TAG]
    columns = [_column(place, listed.columns) for place in places]
    values = [[_value(kinds[place], row[place]) for place in places] for row in rows]
    attributes = {name: text for name, text in listed.attributes.items() if name != "codes"}
    return writer.Table(listed.schema, columns, values, attributes)


def _column(place: int, columns: tuple[str, ...]) -> writer.Col:
    mnemonic, tag = columns[place].split(":")
    topology = None
    if place == 0 and tag.endswith(_TIME):
        topology = writer.TIME
    elif place == 1 and tag == "duration" and columns[0].endswith(_TIME):
        topology = writer.DURATION
    return writer.Col(mnemonic, mnemonic, BY_TAG[tag].name, topology)


def _value(tag: str, content: Value) -> writer.Value:
    match content:
        case Process(name, pid):
            return writer.Process(pid, name)
        case Thread(tid, process):
            return writer.Thread(tid, writer.Process(process.pid, process.name), "Main Thread")
        case Label(text):
            return writer.Label((writer.Part("XRPrototypeStringTypeID", text),))
        case str() if tag in _DECIMALS:
            return Decimal(content)
        case _:
            return content


def _describe_run(state: dict[str, Any]) -> dict[str, Any]:
    target = state["target"]
    started = datetime.fromisoformat(state["started"])
    offset = started.utcoffset()
    hours = 0 if offset is None else round(offset.total_seconds() / 3600)
    run: dict[str, Any] = {
        "kind": "all-processes", "process": "", "pid": 0, "exit_status": None,
        "start": started.timestamp(),
        "end": datetime.fromisoformat(state["ended"]).timestamp(),
        "duration": state["duration"],
        "instruments_version": BY_BUILD[state["build"]].text,
        "template_name": state["template"],
        "zone": f"Etc/GMT{-hours:+d}" if hours else "Etc/UTC",
        "end_reason": state["reason"],
        "time_limit": documents.time_limit(state),
        "settings": {name: [{"GPU": lines}] for name, lines in documents.settings(state).items()},
        "paths": {pid: "/" for _, pid in documents.processes(state)},
    }  # fmt: skip
    if target is not None and target["type"] != "all-processes":
        run |= {"kind": target["type"], "process": target["name"], "pid": target["pid"]}
        if target["type"] == "launched":
            run["exit_status"] = target["status"]
    return run
