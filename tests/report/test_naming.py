import pytest

from tracekit.report.text import flat, heading


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpu_idle_ratio", "GPU idle ratio"),
        ("alu_utilization", "ALU utilization"),
        ("host_cpu", "Host CPU"),
        ("tokens_per_second", "Tokens per second"),
        ("", ""),
        ("pp512_tokens_per_second", "pp512 tokens per second"),
        ("e2e_p50", "E2E p50"),
    ],
)
def test_a_metric_has_a_heading(name: str, words: str) -> None:
    assert heading(name) == words


def test_nested_values_become_lines() -> None:
    values = {"chip": "M1", "mlx": {"version": "0.32", "devices": ["cpu", "gpu"]}, "os_build": None}
    assert list(flat(values)) == [
        ("chip", "M1"),
        ("mlx version", "0.32"),
        ("mlx devices", "cpu, gpu"),
        ("os build", "not available"),
    ]
