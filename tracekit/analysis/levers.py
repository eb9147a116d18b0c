"""Levers: the remedy for a mechanism, by the kind of program that the target is.

The words are data, in `levers.toml` in this folder, with the threads in which each was accepted and
the settings that they name. A mechanism always has neutral words; a kind of program has its own
words only if they differ.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any


class ProgramKind(StrEnum):
    """A kind of program; its value is the key of `levers.toml`.

    COMPUTE computes and shows nothing, with an unknown library. UNKNOWN is a program without signs.
    """

    MLX = "mlx"
    PYTORCH = "pytorch"
    GGML = "ggml"
    COREML = "coreml"
    COMPUTE = "compute"
    GRAPHICS = "graphics"
    UNKNOWN = "unknown"


class Mechanism(StrEnum):
    """A way in which time or memory is lost; its value is the key of `levers.toml`."""

    ROUND_TRIPS = "round-trips"
    LAUNCHES_APART = "launches-apart"
    SLOW_WAIT = "slow-wait"
    WAIT_EACH_ITERATION = "wait-each-iteration"
    HOST_AFTER_WAIT = "host-after-wait"
    HOST_BETWEEN = "host-between"
    SEVERAL_WAITS = "several-waits"
    PERIODIC_WAIT = "periodic-wait"
    HOST_ENCODES = "host-encodes"
    HOST_WORKS = "host-works"
    HOST_SLEEPS = "host-sleeps"
    HOST_ELSEWHERE = "host-elsewhere"
    COMMIT_EARLIER = "commit-earlier"
    BOUNDARIES_BETWEEN_BUFFERS = "boundaries-between-buffers"
    BOUNDARIES_BETWEEN_ENCODERS = "boundaries-between-encoders"
    LATE_START = "late-start"
    OTHER_STREAM = "other-stream"
    QUEUE_BEHIND_OWN_WORK = "queue-behind-own-work"
    DRIVER_WORK = "driver-work"
    OTHER_PROCESS = "other-process"
    POWERING_UP = "powering-up"
    OTHER_DEVICE = "other-device"
    WIRING = "wiring"
    WIRING_LOST = "wiring-lost"
    WIRING_ALLOCATIONS = "wiring-allocations"
    ALLOCATIONS_ANEW = "allocations-anew"
    MADE_FOR_EACH_REQUEST = "made-for-each-request"
    CACHE_SWAPPED = "cache-swapped"
    MEMORY_BY_REQUEST = "memory-by-request"
    MEMORY_GROWTH = "memory-growth"
    MEMORY_BY_SHAPE = "memory-by-shape"
    MEMORY_BY_SIZE = "memory-by-size"
    GROWING_WORK = "growing-work"
    GROWING_INPUT = "growing-input"
    GROWING_HOST = "growing-host"
    COPIES_ON_BLIT = "copies-on-blit"
    DOMINANT_WORK = "dominant-work"
    DOMINANT_FRAGMENTS = "dominant-fragments"
    MANY_PASSES = "many-passes"
    DOMINANT_VERTICES = "dominant-vertices"
    COMPILE_IN_LOOP = "compile-in-loop"
    COMPILER_SERVICE = "compiler-service"
    SPILLS = "spills"
    UNSOUND_LAUNCH = "unsound-launch"
    WRONG_BINDINGS = "wrong-bindings"
    LOW_OCCUPANCY = "low-occupancy"
    REGISTER_PRESSURE = "register-pressure"
    THREADGROUP_MEMORY = "threadgroup-memory"
    SMALL_GRID = "small-grid"
    LATENCY_BOUND = "latency-bound"
    LAUNCH_WITHOUT_ROOM = "launch-without-room"
    DIVERGENT_LANES = "divergent-lanes"
    CACHE_MISSES = "cache-misses"
    SHARED_REPLAY = "shared-replay"
    FEW_THREADS = "few-threads"
    MEMORY_BOUND = "memory-bound"
    MEMORY_AT_ROOF = "memory-at-roof"
    COMPUTE_BOUND = "compute-bound"
    COMPUTE_BY_NATURE = "compute-by-nature"
    OTHER_LIMITER_THREADGROUP_MEMORY = "other-limiter-threadgroup-memory"
    OTHER_LIMITER_BUFFER_ACCESS = "other-limiter-buffer-access"
    OTHER_LIMITER_ADDRESS_TRANSLATION = "other-limiter-address-translation"
    OTHER_LIMITER_CONTROL_FLOW = "other-limiter-control-flow"
    OTHER_LIMITER_INSTRUCTION_ISSUE = "other-limiter-instruction-issue"
    OTHER_LIMITER_LAUNCH = "other-limiter-launch"
    OTHER_LIMITER_TEXTURE = "other-limiter-texture"
    OTHER_LIMITER_RASTERIZATION = "other-limiter-rasterization"
    ROOFLINE_DISTANCE = "roofline-distance"
    UNFUSED_ATTENTION = "unfused-attention"
    AVOIDABLE_SORT = "avoidable-sort"
    AVOIDABLE_COPY = "avoidable-copy"
    AVOIDABLE_CAST = "avoidable-cast"
    GATHER = "gather"
    SCATTER = "scatter"
    METADATA_PER_LAYER = "metadata-per-layer"
    SERIAL_PREFILL = "serial-prefill"
    CLIFF_BY_SHAPE = "cliff-by-shape"
    SPIKES_UNEXPLAINED = "spikes-unexplained"
    UNEVEN_WORK = "uneven-work"
    LONG_BEFORE_SHORT = "long-before-short"
    MISSED_REFRESHES = "missed-refreshes"
    PACED = "paced"
    PAUSE = "pause"
    FIRST_RESULT = "first-result"
    WORK_BEFORE = "work-before"
    UNATTRIBUTED = "unattributed"
    CLOCK_HELD = "clock-held"
    CLOCK_RAMP = "clock-ramp"
    CLOCK_DOWN = "clock-down"
    CLOCK_BURSTS = "clock-bursts"
    CLOCK_AFTER_PAUSES = "clock-after-pauses"
    CLOCK_POWER_LIMIT = "clock-power-limit"
    CLOCK_UNKNOWN = "clock-unknown"
    THERMAL = "thermal"
    CACHE_RESIDENT = "cache-resident"
    TRACE_OVERHEAD = "trace-overhead"
    ERROR_TIMEOUT = "error-timeout"
    ERROR_IN_COPIES = "error-in-copies"
    ERROR_TIMEOUT_WAITING = "error-timeout-waiting"
    ERROR_PAGE_FAULT = "error-page-fault"
    ERROR_OUT_OF_MEMORY = "error-out-of-memory"
    ERROR_MEMORYLESS = "error-memoryless"
    ERROR_CASCADE = "error-cascade"
    ERROR_OTHER = "error-other"
    ROWS_MISSING = "rows-missing"
    CAPTURE_EMPTY = "capture-empty"
    CAPTURE_TRUNCATED = "capture-truncated"
    EXPORT_DAMAGED = "export-damaged"
    IMPOSSIBLE_ROWS = "impossible-rows"
    SCHEMA_DRIFT = "schema-drift"


@dataclass(frozen=True)
class Setting:
    """A variable, function or option that exists in a program.

    `owner` is the kind of program that has it, or "metal", "macos" or "tracekit"; `source` is the
    place that documents it.
    """

    name: str
    owner: str
    source: str


@dataclass(frozen=True)
class Lever:
    """The remedy for a mechanism; `kind` is None for the words that hold for every program.

    `title` names the mechanism, `formula` is the formula of the saving in words, `sources` are the
    places in which the lever was accepted or measured, and `settings` are those that the words
    name.
    """

    mechanism: Mechanism
    kind: ProgramKind | None
    title: str
    words: str
    formula: str
    sources: tuple[str, ...]
    settings: tuple[Setting, ...]


_NEUTRAL = "neutral"
_SETTINGS = "settings"
_FORMULA = "formula"
_TITLE = "title"
_BRIEF = "brief"


@cache
def _file() -> Mapping[str, Mapping[str, Any]]:
    """Read `levers.toml`, once."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def settings() -> tuple[Setting, ...]:
    """Return all settings that levers may name, the longest name first."""
    entries = _file()[_SETTINGS].items()
    listed = [Setting(name, entry["of"], entry["source"]) for name, entry in entries]
    return tuple(sorted(listed, key=lambda setting: -len(setting.name)))


def settings_in(words: str) -> tuple[Setting, ...]:
    """Return the settings that words name; a name inside a longer one does not count."""
    named_settings: list[Setting] = []
    remaining_words = words
    for setting in settings():
        if setting.name in remaining_words:
            named_settings.append(setting)
            remaining_words = remaining_words.replace(setting.name, " ")
    return tuple(named_settings)


@cache
def levers() -> Mapping[tuple[Mechanism, ProgramKind | None], Lever]:
    """Return all levers, by mechanism and kind of program; None is the key for every other kind.

    Raises:
        ValueError: The file names an unknown mechanism or kind of program.
        KeyError: A row lacks its words or its sources, or a mechanism its title or formula.
    """
    all_levers: dict[tuple[Mechanism, ProgramKind | None], Lever] = {}
    for key, rows in _file().items():
        if key == _SETTINGS:
            continue
        mechanism = Mechanism(key)
        for name, row in rows.items():
            if name in {_FORMULA, _TITLE, _BRIEF}:
                continue
            kind = None if name == _NEUTRAL else ProgramKind(name)
            words = str(row["words"])
            sources = tuple(row["sources"])
            lever = Lever(
                mechanism,
                kind,
                rows[_TITLE],
                words,
                rows[_FORMULA],
                sources,
                settings_in(words),
            )
            all_levers[mechanism, kind] = lever
    return all_levers


def lever_of(mechanism: Mechanism | str, kind: ProgramKind = ProgramKind.UNKNOWN) -> Lever:
    """Return the lever for this kind of program, or the neutral one if it has none of its own.

    Raise ValueError for an unknown mechanism.
    """
    mechanism = Mechanism(mechanism)
    table = levers()
    return table.get((mechanism, kind)) or table[mechanism, None]


def advice(mechanism: Mechanism | str, kind: ProgramKind = ProgramKind.UNKNOWN) -> str:
    """Return the remedy for the mechanism, in at most 45 words."""
    return lever_of(mechanism, kind).words


def brief(mechanism: Mechanism | str) -> str:
    """Return the remedy for a second mechanism, in at most 16 words; "" if there is none.

    It holds for every kind of program.
    """
    return str(_file()[Mechanism(mechanism)].get(_BRIEF, ""))


def title_of(mechanism: str) -> str:
    """Return the name of a mechanism in a headline; "" for an unknown one."""
    return lever_of(mechanism).title if mechanism in set(Mechanism) else ""
