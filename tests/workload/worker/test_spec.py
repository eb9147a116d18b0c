from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.workload.worker.spec import Spec

FILES: dict[str, Any] = {
    "file": Path("naps.py"),
    "name": "naps",
    "journal": Path("workload.jsonl"),
    "report": Path("workload.json"),
}


def test_it_is_saved_and_read_back(tmp_path: Path) -> None:
    spec = Spec(
        **FILES,
        parameters={"batch": 4, "dtype": "float16"},
        repeats=7,
        seconds=1.5,
        measure_overhead=True,
        go_file=tmp_path / "go",
        lifeline=True,
    )
    spec.save(tmp_path / "worker.json")
    assert Spec.load(tmp_path / "worker.json") == spec


@pytest.mark.parametrize(
    ("steps", "seconds"), [(0, 1.0), (10, 1.0), (20, 1.1), (100, 5.5), (110, 6.0), (1000, 6.0)]
)
def test_wanted_steps_prolong_a_steady_phase_up_to_six_times(steps: int, seconds: float) -> None:
    spec = Spec(**FILES, seconds=1.0, steps=steps)
    assert spec.steady(50_000_000) == round(seconds * 1e9)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        pytest.param({}, "A workload needs an end", id="endless"),
        pytest.param({"repeats": 0}, "--repeats must be at least 1", id="no steps"),
        pytest.param({"seconds": 0}, "--time-limit must be more than 0 s; it is 0 s", id="0 s"),
        pytest.param({"seconds": float("inf")}, "it is inf s", id="for ever"),
        pytest.param({"seconds": float("nan")}, "it is nan s", id="no number"),
        pytest.param({"repeats": 1, "warmup": -1}, "--warmup must be at least 0", id="warm-up"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Spec(**FILES, **values)


@pytest.mark.parametrize("text", ["", "[]", '{"name": "naps"}', "\x00"])
def test_what_is_no_spec_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "worker.json").write_text(text)
    with pytest.raises(InputError, match="does not tell a worker what to do"):
        Spec.load(tmp_path / "worker.json")
