"""A table of contents as text: what is read of it is what was written."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.recording import Process
from tracekit.tables.toc import (
    Toc,
    TocRun,
    TocTable,
    read_toc,
    setting_lines,
    toc_text,
)

LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"])
TEXTS = st.text(LETTERS, max_size=12)
WORDS = TEXTS.map(str.strip)
SAID = WORDS.filter(bool)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True).filter(
    lambda name: name != "schema" and not name.startswith("xml")
)
PROCESSES = st.lists(
    st.builds(Process, st.integers(-1, 99_999), TEXTS), max_size=3, unique_by=lambda one: one.pid
)


@st.composite
def runs(draw: st.DrawFn, number: int) -> TocRun:
    processes = draw(PROCESSES)
    tables = draw(st.lists(st.tuples(SAID, st.dictionaries(NAMES, TEXTS, max_size=3)), max_size=4))
    return TocRun(
        number=number,
        device=draw(st.dictionaries(NAMES, TEXTS, max_size=3)),
        target=draw(st.none() | st.builds(Process, st.integers(-1, 99_999), TEXTS)),
        target_type=draw(st.sampled_from(["", "launched", "attached"])),
        arguments=draw(TEXTS),
        exit_status=draw(st.sampled_from(["", "0", "9"])),
        termination_reason=draw(TEXTS),
        all_processes=draw(st.booleans()),
        environment=tuple(draw(st.lists(TEXTS, max_size=2))),
        start_date=draw(WORDS),
        end_date=draw(WORDS),
        duration=draw(st.none() | st.floats(allow_nan=False)),
        end_reason=draw(WORDS),
        instruments_version=draw(WORDS),
        template=draw(WORDS),
        recording_mode=draw(WORDS),
        time_limit=draw(WORDS),
        processes=tuple(processes),
        paths={one.pid: draw(TEXTS) for one in processes if draw(st.booleans())},
        tables=tuple(TocTable(place, *one) for place, one in enumerate(tables, start=1)),
    )


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Toc]:
    """Write a table of contents and read it."""
    path = tmp_path_factory.mktemp("toc") / "toc.xml"

    def write_and_read(toc: Toc, settings: Any = None) -> Toc:
        path.write_text(toc_text(toc, settings), encoding="utf-8", newline="")
        return read_toc(path)

    return write_and_read


@given(first=runs(1), second=runs(7))
def test_what_is_read_is_what_was_written(
    again: Callable[..., Toc], first: TocRun, second: TocRun
) -> None:
    toc = Toc((first, second))
    assert again(toc) == toc


DICTIONARIES = st.lists(
    st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3), max_size=3), max_size=2
)


@given(settings=st.dictionaries(TEXTS, DICTIONARIES, max_size=2))
def test_settings_as_a_bundle_keeps_them(again: Callable[..., Toc], settings: Any) -> None:
    lines = {name: tuple(setting_lines(kept)) for name, kept in settings.items()}
    toc = Toc((TocRun(1, settings=lines),))
    assert again(toc, {1: settings}) == toc


def test_the_text_is_in_the_grammar_of_xctrace() -> None:
    run = TocRun(
        number=1,
        device={"platform": "macOS"},
        target=Process(4711, "python3"),
        target_type="launched",
        environment=("TOKEN",),
        duration=0.891228,
        settings={"GPU": ("Counter Set: A",), "Idle": ()},
        processes=(Process(0, "kernel"),),
        paths={0: "/kernel"},
        tables=(TocTable(2, "tick", {"frequency": "10"}), TocTable(1, "os-log", {"a": '"b c" d'})),
    )
    kept = {1: {"GPU": [{"Device": ["Counter Set: A"]}]}}
    assert (
        toc_text(Toc((run,)), kept)
        == """<?xml version="1.0"?>

<trace-toc>
    <run number="1">
        <info>
            <target>
                <device platform="macOS"/>
                <process type="launched" name="python3" pid="4711"/>
                <environment>
                    <item key="TOKEN"/>
                </environment>
            </target>
            <summary>
                <duration>0.891228</duration>
                <intruments-recording-settings>
                    <instrument name="GPU">
                        <array>
                            <dictionary>
                                <key name="Device">
                                    <value>Counter Set: A</value>
                                </key>
                            </dictionary>
                        </array>
                    </instrument>
                    <instrument name="Idle"/>
                </intruments-recording-settings>
            </summary>
        </info>
        <processes>
            <process name="kernel" pid="0" path="/kernel"/>
        </processes>
        <data>
            <table a="&quot;b c&quot; d" schema="os-log"/>
            <table frequency="10" schema="tick"/>
        </data>
        <tracks/>
    </run>
</trace-toc>
"""
    )


def test_what_xml_cannot_hold_is_replaced(again: Callable[..., Toc]) -> None:
    run = TocRun(
        1,
        template="a\x00b\ud800c\ufffe",
        target=Process(1, "\x1b[31m"),
        tables=(TocTable(1, "tick", {"9 odd:name": "x\x07"}),),
    )
    (read,) = again(Toc((run,))).runs
    assert read.template == "a\ufffdb\ufffdc\ufffd"
    assert read.target == Process(1, "\ufffd[31m")
    assert read.tables == (TocTable(1, "tick", {"_9_odd_name": "x\ufffd"}),)


def test_line_ends_in_attributes_are_kept(again: Callable[..., Toc]) -> None:
    toc = Toc((TocRun(1, arguments="-c 'a\r\n\tb'", target_type="launched"),))
    assert again(toc) == toc
