"""Where template files are looked for."""

from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.record.xctrace.templates.settings import (
    instruments_app,
    template_file,
    template_files,
)

OF_USER = Path("Library/Application Support/Instruments/Templates")


@pytest.fixture
def xcode(tmp_path: Path) -> Path:
    """An Xcode with two packages of templates; return its xctrace."""
    contents = tmp_path / "Xcode beta.app" / "Contents"
    packages = contents / "Applications" / "Instruments.app" / "Contents" / "Packages"
    for package, name in (("GPU.instrdst", "Metal System Trace"), ("Base.instrdst", "Blank")):
        folder = packages / package / "Contents" / "Templates"
        folder.mkdir(parents=True)
        (folder / f"{name}.tracetemplate").touch()
    return contents / "Developer" / "usr" / "bin" / "xctrace"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    folder = home / "Library" / "Application Support" / "Instruments" / "Templates"
    folder.mkdir(parents=True)
    (folder / "mine.tracetemplate").touch()
    (folder / "notes.txt").touch()
    assert folder == home / OF_USER
    return home


def test_instruments_stands_beside_the_tool(xcode: Path) -> None:
    app = instruments_app(str(xcode))
    assert app is not None
    assert app.parts[-4:] == ("Xcode beta.app", "Contents", "Applications", "Instruments.app")


def test_a_template_is_found_by_its_exact_name(home: Path, xcode: Path) -> None:
    files = template_files(home, str(xcode))
    assert template_file("Metal System Trace", files).parent.parent.parent.name == "GPU.instrdst"
    with pytest.raises(UsageError, match="No template file called 'Metal System'") as caught:
        template_file("Metal System", files)
    assert "--from" in caught.value.hint


def test_two_of_one_name_are_not_chosen_between(home: Path, xcode: Path) -> None:
    (home / OF_USER / "Blank.tracetemplate").touch()
    with pytest.raises(UsageError, match="Several template files are called 'Blank'"):
        template_file("Blank", template_files(home, str(xcode)))
