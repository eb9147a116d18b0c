"""A GPU frame capture that is open: its calls, objects and contents, and the losses of reading it.

Everything is read when it is asked for, and once. A part that is damaged is a loss, and the others
are still there; only without an index nothing is.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from tracekit.base import InputError
from tracekit.tables.bundle.container.keyed import Archive
from tracekit.tables.bundle.errors import ArchiveError, name_bundle
from tracekit.tables.captures import codes
from tracekit.tables.captures.air import AirFunction, read_air
from tracekit.tables.captures.commands import Commands, follow_commands
from tracekit.tables.captures.files import CaptureFiles, is_profile
from tracekit.tables.captures.machine import describe_machine
from tracekit.tables.captures.metallib import MAGIC, Metallib, SourceFile
from tracekit.tables.captures.records import CallRecord, RecordStream, read_stream
from tracekit.tables.captures.resources import (
    BUFFER,
    FUNCTION,
    LIBRARY,
    PIPELINE,
    CapturedBuffer,
    CapturedFunction,
    CapturedLibrary,
    CapturedPipeline,
    Resource,
    collect_resources,
    read_buffer,
    read_function,
    read_library,
    read_pipeline,
)
from tracekit.tables.captures.statistics import CompilerStatistics, read_statistics
from tracekit.tables.losses import Flaw, Loss

CALLS = "capture"
_RESOURCES = "device-resources-"
_UNUSED_RESOURCES = "unused-device-resources-"
_UNSORTED = "unsorted-capture"
_OTHER_STREAMS = (_UNSORTED, "delta-device-resources-", "startup-")
_DEVICE = "(device info)"
_LARGEST_STREAM = 1 << 28
_LISTED = 8
_MOST_LIBRARY_BYTES = 1 << 29  # of all libraries; that of MLX has a quarter of it
_MOST_AIR_BYTES = 1 << 25  # of all functions: a minute's work
_LARGEST_SOURCE = 1 << 26
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class RecordedContents:
    """Bytes of a buffer that a command buffer recorded because its work writes them."""

    command_buffer: int
    buffer: int
    content: str
    offset: int
    length: int


class FrameCapture:
    """One capture; make it by `open_capture` in `opening.py`."""

    def __init__(self, bundle: Path) -> None:
        """Read the index; raise BundleError if it is damaged."""
        self.bundle = bundle
        self.files = CaptureFiles(bundle)
        self._losses: dict[Loss, None] = {}
        self._streams: dict[str, RecordStream] = {}
        self._sources: dict[tuple[str, ...], list[SourceFile]] = {}
        self._library_bytes = 0

    # Its streams

    @property
    def name(self) -> str:
        """The name of the bundle, in a sentence."""
        return name_bundle(self.bundle)

    def list_streams(self) -> list[str]:
        """Return the names of all streams of records."""
        prefixes = (_RESOURCES, _UNUSED_RESOURCES, *_OTHER_STREAMS)
        names = [name for name in self.files.list_names() if name.startswith(prefixes)]
        if CALLS in self.files:
            names.insert(0, CALLS)
        return names

    def read_stream(self, name: str) -> RecordStream:
        """Return a stream; one that is missing or damaged is empty or short, and a loss."""
        if name not in self._streams:
            empty = RecordStream((), "", 0)
            self._streams[name] = self._attempt(lambda: self._read_stream(name), empty)
        return self._streams[name]

    def _read_stream(self, name: str) -> RecordStream:
        stream = read_stream(self.files.read(name, _LARGEST_STREAM))
        if stream.damage:
            self._lose(Flaw.DAMAGED, f"{self.name}: {name} {stream.damage}.")
        elif stream.unexplained:
            text = f"{self.name}: {stream.unexplained:,} bytes of {name} are not explained."
            self._lose(Flaw.UNSURE, text)
        return stream

    @cached_property
    def commands(self) -> Commands:
        """The work: command buffers, encoders, dispatches."""
        if CALLS not in self.files:
            self._lose(Flaw.DAMAGED, self._explain_absence())
            return Commands()
        commands = follow_commands(self.read_stream(CALLS).records)
        for name, count in sorted(commands.unread.items()):
            calls = "1 call on an encoder is"
            if count > 1:
                calls = f"{count:,} calls on encoders are"
            text = (
                f"{self.name}: {calls} not read, {name}: bindings or sizes of its dispatches may "
                "be missing."
            )
            self._lose(Flaw.UNSURE, text)
        self._note_strange_calls()
        return commands

    def _explain_absence(self) -> str:
        if self.list_profiles():
            return (
                f"{self.name} has no calls, only the data of a replay in Xcode, which are not "
                "decoded. Export the capture without performance data."
            )
        return f"{self.name}: {CALLS} is missing."

    def _note_strange_calls(self) -> None:
        """Note the calls whose codes are not known, by code and signature."""
        counts: Counter[str] = Counter()
        names = set(self.list_streams())
        if CALLS in names:
            names.discard(_UNSORTED)  # it has the same calls
        for name in names:
            for record in self.read_stream(name).records:
                if codes.is_strange(record.code):
                    counts[codes.name_call(record.code, record.signature).name] += 1
        if counts:
            total = sum(counts.values())
            words: list[str] = []
            for name, count in counts.most_common(_LISTED):
                words.append(f"{name}, {count:,} times" if count > 1 else name)
            more = len(counts) - len(words)
            if more:
                words.append(f"and {more:,} more")
            calls = "1 call of an unknown code"
            if total > 1:
                calls = f"{total:,} calls of unknown codes"
            text = f"{self.name}: {calls}: {', '.join(words)}."
            self._lose(Flaw.NOTED, text)

    def list_profiles(self) -> list[str]:
        """Return the names of the raw data of replays in Xcode, which are not decoded."""
        names = self._attempt(self.files.list_other_names, [])
        return [name for name in (*self.files.list_names(), *names) if is_profile(name)]

    # Its objects

    @cached_property
    def resources(self) -> dict[int, Resource]:
        """All objects by their handles."""
        resources: dict[int, Resource] = {}
        for name in self.files.list_names(_RESOURCES):
            for resource in collect_resources(self.read_stream(name).records):
                resources.setdefault(resource.handle, resource)
        return resources

    def _list_resources(self, kind: str) -> Iterator[Resource]:
        for resource in self.resources.values():
            if resource.kind == kind:
                yield resource

    @cached_property
    def buffers(self) -> dict[int, CapturedBuffer]:
        """The buffers by their handles."""
        return {resource.handle: read_buffer(resource) for resource in self._list_resources(BUFFER)}

    @cached_property
    def libraries(self) -> dict[int, CapturedLibrary]:
        """The libraries by their handles."""
        return {
            resource.handle: read_library(resource) for resource in self._list_resources(LIBRARY)
        }

    @cached_property
    def functions(self) -> dict[int, CapturedFunction]:
        """The functions by their handles."""
        return {
            resource.handle: read_function(resource) for resource in self._list_resources(FUNCTION)
        }

    @cached_property
    def pipelines(self) -> dict[int, CapturedPipeline]:
        """The compute pipelines by their handles."""
        functions = frozenset(self.functions)
        return {
            resource.handle: read_pipeline(resource, functions)
            for resource in self._list_resources(PIPELINE)
        }

    @cached_property
    def statistics(self) -> dict[int, CompilerStatistics]:
        """The statistics of pipelines, by the handles of those that have any."""
        statistics: dict[int, CompilerStatistics] = {}
        by_content: dict[str, CompilerStatistics | None] = {}
        for handle, pipeline in self.pipelines.items():
            name = pipeline.statistics
            if name and name not in by_content:
                by_content[name] = self._attempt(
                    lambda name=name: self._read_statistics(name), None
                )
            own_statistics = by_content.get(name)
            if own_statistics is not None:
                statistics[handle] = own_statistics
        return statistics

    def _read_statistics(self, name: str) -> CompilerStatistics:
        content = self.files.read(name)
        return self._parse(name, lambda: read_statistics(content))

    # Code

    @cached_property
    def metallibs(self) -> dict[int, Metallib]:
        """The compiled libraries, by the handles of those that are in the capture."""
        metallibs: dict[int, Metallib] = {}
        by_content: dict[str, Metallib | None] = {}
        for handle, library in self.libraries.items():
            for name in library.contents:
                if name not in by_content:
                    by_content[name] = self._attempt(
                        lambda name=name: self._read_metallib(name), None
                    )
                metallib = by_content[name]
                if metallib is not None:
                    metallibs[handle] = metallib
        return metallibs

    def _read_metallib(self, name: str) -> Metallib | None:
        if name in self.files:
            self._library_bytes += self.files.size(name)
            if self._library_bytes > _MOST_LIBRARY_BYTES:
                raise self.files.make_damage_error(name, "is one library too many")
        content = self.files.read(name)
        if not content.startswith(MAGIC):
            return None
        return self._parse(name, lambda: Metallib(content))

    @cached_property
    def airs(self) -> dict[int, AirFunction]:
        """The facts from AIR about functions, by the handles of those whose AIR could be read."""
        airs: dict[int, AirFunction] = {}
        by_place: dict[tuple[int, str], AirFunction | None] = {}
        remaining_bytes = _MOST_AIR_BYTES
        for handle, function in self.functions.items():
            metallib = self.metallibs.get(function.library)
            if metallib is None or function.name not in metallib.functions:
                continue
            key = (id(metallib), function.name)
            if key not in by_place:
                remaining_bytes -= metallib.functions[function.name].size
                if remaining_bytes < 0:
                    text = f"{self.name}: only {_MOST_AIR_BYTES:,} bytes of AIR are read."
                    self._lose(Flaw.LACKING, text)
                    break
                by_place[key] = self._attempt(
                    lambda metallib=metallib, name=function.name: self._read_air(metallib, name),
                    None,
                )
            air = by_place[key]
            if air is not None:
                airs[handle] = air
        return airs

    def _read_air(self, metallib: Metallib, name: str) -> AirFunction:
        entry = metallib.functions[name]
        return self._parse(
            f"the library of {name}", lambda: read_air(metallib.read_air(entry), name)
        )

    def is_intact(self, function: CapturedFunction) -> bool | None:
        """Return whether the AIR of a function has the hash that its library gives it.

        None if there is no hash, or no AIR.
        """
        metallib = self.metallibs.get(function.library)
        if metallib is None or function.name not in metallib.functions:
            return None
        entry = metallib.functions[function.name]
        name = f"the library of {function.name}"
        return self._attempt(lambda: self._parse(name, lambda: metallib.is_intact(entry)), None)

    def list_sources(self, library: int) -> list[SourceFile]:
        """Return the sources of a library, by its handle: private, so only for a user who asks.

        They are the text that the library was compiled of in the program, or the files that
        `-frecord-sources` put into it.
        """
        captured = self.libraries.get(library)
        if captured is None:
            return []
        key = captured.contents
        if key not in self._sources:
            self._sources[key] = self._read_sources(captured)
        return self._sources[key]

    def _read_sources(self, library: CapturedLibrary) -> list[SourceFile]:
        metallib = self.metallibs.get(library.handle)
        if metallib is not None:
            return self._attempt(lambda: self._parse("a library", metallib.list_sources), [])
        if library.is_from_source and library.contents:
            name = library.contents[0]
            content = self._attempt(lambda: self.files.read(name, _LARGEST_SOURCE), b"")
            if content:
                return [SourceFile("(source)", content.rstrip(b"\0"))]
        return []

    # Contents

    @cached_property
    def recorded_contents(self) -> tuple[RecordedContents, ...]:
        """The contents that command buffers recorded of the buffers that they write."""
        recorded: list[RecordedContents] = []
        for command_buffer in self.commands.command_buffers:
            for record in command_buffer.contents:
                handles = record.list_integers("t")
                names = record.list_texts("U", "U<b>")
                longs = record.list_integers("ul")
                if handles and names and len(longs) > 1:
                    contents = RecordedContents(
                        command_buffer.number, handles[0], names[0], longs[0], longs[1]
                    )
                    recorded.append(contents)
        return tuple(recorded)

    def read_contents(self, name: str) -> bytes:
        """Return the bytes of a content: private, so only for a user who asks, and for a replay.

        Raise BundleError if they are missing or damaged.
        """
        return self.files.read(name)

    def read_constant(self, name: str, offset: int, size: int) -> bytes:
        """Return some bytes of a content; b"" if they are not there."""
        content = self._attempt(lambda: self.files.read(name), b"")
        value = content[offset : offset + size]
        return value if len(value) == size else b""

    @cached_property
    def machine(self) -> dict[str, str]:
        """The machine: model, release and build of the system, chip, version of Metal.

        Never the name or the identifier of the machine.
        """
        if _DEVICE not in self.files:
            return {}
        archive = self._attempt(self._read_device, None)
        if archive is None:
            return {}
        return self._attempt(lambda: self._parse(_DEVICE, lambda: describe_machine(archive)), {})

    def _read_device(self) -> Archive:
        content = self.files.read(_DEVICE)
        return self._parse(_DEVICE, lambda: Archive(content))

    # Losses

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of everything that tables are made of; asking for them reads all of it."""
        for name in self.list_streams():
            self.read_stream(name)
        _ = (self.commands, self.statistics, self.airs, self.recorded_contents, self.machine)
        for function in self.functions.values():
            if self.is_intact(function) is False:
                text = f"{self.name}: the AIR of {function.name} has another hash than its library."
                self._lose(Flaw.DAMAGED, text)
        self._note_missing_air()
        self._note_files()
        return tuple(self._losses)

    def _note_missing_air(self) -> None:
        functions = [item for handle, item in self.functions.items() if handle not in self.airs]
        if functions:
            names = [function.name for function in functions[:_LISTED]]
            more = len(functions) - len(names)
            if more:
                names.append(f"and {more:,} more")
            text = (
                f"{self.name}: there is no AIR of {', '.join(names)} in the capture, so the "
                "threadgroup memory and the barriers of these are not known."
            )
            self._lose(Flaw.LACKING, text)

    def _note_files(self) -> None:
        unexplained = self.files.unexplained + self._attempt(
            self.files.count_unexplained_of_store, 0
        )
        if unexplained:
            text = f"{self.name}: {unexplained:,} bytes of index and store0 are not explained."
            self._lose(Flaw.UNSURE, text)
        profiles = self.list_profiles()
        if profiles:
            words = ", ".join(profiles[:_LISTED])
            text = f"{self.name}: the data of a replay in Xcode are not decoded: {words}."
            self._lose(Flaw.NOTED, text)
        other_names = self._attempt(self.files.list_other_names, [])
        strange = [name for name in other_names if not is_profile(name)]
        if strange:
            text = f"{self.name}: {len(strange):,} files are not in its index, and are not read."
            self._lose(Flaw.NOTED, text)

    def count_unexplained_bytes(self) -> int:
        """Return the bytes of streams, index and `store0` that the format does not explain."""
        total = self.files.unexplained + self.files.count_unexplained_of_store()
        for name in self.list_streams():
            total += self.read_stream(name).unexplained
        return total

    def list_records(self, name: str = CALLS) -> tuple[CallRecord, ...]:
        """Return the records of a stream."""
        return self.read_stream(name).records

    def _lose(self, flaw: Flaw, text: str) -> None:
        self._losses[Loss(flaw, text)] = None

    def _attempt(self, read: Callable[[], _Value], otherwise: _Value) -> _Value:
        """Return the result of a reader; if that finds damage, note it and return a substitute."""
        try:
            return read()
        except InputError as error:
            self._lose(Flaw.DAMAGED, error.message)
            return otherwise

    def _parse(self, name: str, read: Callable[[], _Value]) -> _Value:
        """Return the result of a parser, whose errors get the name of the content."""
        try:
            return read()
        except ArchiveError as error:
            raise self.files.make_damage_error(name, str(error)) from error
