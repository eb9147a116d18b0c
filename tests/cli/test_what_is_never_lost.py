"""No command loses what a user has, or adds to what is whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from every_command import World, copied, make_world

Run = Callable[..., Any]
Places = dict[str, Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Small inputs of each kind, and a folder of a user's own files."""
    world = make_world(tmp_path_factory.mktemp("world"))
    mine = places_in(world)["MINE"]
    mine.mkdir()
    for name in ("tick.csv", "index.html", "out.frames.parquet", "out.csv", "plan.toml"):
        (mine / name).write_text("mine\n1\n")
    return world


def places_in(world: World) -> Places:
    known = world.places()
    return known | {"B": known["BUNDLE"], "X": known["EXPORTS"], "MINE": known["FOLDER"] / "mine"}


@pytest.fixture
def places(made: World, tmp_path: Path) -> Places:
    """The same, for a test that changes them."""
    return places_in(copied(made, tmp_path / "world"))


REFUSED = {
    "a table in a bundle": "convert B B/tick.csv --schema tick",
    "tables over a user's": "convert B MINE --to csv",
    "a user's stacks": "convert X/metal-gpu-intervals.xml MINE/out.parquet",
    "a user's table": "convert X/metal-gpu-intervals.xml MINE/out.csv",
    "a table in a run": "tables RUN gpu_intervals --output RUN/result.csv",
    "a table over a user's": "tables B gpu_intervals --output MINE/out.csv",
    "an answer over a user's": "query select+1 RUN --output MINE/out.csv",
    "reports over a plan": "gate --plan MINE/plan.toml --junit MINE/plan.toml",
    "two reports in one file": "gate RUN TWIN --sarif MINE/new --junit MINE/new",
    "a page over a user's": "compare RUN TWIN --html MINE/index.html",
    "an index over a user's": "index MINE",
    "a trend over a user's": "history --html MINE/index.html",
    "an export of the history over a user's": "history --export MINE/out.csv",
    "a bench over a user's": "bench -o MINE/out.csv",
    "parity in a run": "parity --output RUN/result.json",
    "a run in a bundle": "import X --output B/run",
    "a recording in a bundle": "record --output B/run -- true",
    "exports in a run": "export B RUN/more",
    "a batch in a run": "batch B --output RUN/out",
    "a plan in a run": "nightly --init RUN/tracekit.toml",
    "a template in a bundle": "templates make B/x.tracetemplate --from MINE/a.tracetemplate "
    "--counter-profile 1",
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_no_command_writes_over_what_is_not_its_own(line: str, made: World, tracekit: Run) -> None:
    before = made.contents()
    ran = tracekit(*placed(line, places_in(made)))
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert "error: " in ran.err
    assert "hint: " in ran.err
    assert made.contents() == before


def placed(line: str, places: Places) -> list[str]:
    words: list[str] = []
    for word in line.split():
        head, slash, tail = word.partition("/")
        words.append(f"{places[head]}{slash}{tail}" if head in places else word.replace("+", " "))
    return words


@pytest.mark.parametrize(
    "line",
    [
        "convert X/metal-gpu-intervals.xml MINE/tick.csv",
        "convert B MINE --to csv",
        "convert RUN MINE/out.csv --to chrome",
        "tables RUN gpu_intervals --output MINE/out.csv",
        "query select+1 RUN --output MINE/out.csv",
        "index MINE",
    ],
)
def test_force_replaces_what_a_user_made_and_the_next_one_needs_none(
    line: str, places: Places, tracekit: Run
) -> None:
    words = placed(line, places)
    assert tracekit(*words).code == 2
    assert tracekit(*words, "--force").code == 0
    assert tracekit(*words).code == 0


@pytest.mark.parametrize(
    "line",
    [
        "import X --target nobody --output",
        "import B --target nobody --output",
        "import BROKEN --output",
        pytest.param(
            "capture --recorder host --workload paged --q-heads 3 --kv-heads 2 --output",
            marks=pytest.mark.processes,
        ),
    ],
)
def test_a_folder_that_the_user_made_stays_when_nothing_comes_of_it(
    line: str, places: Places, tmp_path: Path, tracekit: Run
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    broken = tmp_path / "broken.trace"
    broken.mkdir()
    words = placed(line, places | {"BROKEN": broken})
    assert tracekit(*words, folder).code in {2, 3}
    assert folder.is_dir()
    assert list(folder.iterdir()) == []
