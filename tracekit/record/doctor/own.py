"""Facts of tracekit: itself, the recorder that needs no Xcode, the reader of exports."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from tracekit.base.errors import TracekitError
from tracekit.base.files import shipped
from tracekit.record.doctor.fact import Fact, failed, ok
from tracekit.record.host.sampler import Sampler, read_samples

_ANEW = "Let TMPDIR be a folder that you may write to; else install tracekit anew."
_FOLDERS = ("kernels", "workloads", "templates")
_READER = ("lxml", "msgspec", "numpy", "pandas", "pyarrow")


def own_facts() -> Iterator[Fact]:
    """Look at tracekit and at what it stands on, by using it."""
    yield _itself()
    yield _host_recorder()
    yield _reader()


def _itself() -> Fact:
    missing = [name for name in _FOLDERS if not shipped(name).is_dir()]
    where = Path(__file__).parents[2]
    words = f"{version('tracekit')} in {where}"
    if not missing:
        return ok("tracekit", words)
    return failed("tracekit", f"{words} lacks {', '.join(missing)}.", "Install it anew.")


def _host_recorder() -> Fact:
    name = "host recorder"
    try:
        with tempfile.TemporaryDirectory() as folder:
            samples = Path(folder) / "samples.jsonl"
            with closing(Sampler(os.getpid(), samples)) as sampler:
                taken = sampler.take()
            readable = len(read_samples(samples))
    except (TracekitError, psutil.Error, OSError) as error:
        return failed(name, f"A process cannot be sampled: {error}", _ANEW)
    if not taken or not readable:
        return failed(name, "A sample of this process came out empty.", _ANEW)
    return ok(name, "works: any program can be recorded on the CPU")


def _reader() -> Fact:
    name = "import and analysis"
    absent: list[str] = []
    for package in _READER:
        try:
            __import__(package)
        except ImportError:
            absent.append(package)
    if absent:
        return failed(name, f"{', '.join(absent)} cannot be imported.", "Install tracekit anew.")
    return ok(name, f"work: {', '.join(f'{one} {_version(one)}' for one in _READER)}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
