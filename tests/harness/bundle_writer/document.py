"""Writes `form.template`: how a run went, and the names of its processes and threads.

Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bundle_writer.encoding import Encoder
from bundle_writer.keyed import Archived, archive, by_number
from bundle_writer.symbols import Image, signature

_KINDS = {"all-processes": 0, "launched": 1, "attached": 2}
DEVICE = "12345678-ABCD-4321-9876-1234567890AB"
_MACH_START = 1_000_000_000
TIMEBASE = (125, 3)


@dataclass(frozen=True)
class RunInfo:
    """How a run went, as its TOC says it; times are seconds since 1970."""

    kind: str = "launched"
    process: str = "python3"
    pid: int = 4711
    arguments: str = ""
    exit_status: int | None = 0
    start: float = 1774903878.749
    end: float = 1774903879.64
    duration: float = 0.891228
    instruments_version: str = "26.0 (17A5295f)"
    template_name: str = "Metal System Trace"
    end_reason: str = "Target app exited"
    time_limit: str = "12 hours"
    settings: Mapping[str, Sequence[Mapping[str, Any]]] = field(
        default_factory=dict[str, Sequence[Mapping[str, Any]]]
    )
    zone: str = "America/Los_Angeles"
    paths: Mapping[int, str] = field(default_factory=dict[int, str])
    images: Mapping[int, Sequence[Image]] = field(default_factory=dict[int, Sequence[Image]])


def document(runs: Mapping[int, tuple[RunInfo, Encoder]]) -> bytes:
    """Return an archive as Instruments 26.0 writes it: of processes as dictionaries."""
    run_documents = {number: _run(info, encoder) for number, (info, encoder) in runs.items()}
    images = {number: _symbol_stores(info) for number, (info, _) in runs.items()}
    return archive(
        **{
            "com.apple.xray.run.data": Archived(
                "XRRunListData", {"$0": len(runs), "$1": run_documents}
            ),
            "com.apple.xray.symbolstoremanager.symbolstores": images,
            "com.apple.xray.symbolstore.sharedcache.signatures": {},
        }
    )


def _run(info: RunInfo, encoder: Encoder) -> dict[str, Any]:
    threads: dict[int, Archived] = {}
    for tid, thread in encoder.threads.items():
        pid = None if thread.process is None else thread.process.pid
        parts = {"preferredName": thread.name, "tid": tid, "pid": pid}
        threads[tid] = Archived("XRThread", parts)
    return {
        "runInfo": Archived("XRRunInfo", describe_run(info)),
        "processDatas": [
            _process(pid, process.name, info.paths.get(pid))
            for pid, process in encoder.processes.items()
        ],
        "threadsByTID": by_number(threads),
        "startTime": int(info.start * 10**9),
        "runningTime": int(info.duration * 10**9),
        "mach_time_info": {DEVICE: [0, *TIMEBASE, _MACH_START, info.start, info.zone]},
    }


def _process(pid: int, name: str, path: str | None) -> dict[str, Any]:
    place = path if path and path.rpartition("/")[2] == name else name
    return {"_pid": pid, "_execname": place, "displayName": name}


def describe_run(info: RunInfo) -> dict[str, Any]:
    return {
        "_targetUUID": DEVICE,
        "_targetModel": "MacBook Air",
        "_targetName": "Ada's MacBook",
        "_targetOperatingSystem": "26.3.1 (25D2128)",
        "_targetPlatform": "macOS",
        "targetType": _KINDS[info.kind],
        "_targetProcessName": info.process,
        "_targetProcessPid": str(info.pid),
        "_targetExitStatus": None if info.exit_status is None else str(info.exit_status),
        "_arguments": info.arguments,
        "_environment": {},
        "_rawStartTime": info.start,
        "_rawEndTime": info.end,
        "_rawDuration": info.duration,
        "_endReason": info.end_reason,
        "_instrumentVersion": info.instruments_version,
        "_templateName": info.template_name,
        "_recordingMode": "Deferred",
        "_timeLimit": info.time_limit,
        "_recordingSettings": {
            name: list(map(dict, settings)) for name, settings in info.settings.items()
        },
    }


def _symbol_stores(info: RunInfo) -> dict[str, Any]:
    return {
        f"{DEVICE}.{pid}": {
            "com.apple.xray.symbolstore.signature": signature(pid, info.images.get(pid, ())),
            "dsc_load_addresses": [],
        }
        for pid in {*info.paths, *info.images}
    }
