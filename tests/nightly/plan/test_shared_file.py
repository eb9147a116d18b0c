"""The same plan in a file of its own and in the project's."""

import dataclasses
import re
from pathlib import Path

from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan

PLAN = """\
[nightly]
name = "paged"
output = "nights"
[nightly.defaults]
pairs = 12
[[nightly.capture]]
workload = "paged"
reference.revision = "main"
[nightly.capture.metrics]
step_p50 = 0.05
[[nightly.capture]]
workload = "sdpa"
"""


def read_as(name: str, folder: Path) -> NightPlan:
    shared = re.sub(r"(\[+)nightly", r"\1tool.tracekit.nightly", PLAN)
    text = f"[project]\nname = 'x'\n{shared}[tool.other]\na = 1\n" if name[0] == "p" else PLAN
    (folder / name).write_text(text)
    return read_plan(folder / name)


def test_a_plan_is_the_same_in_either_file(tmp_path: Path) -> None:
    own, shared = (read_as(name, tmp_path) for name in ("tracekit.toml", "pyproject.toml"))
    assert own.file != shared.file
    assert own == dataclasses.replace(shared, file=own.file)
    assert own.digest == shared.digest
    assert [one.pairs for one in own.captures] == [12, 12]


def test_what_others_keep_in_the_shared_file_is_none_of_our_business(tmp_path: Path) -> None:
    plan = read_as("pyproject.toml", tmp_path)
    assert [one.name for one in plan.captures] == ["paged", "sdpa"]
