"""Command buffers, encoders and dispatches of a capture, by the flow of handles.

An object that a call on a command buffer returned is an encoder, and so is any object that receives
a pipeline, whatever made it. So an encoder of an unknown creator is found like any other. Handles
are used again, so the stream is followed in its order.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tracekit.tables.captures import codes
from tracekit.tables.captures.records import CallRecord, Scalar

_EDGES = 3  # of a size in threads
_CONCURRENT = 1


@dataclass(frozen=True, slots=True)
class BoundRange:
    """A buffer that is bound with an offset in bytes, or `content`, the name of bound bytes."""

    handle: int
    offset: int
    content: str = ""
    length: int | None = None


@dataclass(slots=True)
class CommandBuffer:
    """A command buffer: its handle, queue and label, and the buffers whose contents it recorded."""

    number: int
    handle: int
    queue: int = 0
    label: str = ""
    is_committed: bool = False
    contents: list[CallRecord] = field(default_factory=list[CallRecord])


@dataclass(slots=True)
class CapturedEncoder:
    """An encoder with the calls that it received; `is_compute` is set if it got a pipeline."""

    number: int
    handle: int
    command_buffer: CommandBuffer | None
    creator: CallRecord | None
    label: str = ""
    is_compute: bool = False
    barriers: int = 0
    fence_waits: int = 0
    fence_updates: int = 0
    pipeline: int = 0
    buffers: dict[int, BoundRange] = field(default_factory=dict[int, BoundRange])
    textures: dict[int, int] = field(default_factory=dict[int, int])
    threadgroup_memory: dict[int, int] = field(default_factory=dict[int, int])
    groups: list[str] = field(default_factory=list[str])
    barriers_since: int = 0

    @property
    def dispatch_type(self) -> str:
        """The type "serial" or "concurrent" that its creator was given; "" if it got none."""
        if self.creator is None:
            return ""
        numbers = self.creator.list_integers("ul")
        if not numbers:
            return ""
        return "concurrent" if numbers[0] == _CONCURRENT else "serial"


@dataclass(frozen=True, slots=True)
class CapturedDispatch:
    """One dispatch, with the state of its encoder at that time.

    `threads`, `group` and `groups` are sizes in x, y and z: of the grid in threads, of a
    threadgroup in threads, of the grid in threadgroups, where a partial one counts. `barriers`
    counts the encoder's barriers since the dispatch before.
    """

    number: int
    record: CallRecord
    function_number: int
    encoder: CapturedEncoder
    pipeline: int
    threads: tuple[int, int, int]
    group: tuple[int, int, int]
    groups: tuple[int, int, int]
    buffers: dict[int, BoundRange]
    textures: dict[int, int]
    threadgroup_memory: dict[int, int]
    debug_group: str
    barriers: int

    @property
    def group_count(self) -> int:
        """The number of threadgroups."""
        x, y, z = self.groups
        return x * y * z

    @property
    def partial_group_count(self) -> int:
        """The number of threadgroups with fewer threads than the others."""
        full = 1
        for threads, size in zip(self.threads, self.group, strict=True):
            full *= threads // size if size else 0
        return self.group_count - full


@dataclass(frozen=True, slots=True)
class NumberedCall:
    """A record of the sorted stream with its number among Metal's calls, and its place.

    `function_number` is Xcode's number of the call; None for a record of the capturing layer.
    """

    record: CallRecord
    function_number: int | None
    command_buffer: int | None
    encoder: int | None


@dataclass(slots=True)
class Commands:
    """The work of a capture in its order.

    `unread` counts the calls on encoders that may bind something and are not read, by their names.
    """

    calls: list[NumberedCall] = field(default_factory=list[NumberedCall])
    command_buffers: list[CommandBuffer] = field(default_factory=list[CommandBuffer])
    encoders: list[CapturedEncoder] = field(default_factory=list[CapturedEncoder])
    dispatches: list[CapturedDispatch] = field(default_factory=list[CapturedDispatch])
    creators: dict[int, CallRecord] = field(default_factory=dict[int, CallRecord])
    unread: Counter[str] = field(default_factory=Counter[str])


def follow_commands(records: Iterable[CallRecord]) -> Commands:
    """Return the work that a stream of calls describes."""
    follower = _Follower(Commands())
    for record in records:
        follower.take(record)
    return follower.commands


_UNREAD = frozenset({0xC031, 0xC033, 0xC034, 0xC035, 0xC036, 0xC037})


@dataclass(slots=True)
class _Follower:
    commands: Commands
    function_count: int = 0
    command_buffers: dict[int, CommandBuffer] = field(default_factory=dict[int, CommandBuffer])
    encoders: dict[int, CapturedEncoder] = field(default_factory=dict[int, CapturedEncoder])

    def take(self, record: CallRecord) -> None:
        """Follow the next record."""
        number: int | None = None
        if codes.is_metal_call(record.code):
            number = self.function_count
            self.function_count += 1
        if isinstance(record.result, int):
            self._note_creation(record, record.result)
        code = codes.shorten_code(record.code)
        if code == codes.COMMANDS:
            self._open_command_buffer(record.receiver)
        encoder = self._find_encoder(record, code)
        is_received = encoder is not None and record.receiver == encoder.handle
        if encoder is not None and is_received:
            self._change_encoder(encoder, record, code, number)
        command_buffer = self._find_command_buffer(record, encoder)
        if command_buffer is not None and encoder is None:
            _change_command_buffer(command_buffer, record, code)
        self.commands.calls.append(
            NumberedCall(
                record,
                number,
                None if command_buffer is None else command_buffer.number,
                None if encoder is None else encoder.number,
            )
        )

    def _note_creation(self, record: CallRecord, handle: int) -> None:
        """Note that a handle is a new object from here on."""
        self.commands.creators[handle] = record
        self.encoders.pop(handle, None)
        if codes.shorten_code(record.code) == codes.COMMAND_BUFFER:
            pending = self.command_buffers.get(handle)
            if pending is None or pending.queue:
                pending = self._open_command_buffer(handle)
            pending.queue = record.receiver
        elif record.receiver in self.command_buffers:
            self._open_encoder(handle)

    def _open_encoder(self, handle: int) -> CapturedEncoder:
        creator = self.commands.creators.get(handle)
        command_buffer: CommandBuffer | None = None
        if creator is not None:
            command_buffer = self.command_buffers.get(creator.receiver)
        number = len(self.commands.encoders)
        encoder = CapturedEncoder(number, handle, command_buffer, creator)
        self.commands.encoders.append(encoder)
        self.encoders[handle] = encoder
        return encoder

    def _open_command_buffer(self, handle: int) -> CommandBuffer:
        number = len(self.commands.command_buffers)
        command_buffer = CommandBuffer(number, handle)
        self.commands.command_buffers.append(command_buffer)
        self.command_buffers[handle] = command_buffer
        return command_buffer

    def _find_command_buffer(
        self, record: CallRecord, encoder: CapturedEncoder | None
    ) -> CommandBuffer | None:
        if encoder is not None:
            return encoder.command_buffer
        if record.receiver in self.command_buffers:
            return self.command_buffers[record.receiver]
        if isinstance(record.result, int):
            return self.command_buffers.get(record.result)
        return None

    def _find_encoder(self, record: CallRecord, code: int) -> CapturedEncoder | None:
        """Return the encoder that receives or that is made by a record, if there is one."""
        encoder = self.encoders.get(record.receiver)
        if encoder is None and isinstance(record.result, int):
            encoder = self.encoders.get(record.result)
        if encoder is None and code == codes.SET_PIPELINE:
            encoder = self._open_encoder(record.receiver)
        return encoder

    def _change_encoder(
        self, encoder: CapturedEncoder, record: CallRecord, code: int, number: int | None
    ) -> None:
        longs = record.list_integers("ul")
        handles = record.list_integers("t")
        match code:
            case codes.SET_PIPELINE if handles:
                encoder.pipeline = handles[0]
                encoder.is_compute = True
            case codes.SET_BUFFER if handles and len(longs) > 1:
                encoder.buffers[longs[1]] = BoundRange(handles[0], longs[0])
            case codes.SET_TEXTURE if handles and longs:
                encoder.textures[longs[0]] = handles[0]
            case codes.SET_THREADGROUP_MEMORY if len(longs) > 1:
                encoder.threadgroup_memory[longs[1]] = longs[0]
            case codes.SET_BYTES:
                self._bind_bytes(encoder, record)
            case codes.DISPATCH_THREADS | codes.DISPATCH_THREADGROUPS:
                self._dispatch(encoder, record, code, number)
            case _:
                self._note_other(encoder, record, code)

    def _bind_bytes(self, encoder: CapturedEncoder, record: CallRecord) -> None:
        """Bind bytes: a content, its length and its index, as far as the record has these."""
        contents = record.list_texts("U", "U<b>")
        longs = record.list_integers("ul")
        if not contents or not longs:
            self.commands.unread[codes.name_call(record.code, record.signature).name] += 1
            return
        length = longs[0] if len(longs) > 1 else None
        encoder.buffers[longs[-1]] = BoundRange(0, 0, contents[0], length)

    def _note_other(self, encoder: CapturedEncoder, record: CallRecord, code: int) -> None:
        texts = record.list_texts("S")
        if code in codes.LABELS and texts:
            encoder.label = texts[0]
        elif code in codes.BARRIERS:
            encoder.barriers += 1
            encoder.barriers_since += 1
        elif code == codes.WAIT_FOR_FENCE:
            encoder.fence_waits += 1
        elif code == codes.UPDATE_FENCE:
            encoder.fence_updates += 1
        elif code == codes.PUSH_GROUP:
            encoder.groups.append(texts[0] if texts else "")
        elif code == codes.POP_GROUP:
            if encoder.groups:
                encoder.groups.pop()
        elif code in _UNREAD or codes.is_strange(record.code):
            name = codes.name_call(record.code, record.signature).name
            self.commands.unread[name] += 1

    def _dispatch(
        self, encoder: CapturedEncoder, record: CallRecord, code: int, number: int | None
    ) -> None:
        sizes = [_as_size(values) for values in record.list_arrays()]
        if len(sizes) != 2 or None in sizes:  # noqa: PLR2004  a grid and a threadgroup
            self.commands.unread[codes.name_call(record.code, record.signature).name] += 1
            return
        extent = sizes[0] or (0, 0, 0)
        group = sizes[1] or (0, 0, 0)
        if code == codes.DISPATCH_THREADS:
            threads = extent
            groups = _count_groups(threads, group)
        else:
            groups = extent
            threads = (extent[0] * group[0], extent[1] * group[1], extent[2] * group[2])
        dispatch = CapturedDispatch(
            number=len(self.commands.dispatches),
            record=record,
            function_number=number or 0,
            encoder=encoder,
            pipeline=encoder.pipeline,
            threads=threads,
            group=group,
            groups=groups,
            buffers=dict(encoder.buffers),
            textures=dict(encoder.textures),
            threadgroup_memory=dict(encoder.threadgroup_memory),
            debug_group=" / ".join(encoder.groups),
            barriers=encoder.barriers_since,
        )
        encoder.barriers_since = 0
        self.commands.dispatches.append(dispatch)


def _change_command_buffer(command_buffer: CommandBuffer, record: CallRecord, code: int) -> None:
    if code == codes.CONTENTS:
        command_buffer.contents.append(record)
    elif code == codes.COMMIT:
        command_buffer.is_committed = True
    elif code in codes.LABELS:
        texts = record.list_texts("S")
        command_buffer.label = texts[0] if texts else command_buffer.label


def _count_groups(
    threads: tuple[int, int, int], group: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Return the number of threadgroups in x, y and z; 0 if a threadgroup has no threads."""
    counts = [0, 0, 0]
    for axis in range(_EDGES):
        if group[axis]:
            counts[axis] = -(-threads[axis] // group[axis])
    return counts[0], counts[1], counts[2]


def _as_size(values: tuple[Scalar, ...]) -> tuple[int, int, int] | None:
    integers = [value for value in values if isinstance(value, int)]
    if len(integers) != _EDGES or len(values) != _EDGES:
        return None
    return integers[0], integers[1], integers[2]
