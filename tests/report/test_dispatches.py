"""The page of a GPU frame capture: its dispatch check."""

import re
from pathlib import Path

import pytest

import tracekit
from capture_writer import ENCODER, MadeCapture, call, small_capture


def page_of(made: MadeCapture, folder: Path) -> str:
    return tracekit.report(made.write(folder / "made.gputrace"), output=folder / "run").read_text()


def text_of(page: str) -> str:
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_a_capture_shows_its_dispatches(tmp_path: Path) -> None:
    page = page_of(small_capture(), tmp_path)
    text = text_of(page)
    assert (
        "A GPU frame capture 1 dispatch of 1 kernel, without times; no check found a fault." in text
    )
    assert "Dispatches of the capture 1 dispatch of 1 kernel" in text
    assert (
        "binding count buffer 1, constant uint, read, buffer no. 1 at 0, 4 bytes, value 100" in text
    )
    assert "not recorded: A bundle does not hold the most threads" in text
    assert "could not be judged" not in text


def test_a_deviation_is_a_finding_and_comes_first(tmp_path: Path) -> None:
    made = small_capture()
    place = made.calls.index(
        call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (32, 1, 1), stack=(0x110, 0x200))
    )
    odd = call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (25, 1, 1))
    made.calls.insert(place + 1, odd)
    page = page_of(made, tmp_path)
    text = text_of(page)
    assert "1 dispatch of 2 (probe) should not be launched like this; the first is" in text
    first = page.index('class="rest dispatch" open')
    assert page.index("not as expected:", first) < page.index("</summary>", first)


@pytest.mark.parametrize(("copies", "kinds"), [(1, "2 dispatches"), (200, "201 dispatches")])
def test_equal_dispatches_are_one_line(copies: int, kinds: str, tmp_path: Path) -> None:
    made = small_capture()
    again = call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (32, 1, 1), stack=(0x110, 0x200))
    place = made.calls.index(again)
    made.calls[place:place] = [again] * copies
    page = page_of(made, tmp_path)
    assert page.count('class="rest dispatch"') == 1
    assert f", {copies + 1} alike" in page
    assert kinds in text_of(page)
