"""Tables that are kept beside results."""

from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.fleet.batch.results import forget_tables, wanted_tables


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("none", ()),
        ("", ()),
        ("all", ("all",)),
        ("steps, gpu_intervals,steps", ("gpu_intervals", "steps")),
    ],
)
def test_a_list_of_tables_is_understood(words: str, wanted: tuple[str, ...]) -> None:
    assert wanted_tables(words) == wanted


def test_a_table_that_there_cannot_be_is_refused_with_what_is_near() -> None:
    with pytest.raises(UsageError, match="There is no table 'gpu_interval'") as raised:
        wanted_tables("steps,gpu_interval")
    assert "gpu_intervals" in raised.value.hint
    with pytest.raises(UsageError) as raised:
        wanted_tables("xyzzy")
    assert raised.value.hint == "Use all, none or names of tables."


def test_only_tables_of_that_recording_that_were_not_kept_again_are_removed(tmp_path: Path) -> None:
    for name in ("steps/k.parquet", "gaps/k.parquet", "gaps/k-2.parquet"):
        (tmp_path / "tables" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tables" / name).write_text("")
    forget_tables(tmp_path, "k", ("steps",))
    left = sorted(str(one.relative_to(tmp_path / "tables")) for one in tmp_path.rglob("*.parquet"))
    assert left == ["gaps/k-2.parquet", "steps/k.parquet"]
    forget_tables(tmp_path / "nowhere", "k")
