"""JSON over HTTP to a server on this machine: a Unix socket or a loopback address."""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from localmem.errors import GenerationError, ModelError, NetworkDeniedError, UsageError

_LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class LocalAddress:
    """Where a server listens: a socket file, or host, port and the path before its endpoints."""

    host: str = ""
    port: int = 0
    base: str = ""
    socket_file: Path | None = None

    @classmethod
    def parse(cls, url: str) -> LocalAddress:
        """An address from "http://127.0.0.1:8080/v1", "localhost:11434" or "unix:///path".

        Raises:
            NetworkDeniedError: the host is not this machine.
            UsageError: it is no http address.
        """
        if url.startswith("unix://"):
            return cls(socket_file=Path(url.removeprefix("unix://")))
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname:
            raise UsageError(f"{url} is no http address of a server on this machine")
        if not _is_loopback(parts.hostname):
            raise NetworkDeniedError(
                f"{parts.hostname} is not this machine; a memory does not leave it",
                hint="run the server here and give its address, like http://127.0.0.1:8080",
            )
        return cls(parts.hostname, parts.port or 80, parts.path.rstrip("/"))

    def __str__(self) -> str:
        if self.socket_file is not None:
            return f"unix://{self.socket_file}"
        return f"http://{self.host}:{self.port}{self.base}"


class LocalServer:
    """Requests to one server. Safe to call from several threads: one connection a request."""

    def __init__(self, address: LocalAddress, *, token: str = "", timeout_s: float = 600.0) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def get(self, path: str) -> dict[str, Any]:
        """The JSON object at a path.

        Raises:
            ModelError: nobody listens there.
            GenerationError: the server answered with an error; holds its words.
        """
        with self._response("GET", path, None) as response:
            return _parsed(response.read())

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the server answers with; raises as `get` does."""
        with self._response("POST", path, body) as response:
            return _parsed(response.read())

    def stream(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of a streamed answer; leaving the loop early ends the request."""
        with self._response("POST", path, body) as response:
            for line in response:
                text = line.decode("utf-8", "replace").strip()
                if not text.startswith("data:"):
                    continue
                text = text.removeprefix("data:").strip()
                if text == "[DONE]":
                    return
                event = _parsed(text.encode())
                if "error" in event:
                    raise GenerationError(f"{self._address} says: {_error_words(event)}")
                yield event

    @contextmanager
    def _response(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> Iterator[HTTPResponse]:
        connection = self._connection()
        try:
            packed = None if body is None else json.dumps(body).encode()
            connection.request(method, self._address.base + path, packed, self._headers)
            response = connection.getresponse()
            if response.status != 200:
                said = response.read().decode("utf-8", "replace")
                raise GenerationError(
                    f"{self._address}{path} answers {response.status}: {_words_of(said)}"
                )
            yield response
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise ModelError(
                f"nothing listens at {self._address}",
                hint="start the model server, or choose a model file instead",
            ) from error
        except (OSError, HTTPException) as error:
            raise GenerationError(f"{self._address} broke off: {error}") from error
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        if self._address.socket_file is not None:
            return _UnixConnection(self._address.socket_file, self._timeout_s)
        return HTTPConnection(self._address.host, self._address.port, timeout=self._timeout_s)


class _UnixConnection(HTTPConnection):
    """HTTP over a socket file, which only its owner can reach."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _is_loopback(host: str) -> bool:
    if host.lower() in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError as error:
        raise GenerationError(f"the server's answer is not JSON: {raw[:200]!r}") from error
    if not isinstance(value, dict):
        raise GenerationError(f"the server's answer is not a JSON object: {raw[:200]!r}")
    return value


def _words_of(said: str) -> str:
    try:
        return _error_words(json.loads(said))
    except (ValueError, AttributeError):
        return said[:300]


def _error_words(event: Mapping[str, Any]) -> str:
    error = event.get("error", event)
    return str(error.get("message", error)) if isinstance(error, Mapping) else str(error)
