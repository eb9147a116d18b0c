"""Rows of work on the GPU: as values of a bundle, and as cells of an export."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bundle_writer import Col, Label, Part, Process, Value
from bundle_writer.engineering_types import TYPES
from synthetic.elements import Elements, grouped, moment, quoted, span
from synthetic.export import row as as_row
from synthetic.identities import Process as Named
from synthetic.identities import process_writer

_BEFORE, _AFTER = " (", ") "
_XPATH = "//trace-toc[1]/run[1]/data[1]/table[1]"
Writer = Callable[[Any], str]


class Row(NamedTuple):
    """One piece of work; of its label, all but the encoder."""

    start: int
    duration: int
    channel: str
    frame: int
    latency: int
    kernel: str
    process: Named
    surface: str
    encoder: int
    submission: int

    def values(self) -> tuple[Any, ...]:
        """Return the cells in the order of the columns; labels as the row, or as their text."""
        return (
            *(self.start, self.duration, self.channel, self.frame, self.latency, 0, self),
            *("Active", 4711, 3, self.process, "M1", "Main Queue", self.surface, 16_384),
            *(self.encoder - 1, self.encoder, self.submission),
        )

    def stored(self) -> list[Value]:
        """Return the cells as values of a bundle."""
        return [_stored(one) for one in self.values()]


def label_parts(row: Row) -> tuple[Part, ...]:
    """Return the parts of a row's label; the encoder stands last."""
    return (
        Part("XRPrototypeStringTypeID", row.kernel),
        Part("XRNarrativeTextTypeID", _BEFORE),
        Part("XRProcessTypeID", Process(row.process.pid, row.process.name)),
        Part("XRNarrativeTextTypeID", _AFTER),
        Part("XRMetalEncoderIDTypeID", row.encoder),
    )


def rows_of_xml(
    schema: str, columns: Sequence[Col], pool: Sequence[Row], numbers: Iterator[tuple[int, int]]
) -> Iterator[str]:
    """Yield an export of rows of a pool, one after the other, with these starts and encoders."""
    yield _head(schema, columns)
    elements = Elements()
    writers = _writers(elements, columns)
    for place, (start, encoder) in enumerate(numbers):
        one = pool[place % len(pool)]
        values = one._replace(start=start, encoder=encoder).values()
        buffers = (*values[:15], one.encoder - 1, *values[16:])
        yield as_row(*(write(value) for write, value in zip(writers, buffers, strict=True)))
    yield "</node></trace-query-result>\n"


def _stored(value: Any) -> Value:
    if isinstance(value, Row):
        return Label(label_parts(value))
    return Process(value.pid, value.name) if isinstance(value, Named) else value


def _head(schema: str, columns: Sequence[Col]) -> str:
    declared = "".join(
        f"<col><mnemonic>{one.mnemonic}</mnemonic><name>{one.title}</name>"
        f"<engineering-type>{TYPES[one.type_id].tag}</engineering-type></col>"
        for one in columns
    )
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='{_XPATH}'><schema name=\"{schema}\">{declared}</schema>"
    )


def _writers(elements: Elements, columns: Sequence[Col]) -> list[Writer]:
    wordings: dict[str, Callable[[int], str]] = {
        "start-time": moment,
        "duration": span,
        "metal-command-buffer-id": hex,
        "uint64": grouped,
    }
    process = process_writer(elements)
    texts: dict[str, Writer] = {"process": process}
    for tag in ("gpu-channel-name", "gpu-state", "metal-device-name", "metal-object-label"):
        texts[tag] = elements.texts(tag)
    found: list[Writer] = []
    for column in columns:
        tag = TYPES[column.type_id].tag
        if tag == "formatted-label":
            found.append(_labels(elements, process))
        else:
            if tag not in texts:
                texts[tag] = elements.integers(tag, wordings.get(tag, str))
            found.append(texts[tag])
    return found


def _labels(elements: Elements, process: Writer) -> Writer:
    string, between = elements.texts("string"), elements.texts("narrative-text")
    encoder = elements.integers("metal-encoder-id", hex)

    def inside(key: tuple[Row, int]) -> tuple[str, str]:
        row, number = key
        parts = (
            *(string(row.kernel), between(_BEFORE), process(row.process), between(_AFTER)),
            encoder(number),
        )
        words = (row.kernel, _BEFORE, str(row.process), _AFTER, hex(number))
        return f' fmt="{quoted(" ".join(words))}"', "".join(parts)

    labels = elements.kind("formatted-label", inside)
    return lambda row: labels((row._replace(start=0), row.encoder))
