"""What a user asks to record, and where."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.base.recording import Provenance
from tracekit.workload.plan import (
    Plan,
    check,
    claim_folder,
    kept_unless_misused,
    require_place,
    seconds,
)


def test_time_limits_are_read_with_their_units() -> None:
    limits = ("10s", "1500ms", "2m", "1h", "2.5s", "7")
    assert [seconds(text) for text in limits] == [10.0, 1.5, 120.0, 3600.0, 2.5, 7.0]
    for text in ("", "0s", "ten", "-3s", "5 days", "1m30s", "0.0ms", "s"):
        with pytest.raises(UsageError, match="not a time limit") as error:
            seconds(text)
        assert "10s" in error.value.hint, text


def test_a_run_is_named_after_its_subject() -> None:
    plans = (Plan(command=("/opt/bin/llama bench", "-m")), Plan(attach=4711))
    assert [plan.name for plan in plans] == ["llama-bench", "pid-4711"]


def test_each_run_gets_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = {claim_folder(None, "paged", Provenance()).folder for _ in range(3)}
    assert [folder.parts[:2] for folder in folders] == [("bench", "traces")] * 3
    assert all(folder.is_dir() for folder in folders)


def test_an_input_is_not_an_output_and_a_refused_run_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is read, so it is not written"):
        claim_folder(tmp_path, "paged", Provenance(), [tmp_path / "other", tmp_path])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    recording = claim_folder(tmp_path / "run", "paged", Provenance())
    (recording.folder / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(ToolError), kept_unless_misused(recording, ToolError):
        raise ToolError("No.")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "file"]


def test_a_claim_is_whole_from_its_first_moment(tmp_path: Path) -> None:
    """Nobody ever sees an empty `recording.json`, nor is what a killed claim left in the way."""
    provenance = Provenance(created="2026-11-20T02:30:00.000+00:00", recorder="host")
    (tmp_path / ".recording.json.unfinished-0a1b2c3d").write_bytes(b"{")
    recording = claim_folder(tmp_path, "paged", provenance)
    assert recording.provenance() == provenance
    remaining_names = {".recording.json.unfinished-0a1b2c3d", "recording.json"}
    assert {path.name for path in tmp_path.iterdir()} == remaining_names


def test_no_run_starts_in_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_folder = tmp_path / "gone"
    gone_folder.mkdir()
    monkeypatch.chdir(gone_folder)
    gone_folder.rmdir()
    with pytest.raises(UsageError, match="is gone"):
        require_place(Plan(command=("ls",), output=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_an_empty_folder_and_a_new_one_are_taken_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "a/b"):
        assert claim_folder(tmp_path / name, "paged", Provenance()).folder == tmp_path / name
        with pytest.raises(UsageError, match=r"is a run|not an empty folder"):
            claim_folder(tmp_path / name, "paged", Provenance())
    (tmp_path / "file").write_text("mine")
    for name, message in (
        ("", "not an empty folder"),
        ("file/run", "cannot be made"),
        ("x" * 300, "File name too long"),
    ):
        with pytest.raises(UsageError, match=message):
            claim_folder(tmp_path / name, "paged", Provenance())
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("lent", [False, True])
def test_of_two_who_claim_a_folder_at_once_one_gets_it(lent: bool, tmp_path: Path) -> None:
    barrier = Barrier(2)

    def take(folder: Path) -> bool:
        barrier.wait()
        with suppress(UsageError):
            return claim_folder(folder, "paged", Provenance()).folder == folder
        return False

    with ThreadPoolExecutor(2) as pool:
        for number in range(50):
            folder = tmp_path / str(number)
            if lent:
                folder.mkdir()
            assert sorted(pool.map(take, [folder, folder])) == [False, True]


def test_a_plan_that_cannot_be_followed_is_refused(subtests: pytest.Subtests) -> None:
    check(Plan(command=("ls",), repeats=1, time_limit=0.001))
    for options, message in (
        ({"command": ()}, "Choose what to record"),
        ({"attach": 7}, "Choose what to record"),
        ({"method": "attach"}, "--method attach is for workloads"),
        ({"command": (), "attach": 7, "method": "launch"}, "contradict each other"),
        ({"repeats": 0}, "--repeats must be at least 1; it is 0."),
        ({"warmup": -1}, "--warmup must be at least 0; it is -1."),
        ({"warmup": 3}, "--warmup counts the steps of a workload"),
        ({"time_limit": 0.0}, "--time-limit must be finite and more than 0 s; it is 0 s."),
        ({"time_limit": float("nan")}, "it is nan s."),
        ({"time_limit": "1s"}, "time_limit is a number of seconds, not '1s'."),
        ({"time_limit": float("inf")}, "it is inf s."),
        ({"counters": "yes"}, "--counters cannot be 'yes'. There are: auto, on, off."),
        ({"recorder": "hots"}, "--recorder cannot be 'hots'. Did you mean host?"),
        ({"method": "start"}, "--method cannot be 'start'."),
        ({"telemetry": "macmn"}, "--telemetry cannot be 'macmn'. Did you mean macmon?"),
    ):
        with subtests.test(**options):
            with pytest.raises(UsageError) as caught:
                check(Plan(**{"command": ("ls",), **options}))
            assert message in f"{caught.value.message} {caught.value.hint}"
