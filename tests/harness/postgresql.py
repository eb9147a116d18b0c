"""A PostgreSQL server of the tests' own: on loopback, in a temporary folder, gone afterwards."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

_DEBIAN = Path("/usr/lib/postgresql")
_QUICK = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off")
PASSWORD = "pass phrase@1"


@dataclass
class Server:
    """A server that listens on a port of 127.0.0.1; user `tester`, with PASSWORD."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]"

    def url(self, database: str = "postgres", password: str = "") -> str:
        password = password or quote(PASSWORD)
        return f"postgresql://tester:{password}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> Any:
        """Connect past the history, as a person with a tool does."""
        import psycopg  # noqa: PLC0415  no test needs it where there is no server

        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="tester",
            password=PASSWORD,
            dbname=database,
            autocommit=True,
        )

    def new_database(self, name: str) -> str:
        """Make an empty database and return its URL; a server copies 300 files for it."""
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def new_schema(self, name: str) -> str:
        """Make a place of its own in a database, at once, and return its URL."""
        with self.connect() as connection:
            connection.execute(f'CREATE SCHEMA "{name}"')
        return f"{self.url()}?options=-csearch_path%3D{name}"

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
            self.process.wait(30)


def programs() -> Path:
    """Return the folder of the server's programs; skip by name where there are none."""
    program_path = shutil.which("initdb")
    if program_path:
        return Path(program_path).resolve().parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not versions:
        pytest.skip("no PostgreSQL server: initdb is not on the PATH, nor under " + str(_DEBIAN))
    return versions[-1].parent


@contextmanager
def server() -> Iterator[Server]:
    """Start a server; it is ended by its process's id, and its folder is removed."""
    program_folder = programs()
    # Not in pytest's folder, which is its user's alone: a server refuses to run as root.
    with tempfile.TemporaryDirectory(prefix="postgresql-") as folder:
        yield from _server(Path(folder), program_folder)


def _server(folder: Path, program_folder: Path) -> Iterator[Server]:
    data = folder / "data"
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        port = free_socket.getsockname()[1]
    as_user = _as_somebody(folder)
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    kind = ("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
    subprocess.run(
        [
            *as_user,
            program_folder / "initdb",
            "-D",
            data,
            "-U",
            "tester",
            "--pwfile",
            secret,
            *kind,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    listening = ("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *as_user,
                program_folder / "postgres",
                "-D",
                data,
                "-p",
                str(port),
                *listening,
                *_QUICK,
            ],
            stdout=log,
            stderr=log,
            cwd=folder,
        )
    started = Server(folder, port, process)
    try:
        _await(started)
        yield started
    finally:
        started.stop()


def _as_somebody(folder: Path) -> list[str]:
    """Return what starts a program as somebody else where we are root, whom it refuses."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("no PostgreSQL server: it refuses root, and there is no setpriv")
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]


def _await(started: Server) -> None:
    from psycopg import OperationalError  # noqa: PLC0415  as above

    deadline = time.monotonic() + 60
    while True:
        try:
            started.connect().close()
        except OperationalError:
            if started.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((started.folder / "log").read_text()) from None
            time.sleep(0.05)
        else:
            return
