"""Folders that macOS closes to jobs of launchd."""

from pathlib import Path

from tracekit.machine.reach import find_launchd_obstacle


def test_folders_of_a_person_and_other_volumes_are_closed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "Documents" / "work").mkdir(parents=True)
    (home / "work").mkdir()
    (home / "link").symlink_to(home / "Documents" / "work")
    for path, words in (
        (home / "Documents" / "work" / "tracekit.toml", "in Documents"),
        (home / "Desktop", "in Desktop"),
        (home / "Downloads" / "tracekit", "in Downloads"),
        (home / "link" / "runs", "in Documents"),
        (Path("/Volumes/Disk/runs"), "on another volume"),
    ):
        obstacle = find_launchd_obstacle(path, home)
        assert words in obstacle, path
        assert obstacle.endswith("closes to jobs of launchd"), path
    for path in (home / "work", home / "Documents2", home / "Library" / "Caches", Path("/opt")):
        assert find_launchd_obstacle(path, home) == "", path
