"""Arguments of dispatches: a row for each argument of a kernel and each bound resource.

Names, access and use come from the pipeline's reflection, or from AIR if there is no reflection.
The value of an argument is given if it is one number in constant memory, such as a size: it shapes
the work. All other contents of buffers stay out.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tracekit.tables.captures.air import AirArgument
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.commands import BoundRange, CapturedDispatch
from tracekit.tables.captures.resources import CapturedBuffer, PipelineArgument

_BUFFER = 0  # MTLBindingType
_KINDS = {0: "buffer", 1: "threadgroup", 2: "texture", 3: "sampler"}
_ACCESSES = {0: "read", 1: "read_write", 2: "write"}  # MTLArgumentAccess
_SPACES = {1: "device", 2: "constant", 3: "threadgroup"}
_DATA_TYPES = {  # MTLDataType, of single numbers
    3: "float",
    16: "half",
    29: "int",
    33: "uint",
    37: "short",
    41: "ushort",
    45: "char",
    49: "uchar",
    53: "bool",
    81: "long",
    85: "ulong",
    121: "bfloat",
}
_FORMS = {
    "float": "<f",
    "half": "<e",
    "int": "<i",
    "uint": "<I",
    "short": "<h",
    "ushort": "<H",
    "char": "<b",
    "uchar": "<B",
    "bool": "<?",
    "long": "<q",
    "ulong": "<Q",
}


@dataclass(frozen=True, slots=True)
class Binding:
    """An argument of a dispatch, and the resource that is bound to it; None is not known.

    `buffer` is the handle of the bound buffer, 0 for bytes that were bound directly. `length` is
    that of the buffer or the bytes, and `address` the GPU address of the buffer without the offset.
    """

    index: int
    kind: str
    name: str | None = None
    type_name: str | None = None
    access: str | None = None
    is_active: bool | None = None
    space: str | None = None
    alignment: int | None = None
    data_size: int | None = None
    is_bound: bool = False
    buffer: int | None = None
    offset: int | None = None
    length: int | None = None
    address: int | None = None
    value: float | None = None


def list_buffers(capture: FrameCapture) -> list[CapturedBuffer]:
    """Return the buffers of a capture, with those that were made while it ran."""
    buffers = dict(capture.buffers)
    for dispatch in capture.commands.dispatches:
        for bound in dispatch.buffers.values():
            if bound.handle and bound.handle not in buffers:
                buffers[bound.handle] = _describe_new_buffer(capture, bound.handle)
    return list(buffers.values())


def _describe_new_buffer(capture: FrameCapture, handle: int) -> CapturedBuffer:
    creator = capture.commands.creators.get(handle)
    length: int | None = None
    if creator is not None:
        length = next(iter(creator.list_integers("ul")), None)
    return CapturedBuffer(handle, length=length)


def list_bindings(capture: FrameCapture, dispatch: CapturedDispatch) -> Iterator[Binding]:
    """Yield the bindings of a dispatch: buffers by index, then all others."""
    pipeline = capture.pipelines.get(dispatch.pipeline)
    reflected: dict[int, PipelineArgument] = {}
    other_arguments: list[PipelineArgument] = []
    airs: dict[int, AirArgument] = {}
    if pipeline is not None:
        for argument in pipeline.arguments:
            if argument.type == _BUFFER:
                reflected[argument.index] = argument
            else:
                other_arguments.append(argument)
        air = capture.airs.get(pipeline.function)
        if air is not None:
            airs = _index_air(air.arguments)
    for index in sorted({*reflected, *airs, *dispatch.buffers}):
        binding = _describe_argument(index, reflected.get(index), airs.get(index))
        if index in dispatch.buffers:
            binding = _bind(capture, binding, dispatch.buffers[index])
        yield binding
    yield from _list_others(other_arguments, dispatch)


def _index_air(arguments: tuple[AirArgument, ...]) -> dict[int, AirArgument]:
    airs: dict[int, AirArgument] = {}
    for argument in arguments:
        if argument.kind == "buffer" and argument.index is not None:
            airs[argument.index] = argument
    return airs


def _describe_argument(
    index: int, argument: PipelineArgument | None, air: AirArgument | None
) -> Binding:
    """Return an argument before anything is bound; reflection has priority over AIR."""
    binding = Binding(index, "buffer")
    if air is not None:
        binding = replace(
            binding,
            name=air.name or None,
            type_name=air.type_name or None,
            access=air.access or None,
            is_active=air.is_used,
            space=_SPACES.get(air.address_space or 0),
            alignment=air.alignment,
            data_size=air.size,
        )
    if argument is not None:
        binding = replace(
            binding,
            name=argument.name,
            type_name=binding.type_name or _DATA_TYPES.get(argument.data_type),
            access=_ACCESSES.get(argument.access),
            is_active=argument.is_active,
            alignment=argument.alignment,
            data_size=argument.data_size,
        )
    return binding


def _bind(capture: FrameCapture, binding: Binding, bound: BoundRange) -> Binding:
    """Return an argument with the buffer, or the bytes, that are bound to it."""
    buffer = capture.buffers.get(bound.handle)
    length = bound.length
    address: int | None = None
    content = bound.content
    if buffer is not None:
        length = buffer.length
        address = buffer.address
        content = buffer.content
    binding = replace(
        binding,
        is_bound=True,
        buffer=bound.handle,
        offset=bound.offset,
        length=length,
        address=address,
    )
    if _is_constant(binding) and content:
        value = _read_value(capture, content, binding)
        binding = replace(binding, value=value)
    return binding


def _is_constant(binding: Binding) -> bool:
    """Return whether an argument is a constant: in constant memory, or as long as its type."""
    if binding.access not in {"read", None}:
        return False
    if binding.space is None:
        return binding.length == binding.data_size
    return binding.space == "constant"


def _list_others(
    arguments: list[PipelineArgument], dispatch: CapturedDispatch
) -> Iterator[Binding]:
    for argument in arguments:
        kind = _KINDS.get(argument.type, f"type {argument.type}")
        length: int | None = None
        is_bound = False
        if kind == "texture":
            is_bound = argument.index in dispatch.textures
        elif kind == "threadgroup":
            length = dispatch.threadgroup_memory.get(argument.index)
            is_bound = length is not None
        yield Binding(
            index=argument.index,
            kind=kind,
            name=argument.name,
            access=_ACCESSES.get(argument.access),
            is_active=argument.is_active,
            alignment=argument.alignment,
            data_size=argument.data_size,
            is_bound=is_bound,
            length=length,
        )


def _read_value(capture: FrameCapture, content: str, binding: Binding) -> float | None:
    """Return the number that is bound; None if it is not one number, or not recorded.

    Numbers in a buffer of more than one are contents, which stay out.
    """
    form = _FORMS.get(binding.type_name or "")
    if form is None or binding.offset is None:
        return None
    size = struct.calcsize(form)
    if binding.length != size:
        return None
    value = capture.read_constant(content, binding.offset, size)
    if not value:
        return None
    return float(struct.unpack(form, value)[0])
