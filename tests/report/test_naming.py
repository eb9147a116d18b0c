import pandas as pd
import pytest

from tracekit.report.naming import families, family, flat, heading


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
    assert family(label) == name


def test_families_are_counted_from_nought_and_nulls_have_one() -> None:
    labels = pd.Series(["a  0x1", None, "b", "a  0x2"], index=[4, 3, 2, 1], dtype="string")
    codes, texts = families(labels)
    assert texts == ("a", "unlabelled", "b")
    assert codes.tolist() == [0, 1, 2, 0]
    assert codes.index.tolist() == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpu_idle_ratio", "GPU idle ratio"),
        ("host_cpu", "Host CPU"),
        ("tokens_per_second", "Tokens per second"),
        ("", ""),
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
