"""Functions get the tables that they name."""

from collections.abc import Iterator

import pandas as pd
import pytest

from tracekit.analysis.inject import ON_THE_CPU, Unavailable, absence, inject, thresholds
from tracekit.base.errors import InputError, UsageError

A = pd.DataFrame({"start": [1]})
B = pd.DataFrame({"start": [2]})


def both(a: pd.DataFrame, b: pd.DataFrame | None, *, limit: float = 0.5) -> Iterator[object]:
    yield a
    yield b
    yield limit


def test_tables_come_by_name_and_what_may_be_missing_is_none() -> None:
    first, second, limit = inject(both, {"a": A, "b": B}, {"limit": 0.1})
    assert (first is A, second is B, limit) == (True, True, 0.1)
    _, second, limit = inject(both, {"a": A})
    assert (second, limit) == (None, 0.5)
    assert thresholds(both) == {"limit": 0.5}


def test_a_table_that_must_be_there_makes_it_unavailable() -> None:
    with pytest.raises(Unavailable, match="no table a, which comes from nowhere"):
        inject(both, {"b": B})


def test_a_missing_table_is_said_in_words_of_who_would_have_made_it() -> None:
    assert "program tells nothing of the kind" in absence("steps", {})
    assert absence("gpu_intervals", {}).endswith("which comes from metal-gpu-intervals.")


def test_what_only_a_gpu_has_is_not_missed_in_a_recording_of_a_cpu() -> None:
    on_a_cpu = {"gpu_intervals": pd.DataFrame({"clock": ["host"]})}
    assert absence("driver_events", on_a_cpu) == ON_THE_CPU
    assert absence("cpu_profile", on_a_cpu).endswith("which comes from time-profile.")
    assert "no table driver_events" in absence(
        "driver_events", {"gpu_intervals": pd.DataFrame({"clock": ["gpu"]})}
    )


def test_an_unknown_threshold_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no threshold 'most'") as error:
        inject(both, {"a": A}, {"most": 1})
    assert error.value.hint == "There are: limit."


class Unreadable(dict[str, pd.DataFrame]):
    """Tables of which one cannot be read."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name == "a":
            raise InputError("a.xml holds 2 tables.")
        return super().__getitem__(name)


def test_a_table_that_cannot_be_read_makes_it_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"a\.xml holds 2 tables\."):
        inject(both, Unreadable(a=A, b=B))
