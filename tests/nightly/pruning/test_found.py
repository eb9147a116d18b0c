"""What counts as a run, as a part of it and as a night; links are never followed."""

from pathlib import Path

import pytest

from old_runs import NOW, MakeNight, MakeRun, days_ago
from tracekit.nightly.pruning import RunSeen, roots, runs_below


def seen(root: Path) -> dict[str, RunSeen]:
    return {one.folder.name: one for one in runs_below(root, NOW)}


def kinds(run: RunSeen) -> list[str]:
    return [*run.parts]


@pytest.mark.parametrize("bundle", ["recording.trace", "recording.host", "capture.gputrace"])
def test_bundles_and_exports_are_parts(bundle: str, make_run: MakeRun, tmp_path: Path) -> None:
    recording = make_run(bundle=bundle, size=1000, exports=300)
    run = seen(tmp_path)["run"]
    assert kinds(run) == ["bundle", "exports"]
    assert run.parts["bundle"] == (recording.folder / bundle,)
    assert run.begun.isoformat() == days_ago(100)
    assert (run.stays, run.night) == ("", "")


def test_the_table_of_contents_is_no_part(make_run: MakeRun, tmp_path: Path) -> None:
    recording = make_run()
    assert seen(tmp_path)["run"].parts["exports"] == (recording.exports / "table.xml",)


def test_a_run_that_was_not_analyzed_has_only_its_bundle(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(analyzed=False)
    make_run("captured", bundle="capture.gputrace", analyzed=False, exports=0)
    found = seen(tmp_path)
    assert found["run"].parts == {}
    assert "all there is" in found["run"].stays
    assert kinds(found["captured"]) == ["bundle"], "nothing of a frame capture is ever analyzed"


def test_a_run_whose_document_cannot_be_read_is_left_alone(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for name, text in (("empty", ""), ("odd", "[]"), ("newer", '{"format": 99}')):
        make_run(name).provenance_file.write_text(text)
    linked = make_run("linked")
    linked.provenance_file.rename(tmp_path / "elsewhere.json")
    linked.provenance_file.symlink_to(tmp_path / "elsewhere.json")
    found = seen(tmp_path)
    assert [one.parts for one in found.values() if one.parts] == []
    assert {one.stays for one in found.values()} == {
        "its recording.json cannot be read",
        "its recording.json is a link",
    }


def test_a_run_that_is_being_worked_on_is_busy_for_a_day(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("now", age=0.1, stage="running")
    make_run("cut-off", age=3, stage="running")
    found = seen(tmp_path)
    assert found["now"].stays == "its stage record is running"
    assert found["cut-off"].stays == ""


def test_links_are_no_parts_and_lead_nowhere(make_run: MakeRun, tmp_path: Path) -> None:
    """An imported run's bundle is a link to somebody's own."""
    outside = tmp_path / "outside"
    outside.mkdir()
    precious = outside / "precious.trace"
    precious.mkdir()
    root = tmp_path / "traces"
    recording = make_run(bundle="")
    recording.bundle.symlink_to(precious)
    (recording.exports / "table.xml").rename(outside / "table.xml")
    (recording.exports / "table.xml").symlink_to(outside / "table.xml")
    elsewhere = make_run("elsewhere", root=outside)
    (root / "link-to-a-run").symlink_to(elsewhere.folder)
    (root / "round").symlink_to(root)
    assert [*seen(root)] == ["run"]
    assert seen(root)["run"].parts == {}


def test_what_only_looks_like_a_run_or_a_part_is_none(make_run: MakeRun, tmp_path: Path) -> None:
    recording = make_run(bundle="")
    recording.exports.rename(tmp_path / "exports")
    recording.exports.symlink_to(tmp_path / "exports")
    recording.bundle.write_text("notes")
    (tmp_path / "traces" / "somebodys" / "recording.trace").mkdir(parents=True)
    found = seen(tmp_path / "traces")
    assert {name: run.parts for name, run in found.items()} == {"run": {}}


def test_runs_of_a_night_know_it(make_run: MakeRun, make_night: MakeNight, tmp_path: Path) -> None:
    night = make_night("2026-08-01T02-30-00-abcd")
    make_run("traced-1", root=night / "decode")
    make_run("alone")
    found = seen(tmp_path)
    assert found["alone"].night == ""
    assert (found["traced-1"].night, found["traced-1"].stays) == (night.name, "")


def test_runs_of_a_night_that_may_still_run_or_cannot_be_read_are_busy(
    make_run: MakeRun, make_night: MakeNight, tmp_path: Path
) -> None:
    for name, age in (("running", 2.9), ("cut-off", 3.1)):
        make_run(f"of-{name}", root=make_night(name, age, ended=False))
    for number, text in enumerate(("", "{", "[]", '{"id": 3}')):
        night = make_night(f"broken-{number}")
        make_run(f"of-broken-{number}", root=night)
        (night / "night.json").write_text(text)
    busy = {name: run.stays for name, run in seen(tmp_path).items()}
    unread = "its night.json cannot be read"
    assert busy == {f"of-broken-{number}": unread for number in range(4)} | {
        "of-running": "its night has not ended",
        "of-cut-off": "",
    }


def test_the_folder_itself_may_be_a_run(make_run: MakeRun) -> None:
    recording = make_run()
    assert [one.folder for one in runs_below(recording.folder, NOW)] == [recording.folder]


def test_nothing_below_a_run_is_another_run(make_run: MakeRun, tmp_path: Path) -> None:
    recording = make_run()
    make_run("inner", root=recording.folder)
    assert [*seen(tmp_path)] == ["run"]


def test_folders_within_others_and_links_to_them_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").symlink_to(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    assert roots([tmp_path / "a" / "b", Path("a"), tmp_path / "c"]) == [tmp_path / "a"]
