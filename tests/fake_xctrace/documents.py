"""What the fake exports of a bundle: its table of contents and its tables."""

from pathlib import Path
from typing import Any

import encoding
from encoding import Cell, escape, quoteattr
from scenario import Scenario

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
    "metal-gpu-state-intervals": "start:start-time duration:duration state:gpu-state "
    "label:formatted-label color:render-buffer-depth num-events:uint32 gpu:metal-device-name",
    "metal-application-encoders-list": "start:start-time duration:duration thread:thread "
    "process:process gpu:metal-device-name frame-number:gpu-frame-number "
    "cmdbuffer-label:metal-object-label cmdbuffer-label-indexed:metal-object-label "
    "encoder-label:metal-object-label encoder-label-indexed:metal-object-label "
    "event-type:metal-event-name cmdbuffer-id:metal-command-buffer-id "
    "encoder-id:metal-command-buffer-id",
    "metal-command-buffer-completed": "timestamp:start-time cmdbuffer-id:metal-command-buffer-id "
    "commit-id:uint64",
    "metal-driver-intervals": "start:start-time duration:duration "
    "gpu-driver-name:gpu-driver-name event-type:metal-object-label "
    "event-depth:metal-nesting-level event-label:formatted-label "
    "event-priority:metal-workload-priority connection-UUID:connection-uuid64 "
    "color:render-buffer-depth process:process thread:thread gpu:metal-device-name "
    "object-id:metal-command-buffer-id lane:formatted-label",
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


def toc(state: dict[str, Any], scenario: Scenario) -> str:
    served = scenario["exports"]
    if served:
        return Path(served["toc"]).read_text()
    return _toc(state)


def schemas() -> list[tuple[str, int]]:
    """Return the tables of a recording: schema, and place among tables of the same."""
    listed = [schema for schema, _ in _TABLES]
    return [(schema, listed[:n].count(schema) + 1) for n, schema in enumerate(listed)]


def _toc(state: dict[str, Any]) -> str:
    return (
        '<?xml version="1.0"?>\n\n<trace-toc>\n    <run number="1">\n        <info>\n'
        "            <target>\n"
        '                <device platform="macOS" model="MacBook Air" name="Test Mac" '
        'os-version="26.3.1 (25D2128)" uuid="00000000-0000-0000-0000-000000000000"/>\n'
        f"                {_target(state)}\n            </target>\n"
        f"            <summary>\n{_summary(state)}            </summary>\n        </info>\n"
        f"        <processes>{_processes(state)}\n        </processes>\n"
        f"        <data>\n{_tables()}        </data>\n        <tracks/>\n"
        "    </run>\n</trace-toc>\n"
    )


def table(state: dict[str, Any], scenario: Scenario, schema: str, place: int) -> str | None:
    """Return a table's export; None if there is none."""
    served = scenario["exports"]
    if served:
        path = served["tables"].get(schema)
        return Path(path).read_text() if path and place <= 1 else None
    numbers = [n for n, (name, _) in enumerate(_TABLES, 1) if name == schema]
    if not numbers or place > len(numbers):
        return None
    columns = COLUMNS.get(schema, "").split()
    rows = [] if scenario["empty"] else _rows(state, scenario, schema)
    return encoding.table(schema, columns, rows, numbers[max(place, 1) - 1])


def _target(state: dict[str, Any]) -> str:
    target = state["target"]
    if target is None:
        return "<all-processes/>"
    end = ""
    if target["type"] == "launched":
        end = f' return-exit-status="{target["status"]}" termination-reason="{target["why"]}"'
    name = quoteattr(target["name"])
    return f'<process type="{target["type"]}" name={name} pid="{target["pid"]}"{end}/>'


def _summary(state: dict[str, Any]) -> str:
    empty = state["target"] is None and not state["duration"]
    limit = state["limit"]
    entries = {
        "start-date": "" if empty else state["started"],
        "end-date": "" if empty else state["ended"],
        "duration": f"{state['duration']:.6f}",
        "end-reason": state["reason"],
        "instruments-version": "" if empty else state["version"],
        "template-name": state["template"],
        "recording-mode": "Deferred",
        "time-limit": f"{limit:g} seconds" if limit else "12 hours",
    }
    lines = "".join(
        f"                <{tag}>{escape(text)}</{tag}>\n" for tag, text in entries.items()
    )
    return lines + _settings(state)


def _settings(state: dict[str, Any]) -> str:
    asked = state["counter_set"] != "(null)" or "Metal GPU Counters" in state["instruments"]
    instrument = "Metal GPU Counters" if asked else "Metal Application"
    counters = state["counter_set"]
    return (
        "                <intruments-recording-settings>\n"
        f'                    <instrument name="{instrument}"><array><dictionary>\n'
        '                        <key name="GPU">\n'
        f"                            <value>Counter Set: {escape(counters)}</value>\n"
        f"                            <value>Shader Timeline: "
        f"{'Enabled' if asked else 'Disabled'}</value>\n"
        "                        </key>\n"
        "                    </dictionary></array></instrument>\n"
        "                </intruments-recording-settings>\n"
    )


def _processes(state: dict[str, Any]) -> str:
    target = state["target"]
    if target is None:
        return ""
    known = [("kernel", 0), WINDOW_SERVER, (target["name"], target["pid"])]
    return "".join(
        f'\n            <process name={quoteattr(name)} pid="{pid}" path="/"/>'
        for name, pid in known
    )


def _tables() -> str:
    return "".join(
        f'            <table{attributes} schema="{schema}"/>\n' for schema, attributes in _TABLES
    )


def _rows(state: dict[str, Any], scenario: Scenario, schema: str) -> list[encoding.Row]:
    target = state["target"] or {"name": "unknown", "pid": 1}
    owner = (target["name"], target["pid"])
    numbers = range(max(int(state["duration"] * 1e9) // _STEP, 1))
    own = () if scenario["others_only"] else numbers
    if schema == "metal-gpu-intervals":
        rows = [_interval(number, *WINDOW_SERVER) for number in numbers[::10]]
        rows += [_interval(number, *owner) for number in own]
        return sorted(rows, key=lambda row: int(row[0].text))
    if schema == "metal-application-encoders-list":
        return [_encoder(number, *owner) for number in own]
    if schema == "metal-gpu-counter-intervals" and state["counter_rows"]:
        return [_counter(number) for number in numbers]
    return []


def _interval(number: int, name: str, pid: int) -> encoding.Row:
    own = pid != WINDOW_SERVER[1]
    return [
        encoding.time(number * _STEP + (0 if own else 1000)),
        encoding.duration(3_000_000 + number % 7 * 1000), "Compute" if own else "Fragment", None,
        encoding.duration(200_000 + number % 5 * 1000), "0", encoding.label(f"Dispatch {number}"),
        "Active", "4", "3", encoding.process(name, pid), "M1", "", encoding.label(""),
        Cell("size-in-bytes", "0", "0 Bytes"), str(pid * 10_000 + number),
        str(pid * 20_000 + number), str(number),
    ]  # fmt: skip


def _encoder(number: int, name: str, pid: int) -> encoding.Row:
    return [
        encoding.time(number * _STEP), encoding.duration(20_000), encoding.thread(name, pid),
        encoding.process(name, pid), "M1", None, "", f"Command Buffer {number}", "",
        "Compute Encoder 0", "Compute", str(pid * 10_000 + number), str(pid * 20_000 + number),
    ]  # fmt: skip


def _counter(number: int) -> encoding.Row:
    share = f"{20 + number % 50}.000000000"
    return [
        encoding.time(number * _STEP), encoding.duration(_STEP), "1", "ALU Limiter", None, share,
        share, "0", "M1", "0", Cell("boolean", "1", "Yes"), "0",
    ]  # fmt: skip
