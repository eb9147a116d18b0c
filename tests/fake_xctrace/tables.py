"""The tables of a recording: the 81 schemas of a real table of contents, or the few that matter.

`tables.tsv` has the schemas of a recording with Metal System Trace by Xcode 26: how often each
occurs, whether it is of the target alone, and its columns.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from versions import BY_BUILD

_LIST = Path(__file__).with_name("tables.tsv")
_FEW = (
    "tick", "metal-gpu-intervals", "metal-application-encoders-list",
    "metal-gpu-counter-intervals", "time-info",
)  # fmt: skip
_COUNTER_INFO = "gpu-counter-info"
_OF_COUNTERS = ("gpu-counter-info", "metal-gpu-counter-profile")


@dataclass(frozen=True)
class Listed:
    """One table of a table of contents."""

    schema: str
    columns: tuple[str, ...]  # mnemonic:type
    attributes: dict[str, str] = field(default_factory=dict[str, str])


@cache
def _read_list() -> dict[str, tuple[int, str, list[str]]]:
    _, *lines = _LIST.read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    return {schema: (int(count), pid, columns.split()) for schema, count, pid, columns in rows}


def list_tables(state: dict[str, Any]) -> list[Listed]:
    """Return the tables of a recording in the order of its table of contents."""
    entries = _read_list()
    version = BY_BUILD[state["build"]]
    columns = version.amend_tables({schema: entry[2] for schema, entry in entries.items()})
    names = list(columns) if state["whole"] else [*_FEW, _COUNTER_INFO]
    tables: list[Listed] = []
    for schema in names:
        count, pid, _ = entries.get(schema, (1, "", []))
        for number in range(count if state["whole"] else 1):
            attributes = _attributes(schema, number, pid, state)
            tables.append(Listed(schema, tuple(columns[schema]), attributes))
    if state["counter_set"] != "(null)":  # a set of counters has a table of its own
        attributes = {"counter-profile": "3"}
        tables.append(Listed(_COUNTER_INFO, tuple(columns[_COUNTER_INFO]), attributes))
    return tables


def _attributes(schema: str, number: int, pid: str, state: dict[str, Any]) -> dict[str, str]:
    attributes: dict[str, str] = {}
    if pid:
        attributes["target-pid"] = pid
    if schema == "tick":
        attributes["frequency"] = str(10 ** (number + 1))
    if schema in _OF_COUNTERS:
        attributes["counter-profile"] = "0"
    if schema in {"kdebug", "kdebug-strings"}:
        attributes["codes"] = f'"0x85,{number:#x}"'
    if schema == "os-signpost":
        attributes["category"] = f"Made{number}"
    if BY_BUILD[state["build"]].documents_tables:
        attributes["documentation"] = f"The table {schema}."
    return attributes
