"""Workloads of one's own: whatever `tracekit list workloads` lists, `--workload` takes."""

import re
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error

pytestmark = pytest.mark.processes

STEP = "Step(submit=lambda: None, wait=lambda _: None, backend='cpu')"
HEAD = "from tracekit.workload import Step, workload\n"
TWO = f'''{HEAD}from theirs import borrowed

@workload
def attn(size: int = 8) -> Step:
    """Attend."""
    return {STEP}

@workload
def soft_max() -> Step:
    """Normalize."""
    return {STEP}
'''
ONE = f'{HEAD}\n@workload\ndef borrowed() -> Step:\n    """Serve two files."""\n    return {STEP}\n'
HOST = ("--recorder", "host", "--time-limit", "100ms", "--warmup", "0")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "softmax_gemm.py").write_text(TWO)
    (mine / "theirs.py").write_text(ONE)
    (mine / "training.py").write_text("raise SystemExit('this takes a week')\n")
    monkeypatch.chdir(mine)
    monkeypatch.syspath_prepend(str(mine))
    monkeypatch.setenv("PYTHONPATH", str(mine))
    monkeypatch.setenv("PYTHONPATH", str(mine))
    return mine


@pytest.mark.parametrize(
    ("name", "options"),
    [("attn", ("--size", "4")), ("soft-max", ()), ("soft_max", ()), ("borrowed", ())],
)
def test_a_workload_is_recorded_by_the_name_that_is_listed(
    name: str, options: tuple[str, ...], mine: Path, tracekit: Any
) -> None:
    listed = tracekit("list", "workloads", "--workloads", ".")
    names = [line.partition("\t")[0] for line in listed.out.splitlines()]
    assert names.count(name.replace("_", "-")) == 1
    assert listed.err == ""
    arguments = ("--workload", name, "--workloads", ".", *options)
    result = tracekit("record", *arguments, *HOST, "--output", mine / "run")
    assert result.code == 0, result.err
    document_text = (mine / "run" / "workload.json").read_text()
    assert f'"workload": "{name.replace("_", "-")}"' in document_text


def test_the_name_of_a_file_leads_to_the_names_of_its_workloads(mine: Path, tracekit: Any) -> None:
    result = tracekit("capture", "--workload", "softmax-gemm", "--workloads", ".")
    assert_error(
        result, 2, "no workload 'softmax-gemm'", "The file of that name has: attn, soft-max."
    )


def test_the_hint_for_a_file_without_a_workload_helps(mine: Path, tracekit: Any) -> None:
    (mine / "plain.py").write_text(
        f"from tracekit.workload import Step\ndef plain():\n    {STEP}\n"
    )
    result = tracekit("capture", "--workload", "plain", "--workloads", ".")
    assert_error(result, 3, "plain.py has no function marked @workload")
    [line] = re.findall(r"Write `(.*?)`", " ".join(result.err.split()))
    (mine / "plain.py").write_text(f"{line}\n@workload\ndef plain():\n    return {STEP}\n")
    arguments = ("--workload", "plain", "--workloads", ".", "--output", mine / "run")
    assert tracekit("record", *arguments, *HOST).code == 0


def test_of_a_name_that_two_files_have_that_of_the_file_called_like_it_counts(
    mine: Path, tracekit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (mine / "attn.py").write_text(ONE.replace("borrowed", "attn"))
    assert "attn\tServe two files." in tracekit("list", "workloads", "--workloads", ".").out
    assert "attn is in attn.py and in softmax_gemm.py; that of attn.py counts" in caplog.text
    described = tracekit("capture", "--workloads", ".", "--workload", "attn", "--help").out
    assert "Serve two files." in described
