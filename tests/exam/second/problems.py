"""The eleven problems of the second exam: what each thread published, played on a small Mac.

The figures of the threads, and which numbers of these are chosen, stand in `labels.toml`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from sealed.mac import GIGABYTE, MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program

Rows = dict[str, int]

_ASSIGNMENTS = "metal-command-buffer-frame-assignment"
_NUMBER = 1  # the command buffer, in a row of these
_PRESENTS = 7  # whether it presents


def _presents(mac: Mac, numbers: set[int]) -> None:
    """Mark the command buffers that present a drawable."""
    rows = mac.rows[_ASSIGNMENTS]
    for place, row in enumerate(rows):
        if row[_NUMBER] in numbers:
            rows[place] = (*row[:_PRESENTS], 1, *row[_PRESENTS + 1 :])


def solver_evals(folder: Path) -> Rows:
    """The thread mlx-audio #613: a solver of 20 steps a token, evaluated after each of them."""
    mac, owner = Mac(613, "M2 Max"), Owner("python3.12", 61344)
    program = Program(mac, owner)
    for _ in range(60):
        program.spend(mac.rough(1.9 * MS))
        program.wait(program.commit([Pass("Compute", mac.about(4 * MS, 0.03))], encode=40))
        for _ in range(20):
            program.spend(mac.rough(1.46 * MS))  # Python builds the next step of the solver
            program.wait(program.commit([Pass("Compute", mac.about(1.1 * MS, 0.03))], encode=25))
    mac.holds(owner, [(70 * MS, 4_900_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def kept_metrics(folder: Path) -> Rows:
    """The thread mlx-lm-lora #47: sums that nobody evaluates keep the graph of each step alive."""
    mac, owner = Mac(47, "M4 Pro"), Owner("python3.11", 47120)
    program = Program(mac, owner)
    size = 14_200_000_000
    levels = [(60 * MS, size)]
    for _ in range(300):
        program.spend(mac.rough(6 * MS))
        grown = round(mac.about(29e6, 0.08))
        for _ in range(18):  # a key of the metrics each
            mac.allocates(owner, program.now, grown // 18)
            program.spend(mac.rough(9))
        size += grown
        levels.append((program.now, size))
        for _ in range(12):
            last = program.commit([Pass("Compute", mac.about(20 * MS, 0.04))], encode=90)
        program.wait(last)
    mac.holds(owner, levels)
    mac.draws(0.2)
    return mac.write(folder, owner)


def one_long_buffer(folder: Path) -> Rows:
    """The thread ltx-2-mlx #3: 48 layers in one command buffer, which the watchdog ends."""
    mac, owner = Mac(48, "M2 Max"), Owner("python3.11", 48003)
    program = Program(mac, owner)
    for place in range(40):  # the weights are put into place
        program.spend(mac.rough(3 * MS))
        loaded = program.commit([Pass("Compute", mac.about(22 * MS, 0.1))], encode=60)
        if place % 8 == 7:
            program.wait(loaded)
    program.spend(mac.rough(31 * MS))
    ended = program.commit([Pass("Compute", 10_100 * MS)], encode=2_600)
    program.fails(ended.reported, ended.number, 14)
    mac.last = ended.reported + 420 * MS
    mac.holds(owner, [(40 * MS, 26 * GIGABYTE)])
    mac.draws(0.5)
    return mac.write(folder, owner)


def crossed_streams(folder: Path) -> Rows:
    """The threads mlx #4438, #1773: each of 101 blocks waits for an operation of the CPU."""
    mac, owner = Mac(4438, "M3 Ultra"), Owner("python3.12", 44380)
    program = Program(mac, owner)
    for _ in range(110):
        behind = 0.0
        for _ in range(101):
            # All of it is committed ahead. The device waits for the event of the CPU's stream.
            last = program.commit([Pass("Compute", mac.about(44, 0.06))], encode=11, behind=behind)
            behind = last.end + mac.rough(159)
        program.wait(last)
        program.spend(mac.rough(240))
    mac.holds(owner, [(55 * MS, 96 * MEBIBYTE)])
    mac.draws(0.1)
    return mac.write(folder, owner)


def asked_and_answered(folder: Path) -> Rows:
    """The thread mlx-lm #92: three requests, where the maintainers name the machine's own limit."""
    mac, owner = Mac(92, "M3 Max"), Owner("python3.12", 92011)
    program = Program(mac, owner, switch=8.0)
    for pause in (0.4, 2.6, 1.7):
        program.spend(pause * 1_000 * MS)
        for _ in range(24):  # the prompt: 681 tokens at once
            read = program.commit([Pass("Compute", mac.about(24.4 * MS, 0.02))], encode=60)
        program.wait(read)
        ahead: list[Commit] = []
        for _ in range(150):
            program.spend(mac.rough(900))  # the graph is built while the token before it runs
            for _ in range(24):
                made = program.commit([Pass("Compute", mac.about(603, 0.015))], encode=20)
            ahead.append(made)
            if len(ahead) > 1:
                program.wait(ahead[-2])
        program.wait(ahead[-1])
    mac.holds(owner, [(40 * MS, 17_300_000_000)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def withheld_kernels(folder: Path) -> Rows:
    """The threads openmm #3960, #3937: a step's kernels are handed over after a count was read."""
    mac, owner = Mac(3937, "M1 Max"), Owner("python3.10", 39370)
    program = Program(mac, owner)
    forces = (300, 90, 60, 55, 45, 40, 35, 20, 10)
    for _ in range(2_400):
        counted = program.commit(
            [Pass("Compute", mac.about(152)), Pass("Blit", mac.about(8))], encode=9
        )
        program.wait(counted)
        program.spend(mac.rough(22))
        program.commit([Pass("Compute", mac.about(force)) for force in forces], encode=11)
    mac.holds(owner, [(80 * MS, 310 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def widened_weights(folder: Path) -> Rows:
    """The thread mold #1030: the host converts every weight before each use of it."""
    mac, owner = Mac(1030, "M4 Max"), Owner("mold", 10301)
    program = Program(mac, owner)
    for _ in range(2):  # passes
        for _ in range(48):
            for _ in range(30):
                program.spend(mac.about(54.2 * MS, 0.18))
                mac.allocates(owner, program.now, 28_000_000)
                used = program.commit([Pass("Compute", mac.about(1.15 * MS, 0.1))], encode=30)
            program.wait(used)
    mac.holds(owner, [(90 * MS, 31 * GIGABYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def copied_history(folder: Path) -> Rows:
    """The thread candle #1855: a kernel copies all that was kept, for each token that is added."""
    mac, owner = Mac(1855, "M2 Pro"), Owner("quantized", 18551)
    program = Program(mac, owner)
    for token in range(1_000):
        copied = 102.4 * MS * token / 1_000
        for _ in range(4):
            works = (20.5 * MS, copied / 4 + 120, 6.2 * MS)
            last = program.commit(
                [Pass("Compute", mac.about(work, 0.015)) for work in works], encode=160
            )
        program.wait(last)
        program.spend(mac.rough(650))
    mac.holds(owner, [(70 * MS, 4_800_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def drawable_waits(folder: Path) -> Rows:
    """The threads systemless #23, #24: one thread emulates, and waits for the layer's drawables."""
    mac, owner = Mac(23, "M2"), Owner("systemless", 23024)
    program = Program(mac, owner)
    refresh = 16_683.2  # 59.9404 Hz
    shown: set[int] = set()
    tick = 10
    for frame in range(1, 601):
        program.spend(mac.rough(3.1 * MS))  # the guest computes
        tick += int(mac.random.integers(1, 3))
        program.now = max(program.now, tick * refresh + mac.rough(45))  # a drawable is free
        program.spend(mac.rough(160))  # the guest's picture is copied
        passes = [Pass("Vertex", mac.about(18, 0.1)), Pass("Fragment", mac.about(330, 0.1))]
        shown.add(program.commit(passes, frame=frame).number)
    _presents(mac, shown)
    mac.holds(owner, [(60 * MS, 34 * MEBIBYTE)])
    mac.draws(1.0)
    return mac.write(folder, owner)


def split_layers(folder: Path) -> Rows:
    """The threads ik_llama.cpp #741, #2133: an operation of each layer falls back to the CPU."""
    mac, owner = Mac(2133, "M2"), Owner("llama-cli", 21330)
    program = Program(mac, owner)
    for _ in range(260):
        for _ in range(24):
            program.wait(program.commit([Pass("Compute", mac.about(266, 0.04))], encode=24))
            program.spend(mac.rough(590))
        program.wait(program.commit([Pass("Compute", mac.about(900, 0.03))], encode=24))
        program.spend(mac.rough(380))
    mac.holds(owner, [(50 * MS, 620 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def locked_frames(folder: Path) -> Rows:
    """The threads osu #25985, #30302: a game that is locked to a display of 60 Hz, as is meant."""
    mac, owner = Mac(25985, "M1 Pro"), Owner("osu!", 25985)
    program = Program(mac, owner)
    shown: set[int] = set()
    for frame in range(1, 1_201):
        program.now = max(program.now, 150 * MS + frame * 16_667 + mac.about(70, 0.3))
        program.spend(mac.about(2.3 * MS, 0.05))
        passes = [
            Pass("Vertex", mac.about(420, 0.04)),
            Pass("Fragment", mac.about(3.2 * MS, 0.04)),
        ]
        shown.add(program.commit(passes, encode=260, frame=frame).number)
    _presents(mac, shown)
    mac.holds(owner, [(45 * MS, 380 * MEBIBYTE)])
    mac.draws(1.0)
    return mac.write(folder, owner)


PROBLEMS: Mapping[str, Callable[[Path], Rows]] = {
    "solver-evals": solver_evals,
    "kept-metrics": kept_metrics,
    "one-long-buffer": one_long_buffer,
    "crossed-streams": crossed_streams,
    "asked-and-answered": asked_and_answered,
    "withheld-kernels": withheld_kernels,
    "widened-weights": widened_weights,
    "copied-history": copied_history,
    "drawable-waits": drawable_waits,
    "split-layers": split_layers,
    "locked-frames": locked_frames,
}
"""What writes the exports of each problem into a new folder; it returns the rows of each table."""
