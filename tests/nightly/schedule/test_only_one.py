"""One night at a time: who holds the locks, and that death frees them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.running import LOCK, only_one, runs_in

HOLD = """
import sys, time
from pathlib import Path
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.running import only_one
output = Path(sys.argv[1])
plan = NightPlan("theirs", output / "tracekit.toml", (), output, "")
with only_one(plan):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def another(output: Path) -> Iterator[subprocess.Popen[str]]:
    argv = (sys.executable, "-c", HOLD, str(output))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.processes
def test_a_second_night_is_refused_with_the_name_of_the_first_until_that_is_dead(
    plan: NightPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = replace(plan, output=tmp_path / "elsewhere")
    with another(plan.output) as other:
        with pytest.raises(ToolError, match="Another night runs") as caught, only_one(plan):
            pytest.fail("two nights at once")
        assert re.search(
            rf"theirs \({plan.output}/tracekit.toml\), since \d{{4}}-\d\d-\d\d "
            rf"\d\d:\d\d:\d\d, in process {other.pid}\.$",
            caught.value.message,
        )
        assert f"`kill -TERM {other.pid}`" in caught.value.hint
        with pytest.raises(ToolError, match="on this machine"), only_one(elsewhere):
            pytest.fail("two nights at once")
        with monkeypatch.context() as patch:
            patch.setenv("TRACEKIT_CACHE", str(tmp_path / "notes"))
            with pytest.raises(ToolError, match="Another night runs here"), only_one(plan):
                pytest.fail("two nights at once")
        for file in (plan.output / LOCK, *Path(os.environ["TRACEKIT_CACHE"]).glob("night-on-*")):
            file.write_text("{")
        with (
            pytest.raises(ToolError, match=r"Another night runs on this machine\.$"),
            only_one(plan),
        ):
            pytest.fail("two nights at once")
        assert runs_in(plan.output)
        other.kill()
        other.wait()
        assert not runs_in(plan.output)
    with only_one(plan):
        assert runs_in(plan.output)


def test_what_is_given_back_leaves_no_note(plan: NightPlan) -> None:
    for _ in range(2):
        with suppress(ZeroDivisionError), only_one(plan):
            assert str(os.getpid()) in (plan.output / LOCK).read_text()
            raise ZeroDivisionError
    assert (plan.output / LOCK).read_bytes() == b""
    assert not runs_in(plan.output)


def test_a_lock_that_is_a_link_is_not_followed(plan: NightPlan, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    plan.output.mkdir(parents=True)
    (plan.output / LOCK).symlink_to(victim)
    with pytest.raises(RecordingError, match="cannot be opened"), only_one(plan):
        pytest.fail("a link was followed")
    assert victim.read_text() == "precious"
    assert not runs_in(plan.output)


def test_looking_makes_nothing(tmp_path: Path) -> None:
    assert not runs_in(tmp_path / "nowhere")
    assert [*tmp_path.iterdir()] == []
