"""A run as a trace of Perfetto: TrackEvent packets, through Perfetto's own Python package.

A name is written the first time, and its number from then on. Perfetto's times are unsigned:
if a workload's marks are before the trace, all times are shifted, so that the first is 0.
"""

from collections.abc import Sequence
from typing import Any, BinaryIO

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from tracekit.interop.tracks import Slices, StepSeries, Track, TrackGroup, known_of, split_lanes

_SEQUENCE = 1
_BEGIN = TrackEvent.TYPE_SLICE_BEGIN
_END = TrackEvent.TYPE_SLICE_END
_COUNTER = TrackEvent.TYPE_COUNTER


def write_perfetto(tracks: Sequence[Track], file: BinaryIO) -> None:
    """Write the tracks as a protobuf trace; overlapping slices get tracks of their own."""
    _Writer(tracks, StreamingTraceProtoBuilder(file)).write()


class _Writer:
    """Writes packets of one sequence; `_shift` makes all times unsigned."""

    def __init__(self, tracks: Sequence[Track], builder: StreamingTraceProtoBuilder) -> None:
        self._tracks = tracks
        self._builder = builder
        self._names: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        self._groups: dict[TrackGroup, int] = {}
        self._uuid = 0
        first_time = min(map(_get_start_time, tracks), default=0)
        self._shift = max(0, -first_time)

    def write(self) -> None:
        begin = self._packet()
        begin.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self._builder.write_packet(begin)
        for track in self._tracks:
            if isinstance(track, StepSeries):
                self._levels(track)
                continue
            for lane in split_lanes(track):
                self._slices(lane, self._track(lane))

    def _packet(self) -> TracePacket:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def _group(self, group: TrackGroup) -> int:
        if group not in self._groups:
            described = TrackDescriptor()
            if group.pid is None:
                described.name = group.name
            else:
                described.process.pid = group.pid
                described.process.process_name = group.name
            self._groups[group] = self._describe(described)
        return self._groups[group]

    def _describe(self, track: TrackDescriptor) -> int:
        """Write the description of a new track, and return its number."""
        self._uuid += 1
        track.uuid = self._uuid
        packet = self._packet()
        packet.track_descriptor.CopyFrom(track)
        self._builder.write_packet(packet)
        return self._uuid

    def _track(self, track: Track) -> int:
        group_id = self._group(track.group)
        described = TrackDescriptor(parent_uuid=group_id, name=track.name)
        if isinstance(track, StepSeries):
            described.counter.unit_name = track.unit
        return self._describe(described)

    def _event(self, uuid: int, kind: TrackEvent.Type, time: int) -> TracePacket:
        packet = self._packet()
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        packet.timestamp = time + self._shift
        packet.track_event.type = kind
        packet.track_event.track_uuid = uuid
        return packet

    def _levels(self, levels: StepSeries) -> None:
        uuid = self._track(levels)
        changes = zip(levels.times.tolist(), levels.values.tolist(), strict=True)
        for time, value in changes:
            packet = self._event(uuid, _COUNTER, time)
            packet.track_event.double_counter_value = value
            self._builder.write_packet(packet)

    def _slices(self, lane: Slices, uuid: int) -> None:
        columns = (lane.starts.tolist(), lane.ends.tolist(), lane.codes.tolist())
        flows = zip(*(flow.tolist() for flow in lane.flows), strict=True)
        slices = zip(*columns, known_of(lane), strict=True)
        for start, end, code, arguments in slices:
            begin = self._event(uuid, _BEGIN, start)
            names = begin.interned_data.event_names
            name_number = _number(lane.names[code], self._names, names)
            begin.track_event.name_iid = name_number
            links = filter(None, next(flows, ()))
            begin.track_event.flow_ids.extend(links)
            self._annotate(begin, arguments)
            self._builder.write_packet(begin)
            self._builder.write_packet(self._event(uuid, _END, end))

    def _annotate(self, packet: TracePacket, arguments: dict[str, object]) -> None:
        for key, value in arguments.items():
            number = _number(key, self._keys, packet.interned_data.debug_annotation_names)
            note = packet.track_event.debug_annotations.add(name_iid=number)
            if isinstance(value, int) and value >= 0:
                note.uint_value = value
            elif isinstance(value, int):
                note.int_value = value
            elif isinstance(value, float):
                note.double_value = value
            else:
                note.string_value = str(value)


def _number(name: str, numbers: dict[str, int], entries: Any) -> int:
    """Return the number of a name, which is added to the entries if it is new."""
    if name not in numbers:
        numbers[name] = len(numbers) + 1
        entries.add(iid=numbers[name], name=name)
    return numbers[name]


def _get_start_time(track: Track) -> int:
    times = track.times if isinstance(track, StepSeries) else track.starts
    return int(times.min(initial=0))
