"""The twelve problems of the fourth exam: what each thread published, played on a small Mac.

The figures of the threads, and which numbers of these are chosen, stand in `labels.toml`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from sealed.mac import GIGABYTE, MEBIBYTE, MS, Commit, Mac, Owner, Pass, Program

Rows = dict[str, int]

_ASSIGNMENTS = "metal-command-buffer-frame-assignment"
_NUMBER = 1  # the command buffer, in a row of these
_PRESENTS = 7  # whether it presents
_REFRESH = 16_667.0  # a frame of a display of 60 Hz
_PHONE = ("iOS", "iPhone13,4", "16.5.1 (20F75)")
_SECOND = 1_000 * MS


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


def dispatch_by_dispatch(folder: Path) -> Rows:
    """The thread tvm #18877: each kernel of a token is a command buffer of its own."""
    mac, owner = Mac(18877, "M4 Max"), Owner("python3.12", 18877)
    program = Program(mac, owner, switch=2.5)
    for _ in range(80):
        for _ in range(262):
            work = mac.about(7.4, 0.25)
            made = program.commit([Pass("Compute", work)], encode=11.0, driver=7.5, start=6)
        program.wait(made)
        program.spend(mac.rough(110))  # a token is chosen
    mac.holds(owner, [(50 * MS, 620 * MEBIBYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def biased_tokens(folder: Path) -> Rows:
    """The thread mlxcel #1950: requests with a bias are decoded without a token ahead."""
    mac, owner = Mac(1950, "M1 Ultra"), Owner("mlxcel-server", 19501)
    program = Program(mac, owner, switch=7.0)
    for _ in range(7):
        program.wait(_compute(program, 6, 82 * MS, 120))  # the prompt
        for _ in range(128):
            program.wait(_compute(program, 3, 2.89 * MS, 35))
            program.spend(mac.rough(1_200))  # the next graph is built
        program.spend(mac.rough(9 * MS))
    mac.holds(owner, [(50 * MS, 4_900_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def animated_page(folder: Path) -> Rows:
    """The thread ComfyUI_frontend #9968: the page that shows the progress is animated meanwhile."""
    browser = Owner("Google Chrome Helper", 9902)
    mac, owner = Mac(9968, "M3", [browser]), Owner("python3.12", 9968)
    program, page = Program(mac, owner), Program(mac, browser, recorded=False)
    for image in range(4):
        slower = 1.1 if image < 2 else 1.0  # then the page is hidden
        for _ in range(20):
            made = _compute(program, 7, slower * 61 * MS, 90)
            program.wait(made)
            program.spend(mac.rough(1.6 * MS))
        program.spend(mac.rough(60 * MS))
        if image == 1:
            hidden = program.now
    frames = int((hidden - 150 * MS) / _REFRESH)
    for frame in range(frames):
        page.now = 150 * MS + frame * _REFRESH + mac.rough(400)
        works = (Pass("Vertex", mac.about(180, 0.1)), Pass("Fragment", mac.about(3.1 * MS, 0.08)))
        page.commit(works, encode=60)
    mac.holds(owner, [(50 * MS, 3_300_000_000)])
    mac.draws(0.5)
    return mac.write(folder, owner)


def converted_frames(folder: Path) -> Rows:
    """The thread xLights #6169: each frame of a video is read back, converted and encoded there."""
    mac, owner = Mac(6169, "M1 Max"), Owner("xLights", 61690)
    program = Program(mac, owner)
    for frame in range(1, 161):
        program.spend(mac.about(0.6 * MS, 0.1))
        passes = [
            *(Pass("Vertex", mac.about(450, 0.1)), Pass("Fragment", mac.about(1.5 * MS, 0.06))),
            Pass("Blit", mac.about(420, 0.06)),  # to memory that the host reads
        ]
        program.wait(program.commit(passes, encode=140, frame=frame))
        program.spend(mac.about(166 * MS, 0.03))
    mac.holds(owner, [(70 * MS, 540 * MEBIBYTE)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def encoded_on_a_phone(folder: Path) -> Rows:
    """The threads osu-framework #5890, #5931: a frame takes far longer to encode than to draw."""
    mac, owner = Mac(5890, "Apple A14"), Owner("osu.iOS", 5890)
    program = Program(mac, owner)
    drawn: list[Commit] = []
    for frame in range(1, 401):
        program.spend(mac.about(0.9 * MS, 0.1))
        begin = program.now
        program.spend(mac.about(7.2 * MS, 0.06))
        work = mac.about(350, 0.1)
        program.commit([Pass("Blit", work)], encode=25, frame=frame, since=begin)
        begin = program.now
        program.spend(mac.about(26.6 * MS, 0.05))  # the encoder is open
        passes = [
            Pass("Vertex", mac.about(2.4 * MS, 0.06)),
            Pass("Fragment", mac.about(7.2 * MS, 0.06)),
        ]
        drawn.append(program.commit(passes, encode=30, driver=120, frame=frame, since=begin))
        if frame > 2:
            program.wait(drawn[-2])
    _present(mac, {one.number for one in drawn})
    mac.holds(owner, [(80 * MS, 210 * MEBIBYTE)])
    mac.draws(0.1)
    return mac.write(folder, owner, _PHONE)


def wide_layout(folder: Path) -> Rows:
    """The threads pytorch #193349, #193623: convolutions get a layout that their kernel is slow on.

    One command buffer a step; the host is a step ahead, and waits for every tenth.
    """
    mac, owner = Mac(19334, "M3 Pro"), Owner("python3.12", 19334)
    program = Program(mac, owner)
    for step in range(1, 201):
        program.spend(mac.rough(2.1 * MS))
        works = [9.5 * MS, *(4 * [22.87 * MS, 3.1 * MS]), 6.2 * MS]
        passes = [Pass("Compute", mac.about(work, 0.02)) for work in works]
        made = program.commit(passes, encode=220)
        if step % 10 == 0:
            program.wait(made)
    mac.holds(owner, [(50 * MS, 2_700_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def two_at_once(folder: Path) -> Rows:
    """The threads llama.cpp #10473, #10491: two sequences a step take a kernel meant for many."""
    mac, owner = Mac(10473, "M1 Pro"), Owner("llama-server", 10473)
    program = Program(mac, owner)
    for sequences, steps in ((1, 90), (2, 60), (1, 110), (2, 75), (1, 60)):
        step = 46.1 * MS if sequences == 1 else 218.7 * MS
        for _ in range(steps):
            program.wait(_compute(program, 3, step / 3, 210))
            program.spend(mac.rough(260))
    mac.holds(owner, [(60 * MS, 8_400_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def large_chunks(folder: Path) -> Rows:
    """The thread Rapid-MLX #2203: one step of decoding between two chunks, and these are long."""
    mac, owner = Mac(2203, "M2 Pro"), Owner("rapid-mlx", 22031)
    program = Program(mac, owner, switch=6.0)
    for tokens in (170, 140, 190):
        _decode(program, tokens)
        for _ in range(8):
            program.wait(_compute(program, 64, 51.5 * MS, 70))
            program.spend(mac.rough(800))
            program.wait(_compute(program, 4, 5.2 * MS))
            program.spend(mac.rough(700))
    _decode(program, 120)
    mac.holds(owner, [(50 * MS, 6_200_000_000)])
    mac.draws(0.2)
    return mac.write(folder, owner)


def _decode(program: Program, tokens: int) -> None:
    """Decode tokens, with the host a token ahead."""
    before: Commit | None = None
    for _ in range(tokens):
        program.spend(program.mac.rough(800))  # the graph is built while the token before it runs
        made = _compute(program, 4, 5.2 * MS)
        if before is not None:
            program.wait(before)
        before = made
    program.wait(made)


def swollen_batches(folder: Path) -> Rows:
    """The thread emlx #98: freed buffers are kept, until weights have to be paged in again."""
    mac, owner = Mac(98, "M5"), Owner("beam.smp", 9801)
    program = Program(mac, owner)
    size, grown = 3_000_000_000, 14_650_000  # four new buffers a sentence
    levels, wired = [(60 * MS, size)], [(0.0, size)]
    for wiring in (0.0, 11.7 * MS, 414 * MS, 1_005 * MS):
        for _ in range(64):
            for _ in range(4):
                mac.allocates(owner, program.now, grown)
                size += grown
                program.spend(mac.rough(40))
            levels.append((program.now, size))
            if wiring:
                at = program.now + 40
                took = mac.about(wiring, 0.15)
                wired += [(at, 14_500_000_000), (at + took, 16_400_000_000)]
                program.wires(at, took, 1_900_000_000)
                program.holds_driver(at + took)
            program.wait(program.commit([Pass("Compute", mac.about(75.4 * MS, 0.02))], encode=260))
        program.spend(mac.rough(25 * MS))
    mac.wired(wired)
    mac.holds(owner, levels)
    mac.draws(0.1)
    return mac.write(folder, owner)


def model_for_each_piece(folder: Path) -> Rows:
    """The threads minutes #315, #321: the model is loaded for each piece of speech, and freed."""
    mac, owner = Mac(315, "M2 Pro"), Owner("minutes", 31501)
    program = Program(mac, owner)
    floor, part = 180_000_000, 97_000_000
    levels = [(60 * MS, floor)]
    for _ in range(14):
        for place in range(1, 33):
            mac.allocates(owner, program.now, part)
            program.spend(mac.about(52.5 * MS, 0.05))  # this part of the file is read
            levels.append((program.now, floor + place * part))
        program.wait(_compute(program, 32, 47 * MS, 180))  # the piece is heard
        for _ in range(int(mac.random.integers(290, 430))):
            program.wait(_compute(program, 2, 12.8 * MS, 110))
            program.spend(mac.rough(350))
        levels.append((program.now, floor))
    mac.holds(owner, levels)
    mac.draws(0.1)
    return mac.write(folder, owner)


def cached_prompts(folder: Path) -> Rows:
    """The thread mlxcel #730: decoding after a prompt from the cache, as fast as after another."""
    mac, owner = Mac(730, "M1 Ultra"), Owner("mlxcel-server", 7301)
    program = Program(mac, owner, switch=7.0)
    for request in range(8):
        program.spend(mac.about(0.7 * _SECOND, 0.4))
        reads = (6, 7.4 * MS) if request % 2 == 0 else (1, 3.1 * MS)
        program.wait(_compute(program, *reads))
        before: Commit | None = None
        for _ in range(512):
            program.spend(mac.rough(620))
            made = _compute(program, 2, 2.05 * MS, 25)
            if before is not None:
                program.wait(before)
            before = made
        program.wait(made)
    mac.holds(owner, [(60 * MS, 1_450_000_000)])
    mac.draws(0.3)
    return mac.write(folder, owner)


def small_chunks(folder: Path) -> Rows:
    """The thread unsloth #10239: a prompt is read in chunks of 256, and nothing is lost by it."""
    mac, owner = Mac(10239, "M4 Pro"), Owner("python3.11", 10239)
    program = Program(mac, owner, switch=6.0)
    for request in range(8):
        program.spend(mac.about(1.6 * _SECOND, 0.4))
        chunks = 64 if request % 2 == 0 else 3  # a next turn finds most of it in the cache
        for _ in range(chunks):
            program.wait(_compute(program, 4, 33.3 * MS, 60))
            program.spend(mac.rough(330))
    mac.holds(owner, [(60 * MS, 7 * GIGABYTE)])
    mac.draws(0.2)
    return mac.write(folder, owner)


PROBLEMS: Mapping[str, Callable[[Path], Rows]] = {
    "dispatch-by-dispatch": dispatch_by_dispatch,
    "biased-tokens": biased_tokens,
    "animated-page": animated_page,
    "converted-frames": converted_frames,
    "encoded-on-a-phone": encoded_on_a_phone,
    "wide-layout": wide_layout,
    "two-at-once": two_at_once,
    "large-chunks": large_chunks,
    "swollen-batches": swollen_batches,
    "model-for-each-piece": model_for_each_piece,
    "cached-prompts": cached_prompts,
    "small-chunks": small_chunks,
}
"""What writes the exports of each problem into a new folder; it returns the rows of each table."""
