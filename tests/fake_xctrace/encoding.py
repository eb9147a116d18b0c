"""Tables in the grammar of exports: ids in document order, repeats as references."""

from dataclasses import dataclass


def escape(text: str) -> str:
    """Write text for XML; the library's function for it takes long to import."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quoteattr(text: str) -> str:
    """Write an attribute's value for XML, in its quotes."""
    escaped = escape(text).replace('"', "&quot;").replace("\n", "&#10;")
    return f'"{escaped}"'


@dataclass(frozen=True)
class Cell:
    """One value: an element with text, or with children; None stands for a sentinel."""

    tag: str
    text: str = ""
    fmt: str = ""
    children: "tuple[Cell, ...]" = ()


Row = list[Cell | str | None]


class Encoder:
    """Gives each value an id the first time, a reference afterwards."""

    def __init__(self) -> None:
        self._ids: dict[Cell, int] = {}

    def encode(self, cell: Cell | None) -> str:
        """Return the element of one cell."""
        if cell is None:
            return "<sentinel/>"
        if cell in self._ids:
            return f'<{cell.tag} ref="{self._ids[cell]}"/>'
        number = self._ids[cell] = len(self._ids) + 1
        inside = "".join(map(self.encode, cell.children)) or escape(cell.text)
        fmt = quoteattr(cell.fmt or cell.text)
        return f'<{cell.tag} id="{number}" fmt={fmt}>{inside}</{cell.tag}>'


def table(schema: str, columns: list[str], rows: list[Row], place: int) -> str:
    """Write a table; a cell that is text alone has the type of its column."""
    named = [column.split(":") for column in columns]
    header = "".join(
        f"<col><mnemonic>{mnemonic}</mnemonic><name>{mnemonic}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for mnemonic, kind in named
    )
    encode, written = Encoder().encode, ""
    for row in rows:
        typed = zip(row, named, strict=True)
        cells = [Cell(kind, cell) if isinstance(cell, str) else cell for cell, (_, kind) in typed]
        written += f"<row>{''.join(map(encode, cells))}</row>\n"
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{place}]'>"
        f'<schema name="{schema}">{header}</schema>{written}</node></trace-query-result>\n'
    )


def time(nanoseconds: int) -> Cell:
    return Cell("start-time", str(nanoseconds), f"{nanoseconds / 1e9:.9f}")


def duration(nanoseconds: int) -> Cell:
    return Cell("duration", str(nanoseconds), f"{nanoseconds / 1000:.2f} µs")


def label(words: str) -> Cell:
    return Cell("formatted-label", fmt=words, children=(Cell("string", words),))


def process(name: str, pid: int) -> Cell:
    inside = (Cell("pid", str(pid)), Cell("device-session", "TODO"))
    return Cell("process", fmt=f"{name} ({pid})", children=inside)


def thread(name: str, pid: int) -> Cell:
    fmt = f"Main Thread 0x{pid:x} ({name}, pid: {pid})"
    inside = (Cell("tid", str(pid), f"0x{pid:x}"), process(name, pid))
    return Cell("thread", fmt=fmt, children=inside)
