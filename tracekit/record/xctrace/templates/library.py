"""Where template files lie: the user's own folder, and Instruments beside the xctrace in use."""

from collections.abc import Sequence
from pathlib import Path

from tracekit.base.errors import UsageError

SUFFIX = ".tracetemplate"
_OF_USER = Path("Library") / "Application Support" / "Instruments" / "Templates"
_OF_INSTRUMENTS = "Contents/Packages/*/Contents/Templates"


def user_folder(home: Path) -> Path:
    """Return the folder in which Instruments keeps a user's own templates."""
    return home / _OF_USER


def instruments_app(xctrace: str) -> Path | None:
    """Return the Instruments of the Xcode that an `xctrace` belongs to; None if it is not there.

    The tool lies in Contents/Developer of an Xcode, Instruments in its Contents/Applications.
    """
    for parent in Path(xctrace).parents:
        if parent.name == "Developer":
            app = parent.parent / "Applications" / "Instruments.app"
            return app if app.is_dir() else None
    return None


def template_files(home: Path, xctrace: str = "") -> tuple[Path, ...]:
    """Return the template files that can be found, the user's own first."""
    folders = [user_folder(home)]
    app = instruments_app(xctrace)
    if app is not None:
        folders += sorted(app.glob(_OF_INSTRUMENTS))
    return tuple(path for folder in folders for path in sorted(folder.glob(f"*{SUFFIX}")))


def template_file(name: str, files: Sequence[Path]) -> Path:
    """Return the template file that is called `name`, among those that were found.

    Raises:
        UsageError: None is, or several are.
    """
    found = [path for path in files if path.stem == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"Several template files are called {name!r}: {', '.join(map(str, found))}.",
            hint="Name one of them by its path, with --from.",
        )
    raise UsageError(
        f"No template file called {name!r} was found in the user's folder of templates or in "
        "the Instruments of the selected Xcode.",
        hint="Save it in Instruments with File > Save As Template, and give the path with --from.",
    )
