"""Stretches of shaders find the shader that ran."""

from collections.abc import Callable

import pandas as pd

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Holds = Callable[[pd.DataFrame, str], bool]

SHADERS = """time name shader pc_start pc_end pid pipeline kind
    0 gemm 1 100 200 7 p Compute
    0 attention 2 200 300 7 p Compute"""


def test_a_stretch_finds_its_shader_by_what_both_tables_name(joined: Joined, holds: Holds) -> None:
    stretches = """start duration name pipeline kind pid share
        1 2 attention p Compute 7 12.5
        1 2 gemm p Compute 8 -
        1 2 gemm p Compute 7 -"""
    runs, warnings = joined("shader_runs", shader_profiler_intervals=stretches, shaders=SHADERS)
    assert holds(runs, "shader pc_start share\n2 200 12.5\n- - -\n1 100 -")
    assert warnings == []


def seen(*counters: str) -> str:
    return "start duration pc\n" + "\n".join(f"1 2 {pc}" for pc in counters)


def test_an_instruction_belongs_to_the_code_that_holds_it(joined: Joined, holds: Holds) -> None:
    counters = seen("99", "100", "199", "200", "299", "300", "-", "0")
    runs, _ = joined("shader_pc_runs", shader_pc_intervals=counters, shaders=SHADERS)
    assert holds(runs, "shader pid\n- -\n1 7\n1 7\n2 7\n2 7\n- -\n- -\n- -")


def test_code_that_two_shaders_share_belongs_to_none(joined: Joined, holds: Holds) -> None:
    nested = f"{SHADERS}\n0 inlined 3 120 130 7 p Compute\n0 copy 4 100 110 7 p Compute"
    counters = seen("105", "115", "125", "150", "250")
    runs, warnings = joined("shader_pc_runs", shader_pc_intervals=counters, shaders=nested)
    assert holds(runs, "shader\n-\n1\n-\n1\n2")
    assert warnings == [
        "shader_pc_runs: 2 instructions have several rows in shaders, and take none of them"
    ]
