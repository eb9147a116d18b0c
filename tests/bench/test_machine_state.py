"""What it costs to look at the machine."""

import pytest

import machine_state


def test_a_run_prints_both_costs(capsys: pytest.CaptureFixture[str]) -> None:
    machine_state.main(["--looks=1", "--seconds=0.05"])
    monitor, readable, look, between = capsys.readouterr().out.splitlines()
    assert monitor.startswith("monitor")
    assert "memory_free" in readable
    assert look.startswith("a look")
    assert look.endswith("of CPU time")
    assert "of one core" in between
