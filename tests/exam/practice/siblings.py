"""Siblings of practice problems, with other numbers and other programs, and healthy near misses.

A rule that knows a mechanism finds it in programs that nobody measured, and says nothing of one
that only looks like it. Each writes exports into a new folder; times are µs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from practice.programs import (
    LEVELS,
    Levels,
    Rows,
    compute,
    present_all,
    start,
    wait_for_last_but_one,
    write,
)
from sealed.mac import MEBIBYTE, MS, Commit, Pass, Program
from third.counters import Counter, sampled, write_counters

_OCCUPANCY = Counter(31, "Compute Occupancy", percentage=True)
_ARITHMETIC = Counter(4, "ALU Utilization", percentage=True)
_READS = Counter(9, "Buffer Read Limiter", percentage=True)


def _write(program: Program, folder: Path, levels: Levels = LEVELS) -> Rows:
    return write(program, folder, levels, compositor=0.2)


# ---------------------------------------------------------------- buffers made anew


def _anew(
    program: Program,
    folder: Path,
    passes: Callable[[], list[Pass]],
    size: int,
    each: float,
    of: int,
) -> Rows:
    """Allocate `of` buffers before each of 90 command buffers, and free them behind it."""
    mac, floor = program.mac, 400 * MEBIBYTE
    levels = [(60 * MS, floor)]
    for _ in range(90):
        for _ in range(of):
            mac.allocates(program.owner, program.now, size)
            program.spend(mac.rough(each))
        levels.append((program.now, floor + of * size))
        program.wait(program.commit(passes(), encode=40))
        levels.append((program.now, floor))
        program.spend(mac.rough(150))
    return _write(program, folder, levels)


def textures_each_frame(folder: Path) -> Rows:
    """Make thirty textures for each picture, and drop them."""
    program = start(71, "M2 Pro", "PhotoBatch")
    about = program.mac.about
    return _anew(
        program,
        folder,
        lambda: [Pass("Vertex", about(90, 0.1)), Pass("Fragment", about(4.2 * MS, 0.05))],
        *(9 * MEBIBYTE, 230.0, 30),
    )


def scratch_each_step(folder: Path) -> Rows:
    """Make eight large scratch buffers for each step of a solver, and drop them."""
    program = start(72, "M4", "fluid_solver")
    about = program.mac.about
    return _anew(
        program,
        folder,
        lambda: [Pass("Compute", about(2.1 * MS, 0.05)) for _ in range(3)],
        *(96 * MEBIBYTE, 1.7 * MS, 8),
    )


def scratch_made_once(folder: Path) -> Rows:
    """Make the scratch buffers in the first step; the host does something else for as long."""
    program = start(73, "M4", "fluid_solver")
    mac = program.mac
    for _ in range(8):
        mac.allocates(program.owner, program.now, 96 * MEBIBYTE)
    for _ in range(90):
        program.spend(mac.rough(13.6 * MS))
        passes = [Pass("Compute", mac.about(2.1 * MS, 0.05)) for _ in range(3)]
        program.wait(program.commit(passes, encode=40))
    return _write(program, folder)


# ---------------------------------------------------------------- memory by exact size


def _grows_by_size(program: Program, folder: Path, size: Callable[[], int], pause: float) -> Rows:
    """Ask for a buffer of another length in half of 220 iterations; nothing is given back."""
    mac, level = program.mac, 90 * MEBIBYTE
    levels = [(60 * MS, level)]
    commits: list[Commit] = []
    for _ in range(220):
        program.spend(mac.about(pause, 0.1) if pause else 30.0)
        if mac.random.random() < 0.5:
            new = size()
            mac.allocates(program.owner, program.now, new)
            level += new
            levels.append((program.now, level))
        made = program.commit(compute(mac.about(7 * MS, 0.02)), encode=60)
        commits.append(made)
        if not pause:
            wait_for_last_but_one(program, commits)
    return _write(program, folder, levels)


def lengths_of_clips(folder: Path) -> Rows:
    """A dictation that is asked now and then, for clips of any length."""
    program = start(74, "M3", "DictationHelper")
    random = program.mac.random
    return _grows_by_size(
        program, folder, lambda: 4 * int(random.integers(400_000, 900_000)), 900 * MS
    )


def lengths_of_batches(folder: Path) -> Rows:
    """A host that keeps the device at work, with batches of any length."""
    program = start(75, "M1 Max", "embedder")
    random = program.mac.random
    return _grows_by_size(program, folder, lambda: 64 * int(random.integers(20_000, 60_000)), 0.0)


def lengths_in_classes(folder: Path) -> Rows:
    """A pool of four classes, which is full after a few iterations."""
    program = start(76, "M3", "DictationHelper")
    mac, level, classes = program.mac, 90 * MEBIBYTE, [1 << power for power in range(20, 24)]
    levels = [(60 * MS, level)]
    for _ in range(220):
        program.spend(mac.about(900 * MS, 0.1))
        if classes:
            new = classes.pop()
            mac.allocates(program.owner, program.now, new)
            level += new
            levels.append((program.now, level))
        program.commit(compute(mac.about(7 * MS, 0.02)), encode=60)
    return _write(program, folder, levels)


# ---------------------------------------------------------------- host work before a commit


def _alternates(program: Program, host: float, device: float, *, shows: bool = False) -> None:
    mac = program.mac
    for frame in range(1, 151):
        program.spend(mac.rough(host))
        passes = [Pass("Compute", mac.about(device / 2, 0.05)) for _ in range(2)]
        program.wait(program.commit(passes, encode=60, frame=frame))
    if shows:
        present_all(mac)


def features_on_the_host(folder: Path) -> Rows:
    """Compute features of sound on the host for 21 ms, and a model of 5 ms."""
    program = start(77, "M2", "birdsong")
    _alternates(program, 21 * MS, 5 * MS)
    return _write(program, folder)


def unpacked_tiles(folder: Path) -> Rows:
    """Unpack tiles on the host for 2.6 ms, and filter them for 0.7 ms."""
    program = start(78, "M1 Ultra", "tile_server")
    _alternates(program, 2.6 * MS, 0.7 * MS)
    return _write(program, folder)


def about_even_turns(folder: Path) -> Rows:
    """Host and device take turns, of about one length: one more in flight is what helps."""
    program = start(79, "M2", "birdsong")
    _alternates(program, 4.6 * MS, 5 * MS)
    return _write(program, folder)


def shown_frames(folder: Path) -> Rows:
    """A program that shows each frame: its host may wait for the display."""
    program = start(80, "M2", "chart_view")
    _alternates(program, 21 * MS, 5 * MS, shows=True)
    return _write(program, folder)


# ---------------------------------------------------------------- one kernel, few threads


def _counted(
    folder: Path, seed: int, long: float, values: Mapping[str, Mapping[Counter, float]]
) -> Rows:
    """Run 60 iterations of four encoders, of which the third takes `long`."""
    program = start(seed, "M3 Max", "denoiser")
    mac = program.mac
    kinds: list[str] = []
    for _ in range(60):
        works = (14 * MS, 16 * MS, long, 22 * MS)
        made = program.commit([Pass("Compute", mac.about(work, 0.02)) for work in works], encode=40)
        kinds += ["other", "other", "long", "other"]
        program.wait(made)
        program.spend(mac.rough(120))
    mac.holds(program.owner, [(50 * MS, 700 * MEBIBYTE)])
    busy = [(*span, kind) for span, kind in zip(mac.busy["Compute"], kinds, strict=True)]
    count = int(busy[-1][1] / (2 * MS)) * len(values["other"])
    noise = mac.random.lognormal(0.0, 0.06, count).tolist()
    rows = mac.write(folder, program.owner)
    samples = sampled(busy, values, 2 * MS, noise)
    return rows | {"metal-gpu-counter-intervals": write_counters(folder, mac.device, samples)}


_OTHER = {_OCCUPANCY: 62.0, _ARITHMETIC: 48.0, _READS: 40.0}


def one_small_grid(folder: Path) -> Rows:
    """A kernel of a third of the time keeps few threads at work, and nothing else busy."""
    values = {"other": _OTHER, "long": {_OCCUPANCY: 6.0, _ARITHMETIC: 5.0, _READS: 11.0}}
    return _counted(folder, 81, 30 * MS, values)


def few_but_busy(folder: Path) -> Rows:
    """A kernel with few threads, whose arithmetic is busy: they are enough."""
    values = {"other": _OTHER, "long": {_OCCUPANCY: 21.0, _ARITHMETIC: 88.0, _READS: 12.0}}
    return _counted(folder, 82, 30 * MS, values)


def small_and_short(folder: Path) -> Rows:
    """A kernel with few threads that takes hardly any time."""
    values = {"other": _OTHER, "long": {_OCCUPANCY: 6.0, _ARITHMETIC: 5.0, _READS: 11.0}}
    return _counted(folder, 83, 3 * MS, values)


# ---------------------------------------------------------------- long work before short work


def _steps(program: Program, number: int, work: float) -> None:
    mac = program.mac
    commits: list[Commit] = []
    for _ in range(number):
        thirds = [program.commit(compute(mac.about(work / 3, 0.02)), encode=40) for _ in range(3)]
        commits.append(thirds[-1])
        wait_for_last_but_one(program, commits)


def _bulk(program: Program, number: int, work: float) -> None:
    for _ in range(number):
        commits = [
            program.commit(compute(program.mac.about(work / 3, 0.02)), encode=60) for _ in range(3)
        ]
        program.wait(commits[-1])


def images_before_tokens(folder: Path) -> Rows:
    """Someone's picture is encoded, in six long pieces, before anyone's next token."""
    program = start(84, "M4 Max", "vision-server")
    for _ in range(7):
        _steps(program, int(program.mac.random.integers(60, 140)), 8 * MS)
        _bulk(program, 6, 55 * MS)
    _steps(program, 80, 8 * MS)
    return _write(program, folder)


def tiles_before_previews(folder: Path) -> Rows:
    """An export runs twelve long tiles to their end before the next preview."""
    program = start(85, "M2 Max", "RawEditor")
    for _ in range(6):
        _steps(program, int(program.mac.random.integers(90, 200)), 5.5 * MS)
        _bulk(program, 12, 31 * MS)
    _steps(program, 100, 5.5 * MS)
    return _write(program, folder)


def asked_after_pauses(folder: Path) -> Rows:
    """A prompt begins a request, behind a pause: nobody else waits for it."""
    program = start(86, "M4 Max", "vision-server")
    for _ in range(7):
        _bulk(program, 6, 55 * MS)
        _steps(program, int(program.mac.random.integers(60, 140)), 8 * MS)
        program.spend(program.mac.rough(1_900 * MS))
    return _write(program, folder)


def validated_now_and_then(folder: Path) -> Rows:
    """A validation behind every hundredth step is a part of the loop."""
    program = start(87, "M2 Max", "trainer")
    for _ in range(7):
        _steps(program, 100, 8 * MS)
        _bulk(program, 6, 55 * MS)
    _steps(program, 100, 8 * MS)
    return _write(program, folder)


SIBLINGS: Mapping[str, tuple[Callable[[Path], Rows], str]] = {
    "textures-each-frame": (textures_each_frame, "allocations-anew"),
    "scratch-each-step": (scratch_each_step, "allocations-anew"),
    "lengths-of-clips": (lengths_of_clips, "memory-by-size"),
    "lengths-of-batches": (lengths_of_batches, "memory-by-size"),
    "features-on-the-host": (features_on_the_host, "host-between"),
    "unpacked-tiles": (unpacked_tiles, "host-between"),
    "one-small-grid": (one_small_grid, "few-threads"),
    "images-before-tokens": (images_before_tokens, "long-before-short"),
    "tiles-before-previews": (tiles_before_previews, "long-before-short"),
}
"""What writes each recording, and the lever that the first finding has to name."""

NEAR_MISSES: Mapping[str, tuple[Callable[[Path], Rows], str]] = {
    "scratch-made-once": (scratch_made_once, "allocations-anew"),
    "lengths-in-classes": (lengths_in_classes, "memory-by-size"),
    "about-even-turns": (about_even_turns, "host-between"),
    "shown-frames": (shown_frames, "host-between"),
    "few-but-busy": (few_but_busy, "few-threads"),
    "small-and-short": (small_and_short, "few-threads"),
    "asked-after-pauses": (asked_after_pauses, "long-before-short"),
    "validated-now-and-then": (validated_now_and_then, "long-before-short"),
}
"""What writes each recording, and the lever that no finding may name."""

HEALTHY = frozenset({"lengths-in-classes", "few-but-busy", "small-and-short", "asked-after-pauses"})
"""Near misses of which nothing but notes may be found."""
