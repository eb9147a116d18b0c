from pathlib import Path

import pytest

from tracekit.record.host.recorder import Listener
from tracekit.workload.journal import Journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workload.jsonl"


def test_it_hears_phases_and_pauses(path: Path) -> None:
    listener = Listener(path)
    assert not listener.listen()
    journal = Journal(path)
    journal.write("phase", name="steady", start=50)
    journal.write("step", phase="steady", start=50, submitted=51, completed=52)
    assert listener.listen()
    assert (listener.phase, listener.steady, listener.paused) == ("steady", 50, False)
    assert not listener.listen()
    journal.write("sampling", on=False, at=60)
    assert not listener.listen()
    assert listener.paused
    journal.write("sampling", on=True, at=70)
    listener.listen()
    assert not listener.paused
    journal.close()


def test_half_a_line_is_heard_when_it_is_whole(path: Path) -> None:
    line = b'{"mark":"phase","name":"warm-up","start":7}\n'
    listener = Listener(path)
    for cut in range(1, len(line)):
        path.write_bytes(line[:cut])
        assert not listener.listen()
    path.write_bytes(line)
    assert listener.listen()
    assert listener.phase == "warm-up"


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b'{"mark":"phase"}', b'{"mark":"phase","name":1,"start":2}', b"\xff"]
)
def test_nonsense_is_not_heard(path: Path, line: bytes) -> None:
    path.write_bytes(line + b'\n{"mark":"phase","name":"steady","start":1}\n')
    listener = Listener(path)
    assert listener.listen()
    assert listener.phase == "steady"
