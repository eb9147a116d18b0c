"""Programs: the file of a name, and the reason why one cannot be started."""

import errno
import os
import re
import shlex
import shutil
import stat
import sys
from pathlib import Path

from tracekit.base.errors import UsageError

_HEAD = 256  # bytes: as much of a first line as Linux reads
_INTERPRETER = re.compile(rb"#![ \t]*([^ \t\n]+)")
_ELF = b"\x7fELF"
_MACH_O = tuple(bytes.fromhex(magic) for magic in ("feedface", "feedfacf", "cefaedfe", "cffaedfe"))
# The magic of Java's classes too, which have their version instead of the number of parts.
_UNIVERSAL = bytes.fromhex("cafebabe")
_MOST_PARTS = 40
_FOREIGN = {"darwin": "Linux", "linux": "macOS"}  # the system whose programs do not start here


class ProgramError(OSError):
    """A program cannot be started: `strerror` is the reason, `hint` the remedy."""

    def __init__(self, number: int, reason: str, name: str, hint: str = "") -> None:
        super().__init__(number, reason, name)
        self.hint = hint


def find_program(name: str, search: str | None, folder: Path | None = None) -> str:
    """Return the file that the system starts for a name, as execvp(3) finds it.

    A name with a slash is a path, which counts from `folder`, by default the current one; any other
    is searched in the folders of `search`, which is a PATH. Raise ProgramError if there is no
    such program, or one that this system cannot start.
    """
    start = str(folder or os.curdir)
    path = name
    if "/" in name:
        # Joined as text: `Path` removes "./", and the rest would be searched for in PATH.
        path = os.path.join(start, name)  # noqa: PTH118
    file = None
    if name:
        file = shutil.which(path, path=_from(start, search))
    if file is None:
        raise _absence(name, Path(start, name))
    _require_startable(name, Path(start, file))
    return file


def require_program(name: str, search: str | None) -> str:
    """Return the file of a user's program, as `find_program` does; raise UsageError."""
    try:
        return find_program(name, search)
    except ProgramError as error:
        message = f"{shlex.quote(name)} cannot be started: {error.strerror}."
        raise UsageError(message, hint=error.hint) from None


def needs_shell(file: Path) -> bool:
    """Tell whether a file is a script that names no interpreter, which a shell has to read.

    The system itself does not start it; execvp(3) and shells hand it to /bin/sh.
    """
    head = _head(file)
    is_text = bool(head) and b"\0" not in head
    return is_text and not head.startswith((b"#!", _UNIVERSAL, *_MACH_O))


def _head(file: Path) -> bytes:
    """Return the beginning of a file; empty if it is not readable, though it may be executable."""
    try:
        with file.open("rb") as opened:
            return opened.read(_HEAD)
    except OSError:
        return b""


def _from(start: str, search: str | None) -> str | None:
    """Return a PATH with its relative folders, also empty ones, relative to a folder."""
    if search is None:
        return None
    parts = search.split(os.pathsep)
    return os.pathsep.join(os.path.join(start, part) for part in parts)  # noqa: PTH118


def _absence(name: str, path: Path) -> ProgramError:
    """Return the error for a name without a program; `path` is its place if it is a path."""
    if not name:
        return ProgramError(errno.ENOENT, "the name of the program is empty", name)
    if name.rstrip("/").endswith(".app"):
        hint = "Name the executable inside it, in Contents/MacOS."
        return ProgramError(errno.EISDIR, "it is an app bundle, not a program", name, hint)
    if "/" not in name:
        hint = "Install it, or write its path."
        if path.is_file():
            hint = f"Write {shlex.quote(f'./{name}')} for the one in this folder."
        reason = "no folder of PATH has a program of that name"
        return ProgramError(errno.ENOENT, reason, name, hint)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return _unreachable(name, path, error)
    if stat.S_ISDIR(mode):
        return ProgramError(errno.EISDIR, "it is a folder, not a program", name)
    hint = (
        f"`chmod +x {shlex.quote(name)}` makes it so; a script can be given to its interpreter, as "
        f"in `python3 {shlex.quote(name)}`."
    )
    return ProgramError(errno.EACCES, "it is not executable", name, hint)


def _unreachable(name: str, path: Path, error: OSError) -> ProgramError:
    number = error.errno or errno.ENOENT
    if number == errno.ENOENT and path.is_symlink():
        reason = f"it is a link to {str(path.readlink())!r}, which does not exist"
        return ProgramError(number, reason, name)
    hint = "A path counts from the folder in which tracekit runs."
    if name.startswith("~"):
        hint = "The shell replaces ~ only outside of quotes; write $HOME within them."
    return ProgramError(number, str(error.strerror), name, hint)


def _require_startable(name: str, file: Path) -> None:
    """Raise ProgramError for a script without its interpreter, and for another system's program."""
    head = _head(file)
    interpreter = _INTERPRETER.match(head)
    if interpreter is not None:
        path = os.fsdecode(interpreter[1])
        if not Path(path).exists():
            reason = f"its first line names the interpreter {path!r}, which does not exist"
            hint = ""
            if path.endswith("\r"):
                hint = "The file has the line ends of Windows."
            raise ProgramError(errno.ENOENT, reason, name, hint)
    system = _FOREIGN.get(sys.platform, "")
    if system and _is_program_of(system, head):
        raise ProgramError(errno.ENOEXEC, f"it is a program for {system}", name)


def _is_program_of(system: str, head: bytes) -> bool:
    """Tell whether a file with this beginning is a program of a system."""
    if system == "Linux":
        return head.startswith(_ELF)
    if head.startswith(_UNIVERSAL):
        part_count = int.from_bytes(head[4:8], "big")
        return 0 < part_count < _MOST_PARTS
    return head.startswith(_MACH_O)


def module_command(python: Path, module: str) -> tuple[str, ...]:
    """Return the command line that starts a module in an interpreter.

    It keeps the current folder off the module path, as the `tracekit` program does.
    """
    return (str(python), "-P", "-X", "faulthandler", "-m", module)
