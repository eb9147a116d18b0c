"""The objects that a capture uses, from its streams of resources.

Groups enclose the calls that would make each object, so that an object of an unknown creator is
still found: the group names its kind and its handle. Handles are addresses of the captured process.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tracekit.tables.captures import codes
from tracekit.tables.captures.records import CallRecord

BUFFER = "buffer"
LIBRARY = "library"
FUNCTION = "function"
PIPELINE = "compute-pipeline-state"
_PATH = 127  # annotations
_FUNCTION_SOURCE = 101
_PIPELINE_ARGUMENT = 106
_STATISTICS = 116
_STORAGE_SHIFT = 4  # of MTLResourceOptions
_STORAGE_MASK = 0xF
_STORAGES = {0: "shared", 1: "managed", 2: "private", 3: "memoryless"}
_DEEPEST = 64  # groups within groups


@dataclass(slots=True)
class Resource:
    """One object: its kind, handle, enclosing object, the call that made it, all other records."""

    kind: str
    handle: int
    parent: int
    creator: CallRecord | None = None
    records: list[CallRecord] = field(default_factory=list[CallRecord])

    def find_records(self, code: int) -> Iterator[CallRecord]:
        """Yield the records of a code about the object."""
        for record in self.records:
            if codes.shorten_code(record.code) == code:
                yield record

    def find_annotations(self, number: int) -> Iterator[CallRecord]:
        """Yield the annotations of a number."""
        for record in self.find_records(codes.ANNOTATION):
            if record.list_integers("i")[:1] == [number]:
                yield record

    @property
    def label(self) -> str:
        """The last label that it got; "" if there is none."""
        label = ""
        for record in self.records:
            if codes.shorten_code(record.code) in codes.LABELS:
                texts = record.list_texts("S")
                label = texts[0] if texts else label
        return label

    def find_integer(self, code: int, token: str) -> int | None:
        """Return the first integer of a token in the last record of a code."""
        integer: int | None = None
        for record in self.find_records(code):
            integers = record.list_integers(token)
            if integers:
                integer = integers[0]
        return integer

    def list_creator_texts(self) -> list[str]:
        """Return the names of contents that the creating call refers to."""
        if self.creator is None:
            return []
        return self.creator.list_texts("U", "U<b>")


def collect_resources(records: Iterable[CallRecord]) -> list[Resource]:
    """Return the objects of a stream of resources, in its order."""
    resources: list[Resource] = []
    resources_by_handle: dict[int, Resource] = {}
    stack: list[tuple[str, int]] = []
    for record in records:
        code = codes.shorten_code(record.code)
        if code == codes.OPEN_GROUP:
            kinds = record.list_texts("S")
            handles = record.list_integers("uw")
            handle = handles[0] if handles else 0
            kind = kinds[0] if kinds else ""
            if handle and len(stack) < _DEEPEST:
                resource = Resource(kind, handle, _find_parent(stack))
                resources.append(resource)
                resources_by_handle[handle] = resource
            stack.append((kind, handle))
        elif code == codes.CLOSE_GROUP:
            if stack:
                stack.pop()
        else:
            _add_record(record, resources_by_handle, _find_parent(stack))
    return resources


def _find_parent(stack: Sequence[tuple[str, int]]) -> int:
    for _, handle in reversed(stack):
        if handle:
            return handle
    return 0


def _add_record(record: CallRecord, resources_by_handle: dict[int, Resource], group: int) -> None:
    """Add a record to the object that it made, that it is about, or in whose group it is."""
    new_resource: Resource | None = None
    if isinstance(record.result, int):
        new_resource = resources_by_handle.get(record.result)
    if new_resource is not None and new_resource.creator is None:
        new_resource.creator = record
        return
    resource = resources_by_handle.get(record.receiver) or resources_by_handle.get(group)
    if resource is not None:
        resource.records.append(record)


@dataclass(frozen=True, slots=True)
class CapturedBuffer:
    """A buffer: `content` names its bytes in the capture; None and "" are not recorded.

    `written` is set if a kernel of the capture writes it. `allocation` is the address and the size
    of the allocation that a small buffer is a part of.
    """

    handle: int
    content: str = ""
    label: str = ""
    length: int | None = None
    storage: str = ""
    address: int | None = None
    is_written: bool | None = None
    allocation: tuple[int, int] | None = None


def read_buffer(resource: Resource) -> CapturedBuffer:
    """Return the facts about a buffer."""
    contents = resource.list_creator_texts()
    sizes: list[int] = []
    if resource.creator is not None:
        sizes = resource.creator.list_integers("ul")
    length = resource.find_integer(codes.LENGTH, "ul")
    if length is None and sizes:
        length = sizes[0]
    storage = ""
    if len(sizes) > 1:
        mode = (sizes[1] >> _STORAGE_SHIFT) & _STORAGE_MASK
        storage = _STORAGES.get(mode, str(mode))
    use = resource.find_integer(codes.WRITTEN, "ui")
    return CapturedBuffer(
        handle=resource.handle,
        content=contents[0] if contents else "",
        label=resource.label,
        length=length,
        storage=storage,
        address=resource.find_integer(codes.ADDRESS, "uw"),
        is_written=None if use is None else bool(use),
        allocation=_find_allocation(resource),
    )


def _find_allocation(resource: Resource) -> tuple[int, int] | None:
    for record in resource.find_records(codes.ALLOCATION):
        words = record.list_integers("uw")
        if len(words) > 1 and words[1]:
            return words[0], words[1]
    return None


@dataclass(frozen=True, slots=True)
class CapturedLibrary:
    """A library: `contents` names its metallib or its source in the capture, `path` its file."""

    handle: int
    contents: tuple[str, ...]
    is_from_source: bool
    path: str
    label: str


def read_library(resource: Resource) -> CapturedLibrary:
    """Return the facts about a library."""
    is_from_source = False
    path = ""
    if resource.creator is not None:
        code = codes.shorten_code(resource.creator.code)
        is_from_source = code == codes.LIBRARY_FROM_SOURCE
    for record in resource.find_annotations(_PATH):
        path = next(iter(record.list_texts("S")), path)
    contents = tuple(resource.list_creator_texts())
    return CapturedLibrary(resource.handle, contents, is_from_source, path, resource.label)


@dataclass(frozen=True, slots=True)
class CapturedFunction:
    """A function: its library, and its place in the source if that is recorded."""

    handle: int
    library: int
    name: str
    type: int | None
    path: str
    line: int | None


def read_function(resource: Resource) -> CapturedFunction:
    """Return the facts about a function."""
    name = ""
    library = resource.parent
    if resource.creator is not None:
        names = resource.creator.list_texts("S")
        name = names[0] if names else ""
        library = resource.creator.receiver or library
    kind: int | None = None
    line: int | None = None
    path = ""
    for record in resource.find_annotations(_FUNCTION_SOURCE):
        texts = record.list_texts("S")
        path = texts[0] if texts else ""
        kind = next(iter(record.list_integers("ul")), None)
        line = next(iter(record.list_integers("l")), None)
    return CapturedFunction(resource.handle, library, name, kind, path, line)


@dataclass(frozen=True, slots=True)
class PipelineArgument:
    """An argument of a pipeline's function, as the pipeline's reflection describes it.

    `type` is a number of MTLBindingType, `access` one of MTLArgumentAccess, `data_type` one of
    MTLDataType; sizes are bytes.
    """

    name: str
    type: int
    access: int
    is_active: bool
    index: int
    alignment: int
    data_size: int
    data_type: int


@dataclass(frozen=True, slots=True)
class CapturedPipeline:
    """A compute pipeline: the handle of its function, its arguments, its statistics' content."""

    handle: int
    function: int
    label: str
    arguments: tuple[PipelineArgument, ...]
    statistics: str


def read_pipeline(resource: Resource, functions: frozenset[int]) -> CapturedPipeline:
    """Return the facts about a pipeline; `functions` are the handles of all functions."""
    function = 0
    if resource.creator is not None:
        for handle in resource.creator.list_integers("t"):
            if handle in functions:
                function = handle
    statistics = ""
    for record in resource.find_annotations(_STATISTICS):
        statistics = next(iter(record.list_texts("U")), statistics)
    arguments = tuple(_list_arguments(resource))
    return CapturedPipeline(resource.handle, function, resource.label, arguments, statistics)


def _list_arguments(resource: Resource) -> Iterator[PipelineArgument]:
    for record in resource.find_annotations(_PIPELINE_ARGUMENT):
        names = record.list_texts("S")
        longs = record.list_integers("ul")
        flags = record.list_integers("ui")
        if not names or not flags or len(longs) < 6:  # noqa: PLR2004  the six that are known
            continue
        yield PipelineArgument(
            name=names[0],
            type=longs[0],
            access=longs[1],
            is_active=bool(flags[0]),
            index=longs[2],
            alignment=longs[3],
            data_size=longs[4],
            data_type=longs[5],
        )
