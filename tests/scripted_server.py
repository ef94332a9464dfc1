"""A real HTTP server on loopback that answers like an OpenAI-compatible one, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any

_WORDS = ["one", " two", " three", " four", " five", " six"]


class ScriptedServer:
    """Serves one model; `requests` holds the bodies it got. `logprobs` False: it tells none."""

    def __init__(
        self, *, logprobs: bool = True, json_reply: str | None = None, ollama: bool = False
    ) -> None:
        self.requests: list[Mapping[str, Any]] = []
        self.logprobs = logprobs
        self.json_reply = json_reply
        self.ollama = ollama
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def pieces(self, body: Mapping[str, Any]) -> tuple[list[str], str]:
        """The parts of the reply and why it ended."""
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            return [self.json_reply or _example(schema)], "stop"
        if "grammar" in body:
            return ["yes"], "stop"
        most = body["max_tokens"]
        return _WORDS[:most], "length" if most < len(_WORDS) else "stop"


def _example(schema: Mapping[str, Any]) -> str:
    makers = {"string": "Paris", "boolean": True}
    return json.dumps(
        {
            key: value["enum"][0] if "enum" in value else makers[value["type"]]
            for key, value in schema["properties"].items()
        }
    )


def _handler_for(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/api/version":
                if server.ollama:
                    self._send(b'{"version": "0.32"}', "application/json")
                else:
                    self.send_error(404, "not found")
                return
            self._send(json.dumps({"data": [{"id": "tiny"}]}).encode(), "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(body)
            if body.get("messages", [{}])[-1].get("content") == "break":
                self.send_error(500, "out of memory")
                return
            if body.get("stream"):
                self._send(_events(*server.pieces(body)), "text/event-stream")
                return
            self._send(json.dumps(_single(server.logprobs)).encode(), "application/json")

        def _send(self, raw: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Be silent."""

    return Handler


def _events(pieces: list[str], ended: str) -> bytes:
    events: list[dict[str, Any]] = [{"choices": [{"delta": {"content": p}}]} for p in pieces]
    events.append({"choices": [{"delta": {}, "finish_reason": ended}]})
    usage = {"prompt_tokens": 9, "completion_tokens": len(pieces)}
    events.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return ("".join(lines) + "data: [DONE]\n\n").encode()


def _single(logprobs: bool) -> dict[str, Any]:
    choice: dict[str, Any] = {"message": {"content": "A"}, "finish_reason": "length"}
    if logprobs:
        top = [{"token": "A", "logprob": -0.2}, {"token": " B", "logprob": -2.0}]
        choice["logprobs"] = {"content": [{"token": "A", "logprob": -0.2, "top_logprobs": top}]}
    return {"choices": [choice]}
