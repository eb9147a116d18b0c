"""Whole nights: by a made clock for each kind of reference, and real ones that are killed too."""

import random
import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from played_nights import Played
from real_nights import repository
from tracekit.base import paired, units
from tracekit.base.errors import InterruptedRunError, RecordingError, UsageError
from tracekit.nightly.folder import NightFolder
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.history.documents import night_in
from tracekit.nightly.history.night import KINDS, Night, Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night
from tracekit.nightly.schedule.running import runs_in

pytestmark = pytest.mark.processes
Run = Callable[..., Any]
KIND = {
    "fixed": 'revision = "FIRST"',
    "branch point": 'merge-base = "main"',
    "moving": 'revision = "HEAD~1"',
    "previous night": "previous-night = true",
}
OK, REGRESSION, INCONCLUSIVE = Outcome.OK, Outcome.REGRESSION, Outcome.INCONCLUSIVE


def begin_nights(played: Played, kind: str = "fixed") -> Played:
    """Begin where nights have something to compare: with a commit behind the first one."""
    played.begin(KIND[kind])
    if kind == "branch point":
        played.git("checkout", "--quiet", "-b", "work")
    if kind == "previous night":
        played.night()
    return played


def outcomes(nights: Sequence[Night]) -> list[Outcome | None]:
    return [night.outcome for night in nights]


def worse(night: Night) -> str:
    assert night.outcome is REGRESSION
    return night.reason


def find_ranges(reason: str) -> set[str]:
    return set(re.findall(r" in (\w+\.\.\w+)", reason))


def format_range(played: Played, first_index: int, last_index: int = -1) -> str:
    first_commit = units.short_commit(played.commits[first_index])
    last_commit = units.short_commit(played.commits[last_index])
    return f"{first_commit}..{last_commit}"


def moves(kind: str) -> bool:
    return kind in {"moving", "previous night"}


@pytest.mark.parametrize("kind", KIND)
def test_equal_nights_are_ok_however_slow_the_machine_is(played: Played, kind: str) -> None:
    begin_nights(played, kind)
    nights: list[Night] = []
    for number in range(7):
        played.pace = 1.3 if number in {2, 3} else 1.0
        nights.append(played.night(1.0))
    assert set(outcomes(nights)) == {OK}
    (last_entry, *_) = nights[-1].entries
    assert last_entry.reference_kind == ("moving" if kind == "previous night" else kind)
    assert KINDS[last_entry.reference_kind] in played.page
    (suite, *_) = of_night(nights[-1]).suites
    assert suite.labels["reference kind"] == KINDS[last_entry.reference_kind]
    anchored = [len(night.entries) == 2 for night in nights]
    assert anchored == [moves(kind) and at == 6 - (kind != "moving") for at in range(7)]


@pytest.mark.parametrize("kind", KIND)
def test_a_step_is_found_and_named_the_same_night(played: Played, kind: str) -> None:
    """A session is held against its own best: that the machine is slower in it spoils no pair."""

    def slower(progress_text: str) -> None:
        played.pace = 1.3 if "to see whether it can be reproduced" in progress_text else 1.1

    begin_nights(played, kind)
    nights = [played.night(cost, progress=slower) for cost in (1.0, 1.0, 1.0, 1.05)]
    assert outcomes(nights) == [OK] * 3 + [REGRESSION]
    reason = worse(nights[-1])
    assert find_ranges(reason) == {format_range(played, -2)}
    assert "It came tonight" in reason
    later = played.night(1.05)
    assert format_range(played, -3) in find_ranges(worse(later))
    assert outcomes([played.night(1.0) for _ in range(2)]) == [OK, OK]


@pytest.mark.parametrize("kind", ["fixed", "moving", "previous night"])
def test_a_loss_in_small_parts_is_found_within_three_nights(played: Played, kind: str) -> None:
    begin_nights(played, kind)
    nights = [played.night(1.025**number) for number in range(1, 6)]
    night_outcomes = outcomes(nights)
    first_regression = night_outcomes.index(REGRESSION)
    assert first_regression in {1, 2}
    assert set(night_outcomes[first_regression:]) == {REGRESSION}, "until it is accepted"
    reason = worse(nights[-1])
    assert format_range(played, 0) in find_ranges(reason) or format_range(played, 1) in find_ranges(
        reason
    )
    searches = [entry.search for entry in nights[-1].entries if entry.search]
    drifts = reason.count("no single commit made it")
    assert drifts + len(searches) == 1, "one regression is one finding"
    if moves(kind):
        assert f"since {nights[0].started[:10]}" in reason or "-anchor" in reason


def test_a_gain_that_is_lost_again_is_found_against_a_fixed_commit(played: Played) -> None:
    begin_nights(played)
    nights = [played.night(cost) for cost in [1.0] * 3 + [0.92] * 4 + [0.98] * 2]
    assert set(outcomes(nights[:-1])) == {OK}, "it is better than its reference"
    reason = worse(nights[-1])
    assert "Over the last 2 nights" in reason
    assert format_range(played, -3) in find_ranges(reason)


@pytest.mark.parametrize("kind", ["fixed", "previous night"])
def test_a_session_that_was_rejected_decides_nothing(played: Played, kind: str) -> None:
    begin_nights(played, kind)
    played.night(1.0)
    played.rejected = 1
    rejected_night = played.night(1.05)
    assert (rejected_night.outcome, "No pair counts" in rejected_night.reason) == (
        INCONCLUSIVE,
        True,
    )
    if moves(kind):
        return
    played.rejected = 2
    half = played.night(1.05)
    assert half.outcome is REGRESSION, "the interval of the first lies beyond the limit as a whole"
    (judged,) = [judged for judged in half.entries[0].judged if judged.gated]
    assert (judged.pairs, judged.reproduced) == (10, False)
    played.rejected = 0
    assert played.night(1.2).outcome is REGRESSION

    def slower(progress_text: str) -> None:
        paces = {"decode: pair 1": 1.2, "decode: pair 2": 1.5}  # later ones are the best
        played.pace = paces.get(progress_text.partition(" of ")[0], 1.1)

    (entry,) = played.night(1.2, progress=slower).entries
    (reason,) = entry.pairs[1].rejections
    assert "36.4 % longer" in reason


@pytest.mark.parametrize("kind", ["branch point", "moving"])
def test_a_night_that_is_stopped_hides_no_step(played: Played, kind: str) -> None:
    begin_nights(played, kind)
    nights = [played.night(1.0) for _ in range(3)]
    played.stopped = 2
    partial = played.night(1.05)
    assert (partial.partial, partial.outcome) == (True, INCONCLUSIVE)
    assert "time was spent" in partial.reason
    played.stopped = None
    next_night = played.night(1.05)
    assert outcomes(nights) == [OK] * 3
    reason = worse(next_night)
    if kind == "moving":  # both commits of that night have the step: it is the anchor that shows it
        assert "anchor" in reason
    else:
        assert find_ranges(reason) == {format_range(played, -3)}


def test_a_commit_is_not_measured_against_itself(played: Played, tracekit: Run) -> None:
    played.begin(KIND["branch point"])
    message = tracekit("nightly", "run", "--dry-run", played.plan).err
    assert "candidate and reference are the same commit" in message
    night = played.night()
    assert night.outcome is INCONCLUSIVE
    assert "measures how much the machine varies by itself" in night.reason
    assert tracekit("nightly", "gate", "--config", played.plan).code == 4


def test_a_branch_point_stays_when_the_branch_moves(played: Played) -> None:
    begin_nights(played, "branch point")
    played.commit(1.0)
    played.git("checkout", "--quiet", "main")
    played.commit(0.8)
    played.git("checkout", "--quiet", "work")
    (entry,) = played.night(1.0).entries
    assert entry.outcome is OK
    assert entry.reference is not None
    assert entry.reference.commit == played.commits[0]
    assert entry.reference.words == f"branch point with main ({played.commits[0][:7]})"


def test_an_accepted_night_begins_a_chain_and_its_anchor(played: Played) -> None:
    begin_nights(played, "moving")
    nights = [played.night(cost) for cost in (1.02, 1.04, 1.06)]
    assert nights[-1].outcome is REGRESSION
    with Store.connect(read_plan(played.plan).history) as store:
        store.accept(nights[-1].id, ["decode"], "it was meant", least=6)
    later_nights = [played.night(1.06) for _ in range(8)]
    assert set(outcomes(later_nights)) == {OK}
    entries = [entry for night in later_nights for entry in night.entries]
    assert {judged.baseline for entry in entries for judged in entry.judged} == {""}
    (anchor,) = [entry for entry in entries if entry.capture != "decode"]
    assert anchor.reference is not None
    assert anchor.reference.commit == played.commits[3]


def test_a_known_slow_down_is_accepted_once_and_then_expected(played: Played) -> None:
    """Other work than the reference's has no change that is expected, until one was accepted."""
    played.begin('workload = "other"')
    workload_folder = played.top / "own"
    text = (
        (workload_folder / "costly.py")
        .read_text()
        .replace("costly", "other")
        .replace("1.0", "0.25")
    )
    (workload_folder / "other.py").write_text(text)
    first_night = played.night()
    assert first_night.outcome is INCONCLUSIVE
    assert "tracekit nightly baseline accept" in first_night.reason
    with Store.connect(read_plan(played.plan).history) as store:
        store.accept(first_night.id, ["decode"], reason="four times the work")
    second = played.night()
    judged = second.entries[0].judged[0]
    assert (second.outcome, judged.baseline) == (OK, first_night.id)
    assert judged.expected == pytest.approx(3, abs=0.1)


def test_the_night_before_is_the_last_one_that_was_measured(played: Played) -> None:
    begin_nights(played, "previous night")
    played.commit(1.0)
    between_nights = played.commit(1.0)
    played.rejected = 1
    played.night(1.0)
    played.rejected = 0
    (entry, *_) = played.night(1.0).entries
    assert entry.reference is not None
    assert entry.reference.commit == played.commits[0] != between_nights
    assert entry.reference.words.startswith("previous night ")


def interrupt_night(played: Played, words: str, cost: float) -> Night:
    def interrupt(progress_text: str) -> None:
        if progress_text == words:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="keeps its measurements"):
        played.night(cost, progress=interrupt)
    with Store.connect(read_plan(played.plan).history) as store:
        return store.nights()[-1]


def add_capture(played: Played, name: str) -> None:
    text = played.plan.read_text()
    capture = text[text.index("[[nightly.capture]]") :].replace("decode", name)
    played.plan.write_text(text + capture)


def test_an_interrupted_night_keeps_its_pairs(played: Played) -> None:
    begin_nights(played)
    again = ", to see whether it can be reproduced"
    night = interrupt_night(played, f"decode: pair 8 of 10{again}", 1.2)
    [entry] = night.entries
    assert [pair.session for pair in entry.pairs].count(2) == 7
    assert (night.outcome, night.partial) == (REGRESSION, True), "it was reproduced"
    assert entry.reason.startswith("step_p50: ")
    assert entry.reason.endswith("It was interrupted.")
    add_capture(played, "later")
    night = interrupt_night(played, "decode: pair 3 of 10", 1.05)
    assert (night.partial, night.outcome) == (True, INCONCLUSIVE)
    assert [(entry.capture, len(entry.pairs), entry.reason) for entry in night.entries] == [
        ("decode", 2, "It was interrupted."),
        ("later", 0, "It was not measured, because the night was stopped before."),
    ]


def test_a_reference_that_is_gone_is_a_failure_of_its_capture(played: Played) -> None:
    played.begin('revision = "gone"\n[nightly.capture.parameters]\nslow = 2')
    work = played.top / "own" / "costly.py"
    work.write_text(work.read_text().replace("costly()", "costly(slow: int = 1)"))
    night = played.night()
    assert night.outcome is Outcome.FAILED
    assert "has no revision 'gone'" in night.reason
    assert night.entries[0].candidate.parameters == {"slow": 2}


def test_a_machine_that_is_not_fit_is_waited_for(played: Played) -> None:
    heard: list[str] = []
    begin_nights(played)
    unfit = 'retries = 0\nwait = "500ms"\nmachine-state.memory-free = "1000000TiB"'
    played.plan.write_text(played.plan.read_text().replace("retries = 0", unfit))
    played.rejected = 1
    night = played.night(1.05, progress=heard.append)
    (entry,) = night.entries
    assert night.outcome is entry.outcome is INCONCLUSIVE
    assert (night.partial, len(entry.pairs)) == (False, paired.least_pairs()), "a few, and no more"
    assert "The machine was not ready within 500 ms: " in entry.reason
    assert "Measured, but not counted: step_p50 +5." in entry.reason
    assert entry.judged[0].change is None, "and not judged"
    assert any(words.startswith("decode: waiting for the machine: ") for words in heard)


def test_only_named_captures_run_and_without_history_a_folder_is_left(played: Played) -> None:
    begin_nights(played)
    add_capture(played, "other")
    night = played.night(1.0, captures=["other"], keep=False)
    assert ([entry.capture for entry in night.entries], night.partial) == (["other"], False)
    nights = played.top / "nights"
    assert night_in(nights / night.id) == night
    assert {file.name for file in nights.iterdir()}.isdisjoint({"history.db", "trend.html"})
    with pytest.raises(UsageError, match="has no capture 'othre'"):
        played.night(captures=["othre"])
    nowhere = 'retries = 0\nhistory = "sqlite:///tracekit.toml/history.db"'
    played.plan.write_text(played.plan.read_text().replace("retries = 0", nowhere))
    with pytest.raises(RecordingError, match="Result of the night"):
        played.night(1.0)
    assert len(list(nights.glob("*/night.json"))) == 2, "it was measured all the same"


def test_a_night_is_measured_traced_kept_and_drawn(tmp_path: Path) -> None:
    """One capture is traced, against other work; the other fails, which is no slow one."""
    nights, heard = repository(tmp_path / "repo"), list[str]()
    work = nights.top / "workloads" / "nap.py"
    text = work.read_text().replace('trick: str = ""', 'trick: str = "", broken: bool = False')
    work.write_text(text.replace("    made =", "    assert not broken, 'not today'\n    made ="))
    traced = "traced = 1\nreference = { parameters = { seconds = 0.02 } }"
    broken = 'name = "broken"\nparameters = { broken = true }'
    nights.plan(capture=f"{traced}\n[[nightly.capture]]\n{broken}")
    plan = read_plan(nights.top / "tracekit.toml")
    night = run_night(plan, progress=heard.append)

    assert (night.outcome, night.partial, night.machine) == (Outcome.FAILED, False, "mini")
    assert night.digest == plan.digest
    assert {"chip", "python", "tracekit", "os_build"} <= set(night.environment)
    assert night.environment["recorder"] == "host"
    assert {"nap: pair 1 of 1", "nap: traced capture 1 of 1"} <= set(heard)
    entry, broken = night.entries
    assert (broken.outcome, broken.judged) == (Outcome.FAILED, ())
    assert "not today" in broken.reason
    assert (entry.outcome, entry.backend) == (Outcome.UNJUDGED, "cpu")
    pair, trace = entry.pairs
    assert min(pair.candidate["step_p50"]) < min(pair.reference["step_p50"])
    assert (trace.traced, trace.runs) == (True, ("nap/candidate-1-1", "nap/reference-1-1"))
    assert trace.candidate["step_p50"] < trace.reference["step_p50"]
    [idle] = [judged for judged in entry.judged if judged.metric == "idle_ratio"]
    assert (idle.candidate, "idle_ratio" in trace.candidate) == (None, False)  # it sleeps

    with Store.connect(plan.history) as store:
        assert store.nights() == [night]
    folder = NightFolder(plan.output / night.id)
    assert (night_in(folder.folder), night.folder) == (night, night.id)
    assert f"{night.id}/nap/candidate-1-1/report.html" in folder.page.read_text()
    assert (folder.folder / trace.runs[0] / "report.html").is_file()


@pytest.mark.parametrize("seed", [7, pytest.param(8, marks=pytest.mark.campaign)])
def test_a_killed_or_stopped_night_leaves_no_process_and_keeps_its_pairs(
    seed: int, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """By a crash, by a scheduler, and by somebody who has no patience."""
    nights, moments = repository(tmp_path / "repo"), random.Random(seed)
    # Its work starts a program and leaves it running.
    work = 'parameters = { trick = "fork" }\ntraced = 1\nreference = { revision = "HEAD" }'
    nights.plan(capture=work)
    for number, sent in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)):
        with subtests.test(sent=sent):
            with nights.start() as night:
                nights.await_night(number, pairs=int(sent == signal.SIGINT))
                time.sleep(moments.uniform(0, 1))
                night.send_signal(sent)
                if sent == signal.SIGINT:
                    time.sleep(moments.uniform(0, 0.3))
                    night.send_signal(sent)
                output, err = night.communicate(timeout=60)
            # A second Ctrl-C may come to a Python on its way out; a shell calls that 130 too.
            exit_codes = {130, -signal.SIGINT} if sent != signal.SIGKILL else {-signal.SIGKILL}
            assert night.returncode in exit_codes, (output, err)
            assert "Traceback" not in err
            assert nights.find_leftovers() == []
            assert not runs_in(nights.output)
    killed, stopped, interrupted = nights.documents()
    with Store.connect(str(nights.output / "history.db"), make=False) as store:
        stored_nights = store.nights()
    assert [night.id for night in stored_nights][:2] == [killed.id, stopped.id], "by the next one"
    assert (stored_nights[0].partial, stored_nights[0].outcome, killed.ended) == (
        True,
        Outcome.FAILED,
        "",
    )
    assert "cut short" in stored_nights[0].reason
    assert (stopped.partial, stopped.outcome, stored_nights[1]) == (True, INCONCLUSIVE, stopped)
    assert stopped.ended
    assert interrupted.entries[0].pairs
