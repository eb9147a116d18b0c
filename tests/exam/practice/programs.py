"""Parts that programs of the practice set share: how they begin, draw, keep a display's time, end.

Times are µs.
"""

from collections.abc import Sequence
from pathlib import Path

from sealed.mac import MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program

Rows = dict[str, int]
"""The number of rows of each table."""
Levels = Sequence[tuple[float, int]]
"""The bytes that a program holds, each number from a time on."""
LEVELS: Levels = ((50 * MS, 300 * MEBIBYTE),)

SECOND = 1_000 * MS
REFRESH = 16_667.0
"""The period of a display of 60 Hz."""
MEMORYLESS_ERROR = 13
"""The driver's code for too much geometry for attachments without memory."""
_PRESENTS = 7  # in a row of the command buffers' assignment to frames


def start(seed: int, device: str, name: str) -> Program:
    """Return a program on a machine of its own."""
    return Program(Mac(seed, device), Owner(name, 4_000 + seed))


def compute(*works: float) -> list[Pass]:
    """Return passes of the compute channel."""
    return [Pass("Compute", work) for work in works]


def evenly(mac: Mac, number: int, work: float) -> list[Pass]:
    """Return so many compute passes of about one length."""
    return compute(*(mac.about(work) for _ in range(number)))


def draw(mac: Mac, vertices: float, fragments: float, spread: float = 0.03) -> list[Pass]:
    """Return the passes of a picture, of about these lengths."""
    return [
        Pass("Vertex", mac.about(vertices, spread)),
        Pass("Fragment", mac.about(fragments, spread)),
    ]


def wait_for_last_but_one(program: Program, commits: Sequence[Commit], *, first: int = 2) -> None:
    """Keep two in flight at most: wait for the last but one, from commit number `first` on."""
    if len(commits) >= first:
        program.wait(commits[-2])


def wait_for_refresh(program: Program, frame_start: float) -> None:
    """Let the host wait for the display's next refresh."""
    late = max(0.0, program.now - frame_start)
    program.now = frame_start + REFRESH * (1 + int(late / REFRESH))


def present_all(mac: Mac) -> None:
    """Let each command buffer present a drawable."""
    rows = mac.rows["metal-command-buffer-frame-assignment"]
    rows[:] = [(*row[:_PRESENTS], 1, *row[_PRESENTS + 1 :]) for row in rows]


def write(
    program: Program,
    folder: Path,
    levels: Levels = LEVELS,
    *,
    compositor: float = 0.0,
    place: tuple[str, str, str] | None = None,
) -> Rows:
    """Write the exports of a program.

    The compositor draws in this share of the refreshes. `place` is the platform, the model and the
    version of the system, if it is not a Mac.
    """
    mac, owner = program.mac, program.owner
    mac.holds(owner, levels)
    if compositor:
        mac.draws(compositor)
    if place is None:
        return mac.write(folder, owner)
    return mac.write(folder, owner, place)
