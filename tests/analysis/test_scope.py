"""Whose rows count, and the families of their labels."""

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.scope import Recorded, families, own_rows


@pytest.mark.parametrize(
    ("label", "name"),
    [
        (
            "Command Buffer 0:Compute Command 0      ( probe (37931) )  0xf269bad2",
            "Command Buffer 0:Compute Command 0",
        ),
        ("metal.gl:metal.gl      ( Firefox GPU Helper (63961) )  0xf269c3a9", "metal.gl:metal.gl"),
        ("      ( WindowServer (420) )  0xf169adeb", "unlabelled"),
        ("Render 81   ( Discord Helper (GPU) (6857) )  0xf169afd6", "Render 81"),
        ("paged_decode (f16)", "paged_decode (f16)"),
        ("copy 0x10", "copy"),
        ("", "unlabelled"),
    ],
)
def test_equal_work_has_an_equal_name(label: str, name: str) -> None:
    assert families(pd.Series([label]))[1] == (name,)


def test_families_are_counted_from_zero_and_nulls_have_one() -> None:
    labels = pd.Series(["a  0x1", None, "b", "a  0x2"], index=[4, 3, 2, 1], dtype="string")
    codes, texts = families(labels)
    assert texts == ("a", "unlabelled", "b")
    assert codes.tolist() == [0, 1, 2, 0]
    assert codes.index.tolist() == [4, 3, 2, 1]


_INSTANCE = re.compile(r"\s+0x[0-9a-fA-F]+\s*$")
_ASKER = re.compile(r"\s*\( .* \)\s*$")
pieces = st.sampled_from(
    [
        *("copy", "µ", " ( a (4) )", "(", ")", " ( ", " ) ", "  0x1f", "0x", " 0xg"),
        *" \t\n\v\x1c\x85\N{NO-BREAK SPACE}\N{EN QUAD}\N{LINE SEPARATOR}\N{ZERO WIDTH SPACE}",
    ]
)
written = st.lists(pieces, max_size=7).map("".join)


@given(st.lists(written, max_size=6))
def test_families_are_what_one_label_after_the_other_says(labels: list[str]) -> None:
    codes, texts = families(pd.Series(labels, dtype="string"))
    named = [_ASKER.sub("", _INSTANCE.sub("", one)).strip() or "unlabelled" for one in labels]
    assert [texts[code] for code in codes] == named
    assert len(set(texts)) == len(texts)


def test_many_labels_of_their_own_have_few_families() -> None:
    labels = pd.Series([f"kernel {i % 3}   ( probe (7) )  0x{i:x}" for i in range(5000)])
    codes, texts = families(labels)
    assert texts == ("kernel 0", "kernel 1", "kernel 2")
    assert codes.tolist() == [i % 3 for i in range(5000)]


def test_the_rows_of_a_recorded_table_are_picked_once_and_cannot_be_spoilt() -> None:
    frame = Recorded({"start": [1, 2, 3], "target": [True, False, True]})
    assert frame.own is frame.own
    first = own_rows(frame)
    first["start"] = 0
    assert own_rows(frame)["start"].tolist() == [1, 3]
    assert type(own_rows(frame)) is type(frame[frame["start"] > 1]) is pd.DataFrame
