from pathlib import Path

from tracekit.tables.bundle.errors import called


def test_a_bundle_is_called_by_its_own_name_and_a_link_by_what_it_leads_to(tmp_path: Path) -> None:
    bundle, run = tmp_path / "mine.trace", tmp_path / "run"
    for folder in (bundle, run):
        folder.mkdir()
    (run / "recording.trace").symlink_to(bundle)
    assert called(bundle) == called(run / "recording.trace") == "mine.trace"


def test_a_link_is_called_so_even_if_it_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "recording.trace").symlink_to(tmp_path / "gone.trace")
    assert called(tmp_path / "recording.trace") == "gone.trace"
