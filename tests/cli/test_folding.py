"""Which columns give way where a terminal is narrow."""

from hypothesis import given
from hypothesis import strategies as st

from tracekit.cli.console import rigid


def test_what_fits_keeps_its_width() -> None:
    assert rigid(("a", "b"), [("x" * 30, "y" * 48)], 80) == [True, True]


def test_the_widest_give_way_and_the_narrow_do_not() -> None:
    columns = ("outcome", "what", "why")
    rows = [("inconclusive", "gemm step_p50", "so uncertain " * 20)]
    assert rigid(columns, rows, 80) == [True, True, False]
    assert rigid(columns, rows, 24) == [False, False, False]


def test_wide_characters_count_twice() -> None:
    assert rigid(("a",), [("漢" * 30,)], 59) == [False]
    assert rigid(("a",), [("漢" * 30,)], 60) == [True]


def test_a_table_without_rows_or_columns_has_heads_alone() -> None:
    assert rigid(("night", "outcome"), [], 80) == [True, True]
    assert rigid((), [], 80) == []


cells = st.lists(st.text("ab", max_size=90), min_size=3, max_size=3)


@given(st.lists(cells, min_size=1, max_size=5), st.integers(1, 200))
def test_what_is_kept_is_never_wider_than_what_gives_way(rows: list[list[str]], width: int) -> None:
    kept = rigid(("", "", ""), rows, width)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    stiff = [one for one, keeps in zip(widths, kept, strict=True) if keeps]
    given_way = [one for one, keeps in zip(widths, kept, strict=True) if not keeps]
    assert max(stiff, default=0) <= min(given_way, default=200)
    assert sum(stiff) <= max(width, 0)
