"""A plan's file, read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan

Plan = Callable[[str], NightPlan]
Refused = Callable[..., UsageError]


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """Where a plan's text is written."""
    folder = tmp_path / "paged nights"
    folder.mkdir()
    return folder / "tracekit.toml"


@pytest.fixture
def plan_of(plan_file: Path) -> Plan:
    """Read the plan that a text says."""

    def read(text: str) -> NightPlan:
        plan_file.write_text(text, encoding="utf-8")
        return read_plan(plan_file)

    return read


@pytest.fixture
def refused(plan_file: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Return the error of a text that says no plan; messages name the file in short."""
    monkeypatch.chdir(plan_file.parent)

    def read(text: str | bytes) -> UsageError:
        plan_file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(UsageError) as refusal:
            read_plan(plan_file)
        assert refusal.value.exit_code == 2
        return refusal.value

    return read
