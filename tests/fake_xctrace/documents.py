"""What the fake exports of a bundle: its table of contents and its tables.

Tables are in the grammar of exports: ids in document order, repeats as references.
"""

from dataclasses import dataclass
from typing import Any

WINDOW_SERVER = ("WindowServer", 420)
_STEP = 5_000_000

COLUMNS = {
    "metal-gpu-intervals": "start:start-time duration:duration channel-name:gpu-channel-name "
    "frame-number:gpu-frame-number start-latency:duration event-depth:metal-nesting-level "
    "event-label:formatted-label state:gpu-state connection-UUID:connection-uuid64 "
    "color:render-buffer-depth process:process gpu:metal-device-name "
    "channel-subtitle:metal-object-label iosurface-accesses:formatted-label bytes:size-in-bytes "
    "cmdbuffer-id:metal-command-buffer-id encoder-id:metal-command-buffer-id "
    "gpu-submission-id:uint64",
    "metal-application-encoders-list": "start:start-time duration:duration thread:thread "
    "process:process gpu:metal-device-name frame-number:gpu-frame-number "
    "cmdbuffer-label:metal-object-label cmdbuffer-label-indexed:metal-object-label "
    "encoder-label:metal-object-label encoder-label-indexed:metal-object-label "
    "event-type:metal-event-name cmdbuffer-id:metal-command-buffer-id "
    "encoder-id:metal-command-buffer-id",
    "metal-gpu-counter-intervals": "start:start-time duration:duration counter-id:uint32 "
    "name:gpu-counter-name label:formatted-label value:fixed-decimal percent-value:percent "
    "color:uint32 gpu:metal-device-name group-index:uint32 is-percentage:boolean "
    "ring-buffer-index:uint32",
    "time-info": "update-time:sample-time mabs-epoch:mach-absolute-time "
    "mct-epoch:mach-continuous-time timebase-info:mach-timebase-info "
    "trace-start-time:time-since-epoch",
}
# Two tables of one schema, as counters have; the others stand once.
_TABLES = (
    ("tick", ' frequency="10"'),
    ("gpu-counter-info", ' counter-profile="0"'),
    ("gpu-counter-info", ' counter-profile="3"'),
    *((schema, "") for schema in COLUMNS),
)


@dataclass(frozen=True)
class Cell:
    """One value: an element with text, or with children; None stands for a sentinel."""

    tag: str
    text: str = ""
    fmt: str = ""
    children: "tuple[Cell, ...]" = ()


Row = list[Cell | str | None]


def toc(state: dict[str, Any]) -> str:
    target, limit = state["target"], state["limit"]
    process, processes = "<all-processes/>", list[tuple[str, int]]()
    started, end_time, version = "", "", ""
    if target is not None:
        started, end_time, version = state["started"], state["ended"], state["version"]
        processes = [("kernel", 0), WINDOW_SERVER, (target["name"], target["pid"])]
        end = ""
        if target["type"] == "launched":
            end = f' return-exit-status="{target["status"]}" termination-reason="{target["why"]}"'
        name = _quote(target["name"])
        process = f'<process type="{target["type"]}" name={name} pid="{target["pid"]}"{end}/>'
    has_counters = state["counter_set"] != "(null)" or "Metal GPU Counters" in state["instruments"]
    instrument = "Metal GPU Counters" if has_counters else "Metal Application"
    shader_timeline = "Enabled" if has_counters else "Disabled"
    listed = "".join(
        f'<process name={_quote(name)} pid="{pid}" path="/"/>' for name, pid in processes
    )
    tables = "".join(f'<table{more} schema="{schema}"/>' for schema, more in _TABLES)
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
                <time-limit>{f"{limit:g} seconds" if limit else "12 hours"}</time-limit>
                <intruments-recording-settings>
                    <instrument name="{instrument}"><array>
                        <dictionary><key name="GPU">
                            <value>Counter Set: {_escape(state["counter_set"])}</value>
                            <value>Shader Timeline: {shader_timeline}</value>
                        </key></dictionary>
                    </array></instrument>
                </intruments-recording-settings>
            </summary>
        </info>
        <processes>{listed}</processes>
        <data>{tables}</data>
        <tracks/>
    </run>
</trace-toc>
"""


def table(state: dict[str, Any], schema: str, place: int) -> str | None:
    numbers = [n for n, (name, _) in enumerate(_TABLES, 1) if name == schema]
    if not numbers or place > len(numbers):
        return None
    columns = COLUMNS.get(schema, "").split()
    rows = _rows(state, schema)
    return _encode_table(schema, columns, rows, numbers[max(place, 1) - 1])


def _rows(state: dict[str, Any], schema: str) -> list[Row]:
    target = state["target"] or {"name": "unknown", "pid": 1}
    owner = (target["name"], target["pid"])
    numbers = range(max(int(state["duration"] * 1e9) // _STEP, 1))
    jobs = _jobs(state, numbers)
    if schema == "metal-gpu-intervals":
        rows = [
            _interval(number, (number * _STEP + 1000, _length(number)), *WINDOW_SERVER)
            for number in numbers[::10]
        ]
        rows += [_interval(number, job, *owner) for number, job in enumerate(jobs)]
        return sorted(rows, key=lambda row: int(row[0].text))
    if schema == "metal-application-encoders-list":
        return [_encoder(number, start, *owner) for number, (start, _) in enumerate(jobs)]
    if schema == "metal-gpu-counter-intervals" and state["counter_rows"]:
        return [_counter(number) for number in numbers]
    return []


def _jobs(state: dict[str, Any], numbers: range) -> list[tuple[int, int]]:
    """Return the starts and lengths of the target's jobs: its own marks, or by the clock."""
    marks = state.get("jobs")
    if marks is None:
        return [(number * _STEP, _length(number)) for number in numbers]
    return [(start, end - start) for start, end in marks]


def _length(number: int) -> int:
    return 3_000_000 + number % 7 * 1000


def _interval(number: int, job: tuple[int, int], name: str, pid: int) -> Row:
    is_target = pid != WINDOW_SERVER[1]
    return [
        _time(job[0]),
        _duration(job[1]), "Compute" if is_target else "Fragment", None,
        _duration(200_000 + number % 5 * 1000), "0", _label(f"Dispatch {number}"),
        "Active", "4", "3", _process(name, pid), "M1", "", _label(""),
        Cell("size-in-bytes", "0", "0 Bytes"), str(pid * 10_000 + number),
        str(pid * 20_000 + number), str(number),
    ]  # fmt: skip


def _encoder(number: int, start: int, name: str, pid: int) -> Row:
    return [
        _time(start), _duration(20_000), _thread(name, pid),
        _process(name, pid), "M1", None, "", f"Command Buffer {number}", "",
        "Compute Encoder 0", "Compute", str(pid * 10_000 + number), str(pid * 20_000 + number),
    ]  # fmt: skip


def _counter(number: int) -> Row:
    share = f"{20 + number % 50}.000000000"
    return [
        _time(number * _STEP), _duration(_STEP), "1", "ALU Limiter", None, share,
        share, "0", "M1", "0", Cell("boolean", "1", "Yes"), "0",
    ]  # fmt: skip


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


def _encode_table(schema: str, columns: list[str], rows: list[Row], place: int) -> str:
    """Write a table; a cell that is text alone has the type of its column."""
    typed_columns = [column.split(":") for column in columns]
    header = "".join(
        f"<col><mnemonic>{mnemonic}</mnemonic><name>{mnemonic}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for mnemonic, kind in typed_columns
    )
    encode, rows_xml = Encoder().encode, ""
    for row in rows:
        typed = zip(row, typed_columns, strict=True)
        cells = [Cell(kind, cell) if isinstance(cell, str) else cell for cell, (_, kind) in typed]
        rows_xml += f"<row>{''.join(map(encode, cells))}</row>\n"
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{place}]'>"
        f'<schema name="{schema}">{header}</schema>{rows_xml}</node></trace-query-result>\n'
    )


def _time(nanoseconds: int) -> Cell:
    return Cell("start-time", str(nanoseconds), f"{nanoseconds / 1e9:.9f}")


def _duration(nanoseconds: int) -> Cell:
    return Cell("duration", str(nanoseconds), f"{nanoseconds / 1000:.2f} µs")


def _label(words: str) -> Cell:
    return Cell("formatted-label", fmt=words, children=(Cell("string", words),))


def _process(name: str, pid: int) -> Cell:
    children = (Cell("pid", str(pid)), Cell("device-session", "TODO"))
    return Cell("process", fmt=f"{name} ({pid})", children=children)


def _thread(name: str, pid: int) -> Cell:
    fmt = f"Main Thread 0x{pid:x} ({name}, pid: {pid})"
    children = (Cell("tid", str(pid), f"0x{pid:x}"), _process(name, pid))
    return Cell("thread", fmt=fmt, children=children)
