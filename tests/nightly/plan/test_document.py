"""The file of a plan: found, or refused in words; whatever it is, no traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.reading import read_plan

Refused = Callable[..., UsageError]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a = 1\r\n\r\nb", "at end of document", id="carriage-returns"),
        pytest.param("a = 1\na = 2\n", "at line 2, column 6", id="twice"),
        pytest.param(b"a = 1\nb = '\xff'\n", "0xff", id="latin"),
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
