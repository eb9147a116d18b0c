"""Bundles in zip files, given to `tracekit import`: whole in the run, or nothing of them."""

import resource
import stat
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import write_bundle
from command_line import join_stderr, run
from small_bundle import PYTHON, intervals

ROWS = "gpu_intervals\t2\t"
LARGE = 1 << 20


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """Return the files of a bundle of two intervals, by their names in it."""
    folder = write_bundle(
        tmp_path_factory.mktemp("made") / "x.trace", [intervals((0, 10, PYTHON), (20, 5, PYTHON))]
    )
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def pack_bundle(
    path: Path,
    files: Mapping[str, bytes],
    *,
    bundle_prefix: str = "x.trace/",
    method: int = zipfile.ZIP_DEFLATED,
    zip64: bool = False,
    **other_files: bytes,
) -> Path:
    """Pack the files of a bundle below a folder, and others by the names that they have."""
    members = {f"{bundle_prefix}{name}": content for name, content in files.items()} | other_files
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            with file.open(name, "w", force_zip64=zip64) as member:
                member.write(content)
    return path


def import_archive(archive: Path, output: Path, capsys: Any) -> tuple[int, str]:
    """Return the exit code and the words of an import."""
    code = run("import", archive, "--output", output)
    return code, join_stderr(capsys.readouterr())


@contextmanager
def files_no_larger_than(size: int) -> Generator[None]:
    limits_before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits_before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits_before)


def test_a_name_that_the_disk_does_not_take_leaves_nothing_and_is_not_for_want_of_room(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any
) -> None:
    output = tmp_path / "run"
    archive = pack_bundle(tmp_path / "x.trace.zip", files, **{f"x.trace/{'n' * 300}": b""})
    code, words = import_archive(archive, output, capsys)
    assert (code, output.exists()) == (3, False), words
    assert "File name too long" in words
    assert "Make room" not in words
    assert "Shorten the name" in words
    assert import_archive(pack_bundle(archive, files), output, capsys)[0] == 0, (
        "the same place again"
    )
    assert run("tables", output) == 0
    assert ROWS in capsys.readouterr().out


def test_a_file_for_which_there_is_no_room_leaves_nothing(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any
) -> None:
    output = tmp_path / "run"
    archive = pack_bundle(tmp_path / "x.trace.zip", files, **{"x.trace/zzz": bytes(LARGE + 1)})
    with files_no_larger_than(LARGE):
        code, words = import_archive(archive, output, capsys)
    assert (code, output.exists()) == (3, False), words
    assert "File too large. hint: Name a place on a file system that takes files of" in words
    assert import_archive(archive, output, capsys)[0] == 0


def test_exports_for_which_there_is_no_room_leave_nothing(
    tmp_path: Path, capsys: Any, intervals_xml: Any
) -> None:
    file, output = tmp_path / "gpu.xml", tmp_path / "run"
    file.write_text(intervals_xml([(0, 10, 4711, "python3")]) + " " * LARGE)
    with files_no_larger_than(LARGE):
        code, words = import_archive(file, output, capsys)
    assert (code, output.exists()) == (3, False), words
    assert import_archive(file, output, capsys)[0] == 0


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"bundle_prefix": ""},
        {"bundle_prefix": "a/b/x.trace/"},
        {"bundle_prefix": "Aufnahme über.trace/"},
        {"method": zipfile.ZIP_STORED},
        {"method": zipfile.ZIP_BZIP2},
        {"method": zipfile.ZIP_LZMA},
        {"zip64": True},
        {"__MACOSX/x.trace/._open.creq": b"\0\5\26\7", "__MACOSX/._x.trace": b"", ".DS_Store": b""},
        {"x.trace/._open.creq": b"\0\5\26\7", "x.trace/corespace/.DS_Store": b"\0\0\0\1Bud1"},
    ],
    ids=[
        *("plain", "at the top", "two folders down", "name not ASCII"),
        *("stored", "bzip2", "lzma", "zip64", "beside of macOS", "within of macOS"),
    ],
)
def test_a_bundle_is_unpacked_however_it_was_packed(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any, form: Mapping[str, Any]
) -> None:
    code, words = import_archive(
        pack_bundle(tmp_path / "x.zip", files, **form), tmp_path / "run", capsys
    )
    assert code == 0, words
    assert "outside the bundle" not in words
    assert run("tables", tmp_path / "run") == 0
    assert ROWS in capsys.readouterr().out


def test_files_outside_the_bundle_are_counted_and_named(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any, subtests: pytest.Subtests
) -> None:
    many = {f"notes-{number}.txt": b"" for number in range(7)}
    for name, other_members, words in (
        (
            "one",
            {"README": b"", ".DS_Store": b""},
            "has 1 file outside the bundle, not read: READ",
        ),
        ("many", many, "has 7 files outside the bundle, not read: notes-0.txt, notes-1.txt, "),
        ("rest", many, "notes-4.txt and 2 more."),
    ):
        with subtests.test(name):
            archive = pack_bundle(tmp_path / f"{name}.zip", files, **other_members)
            code, text = import_archive(archive, tmp_path / name, capsys)
            assert code == 0, text
            assert words in text


def test_a_zip_file_that_is_not_unpacked_says_why_and_leaves_nothing(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any, subtests: pytest.Subtests
) -> None:
    twice = {f"y.trace/{name}": content for name, content in files.items()}
    for name, other_members, words in (
        ("two", twice, "holds 2 bundles: x.trace, y.trace."),
        ("absolute", {"/etc/evil": b""}, "'/etc/evil' leads out of its folder."),
        ("above", {"x.trace/../../evil": b""}, "leads out of its folder."),
        ("windows", {"x.trace\\a": b""}, "has a backslash in its name."),
        ("both", {"x.trace/q": b"", "x.trace/q/r": b""}, "'q/r' is a file and a folder in it."),
    ):
        with subtests.test(name):
            archive = pack_bundle(tmp_path / f"{name}.zip", files, **other_members)
            code, text = import_archive(archive, tmp_path / name, capsys)
            assert (code, (tmp_path / name).exists()) == (3, False), text
            assert words in text


def test_links_inside_the_bundle_are_refused_and_others_left_out(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any
) -> None:
    for name, code, words in (
        ("x.trace/latest", 3, "is a link or a device."),
        ("latest", 0, "has 1 file outside the bundle, not read: latest."),
    ):
        archive = pack_bundle(tmp_path / "x.zip", files)
        link = zipfile.ZipInfo(name)
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        with zipfile.ZipFile(archive, "a") as file:
            file.writestr(link, "/etc")
        exit_code, text = import_archive(archive, tmp_path / f"run-{code}", capsys)
        assert exit_code == code, text
        assert words in text, name


class _Unmarked(zipfile.ZipInfo):
    """A member whose name is written in an encoding that nothing names, as macOS does it."""

    encoding = "utf-8"

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802  zipfile's own name
        return self.filename.encode(self.encoding), self.flag_bits


class _Mismarked(_Unmarked):
    """A member whose name is said to be UTF-8, and is not."""

    encoding = "latin-1"

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802  zipfile's own name
        return self.filename.encode(self.encoding), self.flag_bits | 0x800


def test_names_in_another_encoding_are_read_or_refused(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any
) -> None:
    for kind, code, words in (
        (_Unmarked, 0, "not read: über.txt."),
        (_Mismarked, 3, "is not a readable zip file: 'utf-8' codec"),
    ):
        archive = pack_bundle(tmp_path / "x.zip", files)
        with zipfile.ZipFile(archive, "a") as file:
            file.writestr(kind("über.txt"), b"")
        exit_code, text = import_archive(archive, tmp_path / f"run-{code}", capsys)
        assert exit_code == code, text
        assert words in text


def test_a_damaged_zip_file_is_refused_in_words_wherever_the_damage_is(
    files: Mapping[str, bytes], tmp_path: Path, capsys: Any, subtests: pytest.Subtests
) -> None:
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        content = pack_bundle(tmp_path / "x.zip", files, method=method).read_bytes()
        archive, output = tmp_path / "damaged.zip", tmp_path / "run"
        cut_contents = [content[: len(content) * part // 3] for part in range(3)]
        places = range(len(content) // 90, len(content), len(content) // 6)
        mixed = [
            content[:position] + b"\x55\xaa\x33" + content[position + 3 :] for position in places
        ]
        for number, damaged in enumerate([*cut_contents, *mixed]):
            with subtests.test(f"{method}, {number}"):
                archive.write_bytes(damaged)
                code, text = import_archive(archive, output, capsys)
                assert code in {0, 3}, text
                assert output.exists() is (code == 0), text
                if code == 0:
                    output.rename(tmp_path / f"{method}-{number}")


def test_a_run_without_tables_fails(tmp_path: Path, toc_xml: Any, capsys: Any) -> None:
    (tmp_path / "toc.xml").write_text(toc_xml())
    assert run("import", tmp_path / "toc.xml", "--output", tmp_path / "run") == 0
    capsys.readouterr()
    assert run("tables", tmp_path / "run") == 4
    assert "run has no tables." in join_stderr(capsys.readouterr())
