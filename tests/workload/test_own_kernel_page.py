"""The page "trace your own kernel": its file is verified and recorded as written there."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "trace-your-own-kernel.md"
MATH = "float(up[i])"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The folder of the page, with its file."""
    (code,) = re.findall(r"```python\n# mine/swiglu\.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "swiglu.py").write_text(code)
    return folder


@pytest.mark.emulator
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
@pytest.mark.usefixtures("compiled_kernels")
def test_its_kernel_is_right_and_a_mistake_in_it_is_found(
    tracekit: Callable[..., Any], mine: Path
) -> None:
    done = tracekit("verify-kernel", mine / "swiglu.py")
    assert done.code == 0, done.out + done.err
    said, shown = (
        re.findall(r"^swiglu-check [^:\n]*", text, re.MULTILINE)
        for text in (done.out, PAGE.read_text())
    )
    assert said == shown
    file = mine / "swiglu.py"
    text = file.read_text()
    assert text.count(MATH) == 1
    file.write_text(text.replace(MATH, "float(up[i + 1])"))
    done = tracekit("verify-kernel", file, "--dtype", "float32", "--rows", "1")
    assert done.code == 1
    assert "access of 4 bytes at offset 400 of buffer 'up' (400 bytes)" in done.out


@pytest.mark.processes
def test_it_is_recorded_as_a_workload(
    tracekit: Callable[..., Any], mine: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    sizes = "--rows 2 --width 64 --dtype float32 --warmup 2 --repeats 5".split()
    done = tracekit("capture", "--workloads", mine, "--workload", "swiglu", *sizes, "--output", run)
    assert done.code == 0, done.err
    result = json.loads((run / "result.json").read_text())
    known = {found["name"]: found["value"] for found in result["metrics"] + result["results"]}
    assert 0 <= known["max_error"] < 1e-5
    assert known["memory_bandwidth"] > 0
    assert known["mlx_memory_peak"] > 0
