"""Files of every wrong kind and size: one clear sentence and exit code 3, soon and in little room.

That a file is refused before it fills the memory is a question of limits, and those are tested:
the time and the memory that it takes are not.
"""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.tables.flat import read_flat
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.reader import ExactReader

NODE = "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
OPEN = f'<?xml version="1.0"?>\n<trace-query-result>\n{NODE}'
HEADER = (
    '<schema name="t"><col><mnemonic>a</mnemonic><name>A</name>'
    "<engineering-type>string</engineering-type></col></schema>"
)
ROW = '<row><string id="1" fmt="kept">kept</string></row>\n'
END = "</node></trace-query-result>\n"
KEPT = OPEN + HEADER + ROW
LONG = "x" * 30_000_000


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "export.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def columns(count: int) -> str:
    return "".join(
        f"<col><mnemonic>c{n}</mnemonic><name/><engineering-type>string</engineering-type></col>"
        for n in range(count)
    )


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        (lambda: "<row>" + '<string id="2">' * 1_000_000, "Excessive depth"),
        (lambda: f'<row><string id="2">{LONG}</string></row>\n{END}', "too long"),
        (lambda: f'<row><string id="2" fmt="{LONG}">x</string></row>\n{END}', "16 MB"),
        (lambda: "<row>" + "&amp;" * 5_000_000, "16 MB"),
        (lambda: f"<row>{'<sentinel/>' * 500_000}</row>\n{END}", "500000 cells for 1 columns"),
        (lambda: f"<row><string>&e;</string></row>{END}", "not defined"),
    ],
    ids=["a nest", "a text", "an attribute", "a row without end", "cells", "an entity"],
)
def test_what_is_hostile_behind_a_row_ends_the_table_there(
    tmp_path: Path, rest: Callable[[], str], words: str
) -> None:
    path = written(tmp_path, KEPT + rest())
    flat = read_flat(path)
    assert flat.frame["a"].tolist() == ["kept"]
    assert words in flat.notes.damage[0]
    assert len(flat.notes.damage[0]) < 400
    assert "\n" not in flat.notes.damage[0]
    with pytest.raises(IrregularError):
        list(FastReader(path).pieces())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda: "<a>" * 1_000_000, "XML with the root <a>"),
        (lambda: OPEN + "<schema name='t'>" * 500_000, "cut before"),
        (lambda: OPEN + '<schema name="t">' + columns(250_000), "16 MB"),
        (
            lambda: f'{OPEN}<schema name="t">{columns(25_000)}</schema>{END}',
            "more than 20000 columns",
        ),
        (
            lambda: "<trace-query-result " + " ".join(f'xmlns:a{n}="x"' for n in range(100_000)),
            "cut before",
        ),
    ],
    ids=["a nest", "headers", "a long header", "columns", "namespaces"],
)
def test_what_is_hostile_before_a_row_is_refused(
    tmp_path: Path, content: Callable[[], str], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_flat(written(tmp_path, content()))
    assert words in caught.value.message
    assert len(caught.value.message) < 400
    assert "\n" not in caught.value.message


def rows(count: int) -> Iterator[str]:
    yield KEPT
    for _ in range(count):
        yield '<row><string ref="1"/></row>\n'
    yield END


@pytest.mark.parametrize("reader", [ExactReader, FastReader])
def test_a_file_that_shrinks_while_it_is_read_is_damaged(
    tmp_path: Path, reader: type[ExactReader | FastReader]
) -> None:
    path = written(tmp_path, "".join(rows(300_000)))
    pieces = reader(path).pieces()
    first = next(pieces)
    with path.open("r+b") as file:
        file.truncate(first.rows * len('<row><string ref="1"/></row>\n') + 100_000)
    try:
        rest = list(pieces)
    except IrregularError:
        assert reader is FastReader
        return
    assert reader is ExactReader
    assert rest[-1].damage
    assert first.rows + sum(piece.rows for piece in rest) < 300_000


def test_a_pipe_is_refused_even_while_someone_writes_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    number = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    writer = threading.Thread(target=os.write, args=(number, KEPT.encode()))
    writer.start()
    with pytest.raises(InputError, match="is a pipe or a device, not"):
        read_flat(pipe)
    writer.join()
    os.close(number)
