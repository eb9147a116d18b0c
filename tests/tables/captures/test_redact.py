"""Redacted copies: nothing private stays, everything else does."""

import plistlib
from pathlib import Path

import pandas as pd
import pytest

from capture_writer import DEVICE, MadeCapture, call, device_info, small_capture
from command_line import run
from tracekit.base import InputError
from tracekit.tables import tables_of_bundle
from tracekit.tables.captures import open_capture
from tracekit.tables.captures.redact import blank_source, redact_capture

SOURCE = b"// written by anne\nkernel void probe() {}\n"
SOURCES = {"/Users/anne/src/probe.metal": SOURCE, "options.txt": b"-I /Users/anne/include/a.h\n"}
SECRETS = (b"anne", b"annes-mac", b"0F5A9B1C", b"/src/", "anne".encode("utf-16-be"))


def redact(made: MadeCapture, folder: Path, *include: str) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    bundle = made.write(folder / "made.gputrace")
    copy = folder / "copy.gputrace"
    copy.mkdir()
    redact_capture(open_capture(bundle), copy, include)
    return bundle, copy


def read_everything(bundle: Path) -> bytes:
    """Return all contents of a capture, and the sources that its libraries carry."""
    capture = open_capture(bundle)
    parts = [capture.files.read(name) for name in capture.files.list_names()]
    for library in capture.libraries:
        for source in capture.list_sources(library):
            parts += [source.path.encode(), source.content]
    return b"\n".join(parts)


def test_nothing_private_is_left(tmp_path: Path) -> None:
    made = small_capture(SOURCES)
    made.packed["environment"] = plistlib.dumps(
        {"HOME": "/Users/anne", "LAST": "Jürgen: /Users/anne/x.metal"},
        fmt=plistlib.FMT_BINARY,
    )
    made.packed["F00D"] = b"\xde\xad" * 40
    made.calls.insert(0, call(0xC288, "CS", DEVICE, "file:///Users/anne/captures/made.gputrace"))
    bundle, copy = redact(made, tmp_path)
    original = read_everything(bundle)
    redacted = read_everything(copy)
    assert len(redacted) == len(original)
    for secret in SECRETS:
        assert secret in original
        assert secret not in redacted
    assert b"kernel void" in original
    assert b"kernel void" not in redacted
    assert b"\xde\xad" not in redacted
    assert b"/Users/xxxx/xxxxxxxx/made.gputrace" in redacted


def test_all_tables_stay(tmp_path: Path) -> None:
    bundle, copy = redact(small_capture(SOURCES), tmp_path)
    assert open_capture(copy).count_unexplained_bytes() == 0
    original = tables_of_bundle(bundle)
    redacted = tables_of_bundle(copy)
    assert list(original) == list(redacted)
    for name in original:
        pd.testing.assert_frame_equal(original[name], redacted[name])
    assert redacted.losses == ()
    assert redacted["functions"]["intact"].tolist() == [True]


def test_included_parts_stay(tmp_path: Path) -> None:
    made = small_capture({"/Users/anne/src/probe.metal": SOURCE})
    made.plain["MTLBuffer-5-0"] = bytes(range(256)) * 4
    _, copy = redact(made, tmp_path, "source", "buffers")
    capture = open_capture(copy)
    (library,) = capture.libraries
    (source,) = capture.list_sources(library)
    assert source.path == "/Users/xxxx/xxx/probe.metal"
    assert source.content == SOURCE.replace(b"anne", b"xxxx")
    assert capture.read_contents("MTLBuffer-5-0") == bytes(range(256)) * 4


def test_a_shown_number_stays_and_other_contents_are_zeroed(tmp_path: Path) -> None:
    made = small_capture()
    made.plain["MTLBuffer-5-0"] = b"\x01" * 1024
    made.packed["MTLBuffer-6-0"] = b"\x64\0\0\0" + b"\x02" * 12
    _, copy = redact(made, tmp_path)
    capture = open_capture(copy)
    assert capture.read_contents("MTLBuffer-5-0") == bytes(1024)
    assert capture.read_contents("MTLBuffer-6-0") == b"\x64\0\0\0" + bytes(12)


def test_a_name_that_is_a_word_of_metal_stays_outside_paths(tmp_path: Path) -> None:
    made = small_capture()
    made.resources[0] += call(0xD010, "CiS", DEVICE, 127, "/Users/air/probe.metallib")
    _, copy = redact(made, tmp_path)
    assert tables_of_bundle(copy)["functions"]["arguments"].tolist() == [4]
    assert b"/Users/air/" not in read_everything(copy)


def test_names_are_replaced_as_words_alone(tmp_path: Path) -> None:
    made = small_capture()
    made.packed["(device info)"] = device_info("prob.local", "prob")
    _, copy = redact(made, tmp_path)
    assert tables_of_bundle(copy)["functions"]["name"].tolist() == ["probe"]


def test_a_capture_that_would_change_is_refused(tmp_path: Path) -> None:
    for host, message in (
        ("spare", "the facts of its AIR would change"),
        ("probe", "has a name in the AIR of probe that cannot be replaced"),
    ):
        made = small_capture()
        made.packed["(device info)"] = device_info(host, "x")
        with pytest.raises(InputError, match=message):
            redact(made, tmp_path / host)


def test_a_source_keeps_its_lines() -> None:
    for source, blank in (
        (b"", b""),
        (b"a\nbc\n", b" \n  \n"),
        (b"ab\0\0", b"  \0\0"),
        ("é\n".encode(), b"  \n"),
    ):
        assert blank_source(source) == blank, source


def test_the_command_leaves_the_original_and_nothing_after_a_failure(tmp_path: Path) -> None:
    bundle = small_capture(SOURCES).write(tmp_path / "made.gputrace")
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}
    copy = tmp_path / "copy.gputrace"
    assert run("runs", "redact", bundle, copy) == 0
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before
    assert {path.name for path in copy.iterdir()} == before.keys()
    for words in (
        ("runs", "redact", bundle, copy),
        ("runs", "redact", bundle, tmp_path / "copy"),
        ("runs", "redact", tmp_path, copy),
    ):
        assert run(*words) == 2, words
    (bundle / "store0").write_bytes(b"")
    other = tmp_path / "other.gputrace"
    assert run("runs", "redact", bundle, other) == 3
    assert not other.exists()


@pytest.mark.corpus
def test_real_captures_stay_whole(corpus: Path, tmp_path: Path) -> None:
    for name in ("relu", "matmul_gelu_softmax"):
        bundle = corpus / "Lazarus-931+MetalBench" / f"{name}.gputrace"
        copy = tmp_path / f"{name}.gputrace"
        copy.mkdir()
        redact_capture(open_capture(bundle), copy)
        capture = open_capture(copy)
        assert capture.count_unexplained_bytes() == 0, name
        assert capture.losses == (), name
        original = tables_of_bundle(bundle)
        redacted = tables_of_bundle(copy)
        for table in original:
            pd.testing.assert_frame_equal(original[table], redacted[table])
        text = read_everything(copy)
        for secret in (b"redacted-hostname00", b"user00000000000", b"MetalBench"):
            assert secret not in text, (name, secret)


def test_a_redacted_copy_is_redacted_again_into_itself(tmp_path: Path) -> None:
    _, copy = redact(small_capture(SOURCES), tmp_path)
    again = tmp_path / "again.gputrace"
    again.mkdir()
    redact_capture(open_capture(copy), again)
    names = sorted(file.name for file in copy.iterdir())
    assert names == sorted(file.name for file in again.iterdir())
    for name in names:
        assert (again / name).read_bytes() == (copy / name).read_bytes(), name
