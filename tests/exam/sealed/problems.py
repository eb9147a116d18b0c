"""The ten problems: what each thread published, played by a program on a small Mac.

The figures of the threads, and which numbers of these are chosen, stand in `labels.toml`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from sealed.mac import GIGABYTE, MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program

Rows = dict[str, int]


def sycl_launches(folder: Path) -> Rows:
    """AdaptiveCpp #2196: eleven launches a step of molecular dynamics, a command buffer each."""
    mac, owner = Mac(2196, "M2 Max"), Owner("gmx", 71234)
    program = Program(mac, owner)
    kernels = (18, 22, 410, 35, 28, 24, 55, 30, 26, 40, 32)
    last: Commit | None = None
    for step in range(600):
        for kernel in kernels:
            # Every allocation is made resident for each launch, before it is committed.
            last = program.commit([Pass("Compute", mac.about(kernel))], encode=71)
            program.spend(mac.rough(19))
        if step % 100 == 99 and last is not None:
            program.wait(last)
            program.spend(mac.about(4 * MS, 0.1))
    mac.holds(owner, [(100 * MS, 612 * MEBIBYTE)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def polled_reads(folder: Path) -> Rows:
    """The threads examples-monorepo #267 and wgpu #9328: a wait that sleeps and asks."""
    mac, owner = Mac(267, "M4"), Owner("python3.12", 40112)
    program = Program(mac, owner)
    phases = (((40, 250, 330), 1.2 * MS), ((40, 420, 210, 30), 3.04 * MS))
    for _ in range(400):
        for works, after in phases:
            program.spend(mac.rough(280))
            channels = ["Blit", *["Compute"] * 2, "Blit"][: len(works)]
            passes = [
                Pass(channel, mac.about(work, 0.06))
                for channel, work in zip(channels, works, strict=True)
            ]
            read = program.commit(passes)
            # The host sleeps, asks for the state, and sleeps again.
            woken = read.committed + max(0.9 * MS, float(mac.random.normal(7 * MS, 0.45 * MS)))
            program.now = max(woken, read.reported + 20)
            program.spend(mac.about(after, 0.15))
    mac.holds(owner, [(90 * MS, 148 * MEBIBYTE)])
    mac.draws(0.15)
    return mac.write(folder, owner)


def resident_experts(folder: Path) -> Rows:
    """Colibri #379, #426: each submission names hundreds of buffers, between reads of the disk."""
    mac, owner = Mac(426, "M5 Pro"), Owner("colibri", 5120)
    program = Program(mac, owner)
    for _ in range(40):
        for _ in range(75):
            attention = program.commit([Pass("Compute", mac.about(484, 0.05))], encode=12)
            program.wait(attention)
            disk = 2.27 * MS * float(mac.random.lognormal(-0.18, 0.6))  # hits and misses
            program.spend(disk)
            experts = program.commit(
                [Pass("Compute", mac.about(750, 0.08))], encode=60, driver=380, start=80
            )
            program.wait(experts)
            program.spend(mac.rough(350))
    mac.holds(owner, [(60 * MS, 47 * GIGABYTE)])
    mac.draws(0.1)
    return mac.write(folder, owner)


def pipelines_each_frame(folder: Path) -> Rows:
    """The threads maplibre-native #1657, #1658: each drawable makes its pipeline anew."""
    mac, owner = Mac(1657, "A9"), Owner("BenchmarkApp", 16256)
    program = Program(mac, owner)
    for frame in range(1, 25):
        begin = program.now
        program.spend(mac.about(10.8 * MS, 0.1))
        for _ in range(190):
            took = mac.rough(1.1 * MS)
            mac.compiles(owner, program.now, took, "Render")
            program.spend(took + mac.rough(90))
        drawn = program.commit(
            [
                Pass("Vertex", mac.about(4.4 * MS, 0.06)),
                Pass("Fragment", mac.about(21 * MS, 0.08)),
            ],
            frame=frame,
            since=begin,  # pipelines are made while the encoder is open
        )
        program.wait(drawn)
        program.spend(mac.rough(600))
    mac.holds(owner, [(120 * MS, 96 * MEBIBYTE)])
    mac.draws(0.0)
    return mac.write(folder, owner, ("iOS", "iPad", "16.6.1 (20G81)"))


def staged_writes(folder: Path) -> Rows:
    """WebKit #71563: copies on a channel of their own between compute, until one hangs."""
    mac = Mac(71563, "M3", [Owner("Safari", 800)])
    owner = Owner("com.apple.WebKit.GPU", 823)
    program = Program(mac, owner)
    for frame in range(1, 481):
        program.now = max(program.now, 150 * MS + frame * 16_667)
        _page(program, frame)
    program.now = max(program.now, 150 * MS + 481 * 16_667)
    program.commit([Pass("Compute", mac.about(1.1 * MS))], frame=481)
    hung = program.commit([Pass("Blit", 2_000 * MS)], frame=481)
    victims = [program.discarded(frame=481) for _ in range(6)]
    program.fails(hung.reported, hung.number, 3)
    for place, victim in enumerate(victims, start=1):
        at = hung.reported + 40 * place
        mac.add("metal-command-buffer-completed", at, victim, 0)
        program.fails(at, victim, 5)
    mac.last = hung.reported + 3_600 * MS
    mac.holds(owner, [(70 * MS, 210 * MEBIBYTE)])
    mac.draws(0.6)
    return mac.write(folder, owner)


def _page(program: Program, frame: int) -> None:
    """Commit what a page does in a frame: compute, copies, compute, copies … and what it shows."""
    mac = program.mac
    for place in range(4):
        program.commit([Pass("Compute", mac.about(1.1 * MS, 0.08))], frame=frame)
        if place < 3:
            program.spend(mac.rough(90))
            program.commit([Pass("Blit", mac.about(48, 0.2))], frame=frame)
        program.spend(mac.rough(60))
    program.commit(
        [Pass("Vertex", mac.about(300, 0.1)), Pass("Fragment", mac.about(1.6 * MS, 0.1))],
        frame=frame,
    )


def lengths_that_vary(folder: Path) -> Rows:
    """Hindsight #2988: texts of all lengths; each new shape keeps its graph and its buffers."""
    mac, owner = Mac(2988, "M3 Pro"), Owner("python3.11", 3311)
    program = Program(mac, owner)
    size = 1_600_000_000
    levels = [(80 * MS, size)]
    for _ in range(200):
        program.spend(70 * MS * float(mac.random.lognormal(-0.3, 0.75)))
        if mac.random.random() > 1 / 12:  # a shape that was not there before
            for _ in range(3):
                took = mac.rough(2.4 * MS)
                mac.compiles(owner, program.now, took)
                program.spend(took + 150)
            grown = round(34.1e6 * float(mac.random.lognormal(-0.06, 0.35)))
            for _ in range(6):
                mac.allocates(owner, program.now, grown // 6)
                program.spend(mac.rough(12))
            size += grown
            levels.append((program.now, size))
        length = float(mac.random.lognormal(-0.25, 0.7))
        for work in (9 * MS, 16 * MS):
            last = program.commit([Pass("Compute", mac.about(work * length, 0.05))])
            program.spend(mac.rough(350))
        program.wait(last)
    mac.holds(owner, levels)
    mac.draws(0.4)
    return mac.write(folder, owner)


def asked_after_pauses(folder: Path) -> Rows:
    """llama.cpp #10119, #17766: one token after each pause; after 1 s the weights are unwired."""
    mac, owner = Mac(17766, "M4 Pro"), Owner("llama-server", 9021)
    program = Program(mac, owner)
    pauses = [200, 400, 600, 800, 1300, 1500, 1700, 2000] * 6
    mac.random.shuffle(pauses)
    weights = 13_480_000_000
    wired = [(0.0, weights)]
    for pause in pauses:
        last = program.now
        program.spend(mac.about(pause * MS, 0.02))
        if pause > 1_000:
            # The system unwires a second after the last use, and wires again at the next.
            took = mac.about(256 * MS, 0.07)
            wired += [(last + 1_000 * MS, 160_000_000), (program.now + 60 + took, weights)]
            program.wires(program.now + 60, took, weights)
            program.holds_driver(program.now + 60 + took)
        first = program.commit([Pass("Compute", mac.about(8 * MS))])
        program.spend(mac.rough(110))
        second = program.commit([Pass("Compute", mac.about(54.6 * MS, 0.02))])
        program.wait(first)
        program.wait(second)
        program.spend(mac.rough(220))
    mac.wired(wired)
    mac.holds(owner, [(50 * MS, weights + 600_000_000)])
    mac.draws(0.25)
    return mac.write(folder, owner)


def one_channel_images(folder: Path) -> Rows:
    """PyTorch #197397: a sum over a dimension of size 1 takes 16 ms; colour images, then grey."""
    mac, owner = Mac(197397, "M2 Pro"), Owner("python3.12", 60233)
    program = Program(mac, owner)
    before: Commit | None = None
    for step in range(240):
        colour = step < 120
        works = (3.9 * MS, 0.47 * MS, 5.1 * MS) if colour else (1.4 * MS, 16.09 * MS, 2.0 * MS)
        program.spend(mac.rough(1.1 * MS))
        made = program.commit([Pass("Compute", mac.about(work, 0.02)) for work in works])
        if step % 40 == 39:
            program.wait(made)
        elif before is not None:
            program.wait(before)
        before = made
    mac.holds(owner, [(110 * MS, 1_930 * MEBIBYTE)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def beside_a_hog(folder: Path) -> Rows:
    """d-inference #1116: small dependent steps beside a process of one large product after another.

    Both are Python of one version. The first twenty steps are alone.
    """
    hog = Owner("python3.12", 52418)
    mac, owner = Mac(1116, "M3 Ultra", [hog]), Owner("python3.12", 52377)
    program, theirs = Program(mac, owner), Program(mac, hog, recorded=False)
    steps, alone = 80, 20
    for step in range(steps):
        made: list[Commit] = []
        for _ in range(4):
            program.spend(mac.rough(260))
            through = 0.0
            if step >= alone:
                through = _products(theirs, program.now + 90, mac.about(24.4 * MS, 0.12))
            one = Pass("Compute", mac.about(2.86 * MS, 0.03))
            made.append(program.commit([one], behind=through))
        program.wait(made[-1])
        program.spend(mac.rough(180))
    mac.holds(owner, [(60 * MS, 24 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def _products(program: Program, ready: float, queued: float) -> float:
    """Let the other process use the device up to `ready`, then for what it has queued."""
    mac = program.mac
    at = max(mac.free["Compute"], 150 * MS)
    until = max(at, ready) + queued
    if program.queue == 0.0:
        at = ready
    while at < until:
        program.now = max(program.now, at - queued)
        made = program.commit([Pass("Compute", mac.about(0.73 * MS, 0.02))])
        at = made.end
    return at


def at_the_roof(folder: Path) -> Rows:
    """The thread mlxcel #358: decoding, where the maintainers found nothing to win."""
    mac, owner = Mac(358, "M5 Max"), Owner("mlxcel", 31007)
    program = Program(mac, owner, switch=9.0)
    ahead: list[Commit] = []
    for _ in range(160):
        program.spend(mac.rough(560))  # the graph is built while the token before it runs
        made = [
            program.commit([Pass("Compute", mac.about(609.5, 0.012))], encode=22) for _ in range(40)
        ]
        ahead.append(made[-1])
        if len(ahead) > 1:
            program.wait(ahead[-2])
    mac.holds(owner, [(40 * MS, 15_730_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


PROBLEMS: Mapping[str, Callable[[Path], Rows]] = {
    "sycl-launches": sycl_launches,
    "polled-reads": polled_reads,
    "resident-experts": resident_experts,
    "pipelines-each-frame": pipelines_each_frame,
    "staged-writes": staged_writes,
    "lengths-that-vary": lengths_that_vary,
    "asked-after-pauses": asked_after_pauses,
    "one-channel-images": one_channel_images,
    "beside-a-hog": beside_a_hog,
    "at-the-roof": at_the_roof,
}
"""What writes the exports of each problem into a new folder; it returns the rows of each table."""
