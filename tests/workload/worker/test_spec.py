from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.workload.worker.spec import Spec

FILES = {"file": Path("naps.py"), "name": "naps", "journal": Path("x"), "report": Path("y")}


def test_it_is_saved_and_read_back(tmp_path: Path) -> None:
    given = {"parameters": {"batch": 4, "dtype": "float16"}, "go_file": tmp_path / "go"}
    spec = Spec(**FILES, **given, repeats=7, seconds=1.5, measure_overhead=True, lifeline=True)
    spec.save(tmp_path / "worker.json")
    assert Spec.load(tmp_path / "worker.json") == spec


@pytest.mark.parametrize(
    ("steps", "seconds"), [(0, 1.0), (10, 1.0), (20, 1.1), (100, 5.5), (110, 6.0), (1000, 6.0)]
)
def test_wanted_steps_prolong_a_steady_phase_up_to_six_times(steps: int, seconds: float) -> None:
    spec = Spec(**FILES, seconds=1.0, steps=steps)
    assert spec.steady(50_000_000) == round(seconds * 1e9)


@pytest.mark.parametrize("text", ["", "[]", '{"name": "naps"}', "\x00"])
def test_what_is_no_spec_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "worker.json").write_text(text)
    with pytest.raises(InputError, match="does not tell a worker what to do"):
        Spec.load(tmp_path / "worker.json")
