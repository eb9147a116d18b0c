"""What the fake exports of a bundle: its table of contents and its tables.

Tables are in the grammar of exports: ids in document order, repeats as references.
"""

from dataclasses import dataclass
from typing import Any

from rows import WINDOW_SERVER, Label, Process, Row, Thread, Value, rows_of
from tables import Listed, list_tables
from versions import BY_BUILD

_TIMES = {"start-time", "event-time", "sample-time"}


def settings(state: dict[str, Any]) -> dict[str, list[str]]:
    """Return the recording settings of each instrument that has any, as lines."""
    instrument = "Metal Application"
    if "Metal GPU Counters" in state["instruments"]:
        instrument = "Metal GPU Counters"
    shader_timeline = "Enabled" if state["shader_timeline"] else "Disabled"
    return {
        instrument: [
            f"Counter Set: {state['counter_set']}",
            f"Shader Timeline: {shader_timeline}",
            "Induced GPU Performance State: Default",
        ]
    }


def processes(state: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the processes that the table of contents lists; none of a failed recording."""
    if state["target"] is None:
        return []
    target = state["target"]
    return [("kernel", 0), WINDOW_SERVER, (target["name"], target["pid"])]


def time_limit(state: dict[str, Any]) -> str:
    return f"{state['limit']:g} seconds" if state["limit"] else "12 hours"


def toc(state: dict[str, Any]) -> str:
    target = state["target"]
    process = "<all-processes/>"
    started, end_time, version = "", "", ""
    if target is not None:
        started, end_time = state["started"], state["ended"]
        version = BY_BUILD[state["build"]].text
    if target is not None and target["type"] != "all-processes":
        end = ""
        if target["type"] == "launched":
            end = f' return-exit-status="{target["status"]}" termination-reason="{target["why"]}"'
        name = _quote(target["name"])
        process = f'<process type="{target["type"]}" name={name} pid="{target["pid"]}"{end}/>'
    listed = "".join(
        f'<process name={_quote(name)} pid="{pid}" path="/"/>' for name, pid in processes(state)
    )
    tables = "".join(map(_toc_table, list_tables(state)))
    return f"""<?xml version="1.0"?>

<trace-toc>
    <run number="1">
        <info>
            <target>
                <device platform="macOS" model="MacBook Air" name="Test Mac" \
os-version="26.3.1 (25D2128)" uuid="00000000-0000-0000-0000-000000000000"/>
                {process}
            </target>
            <summary>
                <start-date>{started}</start-date>
                <end-date>{end_time}</end-date>
                <duration>{state["duration"]:.6f}</duration>
                <end-reason>{state["reason"]}</end-reason>
                <instruments-version>{version}</instruments-version>
                <template-name>{_escape(state["template"])}</template-name>
                <recording-mode>Deferred</recording-mode>
                <time-limit>{time_limit(state)}</time-limit>
                <intruments-recording-settings>
                    {"".join(_toc_settings(state))}
                </intruments-recording-settings>
            </summary>
        </info>
        <processes>{listed}</processes>
        <data>{tables}</data>
        <tracks/>
    </run>
</trace-toc>
"""


def _toc_settings(state: dict[str, Any]) -> list[str]:
    """Return the settings of each instrument; Xcode 27 has them as options."""
    elements: list[str] = []
    for name, lines in settings(state).items():
        if BY_BUILD[state["build"]].is_27:
            pairs = [line.split(": ", 1) for line in lines]
            listed = "".join(
                f"<option key={_quote(key)} value={_quote(value)}/>" for key, value in pairs
            )
            content = f"<options>{listed}</options>"
        else:
            listed = "".join(f"<value>{_escape(line)}</value>" for line in lines)
            content = f'<array><dictionary><key name="GPU">{listed}</key></dictionary></array>'
        elements.append(f"<instrument name={_quote(name)}>{content}</instrument>")
    return elements


def _toc_table(table: Listed) -> str:
    attributes = "".join(f" {name}={_quote(text)}" for name, text in table.attributes.items())
    return f'<table{attributes} schema="{table.schema}"/>'


def table(state: dict[str, Any], schema: str, place: int) -> str | None:
    tables = list_tables(state)
    numbers = [n for n, listed in enumerate(tables, 1) if listed.schema == schema]
    if not numbers or place > len(numbers):
        return None
    number = numbers[max(place, 1) - 1]
    return _encode_table(tables[number - 1], rows_of(state, schema), number, state)


@dataclass(frozen=True)
class Cell:
    """One value: an element with text, or with children; None stands for a sentinel."""

    tag: str
    text: str = ""
    fmt: str = ""
    children: "tuple[Cell, ...]" = ()


def _cell(tag: str, value: Value, state: dict[str, Any]) -> Cell | None:
    match value:
        case None:
            cell = None
        case Process():
            cell = _process(value)
        case Thread():
            cell = _thread(value, state)
        case Label(text):
            cell = Cell(tag, fmt=text, children=(Cell("string", text),))
        case tuple():
            fields = tuple(Cell(f"{tag}-field", str(part)) for part in value)
            cell = Cell(tag, fmt="/".join(map(str, value)), children=fields)
        case _:
            cell = Cell(tag, str(value), _format(tag, value))
    return cell


def _format(tag: str, value: int | str) -> str:
    if tag in _TIMES:
        return f"{int(value) / 1e9:.9f}"
    formats = {
        "duration": lambda: f"{int(value) / 1000:.2f} µs",
        "boolean": lambda: "Yes" if value else "No",
        "size-in-bytes": lambda: f"{value} Bytes",
    }
    return formats[tag]() if tag in formats else str(value)


def _thread(thread: Thread, state: dict[str, Any]) -> Cell:
    tid = f"0x{thread.tid:x}"
    place = f"({tid})" if BY_BUILD[state["build"]].is_27 else tid
    fmt = f"Main Thread {place} ({thread.process.name}, pid: {thread.process.pid})"
    children = (Cell("tid", str(thread.tid), tid), _process(thread.process))
    return Cell("thread", fmt=fmt, children=children)


def _process(process: Process) -> Cell:
    children = (Cell("pid", str(process.pid)), Cell("device-session", "TODO"))
    return Cell("process", fmt=f"{process.name} ({process.pid})", children=children)


def _escape(text: str) -> str:
    """Write text for XML; the library's function for it takes long to import."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quote(text: str) -> str:
    escaped = _escape(text).replace('"', "&quot;").replace("\n", "&#10;")
    return f'"{escaped}"'


class Encoder:
    """Gives each value an id the first time, a reference afterwards."""

    def __init__(self) -> None:
        self._ids: dict[Cell, int] = {}

    def encode(self, cell: Cell | None) -> str:
        if cell is None:
            return "<sentinel/>"
        if cell in self._ids:
            return f'<{cell.tag} ref="{self._ids[cell]}"/>'
        number = self._ids[cell] = len(self._ids) + 1
        content = "".join(map(self.encode, cell.children)) or _escape(cell.text)
        fmt = _quote(cell.fmt or cell.text)
        return f'<{cell.tag} id="{number}" fmt={fmt}>{content}</{cell.tag}>'


def _encode_table(table: Listed, rows: list[Row], place: int, state: dict[str, Any]) -> str:
    typed_columns = [column.split(":") for column in table.columns]
    header = "".join(
        f"<col><mnemonic>{mnemonic}</mnemonic><name>{mnemonic}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for mnemonic, kind in typed_columns
    )
    encode = Encoder().encode
    lines: list[str] = []
    for row in rows:
        typed = zip(row, typed_columns, strict=True)
        cells = [encode(_cell(kind, value, state)) for value, (_, kind) in typed]
        lines.append(f"<row>{''.join(cells)}</row>\n")
    documentation = ""
    if "documentation" in table.attributes:
        documentation = f" documentation={_quote(table.attributes['documentation'])}"
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{place}]'>"
        f'<schema name="{table.schema}"{documentation}>{header}</schema>{"".join(lines)}'
        "</node></trace-query-result>\n"
    )
