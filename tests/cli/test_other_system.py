"""Every command on a system without fcntl, pwd, resource, process groups and most signals."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import other_system
from command_line import join_stderr
from every_command import LINES, World, copy_world

pytestmark = pytest.mark.processes
# What measures needs processes that are kept apart and ended.
REFUSED = {"capture", "record", "bench ab", "batch", "nightly install"}
# What they print tells of the machine, of now, or of the process.
VARYING = {
    *("bench chip", "bench run", "bench sweep", "bench tune", "doctor", "open", "nightly status"),
}


def there(folder: Path, *lines: list[str]) -> list[Any]:
    """Run command lines on the other system, one after the other; return how each ended."""
    done = subprocess.run(
        [sys.executable, other_system.__file__],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )
    return [type("Ran", (), fields) for fields in json.loads(done.stdout)]


def test_every_reading_command_works_on_another_system(
    made: World, tmp_path: Path, tracekit: Any, subtests: pytest.Subtests
) -> None:
    mine, theirs = copy_world(made, tmp_path / "mine"), copy_world(made, tmp_path / "theirs")
    names = [name for name in LINES if name not in REFUSED]
    remote_results = dict(zip(names, there(tmp_path, *map(theirs.words, names)), strict=True))
    for name in names:
        here, remote_result = tracekit(*mine.words(name)), remote_results[name]
        with subtests.test(name):
            assert (remote_result.code, "Traceback" in remote_result.err) == (here.code, False), (
                remote_result.err
            )
            if name.split(",")[0] not in VARYING:
                text = here.out.replace(str(mine.folder), str(theirs.folder))
                assert _leave_out_sizes(remote_result.out) == _leave_out_sizes(text)
    file_contents = [
        sorted(
            str(path.relative_to(world.output_folder)) for path in world.output_folder.rglob("*")
        )
        for world in (mine, theirs)
    ]
    assert file_contents[0] == file_contents[1]


def _leave_out_sizes(text: str) -> str:
    """Return a text without sizes: runs hold notes once their files are some seconds old."""
    return re.sub(r"[\d.,]+ KiB", "… KiB", text)


def test_measuring_is_refused_on_another_system(
    made: World, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    world = copy_world(made, tmp_path / "world")
    plan = str(world.places()["PLAN"])
    lines = {
        "capture": world.words("capture"),
        "record": world.words("record"),
        "batch": world.words("batch"),
        "bench ab": ["bench", "ab", "paged", "batch=1", "--", "batch=2"],
        "nightly run": ["nightly", "run", plan],
        "nightly install": ["nightly", "install", plan, "--at", "02:30"],
    }
    for name, result in zip(lines, there(tmp_path, *lines.values()), strict=True):
        with subtests.test(name):
            assert result.code == 3, result.err
            assert "which this system (linux) does not have" in join_stderr(result), result.err
            assert "hint: Do it on macOS or Linux" in join_stderr(result)
            assert "Traceback" not in result.err
    assert list(world.output_folder.iterdir()) == [], "nothing is left of it"


def test_the_version_is_printed(tmp_path: Path) -> None:
    version, help_ = there(tmp_path, ["--version"], ["--help"])
    assert (version.code, version.out.split()[0], help_.code) == (0, "tracekit", 0)


@pytest.mark.corpus
def test_a_real_bundle_is_read(corpus: Path, tmp_path: Path, tracekit: Any) -> None:
    bundles = [path for path in sorted(corpus.rglob("*.trace")) if path.is_dir()]
    words = ["tables", str(min(bundles, key=lambda path: sum(1 for _ in path.rglob("*"))))]
    (listed,) = there(tmp_path, words)
    here = tracekit(*words)
    assert (listed.code, listed.out) == (here.code, here.out), listed.err
