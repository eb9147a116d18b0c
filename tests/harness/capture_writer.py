"""The tests' own writer of GPU frame captures, apart from the reader that it is compared with.

    capture = MadeCapture()
    capture.calls.append(call(0xC029, "C", QUEUE, result=("t", COMMANDS)))
    capture.write(folder / "made.gputrace")

The layout is that of docs/explanation/gpu-frame-captures.md. `small_capture` has one dispatch of
the kernel `probe`, whose AIR is in `PROBE`.
"""

import bz2
import hashlib
import io
import plistlib
import struct
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEVICE = 0x1_0000_1000
QUEUE = 0x1_0000_2000
COMMANDS = 0x7_0000_3000
ENCODER = 0x7_0000_4000
LIBRARY = 0x7_0000_5000
FUNCTION = 0x1_0000_6000
PIPELINE = 0x1_0000_7000
OUT = 0x7_0000_8000
COUNT = 0x7_0000_9000
METALLIB = "A0B1C2D3E4F50617"
STATISTICS = "B1C2D3E4F5061728"
_FORMS = {
    "C": "<Q", "t": "<Q", "ul": "<Q", "l": "<q", "uw": "<Q", "ui": "<I", "i": "<i", "f": "<f",
}  # fmt: skip
_TEXTS = {"S", "U", "U<b>"}


def _tokens(signature: str) -> list[str]:
    """Part a signature by hand: longest tokens first."""
    tokens: list[str] = []
    rest = signature
    while rest:
        if rest[0] == "@":
            digits = rest[1:2]
            (kind, *_) = _tokens(rest[2:])
            token = f"@{digits}{kind}"
        else:
            known = ("U<b>", "ul", "uw", "ui", "C", "t", "l", "i", "f", "b", "S", "U")
            token = next(name for name in known if rest.startswith(name))
        tokens.append(token)
        rest = rest[len(token) :]
    return tokens


def _padded(content: bytearray) -> None:
    content += bytes(-len(content) % 4)


def _add(content: bytearray, token: str, value: Any) -> None:
    if token[0] == "@":
        for member in value:
            _add(content, token[2:], member)
    elif token in _TEXTS:
        content += value.encode() + b"\0"
    elif token == "b":
        content.append(value)
    else:
        _padded(content)
        content += struct.pack(_FORMS[token], value)


def call(
    code: int,
    signature: str,
    *values: Any,
    result: tuple[str, Any] | None = None,
    stack: Sequence[int] = (),
    flags: int = 0,
) -> bytes:
    """Return one record; the low half of the code is enough."""
    if result is not None:
        flags |= 1
    if stack:
        flags |= 8
    content = bytearray(36)
    content += signature.encode() + b"\0"
    _padded(content)
    for token, value in zip(_tokens(signature), values, strict=True):
        _add(content, token, value)
    _padded(content)
    if result is not None:
        content += result[0].encode() + b"\0"
        _padded(content)
        _add(content, *result)
        _padded(content)
    if stack:
        content += struct.pack(f"<II{len(stack)}Q", len(stack), 8, *stack)
    struct.pack_into("<Ii", content, 0, len(content), code - 0x10000)
    struct.pack_into("<I", content, 32, flags)
    return bytes(content)


def stream(records: Sequence[bytes]) -> bytes:
    """Return a record stream."""
    return b"MTSP\x00\x04\x00\x00" + b"".join(records)


def group(name: str, handle: int, *members: bytes) -> bytes:
    """Return a group of records of resources, with its begin and its end."""
    begin = call(0xD007, "CSuwuw", DEVICE, name, handle, 0, flags=0x46)
    return begin + b"".join(members) + call(0xD008, "C", DEVICE, flags=0x46)


def buffer(
    handle: int, content: str, length: int, address: int, *, written: bool = False, label: str = ""
) -> bytes:
    """Return the group of a shared buffer."""
    return group(
        "buffer",
        handle,
        call(0xD803, "CU<b>ulul", DEVICE, content, length, 0, result=("t", handle), flags=4),
        call(0xD80C, "Cuw", handle, address, flags=4),
        call(0xD811, "Cul", handle, length, flags=6),
        call(0xD836, "Cuwuw", handle, 0, 0, flags=4),
        call(0xC00C, "CS", handle, label),
        call(0xD805, "Cui", handle, 3 if written else 0, flags=6),
    )


def argument(
    pipeline: int, name: str, index: int, access: int, *, active: bool = True, kind: int = 0
) -> bytes:
    """Return the annotation of a pipeline's argument: a float that is written, else a uint."""
    values = (name, kind, access, int(active), index, 4, 4, 3 if access else 33)
    return call(0xD010, "CiSululuiululululbb", pipeline, 106, *values, False, False, flags=0xC6)


def keyed_archive(values: Mapping[str, Any]) -> bytes:
    """Return a keyed archive whose root is a dictionary of plain values."""
    keys = list(values)
    objects: list[Any] = ["$null"]
    key_places = [plistlib.UID(2 + place) for place in range(len(keys))]
    value_places = [plistlib.UID(2 + len(keys) + place) for place in range(len(keys))]
    objects.append({"NS.keys": key_places, "NS.objects": value_places})
    objects += [*keys, *values.values()]
    return plistlib.dumps(
        {
            "$version": 100000,
            "$archiver": "NSKeyedArchiver",
            "$top": {"root": plistlib.UID(1)},
            "$objects": objects,
        },
        fmt=plistlib.FMT_BINARY,
    )


def device_info(host: str, identifier: str) -> bytes:
    """Return the archive that describes the machine, with its private name and identifier."""
    objects: list[Any] = [
        "$null",
        {
            "name": plistlib.UID(2),
            "identifier": plistlib.UID(3),
            "productType": plistlib.UID(4),
            "version": plistlib.UID(5),
            "build": plistlib.UID(6),
            "metalVersion": plistlib.UID(7),
        },
        host, identifier, "Mac14,2", "26.0", "25A5346a", "370.63.1",
    ]  # fmt: skip
    return plistlib.dumps(
        {
            "$version": 100000,
            "$archiver": "NSKeyedArchiver",
            "$top": {"root": plistlib.UID(1)},
            "$objects": objects,
        },
        fmt=plistlib.FMT_BINARY,
    )


def metallib(functions: Mapping[str, bytes], sources: Mapping[str, bytes] | None = None) -> bytes:
    """Return a Metal library of kernels with their AIR, and an archive of sources."""
    entries = b""
    air = b""
    for name, content in functions.items():
        tags = _tag(b"NAME", name.encode() + b"\0")
        tags += _tag(b"TYPE", b"\x02")
        tags += _tag(b"HASH", hashlib.sha256(content).digest())
        tags += _tag(b"MDSZ", struct.pack("<Q", len(content)))
        tags += _tag(b"OFFT", struct.pack("<3Q", 0, 0, len(air)))
        tags += b"ENDT"
        entries += struct.pack("<I", len(tags) + 4) + tags
        air += content
    function_list = struct.pack("<I", len(functions)) + entries
    ends = b"\x04\x00\x00\x00ENDT"
    start = 88
    places = [start, len(function_list)]
    public = start + len(function_list)
    private = public + len(ends)
    places += [public, len(ends), private, len(ends)]
    places += [private + len(ends), len(air)]
    archive = _source_archive(sources) if sources else b""
    size = start + len(function_list) + 2 * len(ends) + len(air) + len(archive)
    head = b"MTLB" + bytes(12) + struct.pack("<9Q", size, *places)
    return head + function_list + ends + ends + air + archive


def _tag(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<H", len(content)) + content


def _source_archive(sources: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in sources.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    content = bz2.compress(packed.getvalue())
    body = b"probe\0" + content
    body += bytes(-(len(body) - len(b"probe\0")) % 10240)
    return b"SARC" + struct.pack("<I", len(body)) + body


@dataclass
class MadeCapture:
    """A capture to write: records of its streams, contents that are packed, and plain files."""

    calls: list[bytes] = field(default_factory=list[bytes])
    resources: list[bytes] = field(default_factory=list[bytes])
    packed: dict[str, bytes] = field(default_factory=dict[str, bytes])
    plain: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def write(self, folder: Path) -> Path:
        """Write the capture into a new folder, and return this."""
        folder.mkdir()
        plain = {
            "capture": stream(self.calls),
            "unsorted-capture": stream(self.calls),
            f"device-resources-0x{DEVICE:x}": stream(self.resources),
            "metadata": plistlib.dumps({"(uuid)": "made"}, fmt=plistlib.FMT_BINARY),
            **self.plain,
        }
        for name, content in plain.items():
            (folder / name).write_bytes(content)
        index, store = self._index(plain)
        (folder / "index").write_bytes(index)
        (folder / "store0").write_bytes(store)
        return folder

    def _index(self, plain: Mapping[str, bytes]) -> tuple[bytes, bytes]:
        entries = b""
        store = b""
        names = sorted([*plain, *self.packed])
        for number, name in enumerate(names):
            if name in plain:
                entries += struct.pack("<IIQQ", len(plain[name]), number, 0, 2)
                continue
            stored = zlib.compress(self.packed[name])
            entries += struct.pack("<IIQQ", len(self.packed[name]), len(stored), len(store), 1)
            store += stored
        buckets = 1024
        count = len(names)
        index = struct.pack("<4sIIII", b"xdic", 0, buckets, count, count)
        index += b"\xff" * (12 * buckets) + entries
        index += b"".join(struct.pack("<H", len(name) + 1) for name in names)
        index += b"".join(name.encode() + b"\0" for name in names)
        return index, store


def small_capture(sources: Mapping[str, bytes] | None = None) -> MadeCapture:
    """Return a capture of one command buffer with one dispatch of `probe` in 100 threads."""
    made = MadeCapture()
    made.packed[METALLIB] = metallib({"probe": PROBE}, sources)
    made.packed[STATISTICS] = keyed_archive(
        {"Instruction count": 40, "Temporary register count": 12, "Spilled bytes": 0}
    )
    made.packed["MTLBuffer-6-0"] = struct.pack("<I", 100) + bytes(12)
    made.packed["(device info)"] = device_info("annes-mac.local", "0F5A9B1C-0000")
    made.plain["MTLBuffer-5-0"] = bytes(1024)
    made.resources += [
        buffer(OUT, "MTLBuffer-5-0", 1024, 0x15_0000_0000, written=True, label="scores"),
        buffer(COUNT, "MTLBuffer-6-0", 4, 0x15_0001_0000),
        group(
            "library",
            LIBRARY,
            call(0xC04E, "CU<b>t", DEVICE, METALLIB, 0, result=("t", LIBRARY), flags=0x1000),
            call(0xD010, "CiS", DEVICE, 127, "/Users/anne/src/probe.metallib", flags=0x20C6),
            group(
                "function",
                FUNCTION,
                call(0xC05E, "CS", LIBRARY, "probe", result=("t", FUNCTION), flags=0x1000),
                call(
                    0xD010, "CiulSlS", FUNCTION, 101, 3, "/Users/anne/src/probe.metal", 7, "probe",
                    flags=0xC6,
                ),
            ),
        ),
        group(
            "compute-pipeline-state",
            PIPELINE,
            call(0xC055, "Ctt", DEVICE, FUNCTION, 0, result=("t", PIPELINE), flags=0x1000),
            argument(PIPELINE, "out", 0, 1),
            argument(PIPELINE, "count", 1, 0),
            argument(PIPELINE, "spare", 2, 0, active=False),
            call(0xD010, "CiUul", PIPELINE, 116, STATISTICS, 99, flags=0x20C6),
        ),
    ]  # fmt: skip
    made.calls += [
        call(0xD80B, "CUUU", COMMANDS, "C1", "C2", "C3", flags=4),
        call(0xC029, "C", QUEUE, result=("t", COMMANDS), stack=(0x100, 0x200)),
        call(0xD800, "CtU<b>ulul", COMMANDS, OUT, "MTLBuffer-5-0", 0, 1024, flags=4),
        call(0xC020, "C", COMMANDS, result=("t", ENCODER), stack=(0x104, 0x200)),
        call(0xC02F, "Ct", ENCODER, PIPELINE, stack=(0x108, 0x200)),
        call(0xC030, "Ctulul", ENCODER, OUT, 0, 0, stack=(0x10C, 0x200)),
        call(0xC030, "Ctulul", ENCODER, COUNT, 0, 1, stack=(0x10C, 0x200)),
        call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (32, 1, 1), stack=(0x110, 0x200)),
        call(0xC03B, "C", ENCODER, stack=(0x114, 0x200)),
        call(0xC017, "C", COMMANDS, stack=(0x118, 0x200)),
    ]
    return made


# AIR of a kernel `probe`, assembled by llvm-as 14. Its threadgroup memory are an array of 64 floats
# and a struct of i8, float, a vector of three floats, and i16. It writes `out` in a loop up to
# `count`, with a barrier and a call of a function with a barrier, and has one more barrier after
# the loop. `spare` is marked as unused, and there is a function constant `has_mask`.
PROBE = zlib.decompress(
    bytes.fromhex(
        "78da65567f4c1bd71d7ff619df059cf339218d496ce71c93d46a527a1892d83568362689b330c964d544bb44"
        "f619db81d6d8c7d98021db74fe919ee9e86412d4595b2a418b34b5ff8c4cfc913fa20a6cc29cd44d13344d91"
        "6621080ea5158dd09a759116697b679340b4a77beffbbe9ff7def77dbfef7ddff77b8b337bab002cd5b0d656"
        "02f05f585a6c338bc720500131b78caafde9db5ff83efccff49fabdab93611c4b43200546200aac45a000978"
        "055634aa1bb5e62467a484c1744594901daac06a3492dfbab9ea93e2962b552d9384a1da8829cf561ace25ed"
        "cc9c56d7ba8b1f21ac57c49e1c76bd9ab49d4a92b745867309e56bfad752f5bf9a3a3f4adeca41b9c32400fb"
        "21351cb4ef20dda780f6486dba5a7b083635afca2e4fa65ce73ce7c95a6f8cfca3c8415249421692e4a80cc8"
        "2b2c1df6dd946258c98d59259d691d400e59e2d83025a6924012c792ae0f6ebd632bb64d617fa0b5ad0bd0a0"
        "4f105148322b1c036857028040ba3fb9241c073a038d3e0331c1f6dd31586f307674700a79f369c5a514d2d4"
        "15673834e2e2d9ae783fc6f746f8c119d434859ce0e017dff9d081f700f9900b0d8fa3fd1654e8dc937e4ba0"
        "439cf0f5a4f0c8382a7c25b07f1ced75a143b003590a65c7d110890ec10e645f96b0faf2e8eacba33f1228cb"
        "09725eb43d4bc246827061e1138ed06a3d39fba8c2a24bd0a3afb2e28cf323f52e8b0437c840a98844eb292c"
        "cb5c9928b318e6e227ab6f7f22434aacc5026c9fff8901db0ae6b29fac21804cb4c94b8048f659e369b1786b"
        "0ac969f7ec6bad26b6ad12d9fd845e761080548518540af7ac8137ab684b8dec387c7a5e62ab6c001e1fd07f"
        "785292b110fb44fa688b3e66d043c7bc0eefe3f7707e03c6a9e69655be6a5173d2664c64475a3874308286d2"
        "bdb25520ff9ec09f707883ac45939955df9d50f9a88ad2b4f8fe3cd29cb3358f20cdf9c84898412f61e8a09d"
        "6718748841fa233c43f2357905be9ec29729798092af6ce01b0ebc8198532f6a550fb4ea0cadf151c3e69b71"
        "f33d9b691a69ba196f4a20e6fc4675bf0bbdd4859ee882ce809ee07826c5332eb45f8ff63fad80620738de09"
        "3d44c9b3697e301d3dfa78037fbc84ff6b065fa710776e42559c50e54b6d8156ddd1aae6a2ea3bb4f4ef299b"
        "296733a54bed8dac71cc664c22e6b1ec1b70d36731f3df10f35456f6d76e9ee9e059261eee125c31ace4c3e3"
        "7ccddd9fcb1f03f93f1d783185af58e4cb24be0ead20f5eac2ac2663d52c685585a8a6b0a42a2eabbf13697c"
        "ca76e394edcd6b7173de51bb69888b1f88a091747bdb93945c3801cdbb9a3bb46a4dab5e9c55ff46a41114d6"
        "aa3768e95b97e3c67cd63c656b8607f22cd354b4999390cd8edcaa8496f203501f0c1dd2a36c3a7a7e85c0d7"
        "67f0470efc074a37bb60d51497f73e58562f4205ec35e6a978f3747c7f226b1cb199f2d9a61bb3a65c16dad8"
        "94b74ff76228d4aa171e60075ff38f797cdd25ff7e49ba41ca1f51f247a4fc47071e20f0150a87ec0f4bd26f"
        "97f0a2037f4ae91eaed3aa4c54fd6079efba56bdaa55cf69d5f006d7b4077ce4c7e69bb6e61b88692c6eca77"
        "dc84b70f8d1d827adaf90106056010c61e16fa18abb193b6a4ac66076bb093bae8c8e8e8fdd67142ef69aa37"
        "b4fc2ea5fdb4c3fa86f88362ebfd3d7bf21b646bbbf140bb02a3bbd93a779fcfe765859e3fd84987bb830167"
        "77c0e38d0808eba53dce01b63bec1538dae361bda19033c4d09d6580bde80c0f325e67a87be86580f6775f0c"
        "fc3f1ca07bbc3e7f900e3f470520d817ded2e3c51a61ebbeee40b833d81708c31dd91792fa027d21af47e0c2"
        "5d25054beac2d659e62fb2c13ec64f074a0b7c7d81ce924d9dc140284c07c2ee60d0df45879c3d74e83da0c3"
        "bea6629c5e87e50c318ed261f6861867845c034221e18acce59d925f784ef593c38678a2e2ec6197d2d675d2"
        "e7397dd5d8d0f6ce9427f67e7d42186ebc8d7ce5f2dfbf5fbb204bfc3b6a55e6a98e8f9579eefcd519f55be7"
        "6edb5db1733bce5e0dbd7de46ae848e7fe43447c3ab3503c9fffae30bfb6b058f8627eb1b0ba9629acad9eda"
        "315f0a369fc198a185b4aa92d5c3b7880e75306978ff59e8f5a67bd9d8aa6a7e62e79a550815ab8283083efe"
        "4ae38a0bffc6019f8ebc283c20f9370efcc914174507f5a5971de17bcb7eddc15ccb1aa745e6c978f35856fc"
        "1e0c12aac2b2aa40aa8ab4d0ae4535195a756f42952b3ba3e83e8c8252216fe69b26e3e66bf04123cde3f126"
        "f8b853592184d2d0f71a847c23693d4a94c22900893b13b5d8888223b187072660600d8fd7175c120ff52521"
        "9bb5543c04c394db05484c7ae59145279580980b5cc8aaeca4a3e59807bc3bb7042cc4d167f1bf883f154dd4"
        "bcbf336951723a5c19c07043da8bbdef9a9b81e3b2c99ecf1b5598b02facc7ad472db602a837eea41597971c"
        "5f79f689dc4a6b48dcba244bf749be1655b7369c4cff9a18d9adf8c86ac76d0f4e3135a7b90be0baf16e2711"
        "b7fdec70bb5d4e2856ad8d73c7ca4941b0a9245b329b8c8a385269ffd2d1659795fe21aa306d29fe0ba5972c"
        "e75f034e1c4c20cb88dd75a6847b616eb241ba0b19238535c21c13289f631b28e7e78e4d190245c12608cb4f"
        "6055c1fa4b50d641f222036d25237493ca41f9dfe739157e02406df91f490ab6680987baee837d1c6c5101c7"
        "e07c3dec2bc0167d8e836dfb4b9ecbd9ec4bb7d1e778e5a61e95dbf5d92c176465bbe099ac087cb8dbef0d75"
        "c137ed09d36ebf9761836e6fc81b0efb4b6f76e0629d9b66d9ee7254f2d1a1b0d3d74347ea7c0d86fac63aaa"
        "ee38848f373afb0dc6d76986f17b5fefa13b83a188e1381ca34ab2eafcfeed591ffc0f8c292b96"
    )
)
