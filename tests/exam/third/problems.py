"""The twelve problems of the third exam: what each thread published, played on a small Mac.

The figures of the threads, and which numbers of these are chosen, stand in `labels.toml`.
"""

from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path

from sealed.mac import GIGABYTE, MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program
from third.counters import SCHEMA, Counter, sampled, write_counters

Rows = dict[str, int]

_ASSIGNMENTS = "metal-command-buffer-frame-assignment"
_NUMBER = 1  # the command buffer, in a row of these
_PRESENTS = 7  # whether it presents
_REFRESH = 16_667.0  # a frame of a display of 60 Hz

_OCCUPANCY = Counter(31, "Compute Occupancy", percentage=True)
_ARITHMETIC = Counter(4, "ALU Limiter", percentage=True)
_CACHE = Counter(12, "GPU Last Level Cache Limiter", percentage=True)
_READS = Counter(9, "Buffer Read Limiter", percentage=True)
_COUNTED: Mapping[str, Mapping[Counter, float]] = {
    "model": {_OCCUPANCY: 41.0, _ARITHMETIC: 22.0, _CACHE: 55.0, _READS: 48.0},
    "upsampling": {_OCCUPANCY: 9.0, _ARITHMETIC: 6.0, _CACHE: 4.0, _READS: 7.0},
    "other": {_OCCUPANCY: 63.0, _ARITHMETIC: 44.0, _CACHE: 31.0, _READS: 35.0},
}


def _present(mac: Mac, numbers: set[int]) -> None:
    """Mark the command buffers that present a drawable."""
    rows = mac.rows[_ASSIGNMENTS]
    for place, row in enumerate(rows):
        if row[_NUMBER] in numbers:
            rows[place] = (*row[:_PRESENTS], 1, *row[_PRESENTS + 1 :])


def cleared_each_step(folder: Path) -> Rows:
    """The threads mlx-audio-swift #229, #230: the pool of buffers is emptied at each step."""
    mac, owner = Mac(229, "M1 Pro"), Owner("VoxtralStream", 22930)
    program = Program(mac, owner)
    floor, size = 3_400_000_000, 7_000_000
    levels = [(60 * MS, floor)]
    for _ in range(120):
        for piece in range(6):
            for _ in range(40):
                mac.allocates(owner, program.now, size)
                program.spend(mac.rough(555))  # its pages are mapped and zeroed
            levels.append((program.now, floor + (piece + 1) * 40 * size))
            last = program.commit([Pass("Compute", mac.about(11.7 * MS, 0.04))], encode=60)
        program.wait(last)
        program.spend(mac.rough(700))
        levels.append((program.now, floor))
    mac.holds(owner, levels)
    mac.draws(0.2)
    return mac.write(folder, owner)


def loss_each_batch(folder: Path) -> Rows:
    """The thread CodefyUI #435: the loss is read after each batch of a small network."""
    mac, owner = Mac(435, "M3"), Owner("python3.12", 43511)
    program = Program(mac, owner)
    for _ in range(700):
        program.spend(mac.rough(2.9 * MS))  # the next batch is made
        works = (1.3 * MS, 1.6 * MS, 0.7 * MS)
        passes = [Pass("Compute", mac.about(work, 0.04)) for work in works]
        program.wait(program.commit(passes, encode=250, start=800), wake=1.25 * MS)
    mac.holds(owner, [(60 * MS, 410 * MEBIBYTE)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def prefill_first(folder: Path) -> Rows:
    """The thread mlx-serve #205: a long prompt runs to its end before anyone's next token."""
    mac, owner = Mac(205, "M4 Pro"), Owner("mlx-serve", 20551)
    program = Program(mac, owner, switch=6.0)
    before: Commit | None = None
    for _ in range(8):
        for _ in range(int(mac.random.integers(140, 300))):
            program.spend(mac.rough(900))  # the graph is built while the token before it runs
            for _ in range(4):
                made = program.commit([Pass("Compute", mac.about(2.6 * MS, 0.02))], encode=40)
            if before is not None:
                program.wait(before)
            before = made
        for _ in range(9):  # chunks of the prompt
            for _ in range(6):
                read = program.commit([Pass("Compute", mac.about(14.6 * MS, 0.02))], encode=90)
            program.wait(read)
            program.spend(mac.rough(900))
        before = None
    mac.holds(owner, [(50 * MS, 5_900_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def one_queued_frame(folder: Path) -> Rows:
    """The thread Cranpose #623: the host prepares a frame when the one before it is shown."""
    mac, owner = Mac(623, "M3 Pro"), Owner("LeetCodeDaily", 62301)
    program = Program(mac, owner)
    shown: set[int] = set()
    tick = 9
    for frame in range(1, 901):
        program.now = max(program.now, tick * _REFRESH + mac.rough(60))
        program.spend(mac.about(8.35 * MS, 0.18))
        passes = [
            Pass("Vertex", mac.about(0.9 * MS, 0.1)),
            Pass("Fragment", mac.about(6.4 * MS, 0.12)),
        ]
        drawn = program.commit(passes, encode=180, frame=frame)
        shown.add(drawn.number)
        program.wait(drawn)
        tick = max(tick + 1, ceil((drawn.reported + 250) / _REFRESH))
    _present(mac, shown)
    mac.holds(owner, [(70 * MS, 190 * MEBIBYTE)])
    mac.draws(1.0)
    return mac.write(folder, owner)


def named_again(folder: Path) -> Rows:
    """The thread godot #98212: one encoder a frame, which names its resources for each draw."""
    mac, owner = Mac(98212, "M1 Max"), Owner("godot", 9821)
    program = Program(mac, owner)
    drawn: list[Commit] = []
    for frame in range(1, 701):
        program.spend(mac.about(0.95 * MS, 0.06))
        begin = program.now
        program.spend(mac.about(12.3 * MS, 0.04))  # the encoder is open
        passes = [
            Pass("Vertex", mac.about(1.4 * MS, 0.05)),
            Pass("Fragment", mac.about(3.5 * MS, 0.05)),
        ]
        drawn.append(program.commit(passes, encode=30, driver=150, frame=frame, since=begin))
        if frame > 2:
            program.wait(drawn[-2])
    _present(mac, {one.number for one in drawn})
    mac.holds(owner, [(80 * MS, 330 * MEBIBYTE)])
    mac.draws(1.0)
    return mac.write(folder, owner)


def pass_by_pass(folder: Path) -> Rows:
    """The threads Vitrail-Shaders #161, #162: each pass of a frame is a command buffer."""
    mac, owner = Mac(162, "M1"), Owner("java", 16162)
    program = Program(mac, owner)
    shown: set[int] = set()
    before: Commit | None = None
    for frame in range(1, 201):
        program.spend(mac.about(3.9 * MS, 0.06))
        for place in range(24):
            passes = [Pass("Vertex", mac.about(60, 0.2)), Pass("Fragment", mac.about(130, 0.2))]
            program.commit(passes, encode=300, frame=frame)
            for _ in range(2 + place % 2):  # a clear, or a pass that was opened anew
                last = program.commit(
                    [Pass("Fragment", mac.about(14, 0.2))], encode=86, frame=frame
                )
        shown.add(last.number)
        if before is not None:
            program.wait(before)
        before = last
    _present(mac, shown)
    mac.holds(owner, [(90 * MS, 870 * MEBIBYTE)])
    mac.draws(1.0)
    return mac.write(folder, owner)


def sizes_kept(folder: Path) -> Rows:
    """The thread SwiftTerm #598: a pool keeps a bucket for each size that was ever asked for."""
    mac, owner = Mac(598, "M2"), Owner("SwiftTermApp", 59801)
    program = Program(mac, owner)
    shown: set[int] = set()
    size = 12_000_000
    levels = [(80 * MS, size)]
    for frame in range(1, 161):
        program.now = max(program.now, 150 * MS + frame * 1_500 * MS + mac.rough(900))
        program.spend(mac.rough(2.2 * MS))
        for _ in range(3):  # backgrounds, glyphs, decorations
            if mac.random.random() < 0.242:  # a length that was not there before
                new = 256 * int(mac.random.integers(1_563, 1_876))
                mac.allocates(owner, program.now, new)
                size += new
                levels.append((program.now, size))
            program.spend(mac.rough(45))
        passes = [Pass("Vertex", mac.about(90, 0.1)), Pass("Fragment", mac.about(700, 0.1))]
        shown.add(program.commit(passes, encode=60, frame=frame).number)
    _present(mac, shown)
    mac.holds(owner, levels)
    mac.draws(0.05)
    return mac.write(folder, owner)


def paged_weights(folder: Path) -> Rows:
    """The threads mlx-lm #652, vllm-metal #65: weights that are not kept wired are paged in."""
    mac, owner = Mac(652, "M3 Ultra"), Owner("python3.11", 65265)
    program = Program(mac, owner)
    weights, part = 243_000_000_000, 6_200_000_000
    wired = [(0.0, weights)]
    for _ in range(140):
        ended = 0.0
        for _ in range(10):
            at = max(program.now + 60, ended + mac.rough(35))
            took = mac.about(5.05 * MS, 0.12)
            wired += [(at, weights - part), (at + took, weights)]
            program.wires(at, took, part)
            program.holds_driver(at + took)
            last = program.commit([Pass("Compute", mac.about(2.2 * MS, 0.03))], encode=30)
            ended = last.end
        program.wait(last)
        program.spend(mac.rough(450))
    mac.wired(wired)
    mac.holds(owner, [(50 * MS, weights + 2 * GIGABYTE)])
    mac.draws(0.1)
    return mac.write(folder, owner)


def decode_between_frames(folder: Path) -> Rows:
    """The thread openscreen #583: an export decodes, composes, waits, and encodes in turn."""
    mac, owner = Mac(583, "M1"), Owner("openscreen", 58301)
    program = Program(mac, owner)
    for frame in range(1, 1_401):
        program.spend(mac.rough(4.85 * MS))  # two videos are decoded
        passes = [
            *(Pass("Vertex", mac.about(60, 0.1)), Pass("Fragment", mac.about(1.4 * MS, 0.05))),
            *(Pass("Compute", mac.about(250, 0.06)), Pass("Compute", mac.about(120, 0.06))),
        ]
        program.wait(program.commit(passes, encode=100, frame=frame))
        program.spend(mac.rough(95))  # the picture goes to the encoder
    mac.holds(owner, [(60 * MS, 260 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def one_thread_groups(folder: Path) -> Rows:
    """The thread audio.cpp #149: a kernel is launched with one thread in each threadgroup."""
    mac, owner = Mac(149, "M3 Max"), Owner("audiocpp_cli", 14901)
    program = Program(mac, owner)
    kinds: list[str] = []
    for _ in range(2):  # requests
        for _ in range(97):  # patches of speech
            for _ in range(10):
                made = program.commit([Pass("Compute", mac.about(12.5 * MS, 0.03))], encode=120)
                kinds.append("model")
            program.wait(made)
            program.spend(mac.rough(900))
        for upsampling in (0.42, 0.86, 1.5, 2.1, 2.2, 1.92):  # seconds
            works = (upsampling * 1_000 * MS, 128 * MS, 77 * MS)
            passes = [Pass("Compute", mac.about(work, 0.01)) for work in works]
            made = program.commit(passes, encode=90)
            kinds += ["upsampling", "other", "other"]
        program.wait(made)
        program.spend(mac.rough(40 * MS))
    mac.holds(owner, [(90 * MS, 3_300_000_000)])
    busy = [(*span, kind) for span, kind in zip(mac.busy["Compute"], kinds, strict=True)]
    interval = 10 * MS
    count = int(busy[-1][1] / interval) * len(_COUNTED["model"])
    noise = mac.random.lognormal(0.0, 0.08, count).tolist()
    mac.draws(0.2)
    rows = mac.write(folder, owner)
    samples = sampled(busy, _COUNTED, interval, noise)
    return rows | {SCHEMA: write_counters(folder, mac.device, samples)}


def failed_compiles(folder: Path) -> Rows:
    """ComfyUI-AppleSilicon-FP8 #13: a library that does not compile is compiled for each layer."""
    mac, owner = Mac(13, "M5 Max"), Owner("python3.12", 13013)
    program = Program(mac, owner)
    for _ in range(4):
        program.spend(mac.rough(5 * MS))
        for _ in range(160):
            took = mac.about(73 * MS, 0.06)
            mac.compiles(owner, program.now, took)
            program.spend(took + 150 + mac.rough(900))
            works = (9 * MS, 36 * MS, 6 * MS)
            made = program.commit(
                [Pass("Compute", mac.about(work, 0.04)) for work in works], encode=60
            )
        program.wait(made)
    mac.holds(owner, [(60 * MS, 31 * GIGABYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def attention_ceiling(folder: Path) -> Rows:
    """The threads Rapid-MLX #257, #258: attention that reaches what a plain product reaches."""
    mac, owner = Mac(257, "M3 Ultra"), Owner("python3.12", 25702)
    program = Program(mac, owner)
    for _ in range(120):
        program.wait(program.commit([Pass("Compute", mac.about(144.3 * MS, 0.006))], encode=60))
        program.spend(mac.rough(120))
    mac.holds(owner, [(50 * MS, 1_150_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


PROBLEMS: Mapping[str, Callable[[Path], Rows]] = {
    "cleared-each-step": cleared_each_step,
    "loss-each-batch": loss_each_batch,
    "prefill-first": prefill_first,
    "one-queued-frame": one_queued_frame,
    "named-again": named_again,
    "pass-by-pass": pass_by_pass,
    "sizes-kept": sizes_kept,
    "paged-weights": paged_weights,
    "decode-between-frames": decode_between_frames,
    "one-thread-groups": one_thread_groups,
    "failed-compiles": failed_compiles,
    "attention-ceiling": attention_ceiling,
}
"""What writes the exports of each problem into a new folder; it returns the rows of each table."""
