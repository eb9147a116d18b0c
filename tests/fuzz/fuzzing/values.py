"""Values as xctrace writes them, and a few as it might: trees of a tag, a text and children."""

from random import Random
from typing import NamedTuple

_LETTERS = [*"aZ09 _-./:()[]%#", "µ", "\u00a0", "\u00d7", "←", "é", "\U0001f600", "\u200d"]
_XCTRACES = ["&", "<", ">", '"']
_MARKUP = ["\n", "\t", "\r", "'", "]]>", "</row>", "<!--", 'ref="1"', "&amp;", "/>", "\x7f", "\x85"]
_EDGES = [0, 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 10**18, 10**19 - 1]
_ODD_INTEGERS = ["-1", "-0", "007", "00", f"-{2**63}", "1 ", " 1", "+1", "1.0", "", "x", str(2**64)]
_NUMBERS = [
    *("1109.450000000", "0.142594111", "100.08", "0", "5", "-0.5", "-0", "0.1", "3.", "1e5"),
    *("1E-7", "123456789012345678.123456789", "0.000000000", "9007199254740993", "4.35", "2.675"),
]
_ODD_NUMBERS = ["nan", "-inf", ".5", "1,5", "1e999", "", "x", "0x10", "1e", "1_0", "\u0661"]
INTEGERS = [
    "start-time",
    "duration",
    "sample-time",
    "event-time",
    "uint32",
    "size-in-bytes",
    "weight",
    "core",
]
UNSIGNED = ["metal-command-buffer-id", "uint64", "os-signpost-identifier", "address"]
NUMBERS = ["fixed-decimal", "percent"]
FLAGS = ["boolean"]
TEXTS = [
    "string",
    "gpu-state",
    "gpu-channel-name",
    "metal-object-label",
    "thread-state",
    "event-type",
]
LABELS = ["formatted-label", "narrative", "thread-name"]
IDENTITIES = ["process", "thread"]
STACKS = ["backtrace", "tagged-backtrace", "text-backtrace", "kperf-bt"]
UNLISTED = ["gpu-performance-state", "kdebug-code", "x-unknown.type_2"]


class Value(NamedTuple):
    """An element: what it says is in its text, or in its attributes and children.

    A sentinel has the tag alone. `keyed` elements get an id and are repeated by it.
    """

    tag: str
    text: str | None = None
    fmt: str | None = None
    children: tuple["Value", ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    keyed: bool = True


SENTINEL = Value("sentinel", keyed=False)


def value(random: Random, tag: str, *, odd: bool) -> Value:
    """Make a value of an engineering type; an `odd` one may not be of the type's form."""
    if tag in IDENTITIES:
        return process(random) if tag == "process" else thread(random)
    if tag in LABELS:
        return _label(random, tag)
    if tag in STACKS:
        return _stack(random, tag)
    text = _text(random, tag, odd=odd)
    return Value(tag, text, text if random.random() < 0.7 else _words(random, odd=odd))


def process(random: Random) -> Value:
    """Make a process: a name and a pid, and a session that is always TODO."""
    number = str(random.choice([0, 1, 420, 37931, 99999]))
    pid = Value("pid", number, number)
    name = f"{random.choice(['App', 'WindowServer', 'µ &', 'a b'])} ({number})"
    return Value("process", None, name, (pid, Value("device-session", "TODO", "TODO")))


def thread(random: Random) -> Value:
    """Make a thread: its number and its process, which may be missing."""
    number = str(random.choice([771, 2**20, 1, 2**40]))
    owner = process(random) if random.random() < 0.9 else SENTINEL
    tid = Value("tid", number, hex(int(number)))
    return Value("thread", None, f"Main Thread {hex(int(number))}", (tid, owner))


def _text(random: Random, tag: str, *, odd: bool) -> str:
    if tag in NUMBERS:
        return random.choice(_ODD_NUMBERS if odd else _NUMBERS)
    if tag in FLAGS:
        return random.choice(["Yes", "-1", "2"] if odd else ["0", "1", "3"])
    if tag in INTEGERS or tag in UNSIGNED or (tag in UNLISTED and random.random() < 0.5):
        return random.choice(_ODD_INTEGERS) if odd else _integer(random, tag)
    return _words(random, odd=odd)


def _integer(random: Random, tag: str) -> str:
    if random.random() < 0.2:
        edges = [edge for edge in _EDGES if tag in UNSIGNED or edge < 2**63]
        return str(random.choice(edges))
    return str(random.randrange(10 ** random.randrange(1, 12)))


def _words(random: Random, *, odd: bool) -> str:
    alphabet = _LETTERS + _XCTRACES + (_MARKUP if odd else [])
    return "".join(random.choice(alphabet) for _ in range(random.randrange(9)))


def _label(random: Random, tag: str) -> Value:
    parts = [_part(random) for _ in range(random.randrange(1, 4))]
    return Value(tag, None, _words(random, odd=False), tuple(parts))


def _part(random: Random) -> Value:
    match random.randrange(6):
        case 0:
            return SENTINEL
        case 1:
            return process(random)
        case 2:
            return thread(random)
        case 3:
            number = _integer(random, "metal-encoder-id")
            return Value("metal-encoder-id", number, number)
        case kind:
            words = _words(random, odd=False)
            return Value("string" if kind == 4 else "narrative-text", words, words)


def _stack(random: Random, tag: str) -> Value:
    if tag == "kperf-bt":
        return _kernel_stack(random)
    frames = tuple(_frame(random) for _ in range(random.randrange(1, 5)))
    if tag == "tagged-backtrace" and random.random() < 0.5:
        return Value(tag, None, None, (Value("backtrace", None, None, frames),))
    return Value(tag, None, None, frames)


def _kernel_stack(random: Random) -> Value:
    addresses = [str(random.choice([4096, 2**40, 2**64 - 2])) for _ in range(random.randrange(4))]
    parts = [Value("text-address", "4096", "0x1000"), process(random)]
    if addresses:
        parts.insert(0, Value("text-addresses", " ".join(addresses), "frames"))
    return Value("kperf-bt", None, f"PC:0x1000, {len(addresses)} frames", tuple(parts))


def _frame(random: Random) -> Value:
    address = hex(random.choice([0, 0x1000, 0x192DCBE47, 2**64 - 32]) + random.randrange(3) * 8)
    name = random.choice(["main", "-[A b:]", "operator<", address])
    children: list[Value] = []
    if random.random() < 0.7:
        children.append(_binary(random))
    if random.random() < 0.2:
        path = Value("path", "/src/a b.m", "/src/a b.m")
        line = ("line", str(random.randrange(200)))
        children.append(Value("source", None, None, (path,), (line,), keyed=False))
    return Value("frame", None, None, tuple(children), (("name", name), ("addr", address)))


def _binary(random: Random) -> Value:
    name = random.choice(["dyld", "App", "libobjc.A.dylib"])
    attributes = {
        "name": name,
        "UUID": f"02C881D4-0EF3-34BC-B4E9-00000000000{random.randrange(2)}",
        "arch": random.choice(["arm64e", "x86_64"]),
        "load-addr": hex(4096 * random.randrange(1, 3)),
        "path": f"/usr/lib/{name}",
    }
    return Value("binary", None, None, (), tuple(attributes.items()))
