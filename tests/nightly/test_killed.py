"""Nights that are killed at any moment, or told to stop: nothing runs on, and nothing is lost."""

import random
import signal
import time
from pathlib import Path

import pytest

from real_nights import Nights, repository
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.schedule.running import runs_in

pytestmark = pytest.mark.processes


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
    assert [one.id for one in kept(nights)] == [one.id for one in found]
    for one in kept(nights)[:-1]:
        assert (one.partial, one.outcome) == (True, Outcome.FAILED)
        assert "cut short" in one.reason
    assert [one.ended == "" for one in found] == [True] * times + [False]
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
