"""Recordings of programs as public threads describe them; `labels.toml` says what they hold.

Each writes exports into a new folder. Times are µs. They share the model of a Mac, but no problem,
with the sealed exam.
"""

from collections.abc import Callable
from pathlib import Path

from practice.programs import SECOND, compute, evenly
from sealed.exports import Parts
from sealed.mac import MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program, cell, thread

_NEIGHBOURS = 10
_DISPLAY = 16_667.0


class ClockedMac(Mac):
    """A machine whose clock changes: `clocks` are states of the clock, each from a time on."""

    def __init__(self, seed: int, device: str) -> None:
        super().__init__(seed, device)
        self.clocks: list[tuple[float, str]] = [(0.0, "Maximum")]

    def ends(self) -> None:
        """Add what holds for the whole recording, with the states of the clock."""
        super().ends()
        schema = "gpu-performance-state-intervals"
        self.rows[schema].clear()
        ends = [*(start for start, _ in self.clocks[1:]), self.last]
        for (start, state), end in zip(self.clocks, ends, strict=True):
            self.span(schema, start, end, state, "Current", 0, None, "GPU Performance State")


def encode_then_run(folder: Path) -> None:
    """ExecuTorch encodes a token's whole graph, commits it, and waits (executorch #17671)."""
    owner = Owner("voxtral_realtime_runner", 4_811)
    program = Program(Mac(11, "M4 Max"), owner)
    for _ in range(60):
        commit = program.commit(evenly(program.mac, 40, 2 * MS), encode=1.03 * MS)
        program.wait(commit)
        program.spend(program.mac.rough(500))
    program.mac.write(folder, owner)


def sleeping_poll(folder: Path) -> None:
    """A codec's decoder on wgpu looks every 1.3 ms whether the device is done (xn #70)."""
    owner, mac = Owner("phonon", 6_120), Mac(12, "M3 Pro")
    program = Program(mac, owner)

    def poll(commit: Commit) -> None:
        while program.now < commit.reported:
            program.spend(mac.about(1.3 * MS))

    for _ in range(180):
        poll(program.commit(compute(mac.about(8 * MS)), encode=300.0))
        program.spend(mac.rough(80))
        for _ in range(4):
            poll(program.commit(compute(mac.about(260.0))))
            program.spend(mac.rough(30))
    mac.write(folder, owner)


def resources_each_encoder(folder: Path) -> None:
    """An engine names every resource again for each of many encoders (o3de #13325)."""
    owner, mac = Owner("AtomSampleViewerStandalone", 902), Mac(13, "M1 Pro")
    program, previous_commit = Program(mac, owner), None
    for frame in range(36):
        passes = [
            Pass(channel, mac.about(work))
            for _ in range(24)
            for channel, work in (("Vertex", 260.0), ("Fragment", 560.0))
        ]
        commit = program.commit(passes, encode=7.7 * MS, frame=frame + 1)
        if previous_commit is not None:
            program.wait(previous_commit)
        previous_commit = commit
        program.spend(mac.rough(2 * MS))
    mac.write(folder, owner)


def shaders_on_first_use(folder: Path) -> None:
    """A game compiles each combination of shaders when it is first drawn (SpaghettiKart #710)."""
    owner, mac = Owner("Spaghettify", 7_007), Mac(14, "M2")
    program = Program(mac, owner)
    first_uses = set(range(5, 500, 12))
    for frame in range(500):
        frame_start = program.now
        if frame in first_uses:
            compile_time = mac.about(70 * MS, 0.15)
            for kind, share in (("Vertex", 0.4), ("Fragment", 0.6)):
                mac.compiles(owner, program.now, share * compile_time, kind)
                program.spend(share * compile_time)
        passes = [Pass("Vertex", mac.about(900.0)), Pass("Fragment", mac.about(3_100.0))]
        program.commit(passes, encode=1.8 * MS, frame=frame + 1)
        late = max(0.0, program.now - frame_start)
        program.now = frame_start + _DISPLAY * (1 + int(late / _DISPLAY))
    mac.write(folder, owner)


def one_graph_too_many(folder: Path) -> None:
    """A video generator submits too much as one buffer, and is stopped (ltx-2-mlx #22)."""
    owner, mac = Owner("python3.12", 3_350), Mac(15, "M2 Max")
    program = Program(mac, owner)
    for _ in range(24):
        program.wait(program.commit(evenly(mac, 8, 6 * MS)))
        program.spend(mac.rough(1 * MS))
    commit = program.commit(evenly(mac, 9, 1.15 * SECOND), encode=200.0)
    program.fails(commit.reported, commit.number, 14)
    program.wait(commit)
    mac.write(folder, owner)


def every_shape_kept(folder: Path) -> None:
    """Training on graphs of which no two are of one shape (pytorch #181485)."""
    owner, mac = Owner("python3.11", 5_511), Mac(16, "M4 Max")
    program = Program(mac, owner)
    size, levels = 9 * MEBIBYTE, []
    for _ in range(315):
        levels.append((program.now, size))
        for _ in range(6):
            mac.allocates(owner, program.now, 7 * MEBIBYTE)
            program.spend(5.0)
        size += round(mac.about(43.5, 0.1) * MEBIBYTE)
        program.spend(mac.about(6 * MS, 0.1))
        work = float(mac.random.lognormal(0, 0.3)) * 2.2 * MS
        for _ in range(9):
            commit = program.commit(compute(mac.about(work)))
        program.wait(commit)
    mac.holds(owner, levels)
    mac.write(folder, owner)


def buffer_per_product(folder: Path) -> None:
    """A language model in Go commits and waits for each of its products (fak #1382)."""
    owner, mac = Owner("fak", 1_881), Mac(17, "M3 Pro")
    program = Program(mac, owner)
    for _ in range(14):
        for _ in range(336):
            program.wait(program.commit(compute(mac.about(98.0)), encode=12.0))
            program.spend(mac.rough(170))
        program.spend(mac.rough(2 * MS))
    mac.write(folder, owner)


def full_resolution_ao(folder: Path) -> None:
    """A renderer whose ambient occlusion runs for every pixel (avbd-metal #12)."""
    owner, mac = Owner("FrankaTeleop", 2_240), Mac(18, "M2")
    program = Program(mac, owner)
    chain = (("Vertex", 20.0), ("Fragment", 15.1 * MS), ("Vertex", 12.0), ("Fragment", 3.9 * MS))
    blur = (("Vertex", 12.0), ("Fragment", 3.9 * MS))
    scene = (("Vertex", 110.0), ("Fragment", 160.0), ("Vertex", 190.0), ("Fragment", 640.0))
    for frame in range(240):
        passes = [Pass(channel, mac.about(work)) for channel, work in (*scene, *chain, *blur)]
        program.wait(program.commit(passes, encode=60.0, frame=frame + 1))
        program.spend(mac.rough(450))
    mac.write(folder, owner)


def four_threadgroups(folder: Path) -> None:
    """Attention of a small model runs on four threadgroups (Camelid #564)."""
    owner, mac = Owner("camelid", 8_664), Mac(19, "M4")
    program = Program(mac, owner)
    for depth in range(512, 632):
        windowed = 2.372 * min(depth, 512)
        passes: list[Pass] = []
        for layer in range(26):
            attends = windowed if layer % 6 else 2.372 * depth
            other_work = mac.about(12.9 * MS / 26)
            passes += compute(0.3 * other_work, mac.about(attends, 0.01), 0.7 * other_work)
        program.wait(program.commit(passes, encode=2.0))
        program.spend(mac.rough(200))
    mac.write(folder, owner)


def reduce_the_first_axis(folder: Path) -> None:
    """One reduction along the first axis takes nearly all of a step (pytorch #182255)."""
    owner, mac = Owner("python3.12", 4_242), Mac(20, "M4 Max")
    program = Program(mac, owner)
    for _ in range(24):
        passes = [*evenly(mac, 12, 2.4 * MS), *compute(mac.about(547 * MS, 0.004))]
        program.wait(program.commit([*passes, *evenly(mac, 12, 2.4 * MS)], encode=25.0))
        program.spend(mac.rough(3 * MS))
    mac.write(folder, owner)


def ten_neighbours(folder: Path) -> None:
    """A language model beside ten other programs that compute (lattice #77)."""
    owner = Owner("lattice", 9_100)
    neighbours = [Owner("gpu_burn", 9_200 + place) for place in range(_NEIGHBOURS)]
    mac = Mac(21, "M2 Max", neighbours)
    program = Program(mac, owner)
    rivals = [Program(mac, neighbour, recorded=False) for neighbour in neighbours]
    for token in range(220):
        rival = rivals[token % _NEIGHBOURS]
        rival.now = program.now - 150
        rival_commit = rival.commit(compute(mac.about(1_750.0, 0.1)))
        commit = program.commit(evenly(mac, 9, 700.0), encode=12.0, behind=rival_commit.end)
        program.wait(commit)
        program.spend(mac.rough(60))
    mac.write(folder, owner)


def falls_asleep(folder: Path) -> None:
    """Requests of an agent come after pauses in which the clock falls (omlx #3451)."""
    owner, mac = Owner("python3.12", 6_006), ClockedMac(22, "M1 Ultra")
    program = Program(mac, owner)
    mac.clocks = [(0.0, "Minimum")]
    for _ in range(7):
        mac.clocks.append((program.now, "Medium"))
        for token in range(60):
            if token == 40:
                mac.clocks.append((program.now, "Maximum"))
            slow = 1.62 if token < 40 else 1.0
            for _ in range(3):
                commit = program.commit(compute(mac.about(13.6 * MS * slow)))
            program.wait(commit)
            program.spend(mac.rough(150))
        mac.clocks.append((program.now, "Minimum"))
        program.spend(2 * SECOND)
    del mac.clocks[-1]  # the recording ends with the last token
    mac.write(folder, owner)


def sixty_of_120(folder: Path) -> None:
    """A canvas is presented by a timer of 60 Hz on a display of 120 Hz (native #399)."""
    owner, mac = Owner("workbench", 1_500), Mac(23, "M4 Max")
    program = Program(mac, owner)
    for frame in range(420):
        due_time = 150 * MS + frame * _DISPLAY
        program.now = max(program.now, due_time + mac.rough(80))
        passes = [Pass("Vertex", mac.about(130.0)), Pass("Fragment", mac.about(1_700.0))]
        program.commit(passes, encode=120.0, frame=frame + 1)
    mac.write(folder, owner)


def slow_fences(folder: Path) -> None:
    """Work of a distributed model waits for sums that the CPU signals by events (mlx #1773)."""
    owner, mac = Owner("python3.12", 5_005), Mac(24, "M3 Max")
    program = Program(mac, owner)
    ends: list[float] = []
    for _ in range(60):
        end = program.queue
        for _ in range(64):
            commit = program.commit(
                compute(mac.about(300.0)), encode=5.0, behind=end + mac.about(140)
            )
            end = commit.end
        ends.append(commit.reported)
        if len(ends) > 1:
            program.now = max(program.now, ends[-2])
        program.spend(mac.rough(400))
    mac.write(folder, owner)


def encoder_per_operation(folder: Path) -> None:
    """An encoder for each operation, and a device that never idles (candle #2037)."""
    owner, mac = Owner("quantized", 2_037), Mac(25, "M1 Max")
    program, reports = Program(mac, owner), []
    for _ in range(60):
        for _ in range(8):
            commit = program.commit(evenly(mac, 30, 120.0), encode=3.0)
        reports.append(commit.reported)
        if len(reports) > 1:
            program.now = max(program.now, reports[-2] + mac.rough(12))
        program.spend(mac.rough(300))
    mac.write(folder, owner)


def token_by_token(folder: Path) -> None:
    """A server's scheduler reads each token before it builds the next one (sglang #22416)."""
    owner, mac = Owner("python3.12", 2_416), Mac(26, "M4 Pro")
    program = Program(mac, owner)
    for _ in range(244):
        for _ in range(4):
            commit = program.commit(evenly(mac, 6, 233.0), encode=18.0)
        program.wait(commit)
        program.spend(mac.rough(950))
    mac.write(folder, owner)


def list_in_flight(folder: Path) -> None:
    """Each launch searches a list of all launches since the last wait (tinygrad #16595)."""
    owner, mac = Owner("python3.13", 1_659), Mac(27, "M3 Pro")
    program = Program(mac, owner)
    for step in range(160):
        for _ in range(20):
            program.commit(compute(mac.about(90.0)), encode=mac.about(110.0 + 2.4 * step))
    mac.write(folder, owner)


def small_batches(folder: Path) -> None:
    """Training in batches so small that Python takes longer than the device (scvi-tools #3981)."""
    owner, mac = Owner("python3.12", 3_981), Mac(28, "M4 Max")
    program, last_commit = Program(mac, owner), None
    for step in range(150):
        for _ in range(3):
            commit = program.commit(evenly(mac, 20, 37.0), encode=105.0)
        program.spend(mac.rough(250))
        last_commit = commit
        if step % 50 == 49:
            program.wait(last_commit)
    mac.write(folder, owner)


def launch_and_wait(folder: Path) -> None:
    """A numerical package commits and waits for each launch, and polls (Metal.jl #847)."""
    owner, mac = Owner("julia", 8_470), Mac(29, "M1")
    program = Program(mac, owner)
    for _ in range(2_000):
        program.wait(program.commit(compute(mac.about(10.0))), wake=200.0)
        program.spend(mac.rough(5))
    mac.write(folder, owner)


def speech_in_the_queue(folder: Path) -> None:
    """Tokens of a language model wait behind a synthesizer's work (llama.cpp-omni #37)."""
    owner, mac = Owner("omni", 3_737), Mac(30, "M5")
    speaks, program = Program(mac, owner), Program(mac, owner)
    for token in range(98):
        if token % 7 == 3:
            # A synthesizer has a time of its own: it hands over during the token before.
            speaks.now = program.now - float(mac.random.uniform(2, 45)) * MS
            with _OnThread(mac, owner, "Synthesis", 3_737_777):
                speaks.commit(evenly(mac, 5, 70 * MS), encode=40.0)
        commit = program.commit(compute(mac.about(24 * MS)))
        commit = program.commit(compute(mac.about(26 * MS)))
        program.wait(commit)
        program.spend(mac.rough(200))
    mac.write(folder, owner)


def never_given_back(folder: Path) -> None:
    """Each short request leaves its prompt's buffers in the cache (mlx-swift-lm #620)."""
    owner, mac = Owner("llm-tool", 6_200), Mac(31, "M2 Pro")
    program, level = Program(mac, owner), 4.62e9
    levels: list[tuple[float, int]] = []
    for request in range(8):
        for _ in range(3):
            levels.append((program.now, round(level)))
            level += 0.92e9 / 3
            commit = program.commit(evenly(mac, 4, 50 * MS))
        program.wait(commit)
        for _ in range(120):
            commit = program.commit(evenly(mac, 3, 3.8 * MS))
            program.wait(commit)
            program.spend(mac.rough(80))
        levels.append((program.now, round(level)))
        program.spend((1 + (request % 3) / 2) * SECOND)
    mac.holds(owner, levels)
    mac.write(folder, owner)


def concatenated_by_blits(folder: Path) -> None:
    """Decoding with a cache that copies concatenate in each step (pytorch #188198)."""
    owner, mac = Owner("python3.12", 8_198), Mac(32, "M2 Max")
    program, reports = Program(mac, owner), []
    for _ in range(60):
        for _ in range(10):
            passes = [Pass("Compute", mac.about(3 * MS))]
            passes += [Pass("Blit", mac.about(1_150.0, 0.01)) for _ in range(4)]
            commit = program.commit(passes)
        reports.append(commit.reported)
        if len(reports) > 1:
            program.now = max(program.now, reports[-2])
    mac.write(folder, owner)


def kernel_per_buffer(folder: Path) -> None:
    """A compiler's runtime commits each kernel in a command buffer of its own (tinygrad #1920)."""
    owner, mac = Owner("python3.11", 1_920), Mac(33, "M1 Pro")
    program = Program(mac, owner)
    for _ in range(45):
        for _ in range(100):
            commit = program.commit(compute(mac.about(70.0)), encode=95.0)
            program.spend(mac.rough(8))
        program.wait(commit)
        program.spend(mac.rough(300))
    mac.write(folder, owner)


def heaps_named_each_time(folder: Path) -> None:
    """A game names all resources of its heaps for each encoder (MoltenVK #2402)."""
    owner, mac = Owner("Diablo IV.exe", 2_402), Mac(34, "M1")
    program, ends = Program(mac, owner), []
    for frame in range(150):
        for _ in range(3):
            passes = [Pass("Vertex", mac.about(400.0)), Pass("Fragment", mac.about(2_500.0))]
            commit = program.commit(
                passes, encode=250.0, driver=mac.about(11.3 * MS), frame=frame + 1
            )
        ends.append(commit)
        if len(ends) > 1:
            program.wait(ends[-2])
        program.spend(mac.rough(700))
    mac.write(folder, owner)


def wired_after_each_pause(folder: Path) -> None:
    """An audio plug-in's model is slow after each second in which it rests (pytorch #124056)."""
    owner, mac = Owner("Logic Pro", 1_240), Mac(35, "M1 Max")
    program = Program(mac, owner)
    for _ in range(24):
        wires = mac.about(85 * MS, 0.1)
        program.wires(program.now + 40, wires, 1_240 * MEBIBYTE)
        program.holds_driver(program.now + 60 + wires)
        for _ in range(8):
            program.wait(program.commit(evenly(mac, 4, 6.1 * MS)))
            program.spend(mac.rough(900))
        program.spend(1 * SECOND)
    mac.write(folder, owner)


class _OnThread:
    """Let what a program's host does meanwhile be another thread's."""

    def __init__(self, mac: Mac, owner: Owner, name: str, tid: int) -> None:
        words = f"{name} 0x{tid:x} ({owner.name}, pid: {owner.pid})"
        self.mac, self.usual = mac, thread(owner)
        self.other = Parts(words, (("tid", tid), ("process", cell(owner))))

    def __enter__(self) -> None:
        self.begun = {schema: len(rows) for schema, rows in self.mac.rows.items()}

    def __exit__(self, *_: object) -> None:
        for schema, start_row in self.begun.items():
            rows = self.mac.rows[schema]
            rows[start_row:] = [
                tuple(self.other if value == self.usual else value for value in row)
                for row in rows[start_row:]
            ]


PROBLEMS: dict[str, Callable[..., None]] = {
    write.__name__.replace("_", "-"): write
    for write in (
        encode_then_run,
        sleeping_poll,
        resources_each_encoder,
        shaders_on_first_use,
        one_graph_too_many,
        every_shape_kept,
        buffer_per_product,
        full_resolution_ao,
        four_threadgroups,
        reduce_the_first_axis,
        ten_neighbours,
        falls_asleep,
        sixty_of_120,
        slow_fences,
        encoder_per_operation,
        token_by_token,
        list_in_flight,
        small_batches,
        launch_and_wait,
        speech_in_the_queue,
        never_given_back,
        concatenated_by_blits,
        kernel_per_buffer,
        heaps_named_each_time,
        wired_after_each_pause,
    )
}
"""Who writes each recording, by the name that its label has."""
