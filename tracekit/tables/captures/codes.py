"""The codes of captured calls, and the evidence for each name.

A code is the low half of the number in a record: Metal's calls begin with c, annotations with d0,
records of the capturing layer itself with d8. A code that is not listed is shown by its number and
signature.
"""

from dataclasses import dataclass
from enum import StrEnum

_HIGH_HALF = 0xFFFF0000
_LOW_HALF = 0xFFFF
_SHARE_OF_METAL = 0xC


class CallEvidence(StrEnum):
    """The evidence for the name of a call."""

    VERIFIED = "verified"  # in real captures, against the program that was captured
    READ = "read"  # in public descriptions by others; never seen here
    INFERRED = "inferred"  # from Metal's headers, or from its place among other codes
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CallName:
    """The name of a code, and the evidence for it."""

    name: str
    evidence: CallEvidence


COMMIT = 0xC017
COMMAND_BUFFER = 0xC029
END_ENCODING = 0xC03B
SET_PIPELINE = 0xC02F
SET_BUFFER = 0xC030
SET_TEXTURE = 0xC032
SET_BYTES = 0xC09D
SET_THREADGROUP_MEMORY = 0xC038
DISPATCH_THREADGROUPS = 0xC039
DISPATCH_THREADS = 0xC132
UPDATE_FENCE = 0xC0FE
WAIT_FOR_FENCE = 0xC0FF
PUSH_GROUP = 0xC08C
POP_GROUP = 0xC08D
BARRIERS = frozenset({0xC177, 0xC178})
LABELS = frozenset({0xC00C, 0xC013, 0xC023, 0xC02D, 0xC05C})
OPEN_GROUP = 0xD007
CLOSE_GROUP = 0xD008
ANNOTATION = 0xD010
CONTENTS = 0xD800
MAKE_BUFFER = 0xD803
WRITTEN = 0xD805
COMMANDS = 0xD80B
ADDRESS = 0xD80C
LENGTH = 0xD811
ALLOCATION = 0xD836
LIBRARY_FROM_DATA = 0xC04E
LIBRARY_FROM_SOURCE = 0xC04F

_V = CallEvidence.VERIFIED
_R = CallEvidence.READ
_I = CallEvidence.INFERRED
_NAMES = {
    0xC00C: ("buffer setLabel:", _V),
    0xC011: ("setPurgeableState:", _V),
    0xC013: ("commandBuffer setLabel:", _R),
    0xC015: ("commandBuffer dealloc", _V),
    COMMIT: ("commit", _V),
    0xC01C: ("addCompletedHandler:", _R),
    0xC01D: ("waitUntilCompleted", _V),
    0xC020: ("computeCommandEncoder", _V),
    0xC023: ("commandQueue setLabel:", _V),
    COMMAND_BUFFER: ("commandBuffer", _V),
    0xC02D: ("computeCommandEncoder setLabel:", _R),
    0xC02E: ("computeCommandEncoder dealloc", _V),
    SET_PIPELINE: ("setComputePipelineState:", _V),
    SET_BUFFER: ("setBuffer:offset:atIndex:", _V),
    0xC031: ("setBuffers:offsets:withRange:", _I),
    SET_TEXTURE: ("setTexture:atIndex:", _I),
    0xC033: ("setTextures:withRange:", _I),
    0xC034: ("setSamplerState:atIndex:", _I),
    0xC035: ("setSamplerState:lodMinClamp:lodMaxClamp:atIndex:", _I),
    0xC036: ("setSamplerStates:withRange:", _I),
    0xC037: ("setSamplerStates:lodMinClamps:lodMaxClamps:withRange:", _I),
    SET_THREADGROUP_MEMORY: ("setThreadgroupMemoryLength:atIndex:", _I),
    DISPATCH_THREADGROUPS: ("dispatchThreadgroups:threadsPerThreadgroup:", _R),
    END_ENCODING: ("endEncoding", _V),
    0xC045: ("newCommandQueueWithMaxCommandBufferCount:", _V),
    0xC046: ("newBufferWithLength:options:", _R),
    LIBRARY_FROM_DATA: ("newLibraryWithData:error:", _V),
    LIBRARY_FROM_SOURCE: ("newLibraryWithSource:options:error:", _R),
    0xC055: ("newComputePipelineStateWithFunction:error:", _V),
    0xC05C: ("library setLabel:", _V),
    0xC05E: ("newFunctionWithName:", _V),
    0xC08B: ("insertDebugSignpost:", _R),
    PUSH_GROUP: ("pushDebugGroup:", _R),
    POP_GROUP: ("popDebugGroup", _R),
    SET_BYTES: ("setBytes:length:atIndex:", _R),
    UPDATE_FENCE: ("updateFence:", _I),
    WAIT_FOR_FENCE: ("waitForFence:", _I),
    DISPATCH_THREADS: ("dispatchThreads:threadsPerThreadgroup:", _V),
    0xC13D: ("stopCapture", _V),
    0xC177: ("memoryBarrierWithScope:", _R),
    0xC178: ("memoryBarrierWithResources:count:", _R),
    0xC288: ("startCaptureWithDescriptor:error:", _V),
    OPEN_GROUP: ("(group)", _V),
    CLOSE_GROUP: ("(end of group)", _V),
    ANNOTATION: ("(annotation)", _V),
    CONTENTS: ("(contents of a written buffer)", _V),
    0xD801: ("(device)", _V),
    MAKE_BUFFER: ("(buffer)", _V),
    WRITTEN: ("(use of a buffer)", _V),
    COMMANDS: ("(command buffer)", _V),
    ADDRESS: ("(GPU address)", _V),
    LENGTH: ("(length)", _V),
    0xD825: ("(number of an allocation)", _I),
    ALLOCATION: ("(allocation)", _V),
}
# Codes whose place and form were seen in every real capture, and whose meaning is not known.
_SEEN = frozenset(
    {
        *(0xC00D, 0xC024, 0xC025, 0xC026, 0xC027, 0xC02C),
        *(0xD81E, 0xD831, 0xD839, 0xD845),
    }
)


def shorten_code(code: int) -> int:
    """Return the low half of a code; 0 for a number that is not a code of a call."""
    number = code & 0xFFFFFFFF
    if number & _HIGH_HALF != _HIGH_HALF:
        return 0
    return number & _LOW_HALF


def name_call(code: int, signature: str) -> CallName:
    """Return the name of a call; an unknown one is named by its code and its signature."""
    name, evidence = _NAMES.get(shorten_code(code), ("", CallEvidence.UNKNOWN))
    if not name:
        name = f"call {code} ({signature})"
    return CallName(name, evidence)


def is_strange(code: int) -> bool:
    """Return whether a code is neither named here nor in every capture that was seen."""
    number = shorten_code(code)
    return number not in _NAMES and number not in _SEEN


def is_metal_call(code: int) -> bool:
    """Return whether a code is that of a call of Metal, which Xcode numbers."""
    return shorten_code(code) >> 12 == _SHARE_OF_METAL
