"""Stretches of shaders find the shader that ran."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Values = Callable[[pd.DataFrame, str], list[Any]]


def shader(name: str, number: int, begin: int, end: int, **more: Any) -> dict[str, Any]:
    known = {"name": name, "shader": number, "pc_start": begin, "pc_end": end, "pid": 7}
    return {"time": 0, "pipeline": "p", "kind": "Compute", **known, **more}


SHADERS = [shader("gemm", 1, 100, 200), shader("attention", 2, 200, 300)]


def stretch(name: str, **more: Any) -> dict[str, Any]:
    return {"start": 1, "duration": 2, "name": name, "pipeline": "p", "kind": "Compute", **more}


def test_a_stretch_finds_its_shader_by_what_both_tables_name(
    joined: Joined, values: Values
) -> None:
    stretches = [
        stretch("attention", pid=7, share=12.5),
        stretch("gemm", pid=8),
        stretch("gemm", pid=7),
    ]
    runs, warnings = joined("shader_runs", shader_profiler_intervals=stretches, shaders=SHADERS)
    assert values(runs, "shader") == [2, None, 1]
    assert values(runs, "pc_start") == [200, None, 100]
    assert values(runs, "share") == [12.5, None, None]
    assert warnings == []


@pytest.mark.parametrize(
    ("pc", "expected"),
    [(99, None), (100, 1), (199, 1), (200, 2), (299, 2), (300, None), (None, None), (0, None)],
)
def test_an_instruction_belongs_to_the_code_that_holds_it(
    pc: int | None, expected: int | None, joined: Joined, values: Values
) -> None:
    seen = [{"start": 1, "duration": 2, "pc": pc}]
    runs, _ = joined("shader_pc_runs", shader_pc_intervals=seen, shaders=SHADERS)
    assert values(runs, "shader") == [expected]
    assert values(runs, "pid") == [None if expected is None else 7]


def test_code_that_two_shaders_share_belongs_to_none(joined: Joined, values: Values) -> None:
    nested = [*SHADERS, shader("inlined", 3, 120, 130), shader("copy", 4, 100, 110)]
    seen = [{"start": 1, "duration": 2, "pc": pc} for pc in (105, 115, 125, 150, 250)]
    runs, warnings = joined("shader_pc_runs", shader_pc_intervals=seen, shaders=nested)
    assert values(runs, "shader") == [None, 1, None, 1, 2]
    assert warnings == [
        "shader_pc_runs: 2 instructions have several rows in shaders, and take none of them"
    ]
