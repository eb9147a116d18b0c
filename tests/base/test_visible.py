"""Text that comes from outside has no effect of its own where it is shown."""

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.streams import guarded, on_one_line, visible


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain µ ✓ 表", "plain µ ✓ 表"),  # letters stay
        ("a\x00b\x1b]0;x\x07c", r"a\u0000b\u001b]0;x\u0007c"),  # controls
        ("a\x9b31m\x7f", r"a\u009b31m\u007f"),  # controls of eight bits
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),  # line separators
        ("user\u202egnp.exe\u061c", r"user\u202egnp.exe\u061c"),  # text direction
        ("a\u2060b\u2066c\u2069", r"a\u2060b\u2066c\u2069"),  # isolated text
        ("a\ud800b", r"a\ud800b"),  # half a character
        ("a\ufeffb\u200bc", r"a\ufeffb\u200bc"),  # no width
        ("one\ntwo\tthree", "one\ntwo\tthree"),  # lines and tabs stay
        ("over\rwritten", r"over\u000dwritten"),  # a return
    ],
)
def test_what_cannot_be_seen_is_written_out(raw: str, seen: str) -> None:
    assert visible(raw) == seen
    assert on_one_line(raw) == seen.replace("\n", r"\n").replace("\t", r"\t")


@given(st.dictionaries(st.text(), st.text()))
def test_a_json_document_keeps_its_values(document: dict[str, str]) -> None:
    shown = visible(json.dumps(document, ensure_ascii=False))
    assert json.loads(shown) == document
    assert visible(shown) == shown


def test_a_letter_that_a_terminal_lacks_is_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    terminal = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr("sys.stdout", terminal)
    with guarded():
        sys.stdout.write("µs\n")
        sys.stdout.flush()
    assert written.getvalue() == b"?s\n"
