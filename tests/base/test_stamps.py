"""Stamps of files."""

from dataclasses import replace

import pytest

from tracekit.base.stamps import Stamp, lasting


@pytest.mark.parametrize("part", ["modified", "changed"])
def test_a_stamp_lasts_from_two_seconds_on(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    current_time = 10_000_000_000
    monkeypatch.setattr("tracekit.base.stamps.time.time_ns", lambda: current_time)
    old = replace(Stamp(1, 0, 0, 7), **{part: current_time - 2_000_000_000})
    assert lasting(old) == old
    assert lasting(replace(old, **{part: current_time - 1_999_999_999})) is None
