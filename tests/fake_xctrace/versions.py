"""What differs from one Xcode to the next, as far as it is on record.

The confidence of each is that of docs/explanation/xctrace.md: printed versions and flags are firm;
the schemas that differ, the documentation of tables and the form of settings are one report each.
"""

from typing import NamedTuple

_FLAGS = (
    "--output <path>", "--append-run", "--run-name <name>", "--template <path|name>",
    "--instrument <name>", "--device <name|UDID>", "--time-limit <time[ms|s|m|h]>",
    "--window <duration[ms|s|m]>", "--all-processes", "--attach <pid|name>",
    "--launch -- command", "--package <file>", "--target-stdin <- | file>",
    "--target-stdout <- | file>", "--env <VAR=value>", "--no-prompt",
    "--notify-tracing-started <name>",
)  # fmt: skip
_FLAGS_OF_27 = ("--recording-options <file>", "--show-recording-options")
# The 25 templates of Xcode 26.3.
_TEMPLATES = """Activity Monitor;Allocations;Animation Hitches;App Launch;Audio System Trace
CPU Counters;CPU Profiler;Core ML;Data Persistence;File Activity;Game Memory;Game Performance
Game Performance Overview;Leaks;Logging;Metal System Trace;Network;Power Profiler;Processor Trace
RealityKit Trace;Swift Concurrency;SwiftUI;System Trace;Tailspin;Time Profiler"""
# The 64 instruments of Xcode 27.0; those of earlier ones are not on record.
_INSTRUMENTS = """Activity Monitor;Advanced Graphics Statistics;Allocations;Audio Client
Audio Server;Audio Statistics;Core AI;Core Animation Activity;Core Animation Commits
Core Animation FPS;Core Animation Server;Core ML;CPU Counters;CPU Profiler;Data Faults;Data Fetches
Data Saves;Disk I/O Latency;Disk Usage;Display;dyld Activity;Filesystem Activity
Filesystem Suggestions;Foundation Models;Foveated Streaming Statistics;Frame Lifetimes
GCD Performance;GPU;Hangs;Hitches;HTTP Traffic;Leaks;Location Energy Model;Metal Application
Metal GPU Counters;Metal Performance Overview;Metal Resource Events;Network Connections
Neural Engine;os_log;os_signpost;Points of Interest;Power Profiler;Processor Trace;RealityKit Frames
RealityKit Metrics;Run Loops;Sampler;SceneKit Application;stdout/stderr;Swift Actors;Swift Executors
Swift Tasks;SwiftUI;System Call Trace;System Load;Thermal State;Thread Activity;Thread State Trace
Time Profiler;View Body (Legacy);View Properties (Legacy);Virtual Memory Trace;VM Tracker"""
_NEW_IN_27 = {"Core AI", "Foundation Models"}
_GONE_IN_27 = {"Core ML", "Tailspin"}
# Columns of 27 that have another type, and its new tables.
_COMMIT_TABLES = (
    "metal-command-buffer-completed",
    "metal-command-buffer-frame-assignment",
    "metal-gpu-submission-to-command-buffer-id",
)
_NEW_TABLES = {
    "ProcessCPUUsage": "start:start-time duration:duration process:process "
    "cpu-usage:system-cpu-percent",
    "SystemCPUUsage": "start:start-time duration:duration cpu-usage:system-cpu-percent",
    "ThreadCPUUsage": "start:start-time duration:duration thread:thread process:process "
    "cpu-usage:system-cpu-percent",
}


class Version(NamedTuple):  # a dataclass takes longer to import than all else here
    """One Xcode, by its build."""

    build: str
    number: str  # as `xctrace version` prints it, which is not that of Xcode
    is_27: bool = False
    documents_tables: bool = False  # whether tables have an attribute with their documentation

    @property
    def text(self) -> str:
        return f"{self.number} ({self.build})"

    @property
    def flags(self) -> tuple[str, ...]:
        """The options of `record`, as its help lists them."""
        return (*_FLAGS, *_FLAGS_OF_27) if self.is_27 else _FLAGS

    @property
    def templates(self) -> list[str]:
        names = _split(_TEMPLATES)
        if self.is_27:
            names = sorted({*names, *_NEW_IN_27} - _GONE_IN_27)
        return names

    @property
    def instruments(self) -> list[str]:
        names = _split(_INSTRUMENTS)
        return names if self.is_27 else [name for name in names if name not in _NEW_IN_27]

    def amend_tables(self, columns: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return the columns of all tables, by schema, as this version has them."""
        if not self.is_27:
            return columns
        amended = columns | {name: words.split() for name, words in _NEW_TABLES.items()}
        for name in _COMMIT_TABLES:
            if name in amended:
                listed = amended[name]
                amended[name] = [
                    "commit-id:uint64" if column == "commit-id:uint32" else column
                    for column in listed
                ]
        return amended


def _split(text: str) -> list[str]:
    return text.replace("\n", ";").split(";")


_VERSIONS = (
    Version("17C529", "26.0"),  # Xcode 26.3
    Version("17F113", "16.0", documents_tables=True),  # Xcode 26.6
    Version("27A266a", "27.0", is_27=True, documents_tables=True),
)
BY_BUILD = {version.build: version for version in _VERSIONS}
USUAL = "17C529"
