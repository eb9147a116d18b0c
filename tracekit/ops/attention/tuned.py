"""Launches of paged attention that were measured on this machine, found again for the same shapes.

`tracekit bench tune` writes them to `tuned.json` in the folder of tracekit's notes. An entry counts
for one chip, version of MLX, text of the kernels, type of elements and class of shapes, and for no
other: a key that differs anywhere is another key.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from tracekit.base import documents, files
from tracekit.machine import Machine, find_package_version
from tracekit.ops.attention.problem import DecodeProblem

_FILE = "tuned.json"
_KERNELS = ("paged_decode.metal", "paged_merge.metal")
_DIGEST = 16  # bytes


@dataclass(frozen=True)
class TunedKey:
    """The things that an entry counts for.

    `kernel` is a digest of the kernels' text. `batch` and `context` are classes: sequences, and
    tokens of the longest context, rounded up to a power of two.
    """

    chip: str
    gpu_cores: int | None
    mlx: str
    kernel: str
    dtype: str
    q_heads: int
    kv_heads: int
    head_dim: int
    block_size: int
    batch: int
    context: int


@dataclass(frozen=True)
class TunedLaunch:
    """The fastest launch of a key; None leaves a value to the plan."""

    key: TunedKey
    hd_tile: int | None
    threadgroup: int | None
    partitions: int | None


@dataclass(frozen=True)
class _TunedFile:
    launches: tuple[TunedLaunch, ...] = ()
    format: int = 1


def key_of(problem: DecodeProblem, longest: int | None) -> TunedKey:
    """Return the key of a decode call, whose longest context is that of its table by default."""
    chip, cores, mlx, kernel = _surroundings()
    context = longest or problem.max_blocks * problem.block_size
    return TunedKey(
        chip=chip,
        gpu_cores=cores,
        mlx=mlx,
        kernel=kernel,
        dtype=str(problem.dtype).rpartition(".")[2],
        q_heads=problem.q_heads,
        kv_heads=problem.kv_heads,
        head_dim=problem.head_dim,
        block_size=problem.block_size,
        batch=_round_up(problem.batch),
        context=_round_up(context),
    )


def _round_up(number: int) -> int:
    return 1 << (number - 1).bit_length()


@cache
def _surroundings() -> tuple[str, int | None, str, str]:
    machine = Machine()
    folder = files.find_shipped_folder("kernels")
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for name in _KERNELS:
        digest.update((folder / name).read_bytes())
    return machine.chip, machine.gpu_cores, find_package_version("mlx"), digest.hexdigest()


def find_tuned(problem: DecodeProblem, longest: int | None) -> TunedLaunch | None:
    """Return the launch that was measured for exactly such a call; None without one."""
    launches = _read(_path())
    if not launches:
        return None
    return launches.get(key_of(problem, longest))


def remember_launches(launches: Sequence[TunedLaunch]) -> Path:
    """Write launches over earlier ones of the same keys; return the file.

    Raises RecordingError if it cannot be written.
    """
    path = _path()
    all_launches = dict(_read(path))
    for launch in launches:
        all_launches[launch.key] = launch
    path.parent.mkdir(parents=True, exist_ok=True)
    documents.save(path, _TunedFile(tuple(all_launches.values())))
    _read.cache_clear()
    return path


def _path() -> Path:
    return files.notes_folder() / _FILE


@cache
def _read(path: Path) -> dict[TunedKey, TunedLaunch]:
    """Read the launches by their keys; a file that cannot be read has none."""
    try:
        document = documents.decode_json(path.read_bytes(), _TunedFile)
    except (OSError, msgspec.MsgspecError):
        return {}
    return {launch.key: launch for launch in document.launches}
