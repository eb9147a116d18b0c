import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.report.text import LONGEST, continued, first_sentence, line, sentence


def test_a_line_is_one_line_and_not_endless() -> None:
    assert line("  a \n\t b  ") == "a b"
    assert line("x" * LONGEST) == "x" * LONGEST
    assert line("x" * 10_000) == "x" * (LONGEST - 1) + "…"


@given(st.text())
def test_a_line_can_be_written_and_read_back_whatever_it_was(text: str) -> None:
    shown = line(text)
    assert shown.encode().decode() == shown
    assert len(shown) <= LONGEST
    assert "\n" not in shown
    assert line(shown) == shown


@pytest.mark.parametrize(
    ("raw", "whole"),
    [("it was not measured", "It was not measured."), ("Why?", "Why?"), ("", ""), ("A.", "A.")],
)
def test_a_sentence_has_a_capital_and_a_full_stop(raw: str, whole: str) -> None:
    assert sentence(raw) == whole


@pytest.mark.parametrize(
    ("raw", "after"),
    [
        ("The GPU was idle.", "the GPU was idle."),
        ("GPU time is lost.", "GPU time is lost."),
        ("2 pipelines are new.", "2 pipelines are new."),
        ("Discord's rows", "Discord's rows"),
        ("", ""),
    ],
)
def test_after_a_colon_a_sentence_begins_small_but_not_a_name(raw: str, after: str) -> None:
    assert continued(raw) == after


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Idle for 3.5 ms. By cause: driver.", "Idle for 3.5 ms."),
        ("It ran 2 s. 3 things: a. B c.", "It ran 2 s. 3 things: a."),
        ("One sentence", "One sentence"),
        ("", ""),
    ],
)
def test_a_text_is_cut_behind_its_first_sentence(text: str, first: str) -> None:
    assert first_sentence(text) == first
