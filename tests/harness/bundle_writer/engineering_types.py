"""The types of a bundle's columns: their tags in XML, and how their values are stored.

Written down from the layout alone, in words that the reader does not share: it is what the
reader is compared with. Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Iterator
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


_LISTED: dict[tuple[Kind, int], str] = {
    ("string", U32): """
        XRApplicationPeriod app-period; XREventConcept event-concept;
        XRGPUChannelName gpu-channel-name; XRGPUDriverName gpu-driver-name; XRGPUState gpu-state;
        XRMetalDeviceName metal-device-name; XRMetalEventName metal-event-name;
        XRMetalObjectLabel metal-object-label; XROSLogCategory category; XROSLogEvent event-type;
        XROSLogFormatString format-string; XROSLogSubsystem subsystem; XRPrototypeString string;
        XRSignpostName signpost-name; XRThreadState thread-state; XRNarrativeText narrative-text;
        XRDeviceSession device-session; XRDisplayName display-name;
        XRDisplayEventName display-event-name; XRGPUEventName gpu-event-name;
        XRGPUMemoryEventName gpu-memory-event-name; XRGPUPerformanceState gpu-performance-state;
        XRMetalEvent metal-event; XRMetalMemoryLevelEvent metal-memory-level-event;
        XRShaderCompilerName shader-compiler-name; XRThermalState thermal-state;
        XRVSyncEvent vsync-event; XRRawString raw-string; XRAREventName ar-event-name;
        XRDisplayCompositorName display-compositor-name;
        XRDisplayCompositorEventName display-compositor-event-name; XRFilePath file-path;
        XRGPUCounterName gpu-counter-name; XRHangType hang-type; XRMPSEventName mps-event-name;
        XRMetalResidencySetResourceEvent metal-residency-set-resource-event;
        XRMetalResidencySetUsageEvent metal-residency-set-usage-event;
        XRPrototypeShortString short-string; XRPrototypeMediumLengthString medium-length-string;
        XRConnectionRoute connection-route; XRPrivateValue private
    """,
    ("number", U64): """
        XRStartTime start-time; XRRecordedEventTimestamp event-time; XRSampleTimestamp sample-time;
        XRDuration duration; XRTimeSampleWeight weight; XRCycleWeight cycle-weight;
        XRPrototypeValue uint64; XRMetalCommandBufferID metal-command-buffer-id;
        XRSizeInBytes size-in-bytes; XRThreadID tid; XRVirtualMemoryAddress address;
        XROSSignpostIdentifier os-signpost-identifier; XRVisualConnectionUUID64 connection-uuid64;
        XRKDebugArgument kdebug-arg; XRKDebugStringID kdebug-string;
        XRGPUHardwareTraceID gpu-hardware-trace; XRGPUDriverIOSurfaceID gpu-driver-surface;
        XRDisplayedSurfaceSwapID displayed-surface-swap; XRMachAbsoluteTime mach-absolute-time;
        XRMachContinuousTime mach-continuous-time; XRMetalEncoderID metal-encoder-id;
        XRUnsignedIntegerHexLowercase uint64-hex-lowercase
    """,
    ("number", U32): """
        XRGenericUInt32 uint32; XRProcessID pid; XRBoolean boolean; XRCPUCore core;
        XRGPUFrameNumber gpu-frame-number; XRMetalEncodingNestingLevel metal-nesting-level;
        XRMetalWorkloadPriority metal-workload-priority; XRRenderingBufferDepth render-buffer-depth;
        XRLayoutID layout-id; XRTimeSample time-sample-kind; XRKDebugClass kdebug-class;
        XRKDebugSubclass kdebug-subclass; XRKDebugCode kdebug-code; XRKDebugFunction kdebug-func;
        XRMetalEncodingParellismLevel metal-encoding-para
    """,
    ("decimal", U64): """
        XRTimeSinceEpoch time-since-epoch; XRFramesPerSecond fps; XRPercentage percent;
        XRPercentageLoads cpu-percent-loads; XRSystemCPUPercentage system-cpu-percent;
        XRPrototypeFixedDecimalValue fixed-decimal
    """,
    ("label", U32): """
        XRFormattedLabel formatted-label; XRNarrativeEntry narrative;
        XROSLogMetadata os-log-metadata
    """,
    ("numbers", U32): """
        XRCoreProfilePMCEventsArray pmc-events; XRVisualUUIDChain visual-uuid-chain;
        XRPrototypeUInt64Array uint64-array
    """,
    ("ratio", U64): "XRMachTimebaseInfo mach-timebase-info",
    ("process", U32): "XRProcess process",
    ("thread", U32): "XRThread thread",
    ("thread-name", U64): "XRThreadName thread-name",
    ("uuid", U32): "XRUUID uuid",
    ("location", U64): "XRReturnLocation return-location",
    ("callstack", U32): "XRCoreProfileCallstack kperf-bt",
    ("backtrace", U32): "XRBacktrace backtrace",
    ("text-symbol", U32): "XRTextSymbol text-symbol",
    ("any", U32): "XRAny any",
    ("nothing", U32): "XRTextBacktrace text-backtrace",
}
# They occur only inside of other values, so no requirement names their tags.
NEVER_REQUIRED = frozenset(
    f"{name}TypeID"
    for name in (
        "XRNarrativeText", "XRDeviceSession", "XRMetalEncoderID", "XRUnsignedIntegerHexLowercase",
        "XRPrivateValue",
    )
)  # fmt: skip


def _all() -> Iterator[EngineeringType]:
    for (kind, width), listed in _LISTED.items():
        for pair in listed.split(";"):
            name, tag = pair.split()
            yield EngineeringType(f"{name}TypeID", tag, width, kind)


TYPES = {kind.name: kind for kind in sorted(_all(), key=lambda kind: kind.name)}
BY_TAG = {engineering_type.tag: engineering_type for engineering_type in TYPES.values()}
