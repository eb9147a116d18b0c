"""The index of a capture and the contents that it names: bounds, damage, links."""

import struct
import zlib
from pathlib import Path

import pytest

from capture_writer import METALLIB, small_capture
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.captures.files import CaptureFiles


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return small_capture().write(tmp_path / "made.gputrace")


def find_entry(index: bytes | bytearray, name: str) -> int:
    """Return the place of an entry in an index of 1,024 buckets."""
    (count,) = struct.unpack_from("<I", index, 12)
    start = 20 + 12 * 1024
    names = bytes(index[start + 26 * count :]).rstrip(b"\0").split(b"\0")
    return start + 24 * names.index(name.encode())


def change_entry(bundle: Path, name: str, form: str, offset: int, value: int) -> None:
    index = bytearray((bundle / "index").read_bytes())
    struct.pack_into(form, index, find_entry(index, name) + offset, value)
    (bundle / "index").write_bytes(index)


def test_contents_are_packed_or_plain(bundle: Path) -> None:
    files = CaptureFiles(bundle)
    assert files.read("MTLBuffer-6-0")[:4] == b"\x64\0\0\0"
    assert files.read("MTLBuffer-5-0") == bytes(1024)
    assert files.size(METALLIB) == len(files.read(METALLIB))
    assert files.unexplained == 0
    assert files.count_unexplained_of_store() == 0


def test_equal_contents_share_a_stream(bundle: Path) -> None:
    index = bytearray((bundle / "index").read_bytes())
    source = find_entry(index, "MTLBuffer-6-0")
    target = find_entry(index, "(device info)")
    index[target : target + 24] = index[source : source + 24]
    (bundle / "index").write_bytes(index)
    files = CaptureFiles(bundle)
    assert files.read("(device info)") == files.read("MTLBuffer-6-0")
    assert files.count_unexplained_of_store() > 0


def test_a_damaged_index_is_refused(bundle: Path) -> None:
    good = (bundle / "index").read_bytes()
    names_start = good.rindex(b"unsorted-capture")
    for name, content, words in (
        ("empty", b"", "index is cut"),
        ("cut", good[:12000], "index is cut"),
        ("another magic", b"xxxx" + good[4:], "index is not the index of a GPU frame capture"),
        ("a cut name", good[:-3], "index has a name without an end"),
        (
            "a path",
            good[:names_start] + b"../sorted-captur" + good[names_start + 16 :],
            "index has the impossible name '../sorted-captur'",
        ),
        ("too many buckets", good[:8] + b"\xff\xff\xff\xff" + good[12:], "index is cut"),
    ):
        (bundle / "index").write_bytes(content)
        with pytest.raises(BundleError) as caught:
            CaptureFiles(bundle)
        assert caught.value.message == f"made.gputrace: {words}.", name
        assert caught.value.exit_code == 3, name


def test_bytes_after_the_names_are_counted(bundle: Path) -> None:
    with (bundle / "index").open("ab") as index:
        index.write(b"more")
    assert CaptureFiles(bundle).unexplained == 4


def test_a_content_that_does_not_fit_its_entry_is_refused(bundle: Path, tmp_path: Path) -> None:
    for name, offset, form, value, words in (
        ("a larger size", 0, "<I", 17, "does not inflate to 17 bytes"),
        ("a smaller size", 0, "<I", 15, "does not inflate to 15 bytes"),
        ("a stream beyond the end", 8, "<Q", 1 << 40, "lies beyond the end of store0"),
        ("a longer stream", 4, "<I", 0xFFFFFFFF, "lies beyond the end of store0"),
        ("a bomb", 0, "<I", 0xFFFFFFFF, "holds more than 1,073,741,824 bytes"),
        ("an unlikely ratio", 0, "<I", 1 << 29, "inflates to more than a capture holds"),
    ):
        made = small_capture().write(tmp_path / f"{name}.gputrace")
        change_entry(made, "MTLBuffer-6-0", form, offset, value)
        with pytest.raises(BundleError) as caught:
            CaptureFiles(made).read("MTLBuffer-6-0")
        assert caught.value.message == f"{name}.gputrace: MTLBuffer-6-0 {words}."


def test_an_unknown_kind_of_place_is_refused(bundle: Path) -> None:
    change_entry(bundle, "MTLBuffer-6-0", "<Q", 16, 3)
    with pytest.raises(BundleError, match="in a place of the unknown kind 3"):
        CaptureFiles(bundle)


def test_a_damaged_stream_is_refused(bundle: Path) -> None:
    content = bytearray((bundle / "store0").read_bytes())
    content[5] ^= 0xFF
    (bundle / "store0").write_bytes(content)
    files = CaptureFiles(bundle)
    with pytest.raises(BundleError, match=r"made\.gputrace: .* cannot be inflated"):
        files.read("(device info)")


def test_a_plain_file_of_another_size_is_refused(bundle: Path) -> None:
    (bundle / "MTLBuffer-5-0").write_bytes(bytes(1000))
    with pytest.raises(BundleError, match="MTLBuffer-5-0 has 1,000 bytes instead of 1,024"):
        CaptureFiles(bundle).read("MTLBuffer-5-0")


def test_a_link_is_followed_within_the_capture_alone(bundle: Path, tmp_path: Path) -> None:
    content = bundle / "MTLBuffer-5-0"
    content.rename(bundle / "MTLBuffer-5-1")
    content.symlink_to("MTLBuffer-5-1")
    assert CaptureFiles(bundle).read("MTLBuffer-5-0") == bytes(1024)
    outside = tmp_path / "secret"
    outside.write_bytes(bytes(1024))
    for target in (outside, "../secret", "MTLBuffer-5-0"):
        content.unlink()
        content.symlink_to(target)
        with pytest.raises(BundleError, match="MTLBuffer-5-0"):
            CaptureFiles(bundle).read("MTLBuffer-5-0")


def test_missing_parts_are_named(bundle: Path) -> None:
    files = CaptureFiles(bundle)
    with pytest.raises(BundleError, match=r"made\.gputrace: nothing is missing"):
        files.read("nothing")
    (bundle / "store0").unlink()
    with pytest.raises(BundleError, match="store0 is missing"):
        files.read("MTLBuffer-6-0")


def test_other_files_are_listed(bundle: Path) -> None:
    (bundle / "made.gpuprofiler_raw").mkdir()
    (bundle / "notes.txt").write_text("x")
    assert CaptureFiles(bundle).list_other_names() == ["made.gpuprofiler_raw", "notes.txt"]


def test_bytes_of_the_store_without_a_content_are_counted(bundle: Path) -> None:
    with (bundle / "store0").open("ab") as store:
        store.write(zlib.compress(b"nobody asks for this"))
    assert CaptureFiles(bundle).count_unexplained_of_store() == len(
        zlib.compress(b"nobody asks for this")
    )
