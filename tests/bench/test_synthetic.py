"""The exports that benchmarks make: in xctrace's grammar, seeded, with what is hard in them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from synthetic import KINDS, write

BEGINNING = (
    b'<?xml version="1.0"?>\n<trace-query-result>\n'
    b"<node xpath='//trace-toc[1]/run[1]/data[1]/table[7]'><schema name="
)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def write_export(folder: Path, kind: str, megabytes: float = 0.3, seed: int = 1) -> Path:
    path = folder / f"{kind}-{seed}.xml"
    write(KINDS[kind], path, megabytes, seed)
    return path


def test_ids_count_in_document_order_and_a_repeat_follows_its_definition(
    tmp_path: Path, kind: str
) -> None:
    root = ET.parse(write_export(tmp_path, kind)).getroot()
    defined: dict[str, str] = {}
    repeats = 0
    for element in root.iter():
        if (ref := element.get("ref")) is not None:
            assert defined[ref] == element.tag
            repeats += 1
        elif (number := element.get("id")) is not None:
            defined[number] = element.tag
    assert repeats > len(defined)
    assert [*map(int, defined)] == list(range(1, len(defined) + 1))


def test_bytes_are_written_as_by_xctrace(tmp_path: Path, kind: str) -> None:
    data = write_export(tmp_path, kind).read_bytes()
    assert data.startswith(BEGINNING)
    assert data.endswith(b"</row>\n</node></trace-query-result>\n")
    assert b"</schema><row>" in data
    assert data.count(b"<row>") == data.count(b"\n") - 3


def test_a_seed_makes_the_same_bytes_again(tmp_path: Path, kind: str) -> None:
    again = tmp_path / "again"
    again.mkdir()
    first_bytes = write_export(tmp_path, kind).read_bytes()
    assert write_export(again, kind).read_bytes() == first_bytes
    assert write_export(tmp_path, kind, seed=2).read_bytes() != first_bytes


def test_intervals_contain_every_difficulty(tmp_path: Path) -> None:
    text = write_export(tmp_path, "intervals", megabytes=1.5).read_text()
    largest_value, queue = ">18446744073709551615<", "µKernels\u00a0Queue"
    for hard in (
        "<sentinel/>",
        largest_value,
        ">-1<",
        queue,
        "&lt;half",
        ' fmt=""></metal-object-label>',
    ):
        assert hard in text
    assert "<process ref=" in text.partition("</formatted-label>")[2]
