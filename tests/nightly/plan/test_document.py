"""The file of a plan: found, or refused in words; whatever it is, no traceback."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nobody import folder_of_nobody
from tracekit.base.errors import UsageError
from tracekit.nightly.plan.document import open_document
from tracekit.nightly.plan.reading import read_plan

Refused = Callable[..., UsageError]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("[nightly\n", "at line 1, column 9", id="header"),
        pytest.param("a = 1\r\n\r\nb", "at end of document", id="carriage-returns"),
        pytest.param("a = 1\na = 2\n", "at line 2, column 6", id="twice"),
        pytest.param(f"a = {'9' * 5000}", "", id="endless-number"),
        pytest.param(b"a = 1\nb = '\xff'\n", "0xff", id="latin"),
        pytest.param("a\0b = 1", "at line 1, column 2", id="null"),
        pytest.param("a = " + "[" * 50_000, "", id="nested"),
        pytest.param("x = 1\n".encode("utf-16"), "utf-8", id="utf-16"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_place(
    text: str | bytes, said: str, refused: Refused
) -> None:
    message = refused(text).message
    assert message.startswith("tracekit.toml is no TOML: ")
    assert said in message


def test_a_folder_of_the_plans_name_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tracekit.toml").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"tracekit\.toml is a folder|Is a directory"):
        read_plan()


def test_a_missing_file_is_told_with_a_plan_to_paste(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*gone\.toml") as refusal:
        read_plan(tmp_path / "gone.toml")
    assert "--init" in refusal.value.hint
    pasted = refusal.value.hint.partition(":\n")[2]
    (tmp_path / "pasted.toml").write_text(pasted)
    assert read_plan(tmp_path / "pasted.toml").captures[0].workload == "paged"


def test_without_a_plan_anywhere_both_names_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no tracekit\.toml in .* or above, and no pyproject"):
        read_plan()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(UsageError, match="is a pipe, not a file"):
        read_plan(tmp_path / "pipe.toml")


def test_a_file_that_may_not_be_read_is_told() -> None:
    with folder_of_nobody() as folder:
        file = folder / "tracekit.toml"
        file.touch(mode=0o000)
        with pytest.raises(UsageError, match="Permission denied"):
            read_plan(file)


def test_a_shared_file_without_a_plan_is_passed_over_even_where_it_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tracekit.toml").write_text("[nightly]\n")
    below = tmp_path / "below"
    below.mkdir()
    (below / "pyproject.toml").write_bytes(b"[project\n\xff")
    monkeypatch.chdir(below)
    assert open_document(None).file == tmp_path / "tracekit.toml"
    (below / "pyproject.toml").write_text("[tool.tracekit.nightly\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml is no TOML"):
        open_document(None)


@given(
    st.binary(max_size=80) | st.text("[]{}='\"\\.# \n\r\tnightly1é", max_size=60).map(str.encode)
)
def test_no_bytes_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as refusal:
        read_plan(file)
    assert refusal.value.message.startswith(str(file))
