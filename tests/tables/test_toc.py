"""Tables of contents: every shape that is known."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Process, Provenance, Recording
from tracekit.tables.toc import (
    Toc,
    TocRun,
    TocTable,
    WantedTable,
    describe_runs,
    explain_run_choice,
    find_recorded_run,
    find_run,
    read_toc,
    select_tables,
    toc_text,
)

GOLDENS = Path(__file__).parent / "goldens"
LAUNCHED = (GOLDENS / "toc.xml").read_text(encoding="utf-8")


def toc(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "toc.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_launched_process(tmp_path: Path) -> None:
    read = read_toc(toc(tmp_path, LAUNCHED))
    encoded_toc = msgspec.json.format(msgspec.json.encode(read)).decode()
    assert encoded_toc == (GOLDENS / "toc.json").read_text().strip()
    for private in ("--iters", "/opt/probe"):
        assert private not in repr(read)


OF_ALL = (
    "<target><host-device platform='macOS'/><all-processes/></target>"
    "<summary><start-date/><duration/></summary>"
)
OF_XCODE_27 = (
    '<summary><intruments-recording-settings><instrument name="Counters"><options>'
    '<option key="Counter Set" value="Limiters"/><option value="Enabled" key="Shader Timeline"/>'
    "</options></instrument></intruments-recording-settings></summary>"
)
SETTINGS = ("Counter Set: Limiters", "Shader Timeline: Enabled")


def test_a_run_describes_its_recording(tmp_path: Path) -> None:
    for info, expected in (
        (OF_ALL, TocRun(1, {"platform": "macOS"}, all_processes=True)),
        (OF_XCODE_27, TocRun(1, settings={"Counters": SETTINGS})),
    ):
        text = f"<trace-toc><run><info>{info}</info></run></trace-toc>"
        assert read_toc(toc(tmp_path, text)).runs == (expected,)


def test_other_documents_are_not_tables_of_contents(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for text, sentence in (
        ("", "not a whole table of contents"),
        (LAUNCHED[:-20], "not a whole table of contents"),
        ("<trace-query-result/>", "its root is <trace-query-result>"),
        ("<a>" * 1_000_000, "not a whole table of contents"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><trace-toc>&b;</trace-toc>', "declares a document type"),
        ("<trace-toc><run><data><table/></data></run></trace-toc>", "no schema"),
        ('<trace-toc><run number="one"/></trace-toc>', "'one' instead of a whole number"),
        ('<trace-toc><run number="' + "9" * 5_000 + '"/></trace-toc>', "instead of a whole number"),
        (LAUNCHED.replace("2.123889", "long"), "'long' where seconds"),
        (LAUNCHED.replace("2.123889", "nan"), "'nan' where seconds"),
        (b" " * ((1 << 26) + 1), "larger than any"),
    ):
        with subtests.test(sentence):
            with pytest.raises(InputError) as caught:
                read_toc(toc(tmp_path, text))
            assert sentence in caught.value.message, text
            assert "\n" not in caught.value.message, text


def test_tables_are_wanted_in_the_order_of_the_toc_and_repeats_are_numbered() -> None:
    run = TocRun(1, tables=tuple(map(TocTable, range(1, 7), "xbabcb")))
    wanted_tables = select_tables(run, {"a", "b", "none"})
    assert wanted_tables == (
        WantedTable("b", 1, "b.xml"),
        WantedTable("a", None, "a.xml"),
        WantedTable("b", 2, "b-2.xml"),
        WantedTable("b", 3, "b-3.xml"),
    )
    assert [table.index for table in wanted_tables] == [2, 3, 4, 6]


RUNS = (
    TocRun(1, target=Process(7, "a"), start_date="2026-03-30T20:49:19.103Z", duration=1.25),
    TocRun(4, target=Process(7)),
    TocRun(5),
)


def test_the_last_run_is_meant_unless_another_is_named() -> None:
    assert find_run(RUNS, None, "x.trace") is RUNS[2]
    assert find_run(RUNS, 4, "x.trace") is RUNS[1]
    with pytest.raises(UsageError, match=r"x\.trace has no run 2\.") as raised:
        find_run(RUNS, 2, "x.trace")
    there = "run 1 (a 7, 2026-03-30T20:49:19.103Z, 1.250 s); run 4 (7); run 5"
    assert raised.value.hint == f"It has {there}."


def test_that_one_of_several_was_taken_is_said() -> None:
    assert explain_run_choice(RUNS[:1], RUNS[0], "x.trace") == ()
    there = "x.trace has 2 runs: run 4 (7); run 5."
    for run, description in ((RUNS[2], "the last one"), (RUNS[1], "the last one with tables")):
        message = f"{there} Run {run.number}, {description}, is read; --run chooses another."
        assert explain_run_choice(RUNS[1:], run, "x.trace") == (message,)


@pytest.mark.parametrize(("count", "end"), [(20, ["run 20"]), (21, ["run 20", "and 1 more"])])
def test_no_more_runs_are_listed_than_one_reads(count: int, end: list[str]) -> None:
    assert describe_runs([*map(TocRun, range(1, count + 1))]).split("; ")[19:] == end


def test_a_recording_says_itself_which_run_it_is_about(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.exports.mkdir()
    recording.toc_file.write_text(toc_text(Toc(RUNS)))
    assert find_recorded_run(recording) == RUNS[2]
    for number, expected in ((4, RUNS[1]), (None, RUNS[2]), (9, RUNS[2])):
        recording.save_provenance(Provenance(run=number))
        assert find_recorded_run(recording) == expected, number


LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"])
TEXTS = st.text(LETTERS, max_size=12)
WORDS = TEXTS.map(str.strip)
SAID = WORDS.filter(bool)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True).filter(
    lambda name: name != "schema" and not name.startswith("xml")
)


def runs(number: int) -> st.SearchStrategy[TocRun]:
    attributes = st.dictionaries(NAMES, TEXTS, max_size=3)
    process = st.builds(Process, st.integers(-1, 99_999), TEXTS)
    processes = st.lists(process, max_size=3, unique_by=lambda process: process.pid)
    tables = st.lists(st.tuples(SAID, attributes), max_size=4)
    keys = TEXTS.filter(lambda key: ": " not in key)
    lines = st.lists(st.builds("{}: {}".format, keys, WORDS), max_size=3).map(tuple)
    text_fields = ("start_date", "end_date", "end_reason", "instruments_version", "template")
    return st.builds(
        TocRun,
        number=st.just(number),
        device=attributes,
        target=st.none() | process,
        target_type=st.sampled_from(["", "launched", "attached"]),
        arguments=TEXTS,
        exit_status=st.sampled_from(["", "0", "9"]),
        termination_reason=TEXTS,
        all_processes=st.booleans(),
        environment=st.lists(TEXTS, max_size=2).map(tuple),
        duration=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        settings=st.dictionaries(TEXTS, lines, max_size=2),
        **dict.fromkeys((*text_fields, "recording_mode", "time_limit"), WORDS),
        processes=processes.map(tuple),
        tables=tables.map(
            lambda drawn_tables: tuple(TocTable(n, *one) for n, one in enumerate(drawn_tables, 1))
        ),
    ).flatmap(
        lambda run: st.fixed_dictionaries(
            {}, optional={one.pid: TEXTS for one in run.processes}
        ).map(lambda paths: replace(run, paths=paths))
    )


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Toc]:
    path = tmp_path_factory.mktemp("toc") / "toc.xml"

    def write_and_read(toc: Toc) -> Toc:
        path.write_text(toc_text(toc), encoding="utf-8", newline="")
        return read_toc(path)

    return write_and_read


@given(first=runs(1), second=runs(7))
def test_a_written_toc_is_read_back(
    again: Callable[..., Toc], first: TocRun, second: TocRun
) -> None:
    toc = Toc((first, second))
    assert again(toc) == toc


def test_a_setting_without_a_value_is_read_back(again: Callable[..., Toc]) -> None:
    run = TocRun(1, settings={"Counters": ("Counter Set: ", "Shader Timeline: Enabled")})
    assert again(Toc((run,))).runs == (run,)


def test_characters_outside_xml_are_replaced(again: Callable[..., Toc]) -> None:
    run = TocRun(
        1,
        duration=1 / 3,  # more digits than Instruments writes
        template="a\x00b\ud800c\ufffe",
        target=Process(1, "\x1b[31m"),
        tables=(TocTable(1, "tick", {"9 odd:name": "x\x07"}),),
    )
    (read,) = again(Toc((run,))).runs
    assert read.duration == 1 / 3
    assert read.template == "a\ufffdb\ufffdc\ufffd"
    assert read.target == Process(1, "\ufffd[31m")
    assert read.tables == (TocTable(1, "tick", {"_9_odd_name": "x\ufffd"}),)
