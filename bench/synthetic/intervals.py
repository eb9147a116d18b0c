"""Intervals of work on the GPU: eighteen columns, half of them new in every row."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reading.decoded import Column
from synthetic.elements import Elements, Inside, grouped, moment, quoted, span
from synthetic.export import Batch, Synthetic, optional, row
from synthetic.identities import PROCESSES, Process, process_writer

_COLUMNS = [
    Column("start", "start-time"),
    Column("duration", "duration"),
    Column("channel-name", "gpu-channel-name"),
    Column("frame-number", "gpu-frame-number"),
    Column("start-latency", "duration"),
    Column("event-depth", "metal-nesting-level"),
    Column("event-label", "formatted-label"),
    Column("state", "gpu-state"),
    Column("connection-UUID", "connection-uuid64"),
    Column("color", "render-buffer-depth"),
    Column("process", "process"),
    Column("gpu", "metal-device-name"),
    Column("channel-subtitle", "metal-object-label"),
    Column("iosurface-accesses", "formatted-label"),
    Column("bytes", "size-in-bytes"),
    Column("cmdbuffer-id", "metal-command-buffer-id"),
    Column("encoder-id", "metal-command-buffer-id"),
    Column("gpu-submission-id", "uint64"),
]
_ROWS = 256
_NONE = (1 << 64) - 1
_CHANNELS = ("Compute", "Vertex", "Fragment", "Blit")
_SUBTITLES = ("", "Main Queue", "µKernels\N{NO-BREAK SPACE}Queue", "com.example.queue (MLX)")
_SURFACES = (
    "",
    "Write Surface: 8",
    "Read Surface: 8 -> Write Surface: 9(2048\N{MULTIPLICATION SIGN}1280:83b&)",
)
_KERNELS = (
    "paged_attention_v2_float16",
    "affine_qmm_t<half, 64, 4>",
    "rms_norm & residual",
    "sdpa_vector_2pass_1",
    "softmax_précise",
)


def intervals(random: np.random.Generator) -> Synthetic:
    """Make `metal-gpu-intervals`."""
    return Synthetic("metal-gpu-intervals", _COLUMNS, _batches(random), [], [])


def _batches(random: np.random.Generator) -> Iterator[Batch]:
    writers = _writers(Elements())
    now = number = 0
    while True:
        truth = _values(random, now, number)
        cells = {name: values for name, values in truth.items() if not name.endswith(".pid")}
        rows = [
            row(*(write(one) for write, one in zip(writers, values, strict=True)))
            for values in zip(*cells.values(), strict=True)
        ]
        now, number = truth["start"][-1], number + _ROWS
        yield Batch(rows, _worded(truth))


def _values(random: np.random.Generator, now: int, number: int) -> dict[str, list[Any]]:
    def picked(options: tuple[Any, ...]) -> list[Any]:
        return [options[one] for one in random.integers(0, len(options), _ROWS)]

    def ticks(mean: float) -> list[int]:
        return (random.exponential(mean, _ROWS).astype(np.int64) * 125 // 3).tolist()

    def without(values: list[Any], share: float) -> list[Any]:
        missing = random.random(_ROWS) < share
        return [None if gone else one for one, gone in zip(values, missing, strict=True)]

    unowned = random.random(_ROWS) < 0.002
    owners = [None if gone else one for one, gone in zip(picked(PROCESSES), unowned, strict=True)]
    latencies = [None if gone else one for one, gone in zip(ticks(9000), unowned, strict=True)]
    numbers = range(number, number + _ROWS)
    encoders = [(7 << 32) + one // 2 for one in numbers]
    buffers = [_NONE if one % 997 == 5 else (6 << 32) + one // 5 for one in numbers]
    kernels = [f"{name}:{one % 97}" for name, one in zip(picked(_KERNELS), numbers, strict=True)]
    return {
        "start": (now + np.cumsum(random.integers(1, 90_000, _ROWS))).tolist(),
        "duration": ticks(900),
        "channel-name": picked(_CHANNELS),
        "frame-number": without([one // 300 for one in numbers], 0.008),
        "start-latency": latencies,
        "event-depth": picked((0, 0, 0, 1, 2)),
        "event-label": list(zip(kernels, owners, encoders, strict=True)),
        "state": ["Active"] * _ROWS,
        "connection-UUID": [-1 if one % 1013 == 7 else (1 << 40) + 499 * one for one in numbers],
        "color": picked((0, 1, 2, 3, 4, 5)),
        "process": owners,
        "gpu": ["M3 Max"] * _ROWS,
        "channel-subtitle": picked(_SUBTITLES),
        "iosurface-accesses": picked(_SURFACES),
        "bytes": picked((0, 0, 16_384, 1 << 33)),
        "cmdbuffer-id": buffers,
        "encoder-id": encoders,
        "gpu-submission-id": [4_050_234_859 + one for one in numbers],
    }


def _writers(elements: Elements) -> list[Callable[[Any], str]]:
    duration = optional(elements.integers("duration", span))
    process = optional(process_writer(elements))
    buffer = elements.integers("metal-command-buffer-id", hex)
    string = elements.texts("string")
    return [
        elements.integers("start-time", moment),
        duration,
        elements.texts("gpu-channel-name"),
        optional(elements.integers("gpu-frame-number", "Frame {}".format)),
        duration,
        elements.integers("metal-nesting-level"),
        _label_writer(elements, string, process),
        elements.texts("gpu-state"),
        elements.integers("connection-uuid64"),
        elements.integers("render-buffer-depth"),
        process,
        elements.texts("metal-device-name"),
        elements.texts("metal-object-label"),
        elements.kind("formatted-label", lambda text: (f' fmt="{quoted(text)}"', string(text))),
        elements.integers("size-in-bytes", "{} Bytes".format),
        buffer,
        buffer,
        elements.integers("uint64", grouped),
    ]


Label = tuple[str, Process | None, int]


def _label_writer(
    elements: Elements, string: Callable[[str], str], process: Callable[[Any], str]
) -> Callable[[Label], str]:
    between = elements.texts("narrative-text")
    encoder = elements.integers("metal-encoder-id", hex)

    def inside(label: Label) -> Inside:
        kernel, owner, number = label
        parts = (
            string(kernel),
            between(" "),
            string(" "),
            between(" ("),
            process(owner),
            between(") "),
            encoder(number),
        )
        return f' fmt="{quoted(_label_text(label))}"', "".join(parts)

    return elements.kind("formatted-label", inside)


def _label_text(label: Label) -> str:
    kernel, owner, number = label
    return f"{kernel}   ({owner or ''}) {number:#x}"


def _worded(values: dict[str, list[Any]]) -> dict[str, list[Any]]:
    owners = values["process"]
    return values | {
        "event-label": [_label_text(one) for one in values["event-label"]],
        "process": [one and str(one) for one in owners],
        "process.pid": [one and one.pid for one in owners],
    }
