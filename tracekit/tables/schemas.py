"""All tables, in the order in which pages and lists show them: what `schemas.toml` declares."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracekit.tables import derived
from tracekit.tables.schema import Column, Kind, Schema, Source

_FILE = Path(__file__).with_suffix(".toml")
_KEYS = frozenset(
    {"meaning", "sources", "join", "joined_first", "columns", "versions", "together", "more"}
)
_LEAST, _MOST = 4, 5  # fields of a column


def read(text: str) -> dict[str, Schema]:
    """Return the tables that a text in the form of `schemas.toml` declares."""
    document = tomllib.loads(text)
    common = {
        column.name: column for column in map(_column, document["common"].strip().splitlines())
    }
    schemas: dict[str, Schema] = {}
    for name, entry in document["tables"].items():
        try:
            schemas[name] = _schema(name, entry, common, schemas)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"schemas.toml: {name}: {reason}") from error
    return schemas


def _schema(
    name: str, entry: Mapping[str, Any], common: Mapping[str, Column], so_far: Mapping[str, Schema]
) -> Schema:
    if unknown := ", ".join(sorted(entry.keys() - _KEYS)):
        raise ValueError(f"there is no key {unknown}")
    join = entry.get("join")
    if join is not None and not hasattr(derived, join):
        raise ValueError(f"there is no function {join} in derived.py to join it by")
    return Schema(
        name=name,
        meaning=entry["meaning"],
        sources=tuple(_source(**source) for source in entry.get("sources", ())),
        columns=tuple(_columns(entry["columns"], common, so_far)),
        join=join and getattr(derived, join),
        joined_first=entry.get("joined_first", False),
        versions=entry.get("versions", ""),
        together=entry.get("together", False),
        more=entry.get("more", ""),
    )


def _source(*, gpu: str = "", host: str = "", unused: str = "") -> Source:
    if bool(gpu) is bool(host):
        raise ValueError("a source is either of `gpu` or of `host`")
    return Source(gpu or host, "gpu" if gpu else "host", frozenset(unused.split()))


def _columns(
    text: str, common: Mapping[str, Column], so_far: Mapping[str, Schema]
) -> Iterator[Column]:
    for line in text.strip().splitlines():
        if "|" in line:
            yield _column(line)
            continue
        for name in map(str.strip, line.split(",")):
            if name.startswith("*"):
                columns = so_far[name[1:]].columns
                yield from (column for column in columns if column.kind is not Kind.CLOCK)
            elif name in common:
                yield common[name]
            else:
                raise ValueError(f"{name!r} is no common column")


def _column(line: str) -> Column:
    fields = [field.strip() for field in line.split("|")]
    if not _LEAST <= len(fields) <= _MOST:
        raise ValueError(f"not a name, a kind, a mnemonic and a meaning: {line}")
    name, kind_and_unit, source, meaning, *rest = fields
    kind, _, unit = kind_and_unit.partition(" ")
    remark = rest[0] if rest else ""
    since = remark.removeprefix("since ") if remark.startswith("since ") else ""
    if not since and remark not in {"", "required", "doubtful"}:
        raise ValueError(f"{remark!r} is said of the column {name}")
    return Column(
        name=name,
        source=source,
        kind=Kind(kind),
        meaning=meaning,
        required=remark == "required" or (kind == Kind.TIME and bool(source)),
        unit=unit,
        since=since,
        doubtful=remark == "doubtful",
    )


SCHEMAS: dict[str, Schema] = read(_FILE.read_text(encoding="utf-8"))
