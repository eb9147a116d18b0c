"""The types of a bundle's columns: their tags in XML, and how their values are stored.

Written down from the layout alone, in words that the reader does not share: it is what the
reader is compared with. Layout: docs/explanation/trace-bundles.md.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "string", "number", "ratio", "decimal", "process", "thread", "thread-name", "uuid",
    "location", "label", "numbers", "callstack", "backtrace", "text-symbol", "any", "nothing",
]  # fmt: skip
U32, U64 = 4, 8


@dataclass(frozen=True)
class EngineeringType:
    """A type: its tag in XML, bytes of a field, and which kind of value it holds."""

    name: str
    tag: str
    width: int
    kind: Kind

    @property
    def null(self) -> int:
        """All ones, which most types store for "no value"."""
        return (1 << 8 * self.width) - 1


_STRINGS = """
    XRApplicationPeriod app-period; XREventConcept event-concept; XRGPUChannelName gpu-channel-name;
    XRGPUDriverName gpu-driver-name; XRGPUState gpu-state; XRMetalDeviceName metal-device-name;
    XRMetalEventName metal-event-name; XRMetalObjectLabel metal-object-label;
    XROSLogCategory category; XROSLogEvent event-type; XROSLogFormatString format-string;
    XROSLogSubsystem subsystem; XRPrototypeString string; XRSignpostName signpost-name;
    XRThreadState thread-state; XRNarrativeText narrative-text; XRDeviceSession device-session;
    XRDisplayName display-name; XRDisplayEventName display-event-name;
    XRGPUEventName gpu-event-name; XRGPUMemoryEventName gpu-memory-event-name;
    XRGPUPerformanceState gpu-performance-state; XRMetalEvent metal-event;
    XRMetalMemoryLevelEvent metal-memory-level-event; XRShaderCompilerName shader-compiler-name;
    XRThermalState thermal-state; XRVSyncEvent vsync-event; XRRawString raw-string;
    XRAREventName ar-event-name; XRDisplayCompositorName display-compositor-name;
    XRDisplayCompositorEventName display-compositor-event-name; XRFilePath file-path;
    XRGPUCounterName gpu-counter-name; XRHangType hang-type; XRMPSEventName mps-event-name;
    XRMetalResidencySetResourceEvent metal-residency-set-resource-event;
    XRMetalResidencySetUsageEvent metal-residency-set-usage-event;
    XRPrototypeShortString short-string; XRPrototypeMediumLengthString medium-length-string;
    XRConnectionRoute connection-route; XRPrivateValue private
"""
_U64 = """
    XRStartTime start-time; XRRecordedEventTimestamp event-time; XRSampleTimestamp sample-time;
    XRDuration duration; XRTimeSampleWeight weight; XRCycleWeight cycle-weight;
    XRPrototypeValue uint64; XRMetalCommandBufferID metal-command-buffer-id;
    XRSizeInBytes size-in-bytes; XRThreadID tid; XRVirtualMemoryAddress address;
    XROSSignpostIdentifier os-signpost-identifier; XRVisualConnectionUUID64 connection-uuid64;
    XRKDebugArgument kdebug-arg; XRKDebugStringID kdebug-string;
    XRGPUHardwareTraceID gpu-hardware-trace; XRGPUDriverIOSurfaceID gpu-driver-surface;
    XRDisplayedSurfaceSwapID displayed-surface-swap; XRMachAbsoluteTime mach-absolute-time;
    XRMachContinuousTime mach-continuous-time;
    XRMetalEncoderID metal-encoder-id; XRUnsignedIntegerHexLowercase uint64-hex-lowercase
"""
_U32 = """
    XRGenericUInt32 uint32; XRProcessID pid; XRBoolean boolean; XRCPUCore core;
    XRGPUFrameNumber gpu-frame-number; XRMetalEncodingNestingLevel metal-nesting-level;
    XRMetalWorkloadPriority metal-workload-priority; XRRenderingBufferDepth render-buffer-depth;
    XRLayoutID layout-id; XRTimeSample time-sample-kind; XRKDebugClass kdebug-class;
    XRKDebugSubclass kdebug-subclass; XRKDebugCode kdebug-code; XRKDebugFunction kdebug-func;
    XRMetalEncodingParellismLevel metal-encoding-para
"""
_OTHERS: dict[str, tuple[str, int, Kind]] = {
    "XRTimeSinceEpoch": ("time-since-epoch", U64, "decimal"),
    "XRMachTimebaseInfo": ("mach-timebase-info", U64, "ratio"),
    "XRFramesPerSecond": ("fps", U64, "decimal"),
    "XRPercentage": ("percent", U64, "decimal"),
    "XRPercentageLoads": ("cpu-percent-loads", U64, "decimal"),
    "XRSystemCPUPercentage": ("system-cpu-percent", U64, "decimal"),
    "XRPrototypeFixedDecimalValue": ("fixed-decimal", U64, "decimal"),
    "XRProcess": ("process", U32, "process"),
    "XRThread": ("thread", U32, "thread"),
    "XRThreadName": ("thread-name", U64, "thread-name"),
    "XRUUID": ("uuid", U32, "uuid"),
    "XRReturnLocation": ("return-location", U64, "location"),
    "XRFormattedLabel": ("formatted-label", U32, "label"),
    "XRNarrativeEntry": ("narrative", U32, "label"),
    "XROSLogMetadata": ("os-log-metadata", U32, "label"),
    "XRCoreProfileCallstack": ("kperf-bt", U32, "callstack"),
    "XRBacktrace": ("backtrace", U32, "backtrace"),
    "XRTextSymbol": ("text-symbol", U32, "text-symbol"),
    "XRAny": ("any", U32, "any"),
    "XRCoreProfilePMCEventsArray": ("pmc-events", U32, "numbers"),
    "XRVisualUUIDChain": ("visual-uuid-chain", U32, "numbers"),
    "XRPrototypeUInt64Array": ("uint64-array", U32, "numbers"),
    "XRTextBacktrace": ("text-backtrace", U32, "nothing"),
}
# They occur only inside of other values, so no requirement names their tags.
NEVER_REQUIRED = frozenset(
    f"{name}TypeID"
    for name in (
        "XRNarrativeText", "XRDeviceSession", "XRMetalEncoderID", "XRUnsignedIntegerHexLowercase",
        "XRPrivateValue",
    )
)  # fmt: skip


def _all() -> dict[str, EngineeringType]:
    found: list[tuple[str, tuple[str, int, Kind]]] = list(_OTHERS.items())
    listed: tuple[tuple[str, int, Kind], ...] = (
        (_STRINGS, U32, "string"), (_U64, U64, "number"), (_U32, U32, "number"),
    )  # fmt: skip
    for text, width, kind in listed:
        pairs = (pair.split() for pair in text.split(";"))
        found += [(name, (tag, width, kind)) for name, tag in pairs]
    return {
        f"{name}TypeID": EngineeringType(f"{name}TypeID", *described)
        for name, described in sorted(found)
    }


TYPES = _all()
BY_TAG = {one.tag: one for one in TYPES.values()}
