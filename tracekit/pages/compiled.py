"""Compiled templates, kept in tracekit's own folder: compiling one takes longer than filling it."""

import importlib.util
import marshal
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from tracekit.base import RecordingError, files

_DIGEST_SIZE = 16


class CompiledTemplates(jinja2.BytecodeCache):
    """Bytecode of templates, a file for each, of one version of Python, Jinja and `settings`.

    A file that is damaged or of another source is not used; one that cannot be written is not an
    error.
    """

    def __init__(self, settings: bytes) -> None:
        """Take all that the bytecode follows from, besides its source and the versions."""
        versions = importlib.util.MAGIC_NUMBER + jinja2.__version__.encode()
        self._settings = blake2b(settings + versions).digest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load the code of a template, if it was kept."""
        with suppress(OSError):
            content = self._file(bucket).read_bytes()
            code = content[_DIGEST_SIZE:]
            if content[:_DIGEST_SIZE] == self._digest(bucket, code):
                bucket.code = marshal.loads(code)  # noqa: S302  our own, with our digest

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        code = marshal.dumps(bucket.code)
        file = self._file(bucket)
        with suppress(OSError, RecordingError):
            file.parent.mkdir(parents=True, exist_ok=True)
            files.write_whole(file, self._digest(bucket, code) + code)

    @staticmethod
    def _file(bucket: Bucket) -> Path:
        return files.notes_folder() / "templates" / bucket.key

    def _digest(self, bucket: Bucket, code: bytes) -> bytes:
        content = blake2b(self._settings, digest_size=_DIGEST_SIZE)
        content.update(bucket.checksum.encode())
        content.update(code)
        return content.digest()
