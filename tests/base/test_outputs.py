"""Nothing that a user has is lost by what is written."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import RunInfo, write_bundle
from small_bundle import PYTHON, intervals, ticks
from tracekit.base import outputs
from tracekit.base.errors import RecordingError, UsageError
from tracekit.base.outputs import require_apart, writing

Run = Callable[..., Any]
MINE = "mine\n1\n"


def write(path: Path, text: str, **options: Any) -> None:
    with writing([path], **options):
        path.write_text(text)


def test_what_was_written_is_replaced_until_someone_changes_it(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write(path, "a,b\n")
    write(path, "c,d\n", force=False)
    path.write_text(MINE)
    with pytest.raises(UsageError, match="is not as tracekit wrote it") as refused:
        write(path, "e,f\n", force=False)
    assert "--force replaces it." in refused.value.hint
    assert path.read_text() == MINE
    write(path, "e,f\n", force=True)
    assert path.read_text() == "e,f\n"


def test_what_failed_to_be_written_does_not_become_ours(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text(MINE)
    with pytest.raises(ValueError, match="damaged"), writing([path], force=True):
        raise ValueError("damaged")
    with pytest.raises(UsageError):
        write(path, "a,b\n")
    assert path.read_text() == MINE


def test_what_was_written_before_a_failure_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with suppress(ValueError), writing([path]):
        path.write_text("rows before the damage\n")
        raise ValueError("damaged")
    write(path, "a,b\n")


@pytest.mark.parametrize(
    "text",
    [
        '<!doctype html>\n<html><head>\n<meta name="generator" content="tracekit">',
        "<!doctype html>\n<html><head>\n<title>Runs · tracekit</title>",
        "# HELP tracekit_gate_outcome …\n",
        '{"runs": [{"tool": {"driver": {\n  "name": "tracekit"}}}]}',
        "x" * 10_000 + "\n\n<!-- made by tracekit -->\n",
        "",
    ],
)
def test_a_page_or_report_of_ours_is_known_wherever_it_comes_from(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "out").write_text(text)
    write(tmp_path / "out", "new")


def test_outputs_that_are_inputs_are_refused_under_any_name(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(MINE)
    (tmp_path / "link.csv").symlink_to("in.csv")
    os.link(source, tmp_path / "twin.csv")
    for name in ("in.csv", "link.csv", "twin.csv", "./in.csv"):
        with pytest.raises(UsageError, match="is read, so it is not written"):
            write(tmp_path / name, "", inputs=[source], force=True)
    assert source.read_text() == MINE


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Two outputs"), writing([tmp_path / "a", tmp_path / "a"]):
        pass


@pytest.mark.parametrize(
    ("folder", "made", "kind"),
    [
        ("run", "run/recording.json", "a run"),
        ("mine.trace", "mine.trace/form.template", "a bundle"),
        ("MINE.TRACE", "MINE.TRACE/form.template", "a bundle"),
        ("batch/results", "batch/.lock", "the data set of a batch"),
    ],
)
def test_nothing_is_added_to_what_is_whole(
    tmp_path: Path, folder: str, made: str, kind: str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / made).write_text("{}")
    (tmp_path / "link").symlink_to(folder)
    for place in (folder, f"{folder}/new/out.csv", "link/out.csv", "link"):
        with pytest.raises(UsageError, match=f"is {kind}: nothing else"):
            require_apart([tmp_path / place])
    require_apart([tmp_path / f"{folder}.csv"])


def test_of_very_many_notes_the_latest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_MOST", 8)
    for number in range(20):
        write(tmp_path / f"{number}.csv", "a,b\n")
    write(tmp_path / "19.csv", "c,d\n")
    with pytest.raises(UsageError):
        write(tmp_path / "0.csv", "c,d\n")


def test_notes_that_cannot_be_kept_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "file" / "notes"))
    write(tmp_path / "out.csv", "a,b\n")
    with pytest.raises(UsageError):
        write(tmp_path / "out.csv", "a,b\n")


def test_a_place_for_no_file_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is a folder"), writing([tmp_path]):
        pass


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    tables = [ticks([1]), intervals((0, 10, PYTHON), (5, 10, PYTHON))]
    return write_bundle(tmp_path / "b.trace", tables, info=RunInfo())


@pytest.fixture
def places(imported: Path, bundle: Path, tmp_path: Path, tracekit: Run) -> dict[str, Path]:
    assert tracekit("analyze", imported).code in {0, 4}
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("tick.csv", "index.html", "out.frames.parquet", "out.csv", "plan.toml"):
        (mine / name).write_text(MINE)
    shutil.copytree(imported, mine / "run")
    shutil.copyfile(tmp_path / "exports" / "intervals.xml", mine / "t.csv")
    twin = tmp_path / "twin"
    shutil.copytree(imported, twin)
    return {"RUN": imported, "B": bundle, "MINE": mine, "TWIN": twin, "X": tmp_path / "exports"}


REFUSED = {
    "an export over itself": "convert MINE/t.csv MINE/t.csv",
    "a run's result as a trace": "convert RUN RUN/result.json --to perfetto",
    "a run's tables over itself": "convert RUN RUN --to csv",
    "another run's folder": "convert RUN TWIN --to csv",
    "a bundle over itself": "convert B B --to csv",
    "a table in a bundle": "convert B B/tick.csv --schema tick",
    "tables over a user's": "convert B MINE --to csv",
    "a user's stacks": "convert X/intervals.xml MINE/out.parquet",
    "a user's table": "convert X/intervals.xml MINE/out.csv",
    "a table in a run": "tables RUN gpu_intervals --output RUN/result.csv",
    "a table over a user's": "tables B gpu_intervals --output MINE/out.csv",
    "an answer over a result": "query select+1 RUN --output RUN/result.json",
    "an answer over a user's": "query select+1 RUN --output MINE/out.csv",
    "reports over a plan": "gate --plan MINE/plan.toml --junit MINE/plan.toml",
    "reports over a result": "gate RUN TWIN --sarif RUN/result.json",
    "two reports in one file": "gate RUN TWIN --sarif MINE/new --junit MINE/new",
    "a page over a result": "compare RUN TWIN --html TWIN/result.json",
    "a page over a user's": "compare RUN TWIN --html MINE/index.html",
    "an index over a user's": "index MINE",
    "a trend over a user's": "history --html MINE/index.html",
    "an export of the history over a user's": "history --export MINE/out.csv",
    "a bench over a user's": "bench --csv MINE/out.csv",
    "a bench in a run": "bench --output RUN/bench.json",
    "parity in a run": "parity --output RUN/result.json",
    "a run in a bundle": "import X --output B/run",
    "a run of a bundle in it": "import B --output B/run",
    "a recording in a bundle": "record --output B/run -- true",
    "exports in a bundle": "export B B/exports",
    "exports in a run": "export B RUN/more",
    "a batch in a bundle": "batch RUN --output B/out",
    "a batch in a run": "batch B --output RUN/out",
    "a plan in a run": "nightly --init RUN/tracekit.toml",
    "a template in a bundle": "templates make B/x.tracetemplate --from MINE/a.tracetemplate "
    "--counter-profile 1",
}


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder but the caches of tables, which reading fills."""
    found = (one for one in folder.rglob("*") if one.is_file() and "tables" not in one.parts)
    return {str(one): one.read_bytes() for one in found}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_no_command_writes_over_what_is_not_its_own(
    line: str, places: dict[str, Path], tmp_path: Path, tracekit: Run
) -> None:
    before = contents(tmp_path)
    ran = tracekit(*placed(line, places))
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert "error: " in ran.err
    assert "hint: " in ran.err
    assert contents(tmp_path) == before


def placed(line: str, places: dict[str, Path]) -> list[str]:
    words: list[str] = []
    for word in line.split():
        head, slash, tail = word.partition("/")
        words.append(f"{places[head]}{slash}{tail}" if head in places else word.replace("+", " "))
    return words


@pytest.mark.parametrize(
    "line",
    [
        "convert X/intervals.xml MINE/tick.csv",
        "convert B MINE --to csv",
        "convert RUN MINE/out.csv --to chrome",
        "tables RUN gpu_intervals --output MINE/out.csv",
        "query select+1 RUN --output MINE/out.csv",
        "index MINE",
    ],
)
def test_force_replaces_what_a_user_made_and_the_next_one_needs_none(
    line: str, places: dict[str, Path], tracekit: Run
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
    line: str, places: dict[str, Path], tmp_path: Path, tracekit: Run
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    broken = tmp_path / "broken.trace"
    broken.mkdir()
    words = placed(line, places | {"BROKEN": broken})
    assert tracekit(*words, folder).code in {2, 3}
    assert folder.is_dir()
    assert list(folder.iterdir()) == []
