"""Whole nights: real ones, also killed or stopped, and others by a made clock."""

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from played_nights import Played
from real_nights import Nights, repository
from tracekit.base.errors import InterruptedRunError, RecordingError, UsageError
from tracekit.nightly.folder import NightFolder
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.documents import night_in
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night
from tracekit.nightly.schedule.running import runs_in

pytestmark = pytest.mark.processes

BROKEN = """
[[nightly.capture]]
name = "broken"
parameters = { broken = true }
"""


def test_a_night_is_measured_traced_kept_and_drawn(tmp_path: Path) -> None:
    """One capture is traced, against other work; the other fails, which is no slow one."""
    nights, heard = repository(tmp_path / "repo"), list[str]()
    work = nights.top / "workloads" / "nap.py"
    text = work.read_text().replace('trick: str = ""', 'trick: str = "", broken: bool = False')
    work.write_text(text.replace("    made =", "    assert not broken, 'not today'\n    made ="))
    traced = "traced = 1\nreference = { parameters = { seconds = 0.02 } }"
    nights.plan(capture=f"{traced}\n{BROKEN}")
    plan = read_plan(nights.top / "tracekit.toml")
    night = run_night(plan, progress=heard.append)

    assert (night.outcome, night.partial, night.machine) == (Outcome.FAILED, False, "mini")
    assert {"chip", "python", "tracekit", "os_build"} <= set(night.environment)
    assert night.environment["recorder"] == "host"
    assert {"nap: pair 1 of 1", "nap: traced capture 1 of 1"} <= set(heard)
    entry, broken = night.entries
    assert (broken.outcome, broken.judged) == (Outcome.FAILED, ())
    assert "not today" in broken.reason
    assert (entry.outcome, entry.backend) == (Outcome.UNJUDGED, "cpu")
    pair, trace = entry.pairs
    assert min(pair.candidate["step_p50"]) < min(pair.reference["step_p50"])
    assert trace.traced
    assert trace.runs == ("nap/candidate-1-1", "nap/reference-1-1")
    assert trace.candidate["step_p50"] < trace.reference["step_p50"]
    [idle] = [known for known in entry.judged if known.metric == "idle_ratio"]
    assert idle.candidate == trace.candidate["idle_ratio"][0]

    with Store.open(plan.history) as store:
        assert store.nights() == [night]
    folder = NightFolder(plan.output / night.id)
    assert (night_in(folder.folder), night.folder) == (night, night.id)
    assert f"{night.id}/nap/candidate-1-1/report.html" in folder.page.read_text()
    assert (folder.folder / trace.runs[0] / "report.html").is_file()


def interrupted(played: Played, words: str, cost: float | None = None) -> Night:
    """Run a night until something is heard, and interrupt it there."""

    def interrupt(told: str) -> None:
        if told == words:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="keeps what was measured"):
        played.night(cost, progress=interrupt)
    with Store.open(read_plan(played.plan).history) as store:
        return store.nights()[-1]


def test_a_night_that_is_interrupted_keeps_what_it_has(played: Played) -> None:
    played.begin('revision = "FIRST"')
    text = played.plan.read_text()
    later = text[text.index("[[nightly.capture]]") :].replace("decode", "later")
    played.plan.write_text(text + later)
    night = interrupted(played, "decode: pair 3 of 10", 1.05)
    assert (night.partial, night.outcome) == (True, Outcome.INCONCLUSIVE)
    assert [(known.capture, len(known.pairs)) for known in night.entries] == [
        ("decode", 2),
        ("later", 0),
    ]
    assert [known.reason for known in night.entries] == [
        "It was interrupted.",
        "It was not measured, for the night was stopped before.",
    ]


def test_a_regression_that_was_reproduced_is_one_though_the_night_was_stopped(
    played: Played,
) -> None:
    played.begin('revision = "FIRST"')
    words = "decode: pair 8 of 10, to see whether it can be reproduced"
    night = interrupted(played, words, 1.2)
    [entry] = night.entries
    assert [known.sitting for known in entry.pairs].count(2) == 7
    assert (night.outcome, night.partial) == (Outcome.REGRESSION, True)
    assert entry.reason.startswith("step_p50: ")
    assert entry.reason.endswith("It was interrupted.")


def test_a_reference_that_is_gone_is_told_and_the_work_tree_is_made_again(played: Played) -> None:
    played.begin('revision = "before"')
    played.git("tag", "before")
    work = played.top / "own" / "costly.py"
    work.write_text(f"{work.read_text()}# somebody works on it\n")
    [entry] = played.night().entries
    assert entry.outcome is Outcome.OK
    assert entry.candidate.commit.endswith("-dirty")
    assert entry.reference is not None
    assert entry.reference.commit == played.commits[0]

    played.git("tag", "--delete", "before")
    gone = played.night()
    assert gone.outcome is Outcome.FAILED
    assert "has no revision 'before'" in gone.reason

    played.git("tag", "before")
    _, folder = played.git("worktree", "list").splitlines()
    shutil.rmtree(folder.split()[0])
    assert played.night().outcome is Outcome.OK


def test_what_is_known_to_be_slower_is_accepted_once_and_then_expected(played: Played) -> None:
    """Other work than the reference's has no change that is expected, until one was accepted."""
    played.begin('workload = "other"')
    own = played.top / "own"
    own.joinpath("other.py").write_text(
        own.joinpath("costly.py").read_text().replace("costly", "other").replace("1.0", "0.25")
    )
    first = played.night()
    assert first.outcome is Outcome.INCONCLUSIVE
    assert "tracekit baseline accept" in first.reason
    with Store.open(read_plan(played.plan).history) as store:
        store.accept(first.id, ["decode"], reason="four times the work")
    second = played.night()
    judged = second.entries[0].judged[0]
    assert (second.outcome, judged.baseline) == (Outcome.OK, first.id)
    assert judged.expected == pytest.approx(3, abs=0.1)


def test_a_machine_that_is_not_fit_is_waited_for(played: Played) -> None:
    heard: list[str] = []
    played.begin('revision = "FIRST"')
    unfit = 'retries = 0\nwait = "500ms"\nmachine-state.memory-free = "1000000TiB"'
    played.plan.write_text(played.plan.read_text().replace("retries = 0", unfit))
    night = played.night(1.0, progress=heard.append)
    (entry,) = night.entries
    assert night.outcome is entry.outcome is Outcome.INCONCLUSIVE
    assert (night.partial, entry.pairs) == (False, ())
    assert entry.reason.startswith(
        "Nothing was measured, for the machine was not ready within 500 ms:"
    )
    assert any(words.startswith("decode: waiting for the machine: ") for words in heard)


def test_only_the_captures_that_are_named_run_and_without_a_history_only_a_folder_is_left(
    played: Played,
) -> None:
    played.begin('revision = "FIRST"')
    text = played.plan.read_text()
    other = text[text.index("[[nightly.capture]]") :].replace("decode", "other")
    played.plan.write_text(text + other)
    night = played.night(1.0, captures=["other"], keep=False)
    assert ([each.capture for each in night.entries], night.partial) == (["other"], False)
    nights = played.top / "nights"
    assert json.loads((nights / night.id / "night.json").read_text())["id"] == night.id
    assert not (nights / "history.db").exists()
    assert not (nights / "trend.html").exists()
    with pytest.raises(UsageError, match="has no capture 'othre'"):
        played.night(captures=["othre"])
    nowhere = 'retries = 0\nhistory = "sqlite:///tracekit.toml/history.db"'
    played.plan.write_text(text.replace("retries = 0", nowhere))
    with pytest.raises(RecordingError):
        played.night(1.0)
    assert len(list(nights.glob("*/night.json"))) == 1, "nothing was measured"


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    """Nights against a revision, of a workload that starts a program and leaves it running."""
    made = repository(tmp_path / "repo")
    made.plan(
        capture='parameters = { trick = "fork" }\ntraced = 1\nreference = { revision = "HEAD" }'
    )
    return made


def kept(nights: Nights) -> list[Night]:
    with Store.open(str(nights.output / "history.db"), make=False) as store:
        return store.nights()


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.campaign)])
def test_what_was_killed_leaves_no_process_and_is_kept_once(times: int, nights: Nights) -> None:
    moments = random.Random(7)
    for number in range(times):
        with nights.start() as night:
            nights.await_night(number)
            time.sleep(moments.uniform(0, 2))
            night.kill()
        assert nights.left() == []
        assert not runs_in(nights.output)
        assert len(nights.documents()) == number + 1

    nights.plan()  # what the next night measures is all the same
    code, _, said = nights.run()
    assert code == 4, said
    found = nights.documents()
    assert [known.id for known in kept(nights)] == [known.id for known in found]
    for known in kept(nights)[:-1]:
        assert (known.partial, known.outcome) == (True, Outcome.FAILED)
        assert "cut short" in known.reason
    assert [known.ended == "" for known in found] == [True] * times + [False]
    assert f"The night {found[times - 1].id} had not been added to the history; now it is." in said
    assert nights.left() == []


def test_what_is_told_to_stop_keeps_what_it_measured(nights: Nights) -> None:
    """By a scheduler, and by somebody who has no patience."""
    moments = random.Random(15)
    for begun, number in enumerate((signal.SIGTERM, signal.SIGINT)):
        with nights.start() as night:
            nights.await_night(begun, pairs=begun)
            time.sleep(moments.uniform(0, 1))
            night.send_signal(number)
            if number == signal.SIGINT:
                time.sleep(moments.uniform(0, 0.3))
                night.send_signal(number)
            out, err = night.communicate(timeout=60)
        # A second Ctrl-C may come to a Python that is on its way out; a shell calls that 130 too.
        assert night.returncode in {130, -signal.SIGINT}, (out, err)
        assert "Traceback" not in err
        assert nights.left() == []
    first, second = nights.documents()
    assert (first.partial, first.outcome) == (True, Outcome.INCONCLUSIVE)
    assert first.ended
    assert kept(nights)[0] == first
    assert second.entries[0].pairs
