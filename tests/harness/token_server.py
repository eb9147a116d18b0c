"""A server of tokens on loopback, whose replies are those that a test writes."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = 'data: {"choices": [{"text": "a"}]}'
CHAT = 'data: {"choices": [{"delta": {"content": "a"}}]}'
FINISH = 'data: {"choices": [{"text": "", "finish_reason": "length"}]}'
USAGE = 'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}'
DONE = "data: [DONE]"
WHOLE = (TEXT, TEXT, TEXT, USAGE, DONE)


@dataclass
class Script:
    """What the server answers, and what it was asked.

    `events` are the lines of each stream; after the last one the connection closes. With `stalls`
    it stays open until the server stops. `status` other than 200 answers with `error`. `whole` is
    the reply to a request without a stream.
    """

    events: tuple[str, ...] = WHOLE
    status: int = 200
    error: str = ""
    stalls: bool = False
    whole: str = ""
    models: str | None = '{"data": [{"id": "tiny"}]}'
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)


def _make_server(script: Script, port: int = 0) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if script.models is None:
                self.send_error(404)
                return
            self._answer(200, script.models)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            script.asked.append(json.loads(self.rfile.read(length)))
            script.paths.append(self.path)
            script.keys.append(self.headers.get("Authorization", ""))
            if not script.asked[-1].get("stream", True):
                self._answer(200 if script.whole else 400, script.whole or "{}")
                return
            if script.status != 200:
                self._answer(script.status, script.error)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in script.events:
                self.wfile.write(f"{event}\n\n".encode())
                self.wfile.flush()
            if script.stalls:
                script.stopping.wait()

        def _answer(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    return server


def serve_forever(script: Script, port: int) -> None:
    """Serve a script on a port, as a process of its own does."""
    _make_server(script, port).serve_forever()


@contextmanager
def serving(script: Script) -> Generator[str]:
    """Serve a script on loopback; yield the URL up to and without `/completions`."""
    server = _make_server(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        script.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()
