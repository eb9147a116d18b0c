"""The twelve problems of the fifth exam: what each thread published, played on a small Mac.

The figures of the threads, and which numbers of these are chosen, stand in `labels.toml`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from sealed.mac import GIGABYTE, MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program

Rows = dict[str, int]

_ASSIGNMENTS = "metal-command-buffer-frame-assignment"
_NUMBER = 1  # the command buffer, in a row of these
_PRESENTS = 7  # whether it presents
_STATES = "gpu-performance-state-intervals"
_DEVICE_STATES = "gpu-performance-device-state-intervals"
_LEVELS = {"Minimum": 1, "Medium": 2, "Maximum": 3}
_ACCELERATOR = 4_294_969_231
_REFRESH = 16_667.0  # a frame of a display of 60 Hz
_PHONE = ("iOS", "iPhone13,3", "17.5.1 (21F90)")
_SECOND = 1_000 * MS


class ClockedMac(Mac):
    """A machine whose clock changes: `clocks` are its states, each from a time on."""

    def __init__(self, seed: int, device: str, clocks: list[tuple[float, str]]) -> None:
        super().__init__(seed, device)
        self.clocks = clocks

    def ends(self) -> None:
        """Add what holds for the whole recording, with the states of the clock."""
        super().ends()
        self.rows[_STATES].clear()
        self.rows[_DEVICE_STATES].clear()
        ends = [*(start for start, _ in self.clocks[1:]), self.last]
        for (start, state), end in zip(self.clocks, ends, strict=True):
            level = _LEVELS[state]
            self.span(_STATES, start, end, state, "Current", 0, None, "GPU Performance State")
            self.span(_DEVICE_STATES, start, end, _ACCELERATOR, level, level)


def _present(mac: Mac, numbers: set[int]) -> None:
    """Mark the command buffers that present a drawable."""
    rows = mac.rows[_ASSIGNMENTS]
    for place, row in enumerate(rows):
        if row[_NUMBER] in numbers:
            rows[place] = (*row[:_PRESENTS], 1, *row[_PRESENTS + 1 :])


def _compute(program: Program, count: int, work: float, encode: float = 40) -> Commit:
    """Commit so many command buffers of compute work; return the last."""
    mac = program.mac
    for _ in range(count):
        made = program.commit([Pass("Compute", mac.about(work, 0.02))], encode=encode)
    return made


def ticking_promises(folder: Path) -> Rows:
    """The threads jax-js #123, #124: a browser asks for the result when a timer of 100 ms fires."""
    mac, owner = Mac(123, "M1 Max"), Owner("firefox", 12301)
    program = Program(mac, owner)
    first, period = program.now, 103.4 * MS
    tick = 0
    for products in (16, 64, 256):
        for _ in range(40):
            for _ in range(products):
                program.commit([Pass("Compute", mac.about(112, 0.05))], encode=38)
            program.wait(program.commit([Pass("Blit", mac.about(24, 0.1))], encode=20))
            tick += 1
            program.now = first + tick * period + mac.rough(240)
    mac.holds(owner, [(50 * MS, 150 * MEBIBYTE)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def splat_corners(folder: Path) -> Rows:
    """The thread UnityGaussianSplatting #6: each corner of a splat computes all of the splat."""
    mac, owner = Mac(6, "M1"), Owner("Unity", 60601)
    program = Program(mac, owner)
    drawn: list[Commit] = []
    for frame in range(1, 121):
        program.spend(mac.rough(3.4 * MS))
        passes = [
            Pass("Compute", mac.about(9.2 * MS, 0.03)),  # the splats are sorted
            Pass("Vertex", mac.about(173 * MS, 0.03)),
            Pass("Fragment", mac.about(37 * MS, 0.04)),
        ]
        drawn.append(program.commit(passes, encode=210, driver=70, frame=frame))
        if frame > 2:
            program.wait(drawn[-2])
    _present(mac, {one.number for one in drawn})
    mac.holds(owner, [(90 * MS, 1_900_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def boxed_arguments(folder: Path) -> Rows:
    """The thread Metal.jl #265: the arguments of a launch are encoded by slow, generic code."""
    mac, owner = Mac(265, "M2 Pro"), Owner("julia", 26501)
    program = Program(mac, owner, switch=2.5)
    for _ in range(50):
        for _ in range(500):
            work = mac.about(2.9, 0.15)
            made = program.commit([Pass("Compute", work)], encode=15.0, driver=7.5, start=6)
        program.wait(made)
        program.spend(mac.rough(90))
    mac.holds(owner, [(40 * MS, 48 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def drained_each_batch(folder: Path) -> Rows:
    """The thread ice_halo_sim #159: the whole picture is read and summed up after each batch."""
    mac, owner = Mac(159, "M2 Max"), Owner("ice_halo_sim", 15901)
    program = Program(mac, owner)
    for _ in range(600):
        passes = [
            *(Pass("Compute", mac.about(work * MS, 0.04)) for work in (0.9, 5.9, 0.9)),
            Pass("Blit", mac.about(0.62 * MS, 0.04)),  # the picture, to memory of the host
        ]
        program.wait(program.commit(passes, encode=60))
        program.spend(mac.about(15.0 * MS, 0.05))  # the host adds it to its own
    mac.holds(owner, [(60 * MS, 210 * MEBIBYTE)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def memoryless_frames(folder: Path) -> Rows:
    """The threads filament #4202, #4333: too much geometry for attachments that have no memory."""
    mac, owner = Mac(4202, "Apple A14"), Owner("hello-triangle", 42020)
    program = Program(mac, owner)
    shown: set[int] = set()
    for frame in range(1, 601):
        program.now = max(program.now, 150 * MS + frame * _REFRESH + mac.about(70, 0.3))
        program.spend(mac.about(1.9 * MS, 0.06))
        step = (frame - 1) // 120  # the scene gets another part every two seconds
        vertices = Pass("Vertex", mac.about((0.6 + 0.35 * step) * MS, 0.03))
        if step < 3:
            fragments = Pass("Fragment", mac.about((3.0 + 0.1 * step) * MS, 0.04))
            drawn = program.commit([vertices, fragments], encode=120, frame=frame)
        else:
            drawn = program.commit([vertices], encode=120, frame=frame)
            program.fails(drawn.reported, drawn.number, 13)
        shown.add(drawn.number)
    _present(mac, shown)
    mac.holds(owner, [(70 * MS, 96 * MEBIBYTE)])
    mac.draws(1.0)
    return mac.write(folder, owner, _PHONE)


def lengths_remembered(folder: Path) -> Rows:
    """The thread pytorch #195153: a graph, and a tensor of it, is kept for each length."""
    mac, owner = Mac(195153, "M4 Pro"), Owner("python3.12", 19515)
    program = Program(mac, owner)
    size = 7_970_000_000
    levels = [(60 * MS, size)]
    lengths = mac.random.choice(range(740, 3_057), 107, replace=False).tolist()
    steps = [*lengths, *mac.random.choice(lengths, 33).tolist()]
    mac.random.shuffle(steps)
    seen: set[int] = set()
    for length in steps:
        program.spend(mac.rough(2.6 * MS))
        if length not in seen:
            seen.add(length)
            took = mac.about(6.2 * MS, 0.1)
            mac.compiles(owner, program.now, took)
            program.spend(took + 200)
            mac.allocates(owner, program.now, length * 64_000)  # 32,000 words of two bytes
            size += length * 64_000
            levels.append((program.now, size))
        program.wait(_compute(program, 6, length * 18.5, 130))
    mac.holds(owner, levels)
    mac.draws(0.2)
    return mac.write(folder, owner)


def mapped_moves(folder: Path) -> Rows:
    """The threads lc0 #2221, #2245: after each batch of positions the host maps its moves."""
    mac, owner = Mac(2221, "M1 Max"), Owner("lc0", 22210)
    program = Program(mac, owner)
    for _ in range(160):
        passes = [Pass("Compute", mac.about(9.0 * MS, 0.02)) for _ in range(20)]
        program.wait(program.commit(passes, encode=22))
        program.spend(mac.about(22.9 * MS, 0.04))
    mac.holds(owner, [(70 * MS, 640 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def deeper_attention(folder: Path) -> Rows:
    """The threads infr #9, #10: each chunk of a prompt attends to all that was read before."""
    mac, owner = Mac(10, "M3 Pro"), Owner("infr", 10901)
    program = Program(mac, owner)
    for _ in range(3):
        for chunk in range(16):
            passes: list[Pass] = []
            for _ in range(28):
                passes.append(Pass("Compute", mac.about(3.57 * MS, 0.02)))
                attention = 2.093 * MS * (chunk + 0.5)
                passes.append(Pass("Compute", mac.about(attention, 0.02)))
            program.wait(program.commit(passes, encode=11))
            program.spend(mac.rough(650))
        program.spend(mac.about(0.4 * _SECOND, 0.2))
    mac.holds(owner, [(50 * MS, 2_300_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def looped_draws(folder: Path) -> Rows:
    """The thread MoltenVK #1749: one indirect draw of 100,000 is encoded one by one."""
    mac, owner = Mac(1749, "M1 Max"), Owner("viewer", 17490)
    program = Program(mac, owner)
    drawn: list[Commit] = []
    for frame in range(1, 701):
        program.spend(mac.about(0.3 * MS, 0.1))
        begin = program.now
        program.spend(mac.about(8.86 * MS, 0.04))  # the encoder is open
        passes = [
            Pass("Vertex", mac.about(1.25 * MS, 0.05)),
            Pass("Fragment", mac.about(0.9 * MS, 0.05)),
        ]
        drawn.append(program.commit(passes, encode=30, driver=160, frame=frame, since=begin))
        program.spend(mac.about(0.48 * MS, 0.1))
        if frame > 2:
            program.wait(drawn[-2])
    _present(mac, {one.number for one in drawn})
    mac.holds(owner, [(80 * MS, 420 * MEBIBYTE)])
    mac.draws(0.4)
    return mac.write(folder, owner)


def soaked_runs(folder: Path) -> Rows:
    """The threads reports #830, llm_context_benchmarks #18: the clock falls from run to run."""
    clocks = [(0.0, "Maximum")]
    mac, owner = ClockedMac(830, "M5 Max", clocks), Owner("python3.12", 83001)
    program = Program(mac, owner)
    for run, slower in enumerate((1.0, 1.67, 1.93)):
        if run == 1:
            clocks.append((program.now, "Medium"))
        for _ in range(30):
            program.wait(_compute(program, 12, slower * 71 * MS, 90))
            program.spend(mac.rough(6 * MS))
        program.spend(mac.about(0.3 * _SECOND, 0.1))
    mac.holds(owner, [(60 * MS, 29 * GIGABYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def parallel_encoding(folder: Path) -> Rows:
    """The thread llama.cpp #1860: encoding by several threads, which wins nothing measurable."""
    mac, owner = Mac(1860, "M1 Pro"), Owner("main", 18600)
    program = Program(mac, owner)
    for _ in range(400):
        passes = [Pass("Compute", mac.about(9.5 * MS, 0.01)) for _ in range(4)]
        program.wait(program.commit(passes, encode=28))
        program.spend(mac.rough(95))
    mac.holds(owner, [(40 * MS, 4_200_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def coasting_player(folder: Path) -> Rows:
    """The thread e-dream-ai/client #510: a player that needs a tenth of a slow device's time."""
    mac, owner = ClockedMac(510, "M1 Pro", [(0.0, "Minimum")]), Owner("e-dream", 51001)
    program = Program(mac, owner)
    shown: set[int] = set()
    for frame in range(1, 1_201):
        program.now = max(program.now, 150 * MS + frame * _REFRESH + mac.about(80, 0.3))
        program.spend(mac.about(1.3 * MS, 0.08))
        passes = [
            Pass("Fragment", mac.about(190, 0.06)),  # it is cleared
            Pass("Vertex", mac.about(60, 0.06)),
            Pass("Fragment", mac.about(1.35 * MS, 0.05)),
        ]
        shown.add(program.commit(passes, encode=70, frame=frame).number)
    _present(mac, shown)
    mac.holds(owner, [(60 * MS, 230 * MEBIBYTE)])
    mac.draws(1.0)
    return mac.write(folder, owner)


PROBLEMS: Mapping[str, Callable[[Path], Rows]] = {
    "ticking-promises": ticking_promises,
    "splat-corners": splat_corners,
    "boxed-arguments": boxed_arguments,
    "drained-each-batch": drained_each_batch,
    "memoryless-frames": memoryless_frames,
    "lengths-remembered": lengths_remembered,
    "mapped-moves": mapped_moves,
    "deeper-attention": deeper_attention,
    "looped-draws": looped_draws,
    "soaked-runs": soaked_runs,
    "parallel-encoding": parallel_encoding,
    "coasting-player": coasting_player,
}
"""What writes the exports of each problem into a new folder; it returns the rows of each table."""
