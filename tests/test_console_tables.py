"""The list of a run's tables stays readable."""

import pandas as pd
import pytest

from tracekit.console import show_tables


def test_a_table_with_very_many_columns_is_listed_with_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wide = pd.DataFrame({f"Counter {number}": [1.5] for number in range(90)})
    show_tables([("narrow", pd.DataFrame({"start": [1], "end": [2]})), ("wide", wide)])
    printed = " ".join(capsys.readouterr().out.split())
    assert "start, end" in printed
    assert "Counter 0, Counter 1," in printed
    assert "Counter 89" not in printed
    assert "…" in printed


def test_what_a_table_lacks_is_said_in_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    show_tables([("gpu_states", "two exports of it")])
    assert "two exports of it" in capsys.readouterr().out
