"""The exports that benchmarks make: in xctrace's grammar, seeded, with what is hard in them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from synthetic import KINDS, truth_of, write
from synthetic.elements import Elements
from synthetic.export import optional

BEGINNING = (
    b'<?xml version="1.0"?>\n<trace-query-result>\n'
    b"<node xpath='//trace-toc[1]/run[1]/data[1]/table[7]'><schema name="
)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def made(folder: Path, kind: str, megabytes: float = 0.3, seed: int = 1) -> Path:
    path = folder / f"{kind}-{seed}.xml"
    write(KINDS[kind], path, megabytes, seed)
    return path


def test_ids_count_from_one_in_document_order(tmp_path: Path, kind: str) -> None:
    root = ET.parse(made(tmp_path, kind)).getroot()
    ids = [int(one.get("id")) for one in root.iter() if one.get("id")]
    assert ids == list(range(1, len(ids) + 1))
    assert len(ids) > 500


def test_a_repeat_stands_behind_a_definition_of_its_tag(tmp_path: Path, kind: str) -> None:
    root = ET.parse(made(tmp_path, kind)).getroot()
    defined: dict[str, str] = {}
    repeats = 0
    for element in root.iter():
        if (ref := element.get("ref")) is not None:
            assert defined[ref] == element.tag
            repeats += 1
        elif (number := element.get("id")) is not None:
            defined[number] = element.tag
    assert repeats > len(defined)


def test_bytes_stand_as_xctrace_writes_them(tmp_path: Path, kind: str) -> None:
    data = made(tmp_path, kind).read_bytes()
    assert data.startswith(BEGINNING)
    assert data.endswith(b"</row>\n</node></trace-query-result>\n")
    assert b"</schema><row>" in data
    assert data.count(b"<row>") == data.count(b"\n") - 3


def test_an_export_is_as_long_as_asked_for_and_has_a_truth_of_its_rows(
    tmp_path: Path, kind: str
) -> None:
    path = made(tmp_path, kind, megabytes=0.6)
    rows = path.read_bytes().count(b"<row>")
    assert 0.6e6 <= path.stat().st_size < 1.2e6
    assert pq.read_metadata(truth_of(path).table).num_rows == rows


def test_a_seed_makes_the_same_bytes_again(tmp_path: Path, kind: str) -> None:
    again = tmp_path / "again"
    again.mkdir()
    first = made(tmp_path, kind).read_bytes()
    assert made(again, kind).read_bytes() == first
    assert made(tmp_path, kind, seed=2).read_bytes() != first


def test_intervals_hold_what_readers_stumble_over(tmp_path: Path) -> None:
    text = made(tmp_path, "intervals", megabytes=1.5).read_text()
    most, queue = ">18446744073709551615<", "µKernels\u00a0Queue"
    for hard in ("<sentinel/>", most, ">-1<", queue, "&lt;half", ' fmt=""></metal-object-label>'):
        assert hard in text
    assert "<process ref=" in text.partition("</formatted-label>")[2]


def test_profiles_hold_stacks_with_and_without_sources(tmp_path: Path) -> None:
    path = made(tmp_path, "time-profile")
    text, truth = path.read_text(), truth_of(path)
    assert "<source line=" in text
    assert "&quot;" in text
    stacks = pq.read_table(truth.stacks)["frames"].to_pylist()
    frames = pq.read_table(truth.frames)
    assert text.count("<backtrace id=") == len(stacks)
    assert text.count("<frame id=") == frames.num_rows
    assert max(max(stack) for stack in stacks) == frames.num_rows - 1
    assert 0 < frames["source"].null_count < frames.num_rows


def test_a_compound_takes_its_id_before_its_parts() -> None:
    elements = Elements()
    part = elements.integers("pid")
    whole = elements.kind("process", lambda pid: (f' fmt="p ({pid})"', part(pid)))
    assert whole(7) == '<process id="1" fmt="p (7)"><pid id="2" fmt="7">7</pid></process>'
    assert whole(7) == '<process ref="1"/>'
    assert whole(8) == '<process id="3" fmt="p (8)"><pid id="4" fmt="8">8</pid></process>'
    assert part(7) == '<pid ref="2"/>'


def test_elements_without_content_close_themselves_and_none_is_a_sentinel() -> None:
    binary = Elements().kind("binary", lambda name: (f' name="{name}"', None))
    assert optional(binary)("a") == '<binary id="1" name="a"/>'
    assert optional(binary)(None) == "<sentinel/>"
