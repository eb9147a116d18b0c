"""Fourteen more recordings of public threads, over mechanisms that the other sets cover thinly.

`labels.toml` states their content. Each function writes exports into a new folder; times are µs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from practice.problems import ClockedMac
from practice.programs import (
    MEMORYLESS_ERROR,
    SECOND,
    Rows,
    compute,
    draw,
    evenly,
    present_all,
    wait_for_last_but_one,
    wait_for_refresh,
    write,
)
from sealed.mac import MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program

_HALF_REFRESH = 8_333.0  # a display of 120 Hz
_TOO_MANY_TRIANGLES_FROM = 80  # the frame
_ACCEPTED = 0.62  # the share of drafts that are accepted


class WarmingMac(ClockedMac):
    """A machine that warms up: `heats` are thermal states, each from a time on."""

    def __init__(self, seed: int, device: str) -> None:
        super().__init__(seed, device)
        self.heats: list[tuple[float, str]] = [(0.0, "Nominal")]

    def ends(self) -> None:
        """Add what holds for the whole recording, with the thermal states."""
        super().ends()
        schema = "device-thermal-state-intervals"
        self.rows[schema].clear()
        ends = [*(start for start, _ in self.heats[1:]), self.last]
        for (start, state), end in zip(self.heats, ends, strict=True):
            self.span(schema, start, end, round(end * 1e3), state, "Current", 0, None)


def splat_per_vertex(folder: Path) -> Rows:
    """Each vertex of each splat unpacks and projects it again (UnityGaussianSplatting #6)."""
    owner, mac = Owner("Unity", 606), Mac(41, "M1")
    program = Program(mac, owner)
    frames: list[Commit] = []
    for frame in range(1, 91):
        program.spend(mac.rough(2.4 * MS))
        passes = [
            *compute(mac.about(3.1 * MS)),
            *draw(mac, 167 * MS, 49 * MS),
        ]
        frames.append(program.commit(passes, encode=180.0, frame=frame))
        wait_for_last_but_one(program, frames, first=3)
    present_all(mac)
    return write(program, folder, [(50 * MS, 1_400 * MEBIBYTE)])


def fourteen_partitions(folder: Path) -> Rows:
    """An operation without a kernel cuts a model into 14 pieces (onnxruntime #28022)."""
    owner, mac = Owner("python3.13", 28_022), Mac(42, "M3 Max")
    program = Program(mac, owner)
    for _ in range(160):
        for _ in range(14):
            program.wait(program.commit(evenly(mac, 3, 450.0), encode=15.0))
            program.spend(mac.about(1.62 * MS, 0.08))
        program.spend(mac.rough(3 * MS))
    return write(program, folder, [(50 * MS, 900 * MEBIBYTE)], compositor=0.3)


def freed_at_an_interval(folder: Path) -> Rows:
    """Every 300th frame, all buffers that were not used lately are freed (osu-framework #5885)."""
    owner, mac = Owner("osu!", 5_885), Mac(43, "M1 Pro")
    program = Program(mac, owner)
    size, level = 65_536, 410 * MEBIBYTE
    counts = (4_496, 1_116, 4_070, 3_300, 4_480)
    levels = [(60 * MS, level)]
    for count in counts:
        made = 0
        for frame in range(1, 301):
            frame_start = program.now
            program.spend(mac.about(2.1 * MS, 0.1))
            while made < count * frame / 300:
                mac.allocates(owner, program.now, size)
                made += 1
            levels.append((program.now, level + made * size))
            passes = draw(mac, 500.0, 2.4 * MS)
            program.commit(passes, encode=600.0, frame=frame)
            if frame == 300:
                program.spend(count * mac.about(29.4))
                levels.append((program.now, level))
            wait_for_refresh(program, frame_start)
    present_all(mac)
    return write(program, folder, levels, compositor=0.2)


def depth_reads(folder: Path) -> Rows:
    """An emulator reads depth back three times a frame, and waits each time (ARMSX2 #697)."""
    owner, mac = Owner("ARMSX2", 6_970), Mac(44, "M3 Pro")
    program = Program(mac, owner)
    for frame in range(1, 201):
        for _ in range(3):
            passes = [drawn for _ in range(40) for drawn in draw(mac, 20.0, 124.0)]
            passes.append(Pass("Blit", mac.about(30.0)))
            program.wait(program.commit(passes, encode=52.0, frame=frame))
            program.spend(mac.rough(140))
        passes = [drawn for _ in range(11) for drawn in draw(mac, 20.0, 124.0)]
        program.commit(passes, encode=60.0, frame=frame)
        program.spend(mac.rough(250))
    return write(program, folder, [(50 * MS, 780 * MEBIBYTE)], compositor=0.3)


def compiled_in_each_process(folder: Path) -> Rows:
    """Shaders are compiled from source before the first step of training (metal-gauss #6)."""
    owner, mac = Owner("python3.12", 6_400), Mac(45, "M3 Max")
    program = Program(mac, owner)
    for _ in range(62):
        took = mac.about(135 * MS, 0.2)
        mac.compiles(owner, program.now, took)
        program.spend(took + 200)
    commits: list[Commit] = []
    for _ in range(100):
        program.spend(mac.rough(2.2 * MS))
        for _ in range(5):
            commit = program.commit(compute(mac.about(9.4 * MS)), encode=60.0)
        commits.append(commit)
        wait_for_last_but_one(program, commits)
    return write(program, folder, [(50 * MS, 1_100 * MEBIBYTE)], compositor=0.2)


def pass_for_each_draw(folder: Path) -> Rows:
    """Each draw is a render pass of its own, which stores and resolves (miniquad #641)."""
    owner, mac = Owner("platformer", 6_410), Mac(46, "Apple A15")
    program = Program(mac, owner)
    frames: list[Commit] = []
    for frame in range(1, 281):
        program.spend(mac.rough(1.2 * MS))
        passes = [drawn for _ in range(70) for drawn in draw(mac, 8.0, 300.0)]
        frames.append(program.commit(passes, encode=25.0, frame=frame))
        wait_for_last_but_one(program, frames, first=3)
    present_all(mac)
    return write(
        program, folder, [(50 * MS, 260 * MEBIBYTE)], place=("iOS", "iPhone14,5", "27.0 (24A330)")
    )


def too_much_geometry(folder: Path) -> Rows:
    """A scene has more triangles than attachments without memory hold (filament #4202)."""
    owner, mac = Owner("hello-triangle", 4_202), Mac(47, "Apple A14")
    program = Program(mac, owner)
    for frame in range(1, 241):
        frame_start = program.now
        program.spend(mac.rough(900))
        fails = frame > _TOO_MANY_TRIANGLES_FROM
        vertices, fragments = (2.6 * MS, 210.0) if fails else (1.5 * MS, 2.1 * MS)
        passes = draw(mac, vertices, fragments)
        commit = program.commit(passes, encode=700.0, frame=frame)
        if fails:
            program.fails(commit.reported, commit.number, MEMORYLESS_ERROR)
        wait_for_refresh(program, frame_start)
    present_all(mac)
    return write(
        program, folder, [(50 * MS, 190 * MEBIBYTE)], place=("iOS", "iPhone13,3", "14.6 (18F72)")
    )


def warmer_and_slower(folder: Path) -> Rows:
    """A detector on a phone that gets hot becomes slower (YOLO-CoreML-MPSNNGraph #31)."""
    owner, mac = Owner("YOLO-CoreML", 3_100), WarmingMac(48, "Apple A11")
    program = Program(mac, owner)
    mac.clocks += [(24 * SECOND, "Medium"), (78 * SECOND, "Minimum")]
    mac.heats += [(19 * SECOND, "Fair"), (57 * SECOND, "Serious")]
    while program.now < 120 * SECOND:
        slower = 1 + 0.75 * max(0.0, program.now - 15 * SECOND) / (105 * SECOND)
        commit = program.commit(compute(mac.about(25 * MS * slower)), encode=60.0)
        commit = program.commit(compute(mac.about(18 * MS * slower)), encode=60.0)
        program.wait(commit)
        program.spend(mac.rough(900))
    return write(
        program, folder, [(50 * MS, 130 * MEBIBYTE)], place=("iOS", "iPhone10,3", "11.3 (15E216)")
    )


def one_two_paced(folder: Path) -> Rows:
    """Frames alternate between one refresh and two of a display of 120 Hz (osu #32925)."""
    owner, mac = Owner("osu!", 32_925), Mac(49, "M2 Pro")
    program = Program(mac, owner)
    due = 150 * MS
    for frame in range(1, 721):
        program.now = max(program.now, due + mac.rough(80))
        program.spend(mac.about(900, 0.1))
        passes = draw(mac, 400.0, 2.7 * MS)
        program.commit(passes, encode=1.5 * MS, frame=frame)
        due += _HALF_REFRESH * (1 + frame % 2)
    present_all(mac)
    return write(program, folder, [(50 * MS, 420 * MEBIBYTE)])


def window_wise(folder: Path) -> Rows:
    """A sum over a curve has a thread for each window only (mopro #155, #188)."""
    owner, mac = Owner("metal_msm", 1_550), Mac(50, "M3")
    program = Program(mac, owner)
    for _ in range(16):
        program.spend(mac.about(57 * MS, 0.05))
        for work in (3.7 * MS, 3.583 * SECOND, 8.6 * MS):
            commit = program.commit(compute(mac.about(work, 0.01)), encode=90.0)
        program.wait(commit)
    return write(program, folder, [(50 * MS, 160 * MEBIBYTE)], compositor=0.1)


def fused_for_nothing(folder: Path) -> Rows:
    """A token is one encoder; fewer kernels in it won nothing (infr #4)."""
    owner, mac = Owner("infr", 4_400), Mac(51, "M3 Pro")
    program = Program(mac, owner)
    commits: list[Commit] = []
    for token in range(600):
        program.spend(mac.rough(500))
        work = 7.6 * MS + 0.8 * MS * token / 600  # attention grows with the context
        commit = program.commit(compute(mac.about(work, 0.01)), encode=900.0)
        commits.append(commit)
        wait_for_last_but_one(program, commits)
    return write(program, folder, [(50 * MS, 2_100 * MEBIBYTE)], compositor=0.2)


def replaced_buffers(folder: Path) -> Rows:
    """A map allocates buffers anew in each frame, at no cost (maplibre-native #1842)."""
    owner, mac = Owner("MapBenchmark", 1_842), Mac(52, "Apple A15")
    program = Program(mac, owner)
    frames: list[Commit] = []
    for frame in range(1, 401):
        for _ in range(3):
            mac.allocates(owner, program.now, int(mac.random.integers(80, 320)) * 4_096)
            program.spend(mac.rough(12))
        passes = draw(mac, 1.9 * MS, 12.4 * MS)
        frames.append(program.commit(passes, encode=2.6 * MS, frame=frame))
        wait_for_last_but_one(program, frames, first=3)
    present_all(mac)
    return write(
        program, folder, [(50 * MS, 240 * MEBIBYTE)], place=("iOS", "iPhone14,5", "17.1 (21B74)")
    )


def drafts_that_vary(folder: Path) -> Rows:
    """Tokens are drafted and verified, which wins as much as it costs (qwen38-mtp #40)."""
    owner, mac = Owner("llama-server", 4_040), Mac(53, "M4")
    program = Program(mac, owner)
    for _ in range(3):
        for _ in range(4):
            program.wait(program.commit(compute(mac.about(480 * MS)), encode=200.0))
        for _ in range(60):
            drafts = 1 + int(mac.random.random() < _ACCEPTED)
            for _ in range(drafts):
                program.wait(program.commit(compute(mac.about(15 * MS)), encode=80.0))
                program.spend(mac.rough(150))
            verified = 172 * MS * (1 + 0.22 * drafts)
            for _ in range(3):
                commit = program.commit(compute(mac.about(verified / 3)), encode=180.0)
            program.wait(commit)
            program.spend(mac.rough(700))
    return write(program, folder, [(50 * MS, 13_200 * MEBIBYTE)], compositor=0.2)


def drawn_on_demand(folder: Path) -> Rows:
    """A map draws while it is moved, and only then (maplibre-native #4480)."""
    owner, mac = Owner("MapLibre", 4_480), Mac(54, "M1 Pro")
    program = Program(mac, owner)
    for _ in range(14):
        tiles_arrive = int(mac.random.integers(8, 20))
        for frame in range(int(mac.random.integers(25, 110))):
            frame_start = program.now
            program.spend(mac.about(2.6 * MS, 0.15))
            fragments = 9.5 * MS if frame % tiles_arrive == tiles_arrive - 1 else 3.6 * MS
            passes = [Pass("Vertex", mac.about(700.0)), Pass("Fragment", mac.about(fragments, 0.2))]
            program.commit(passes, encode=900.0, frame=frame + 1)
            wait_for_refresh(program, frame_start)
        program.spend(mac.about(2.2 * SECOND, 0.6))
    present_all(mac)
    return write(program, folder, [(50 * MS, 300 * MEBIBYTE)], compositor=0.2)


PROBLEMS: Mapping[str, Callable[..., Rows]] = {
    problem.__name__.replace("_", "-"): problem
    for problem in (
        splat_per_vertex,
        fourteen_partitions,
        freed_at_an_interval,
        depth_reads,
        compiled_in_each_process,
        pass_for_each_draw,
        too_much_geometry,
        warmer_and_slower,
        one_two_paced,
        window_wise,
        fused_for_nothing,
        replaced_buffers,
        drafts_that_vary,
        drawn_on_demand,
    )
}
"""The function that writes each recording, by the name that its label has."""
