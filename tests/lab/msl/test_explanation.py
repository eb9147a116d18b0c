"""What the page on kernels on a CPU shows is what happens."""

import re
from pathlib import Path

import pytest

from small_kernels import needs_compiler

pytestmark = pytest.mark.emulator

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "metal-on-a-cpu.md"


@needs_compiler
@pytest.mark.usefixtures("compiled_kernels")
def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(example, {})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "array([0, 2, 4" in printed
    assert "'x': Traffic(loaded=32, stored=0, touched=32" in printed
