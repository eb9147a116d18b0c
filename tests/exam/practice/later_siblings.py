"""Siblings and near misses of the mechanisms that the later practice problems taught.

They are like those of `siblings.py`: other numbers, other programs. Times are µs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from practice.programs import (
    MEMORYLESS_ERROR,
    REFRESH,
    SECOND,
    Rows,
    compute,
    draw,
    present_all,
    start,
    wait_for_last_but_one,
    write,
)
from sealed.mac import MEBIBYTE, MS, Commit, Program

_HIGH_REFRESH = 6_944.0  # a display of 144 Hz
_STOPPED = 14  # the driver's code for work that holds up the display
_EVEN = 0.05


# ---------------------------------------------------------------- too much geometry


def _failing(program: Program, folder: Path, error: int) -> Rows:
    """Fail with every seventh of 140 frames."""
    mac = program.mac
    for frame in range(1, 141):
        frame_start = program.now
        drawn = program.commit(draw(mac, 2.2 * MS, 3.1 * MS, _EVEN), encode=400, frame=frame)
        if frame % 7 == 0:
            program.fails(drawn.reported, drawn.number, error)
        program.now = max(program.now, frame_start + REFRESH)
    present_all(mac)
    return write(program, folder)


def dense_scans(folder: Path) -> Rows:
    """A viewer of scans has too many triangles for its attachments, now and then."""
    return _failing(start(91, "M1", "ScanViewer"), folder, MEMORYLESS_ERROR)


def stopped_scans(folder: Path) -> Rows:
    """A viewer of scans holds up the display, and is stopped."""
    return _failing(start(92, "M1", "ScanViewer"), folder, _STOPPED)


# ---------------------------------------------------------------- many render passes


def _many_passes(program: Program, folder: Path, lengths: Callable[[], list[float]]) -> Rows:
    mac = program.mac
    frames: list[Commit] = []
    for frame in range(1, 161):
        program.spend(mac.rough(900))
        passes = [drawn for length in lengths() for drawn in draw(mac, 11.0, length, _EVEN)]
        frames.append(program.commit(passes, encode=30, frame=frame))
        wait_for_last_but_one(program, frames, first=3)
    present_all(mac)
    return write(program, folder)


def sprite_by_sprite(folder: Path) -> Rows:
    """A card game opens a pass for each of 38 sprites."""
    return _many_passes(start(93, "M2", "Solitaire"), folder, lambda: [640.0] * 38)


def passes_of_all_lengths(folder: Path) -> Rows:
    """A renderer needs each of its 24 passes: bloom, shadows, light."""
    lengths = [90.0 * 1.2**place for place in range(24)]
    return _many_passes(start(94, "M2", "Cathedral"), folder, lambda: lengths)


# ---------------------------------------------------------------- refreshes missed


def _refreshing(
    program: Program, folder: Path, period: float, refreshes: Callable[[int], float], work: float
) -> Rows:
    """Commit each frame where the display, or whatever else it is, lets go of it."""
    mac, due = program.mac, 150 * MS
    for frame in range(1, 501):
        program.now = max(program.now, due + mac.rough(60))
        program.commit(draw(mac, 0.1 * work, 0.9 * work, _EVEN), encode=0.1 * period, frame=frame)
        due += period * refreshes(frame)
    present_all(mac)
    return write(program, folder)


def sixty_or_thirty(folder: Path) -> Rows:
    """An emulator misses four of ten refreshes, by chance."""
    program = start(95, "M3", "retro")
    random = program.mac.random
    return _refreshing(program, folder, REFRESH, lambda _: 1 + int(random.random() < 0.4), 4.1 * MS)


def two_or_three(folder: Path) -> Rows:
    """A viewer takes two refreshes of a fast display, or three."""
    program = start(96, "M4", "MeshView")
    return _refreshing(program, folder, _HIGH_REFRESH, lambda frame: 2 + (frame % 3 == 0), 2.2 * MS)


def of_no_display(folder: Path) -> Rows:
    """A preview takes 11.2 or 19.3 ms: no display has such a period."""
    program = start(97, "M3", "preview")
    return _refreshing(
        program, folder, 11.2 * MS, lambda frame: 1.723 if frame % 2 else 1.0, 4.1 * MS
    )


def too_long_for_one(folder: Path) -> Rows:
    """Drawing takes longer than a refresh, so that frames come after two or three."""
    program = start(98, "M1", "retro")
    return _refreshing(program, folder, REFRESH, lambda frame: 2 + frame % 2, 21 * MS)


# ---------------------------------------------------------------- made for each request


def _requests(
    program: Program, folder: Path, parts: int, each: float, *, keeps: bool, pause: float
) -> Rows:
    """Answer nine requests by some 200 short iterations each, behind allocations."""
    mac, floor, part = program.mac, 250_000_000, 61_000_000
    levels = [(60 * MS, floor)]
    for request in range(9):
        program.spend(pause)
        for place in range(1, parts + 1):
            if keeps and request:
                break
            mac.allocates(program.owner, program.now, part)
            program.spend(mac.about(each, 0.06))
            levels.append((program.now, floor + place * part))
        for _ in range(int(mac.random.integers(150, 260))):
            program.wait(program.commit(compute(mac.about(9 * MS, 0.03)), encode=60))
            program.spend(mac.rough(200))
        if not keeps:
            levels.append((program.now, floor))
    return write(program, folder, levels)


def voices_loaded_anew(folder: Path) -> Rows:
    """A reader loads its voice for each paragraph, in 20 parts of 45 ms."""
    return _requests(start(99, "M3", "reader"), folder, 20, 45 * MS, keeps=False, pause=1 * MS)


def allocated_at_once(folder: Path) -> Rows:
    """A reader that is asked every two seconds allocates what it needs in 1 ms."""
    return _requests(start(101, "M3", "reader"), folder, 20, 50, keeps=False, pause=2 * SECOND)


def loaded_only_once(folder: Path) -> Rows:
    """A reader loads its voice for the first paragraph, and is then asked every two seconds."""
    return _requests(start(102, "M3", "reader"), folder, 20, 45 * MS, keeps=True, pause=2 * SECOND)


# ---------------------------------------------------------------- long groups in a loop of few


def _groups(program: Program, number: int, parts: int, work: float) -> None:
    mac = program.mac
    for _ in range(number):
        for _ in range(parts):
            made = program.commit(compute(mac.about(work / parts, 0.02)), encode=50)
        program.wait(made)
        program.spend(mac.rough(600))


def pictures_between_tokens(folder: Path) -> Rows:
    """Pictures are read in pieces of 0.9 s, with one step of decoding between two."""
    program = start(103, "M4 Max", "mixed-server")
    for _ in range(4):
        _groups(program, int(program.mac.random.integers(60, 170)), 3, 15 * MS)
        for _ in range(9):
            _groups(program, 1, 20, 900 * MS)
            _groups(program, 1, 3, 15 * MS)
    _groups(program, 70, 3, 15 * MS)
    return write(program, folder)


def drafted_and_checked(folder: Path) -> Rows:
    """Two to seven drafts of 11 ms, then a check of 240 ms: all of it is one answer."""
    program = start(104, "M2 Max", "drafter")
    for _ in range(110):
        _groups(program, int(program.mac.random.integers(2, 8)), 2, 11 * MS)
        _groups(program, 1, 6, 240 * MS)
    return write(program, folder)


# ---------------------------------------------------------------- longer work is no lost time


def prompts_of_one_length(folder: Path) -> Rows:
    """Ten answers in a row, each behind a prompt; the host builds each token after a wait."""
    program = start(105, "M3 Ultra", "answering")
    for _ in range(10):
        _groups(program, 1, 12, 720 * MS)
        for _ in range(90):
            made = program.commit(compute(program.mac.about(7 * MS, 0.02)), encode=40)
            program.wait(made)
            program.spend(program.mac.rough(1_500))
    return write(program, folder)


def stalled_by_a_log(folder: Path) -> Rows:
    """A training loop writes a log every 40 steps, for an eighth of a second."""
    program = start(106, "M3 Ultra", "trainer")
    commits: list[Commit] = []
    for step in range(1, 321):
        program.spend(program.mac.rough(900))
        for _ in range(3):
            made = program.commit(compute(program.mac.about(2.3 * MS, 0.02)), encode=40)
        commits.append(made)
        wait_for_last_but_one(program, commits)
        if step % 40 == 0:
            program.wait(made)
            program.spend(program.mac.about(125 * MS, 0.2))
    return write(program, folder)


# ---------------------------------------------------------------- waits that are no polling


def even_turns(folder: Path) -> Rows:
    """The host works for as long each time, and twice as long for every eleventh launch."""
    program = start(107, "M1 Pro", "detector")
    mac = program.mac
    for launch in range(1, 1_201):
        program.wait(program.commit(compute(mac.about(900, 0.03)), encode=30))
        program.spend(mac.about(2 * MS, 0.05) + (launch % 11 == 0) * 3.1 * MS)
    return write(program, folder)


# ---------------------------------------------------------------- paced now and then


def _now_and_then(program: Program, folder: Path, period: Callable[[], float]) -> Rows:
    mac = program.mac
    for _ in range(16):
        for frame in range(int(mac.random.integers(40, 120))):
            frame_start = program.now
            program.spend(mac.about(1.1 * MS, 0.1))
            work = 2.9 * MS if frame % 9 == 8 else mac.about(1.5 * MS, 0.2)
            program.commit(draw(mac, 200, work, _EVEN), encode=300, frame=frame + 1)
            program.now = max(program.now, frame_start + period())
        program.spend(mac.about(1.4 * SECOND, 0.5))
    present_all(mac)
    return write(program, folder)


def scrolled_now_and_then(folder: Path) -> Rows:
    """A list is scrolled on a display of 120 Hz, and rests."""
    return _now_and_then(start(108, "M2", "ListView"), folder, lambda: 8_333.0)


def bursts_without_a_clock(folder: Path) -> Rows:
    """A renderer draws bursts of pictures as its data arrive, 7 to 11 ms apart."""
    program = start(109, "M2", "PlotView")
    random = program.mac.random
    return _now_and_then(program, folder, lambda: float(random.uniform(7, 11)) * MS)


# ---------------------------------------------------------------- allocations at no cost


def made_ahead_of_the_device(folder: Path) -> Rows:
    """A filter makes six buffers for each picture, while the device still works at the last."""
    program = start(111, "M1 Max", "darkroom")
    mac = program.mac
    pictures: list[Commit] = []
    for _ in range(150):
        for _ in range(6):
            mac.allocates(program.owner, program.now, 8 * MEBIBYTE)
            program.spend(mac.rough(120))
        works = (11 * MS, 9 * MS, 14 * MS)
        passes = compute(*(mac.about(work, 0.03) for work in works))
        pictures.append(program.commit(passes, encode=60))
        wait_for_last_but_one(program, pictures)
    return write(program, folder)


SIBLINGS: Mapping[str, tuple[Callable[[Path], Rows], str]] = {
    "dense-scans": (dense_scans, "error-memoryless"),
    "sprite-by-sprite": (sprite_by_sprite, "many-passes"),
    "sixty-or-thirty": (sixty_or_thirty, "missed-refreshes"),
    "two-or-three": (two_or_three, "missed-refreshes"),
    "voices-loaded-anew": (voices_loaded_anew, "made-for-each-request"),
    "pictures-between-tokens": (pictures_between_tokens, "long-before-short"),
    "prompts-of-one-length": (prompts_of_one_length, "wait-each-iteration"),
    "stalled-by-a-log": (stalled_by_a_log, "periodic-wait"),
}
"""The function that writes each recording, and the lever that the first finding has to name."""

NEAR_MISSES: Mapping[str, tuple[Callable[[Path], Rows], str]] = {
    "stopped-scans": (stopped_scans, "error-memoryless"),
    "passes-of-all-lengths": (passes_of_all_lengths, "many-passes"),
    "of-no-display": (of_no_display, "missed-refreshes"),
    "too-long-for-one": (too_long_for_one, "missed-refreshes"),
    "allocated-at-once": (allocated_at_once, "made-for-each-request"),
    "loaded-only-once": (loaded_only_once, "made-for-each-request"),
    "drafted-and-checked": (drafted_and_checked, "long-before-short"),
    "even-turns": (even_turns, "slow-wait"),
    "scrolled-now-and-then": (scrolled_now_and_then, "host-elsewhere"),
    "bursts-without-a-clock": (bursts_without_a_clock, "paced"),
    "made-ahead-of-the-device": (made_ahead_of_the_device, "allocations-anew"),
}
"""The function that writes each recording, and the lever that no finding may name."""

HEALTHY = frozenset(
    {
        *("allocated-at-once", "loaded-only-once"),
        *("drafted-and-checked", "scrolled-now-and-then", "made-ahead-of-the-device"),
    }
)
"""Near misses of which nothing but notes may be found."""
