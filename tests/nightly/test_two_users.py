"""Two nights on a machine at once, of users who share nothing but the machine."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error
from real_nights import repository

pytestmark = pytest.mark.processes
Run = Callable[..., Any]


def test_a_user_with_another_home_waits_for_a_night(
    tmp_path: Path, tracekit: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TRACEKIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    first_repository, second = (repository(tmp_path / name) for name in ("first", "second"))
    first_repository.plan('parameters = { seconds = 0.05 }\npairs = 500\nturn = "1s"')
    first_repository = replace(
        first_repository,
        environment={**os.environ, **first_repository.environment, "HOME": str(tmp_path)},
    )
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    with first_repository.start() as night:
        try:
            first_repository.await_night(pairs=0)
            result = tracekit("nightly", "run", second.top / "tracekit.toml")
            assert_error(
                result, 3, "Another night runs on this machine", f"process {night.pid}, since 20"
            )
            assert second.documents() == [], "nothing was measured"
        finally:
            night.terminate()
            night.communicate(timeout=60)
    assert tracekit("nightly", "run", second.top / "tracekit.toml").code == 4, "it is free again"
