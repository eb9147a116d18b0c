"""Track details with damage at random: rows before it as they were, and no other failure."""

import re
import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[3] / "bench"))

from fuzzing.mutation import mutated
from tracekit.base.errors import InputError
from tracekit.tables.xml.details import DetailReader
from tracekit.tables.xml.node import Node

WHOLE = b"""<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/tracks[1]/track[1]/details[1]/detail[2]'>\
<row address="0x6000" category="VM: 96 %" size="98304" resident-%="1.5"/>
<row address="0x6001" live="true"><backtrace><frame id="0" name="a" addr="0x10">\
<binary id="1" name="lib"/></frame><frame id="2" name="b" addr="0x20"/></backtrace></row>
<row address="0x6002" category="\xc2\xb5 &lt;"/>
<row address="0x6003"><backtrace><frame ref="2"/></backtrace></row>
</node></trace-query-result>
"""
ENDS = [found.end() for found in re.finditer(rb"</row>|<row[^<>]*/>", WHOLE)]


def rows(pieces: list[Node]) -> list[dict[str, str]]:
    """Return what rows hold, without the nulls: damage may add columns to a whole row."""
    found: list[dict[str, str]] = []
    for piece in pieces:
        columns = {part.column.mnemonic: part.cells.to_pylist() for part in piece.columns}
        for place in range(piece.rows):
            cells = {name: texts[place] for name, texts in columns.items()}
            found.append({name: text for name, text in cells.items() if text is not None})
    return found


def read(path: Path) -> tuple[list[Node], str]:
    try:
        return list(DetailReader(path).pieces()), ""
    except InputError as error:
        return [], error.message


def test_damage_at_random_never_changes_a_row_before_it(tmp_path: Path) -> None:
    path = tmp_path / "detail.xml"
    path.write_bytes(WHOLE)
    whole = rows(list(DetailReader(path).pieces()))
    assert len(whole) == len(ENDS) == 4
    damaged = refused = 0
    for seed in range(300):
        content, first = mutated(Random(seed), WHOLE)
        path.write_bytes(content)
        unharmed = sum(end <= first for end in ENDS)
        pieces, words = read(path)
        if words:
            refused += 1
            assert "\n" not in words
            assert not unharmed or "document type" in words, f"seed {seed}: {words}"
            continue
        assert rows(pieces)[:unharmed] == whole[:unharmed], f"seed {seed}"
        damaged += any(piece.damage for piece in pieces)
    assert damaged > 75
    assert refused > 20
