"""What large files were found to hold is not looked for twice."""

import os
import time
from pathlib import Path

import pytest

from tracekit.tables import place as stamps
from tracekit.tables.exports import Content, Header, identify, index, remembered

HOUR = 3600 * 10**9
HEAD = (
    b"<trace-query-result><node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'>"
    b'<schema name="one"><col/></schema>'
)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Make a sparse file that is large, and was changed long ago as far as anyone can tell."""
    path = tmp_path / "exports" / "large.xml"
    path.parent.mkdir()
    with path.open("wb") as file:
        file.write(HEAD)
        file.truncate((1 << 26) + 10)
    return path


@pytest.fixture
def an_hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    monkeypatch.setattr(stamps.time, "time_ns", lambda: now() + HOUR)


class Looks:
    """What looks at a file, and counts how often it was asked."""

    finds = "one"
    count = 0

    def look(self, path: Path) -> Content:
        """Find a table."""
        assert path.exists()
        self.count += 1
        return Content("tables", (self.finds,), (Header(self.finds, "", 1, rows=True),))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks()
    monkeypatch.setattr("tracekit.tables.exports.identify", looks.look)
    return looks


@pytest.mark.usefixtures("an_hour_later")
def test_a_large_file_is_looked_at_once(looks: Looks, large: Path, tmp_path: Path) -> None:
    found = [remembered(large, tmp_path / "memory") for _ in range(3)]
    assert looks.count == 1
    assert found[0] == found[1] == found[2]
    assert found[2].headers == (Header("one", "", 1, rows=True),)


@pytest.mark.usefixtures("an_hour_later")
def test_a_changed_file_is_looked_at_again(looks: Looks, large: Path, tmp_path: Path) -> None:
    remembered(large, tmp_path)
    before = large.stat()
    with large.open("r+b") as file:
        file.write(b"<")
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    looks.finds = "two"
    assert remembered(large, tmp_path).schemas == ("two",)


@pytest.mark.usefixtures("an_hour_later")
@pytest.mark.parametrize("content", [b"", b"{}", b"not JSON", b'{"version": 0}'])
def test_a_damaged_memory_is_forgotten(
    looks: Looks, large: Path, tmp_path: Path, content: bytes
) -> None:
    remembered(large, tmp_path)
    (note,) = tmp_path.glob("*.scan")
    note.write_bytes(content)
    assert remembered(large, tmp_path).schemas == ("one",)
    assert looks.count == 2
    assert note.read_bytes() != content


def test_a_young_file_is_looked_at_every_time(looks: Looks, large: Path, tmp_path: Path) -> None:
    os.utime(large)
    for _ in range(2):
        remembered(large, tmp_path / "memory")
    assert looks.count == 2
    assert not (tmp_path / "memory").exists()


@pytest.mark.usefixtures("an_hour_later")
def test_nothing_is_kept_of_small_files_or_without_a_folder(
    looks: Looks, large: Path, tmp_path: Path
) -> None:
    remembered(large, None)
    remembered(large, None)
    assert looks.count == 2
    (tmp_path / "in the way").write_text("")
    remembered(large, tmp_path / "in the way")
    remembered(large, tmp_path / "in the way")
    assert looks.count == 4
    os.truncate(large, 1 << 20)
    remembered(large, tmp_path / "memory")
    assert not (tmp_path / "memory").exists()


@pytest.mark.usefixtures("an_hour_later")
def test_an_index_is_the_same_from_memory(large: Path, tmp_path: Path) -> None:
    first = index(large.parent, tmp_path / "memory")
    assert len(list((tmp_path / "memory").glob("*.scan"))) == 1
    assert index(large.parent, tmp_path / "memory") == first == index(large.parent)
    (listed,) = first.tables["one"]
    assert str(listed) == "run 1 table 3 in large.xml"
    assert identify(large).headers[0].rows is False
