"""File systems that do what none should: lie about what is there, end who reads from them."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem


class LyingFileSystem(MemoryFileSystem):
    """Lists files that are not below the folder that was asked for."""

    protocol = "lying"
    store: dict[str, Any] = {}  # noqa: RUF012  shared, as the store of its parent is
    pseudo_dirs = [""]  # noqa: RUF012
    names: tuple[str, ...] = ()

    def find(self, path: str, *_: Any, **__: Any) -> Any:
        names = [name.replace("HERE", path) for name in type(self).names]
        return {name: {"name": name, "size": 1, "type": "file"} for name in names}

    def ls(self, path: str, *_: Any, **__: Any) -> Any:
        return list(self.find(path).values())


class _FailingFileSystem(LocalFileSystem):
    """Looking into it does no harm."""

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix(f"{cls.protocol}://"))


class KeepingFileSystem(_FailingFileSystem):
    """Keeps what it listed, as those of clouds do."""

    protocol = "keeping"

    def ls(self, path: str, detail: bool = False, **options: Any) -> Any:
        if path not in self.dircache:
            self.dircache[path] = super().ls(path, detail=True, **options)
        listed = self.dircache[path]
        return listed if detail else [entry["name"] for entry in listed]

    def invalidate_cache(self, *_: Any) -> None:
        self.dircache.clear()


class DeadlyFileSystem(_FailingFileSystem):
    """Ends, as a crash would, the process that fetches from it."""

    protocol = "deadly"

    def get(self, *_: Any, **__: Any) -> None:
        with Path(os.environ["DEADLY_MARKS"]).open("a") as marks:
            marks.write(f"{os.getpid()}\n")
        os.kill(os.getpid(), signal.SIGKILL)


class EndlessFileSystem(_FailingFileSystem):
    """Never comes to an end when it is fetched from."""

    protocol = "endless"

    def get(self, *_: Any, **__: Any) -> None:
        threading.Event().wait()
