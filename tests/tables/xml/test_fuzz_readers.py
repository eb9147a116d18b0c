"""The two readers on files made at random, whole and damaged; `bench/fuzz.py` does it for hours.

The cases are the same in every run. What must hold of each stands in fuzzing/comparison.py.
"""

from pathlib import Path
from random import Random

import pytest

from fuzzing.campaign import Case, Tally, run, smallest
from fuzzing.comparison import blocks_of, harm, judge, untruth
from fuzzing.export import export, said
from fuzzing.mutation import mutated
from fuzzing.style import Style, odd, plain
from fuzzing.values import SENTINEL, Value
from fuzzing.writer import Writer

pytestmark = pytest.mark.campaign

SEEDS = range(400)
SHORT = (
    '<?xml version="1.0"?>\n<trace-query-result>\n'
    "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"t\"><col><mnemonic>a"
    "</mnemonic><name>A</name><engineering-type>string</engineering-type></col></schema>"
    '<row><string id="1" fmt="x">x</string></row>\n<row><string ref="1"/></row>\n'
    "</node></trace-query-result>\n"
)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """What became of all files."""
    return run(SEEDS)


def described(cases: list[Case]) -> str:
    return "\n".join(f"seed {case.seed}: {case.words[:300]}" for case in cases[:5])


@pytest.mark.parametrize("kind", ["differs", "untrue", "harmed", "failed"])
def test_no_file_is_read_wrong(tally: Tally, kind: str) -> None:
    cases = [case for case in tally.cases if case.kind == kind]
    assert not cases, described(cases)


def test_enough_files_were_tried_and_enough_of_them_read_fast(tally: Tally) -> None:
    counts = tally.counts
    assert counts["plain"] + counts["odd"] == len(SEEDS)
    assert counts["damaged"] == 4 * len(SEEDS)
    assert counts["plain, not well-formed"] == counts["odd, not well-formed"] == 0
    assert counts["damaged, not well-formed"] > len(SEEDS)
    assert tally.accepted > 0.5
    assert counts["damaged, read fast"] > 20


def test_the_same_seeds_make_the_same_files() -> None:
    one, other = (export(Random(7), plain()) for _ in range(2))
    assert one == other
    assert mutated(Random(7), one.content) == mutated(Random(7), other.content)


def test_rows_end_where_the_export_says_they_do() -> None:
    for seed in range(50):
        random = Random(seed)
        made = export(random, odd(random))
        rows = sum(len(table.rows) for table in made.tables)
        assert len(made.ends) == rows
        for end in made.ends:
            text = made.content[:end]
            assert text.endswith((b"</row>", "</row>".encode("utf-16-le")))


def test_a_value_is_written_once_and_then_repeated() -> None:
    writer = Writer(Random(1), Style())
    pid = Value("pid", "7", "7")
    process = Value("process", None, "App (7)", (pid,))
    thread = Value("thread", None, "Main", (Value("tid", "9", "0x9"), process))
    assert (
        writer.element(process)
        == '<process id="1" fmt="App (7)"><pid id="2" fmt="7">7</pid></process>'
    )
    assert writer.element(thread) == (
        '<thread id="3" fmt="Main"><tid id="4" fmt="0x9">9</tid><process ref="1"/></thread>'
    )
    assert writer.element(pid) == '<pid ref="2"/>'
    assert writer.element(SENTINEL) == "<sentinel/>"
    assert said(thread) == {"text": "Main", "pid": "7", "tid": "9"}


def test_a_table_that_begins_anew_forgets_the_values_whose_ids_it_takes() -> None:
    writer = Writer(Random(1), Style(restarts=True))
    first, second = Value("string", "a", "a"), Value("string", "b", "b")
    assert writer.element(first) == '<string id="1" fmt="a">a</string>'
    writer.restart()
    assert writer.element(second) == '<string id="1" fmt="b">b</string>'
    assert writer.element(first) == '<string id="2" fmt="a">a</string>'
    assert writer.element(second) == '<string ref="1"/>'


def test_a_plain_file_is_read_by_both_and_found_the_same(tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    path.write_text(SHORT)
    for size in (50, 1 << 20):
        with blocks_of(size):
            verdict = judge(path)
        assert (verdict.fast, verdict.well_formed, verdict.difference) == (True, True, "")


def test_a_file_that_is_no_xml_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    path.write_text(SHORT.replace("</row>", "</rox>", 1))
    verdict = judge(path)
    assert (verdict.fast, verdict.well_formed) == (False, False)


def test_an_untruth_and_a_harm_are_found(tmp_path: Path) -> None:
    random = Random(3)
    whole = next(
        one for one in (export(random, plain()) for _ in range(100)) if b">Main" in one.content
        or b'fmt="App (420)"' in one.content
    )  # fmt: skip
    path = tmp_path / "export.xml"
    path.write_bytes(whole.content)
    assert untruth(path, whole) == ""
    assert harm(path, whole, len(whole.content)) == ""
    path.write_bytes(whole.content.replace(b'fmt="App (420)"', b'fmt="App (421)"'))
    assert untruth(path, whole) or path.read_bytes() == whole.content
    path.write_bytes(whole.content[: whole.ends[0]] + b"</node></trace-query-result>")
    assert "rows" in harm(path, whole, len(whole.content)) or len(whole.ends) == 1


def test_a_file_is_made_as_small_as_it_can_be() -> None:
    assert smallest(b"abc<needle>defghijk" * 3, lambda content: b"needle" in content) == b"needle"
    assert smallest(b"abc", lambda _: True) == b""
