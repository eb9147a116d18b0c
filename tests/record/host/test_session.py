from pathlib import Path

from tracekit.record.host.session import Session, close, fresh, load_session

SESSION = Session(pid=7, name="python", kind="launched", arguments=("-V",), origin=5)


def test_a_session_is_closed_and_read_back(tmp_path: Path) -> None:
    bundle = fresh(tmp_path / "recording.host")
    closed = close(bundle, SESSION, "Target exited", -2)
    assert load_session(bundle) == closed
    assert (closed.end_reason, closed.exit_status) == ("Target exited", -2)
    assert closed.end > 5
    assert closed.ended.endswith("+00:00")
    assert (closed.pid, closed.arguments, closed.origin) == (7, ("-V",), 5)


def test_samples_of_an_earlier_try_are_forgotten(tmp_path: Path) -> None:
    bundle = fresh(tmp_path)
    bundle.samples.write_text("old")
    assert not fresh(tmp_path).samples.exists()
