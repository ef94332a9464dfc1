"""The web version: who is let in, and one pass through a real browser.

The browser is Chromium, driven by its own protocol; where there is none, that test is skipped.
LOCALMEM_ARTEFACTS names a folder that keeps its screenshot.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from localmem_tui.guard import Guard
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

_START_S = 60.0
_CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)")


@dataclass(frozen=True)
class Served:
    """The web version as it runs."""

    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of one request; nothing is followed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest("GET", path, skip_host="Host" in named)
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, dict(answer.getheaders()), body

    @property
    def cookie(self) -> str:
        return f"localmem_token_{self.port}={self.token}"

    def socket(self, **headers: str) -> ClientConnection:
        """A connection to the app's socket with these headers."""
        return connect(
            f"ws://127.0.0.1:{self.port}/ws",
            additional_headers=headers,
            open_timeout=20,
            proxy=None,
        )


@pytest.fixture(scope="module")
def served(tui_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("web")
    memory = folder / "memory.duckdb"
    shutil.copy(tui_sample, memory)
    command = [sys.executable, "-m", "localmem", "--memory", str(memory), "tui", "--web"]
    environment = {**os.environ, "LOCALMEM_HOME": str(folder), "TEXTUAL_ANIMATIONS": "none"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            found = next(match for line in lines if (match := _ADDRESS.search(line)))
            yield Served(int(found[1]), found[2])
        finally:
            process.terminate()


# --- Who is let in ------------------------------------------------------------------------


def test_without_the_token_nothing_is_given(served: Served) -> None:
    for path in ("/", "/static/js/textual.js", "/page/page.js", "/ws", "/?token=wrong"):
        status, _, body = served.get(path)
        assert status == 403, path
        assert served.token not in body


def test_the_token_becomes_a_cookie_and_leaves_the_address(served: Served) -> None:
    status, headers, _ = served.get(f"/?token={served.token}")
    assert (status, headers["Location"]) == (303, "/")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    status, _, page = served.get("/", Cookie=served.cookie)
    assert status == 200
    assert served.token not in page


def test_another_host_name_is_refused_even_with_the_token(served: Served) -> None:
    status, _, _ = served.get("/", Cookie=served.cookie, Host=f"evil.example:{served.port}")
    assert status == 403
    status, _, _ = served.get("/", Cookie=served.cookie, Host="127.0.0.1")
    assert status == 403


def test_a_socket_opens_for_our_page_alone(served: Served) -> None:
    ours = f"http://127.0.0.1:{served.port}"
    for headers in (
        {"Cookie": served.cookie},
        {"Cookie": served.cookie, "Origin": "http://evil.example"},
        {"Cookie": served.cookie, "Origin": f"http://127.0.0.1:{served.port + 1}"},
        {"Origin": ours},
        {"Origin": ours, "Cookie": f"localmem_token_{served.port}=wrong"},
    ):
        with pytest.raises(InvalidStatus), served.socket(**headers):
            pass
    with served.socket(Cookie=served.cookie, Origin=ours) as socket:
        assert socket.recv(timeout=_START_S)


def test_the_page_loads_nothing_from_outside(served: Served) -> None:
    _, headers, page = served.get("/", Cookie=served.cookie)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert not re.findall(r"(?:src|href)=\"https?:", page)
    for path in re.findall(r"(?:src|href)=\"(/[^\"]+)\"", page):
        status, _, body = served.get(path, Cookie=served.cookie)
        assert status == 200
        assert "@import" not in body
        assert not re.findall(r"url\(\"?https?:", body)


def test_files_beside_the_page_are_not_given(served: Served) -> None:
    for path in ("/page/../guard.py", "/page/index.html", "/static/", "/static/../server.py"):
        status, _, _ = served.get(path, Cookie=served.cookie)
        assert status in (403, 404), path


def test_every_guard_has_a_token_of_its_own() -> None:
    one, other = Guard.make(8000), Guard.make(8000)
    assert one.token != other.token
    assert one.knows(one.token)
    assert not one.knows(other.token)
    assert not one.knows(None)


# --- In a real browser --------------------------------------------------------------------


class Browser:
    """Chromium without a window, through its own protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requested: list[str] = []
        self._drawn = bytearray()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do something, and wait for what came of it."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            said = self._hear()
            if said.get("id") == number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result

    def _hear(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self._socket.recv(timeout=_START_S))
        if said.get("method") == "Network.requestWillBeSent":
            self.requested.append(said["params"]["request"]["url"])
        if said.get("method") == "Network.webSocketFrameReceived":
            frame = said["params"]["response"]
            if frame["opcode"] == 2:
                self._drawn += base64.b64decode(frame["payloadData"])
        return said

    def value(self, script: str) -> Any:
        """What a line of JavaScript gives."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"].get("value")

    def press(self, letter: str) -> None:
        """One key, as a person presses it."""
        for kind in ("keyDown", "keyUp"):
            text = letter if kind == "keyDown" else ""
            self.call("Input.dispatchKeyEvent", type=kind, text=text, key=letter)

    def drawn(self) -> str:
        """All that the app has drawn into the page so far; the page itself paints on a canvas."""
        self.call("Runtime.evaluate", expression="0")
        return self._drawn.decode("utf-8", "replace")

    def screenshot(self) -> bytes:
        shot = self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    assert _CHROMIUM is not None
    command = [
        _CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--window-size=1280,800", "--remote-debugging-port=0", f"--user-data-dir={folder}",
        "about:blank",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            with connect(_page_of(folder), proxy=None, max_size=2**26) as socket:
                yield Browser(socket)
        finally:
            process.terminate()


def _page_of(folder: Path) -> str:
    """The address under which the browser's first page is driven."""
    told = folder / "DevToolsActivePort"
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if told.exists() and (lines := told.read_text(encoding="utf-8").split()):
            with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list") as answer:
                pages = [one for one in json.load(answer) if one["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    pytest.fail("the browser does not start")


@pytest.mark.skipif(_CHROMIUM is None, reason="no Chromium here: apt-get install chromium")
def test_in_a_browser_the_app_loads_and_a_key_search_shows_a_result(
    served: Served, tmp_path: Path
) -> None:
    with browser(tmp_path / "profile") as page:
        page.call("Network.enable")
        page.call("Page.enable")
        page.call("Page.navigate", url=served.address)
        _until(page, "the newest sessions")
        for letter in "Kanelbullar":
            page.press(letter)
        _until(page, "Lucia")
        picture = page.screenshot()
        assert "token" not in str(page.value("window.location.href"))
        outside = [
            url
            for url in page.requested
            if not url.startswith((f"http://127.0.0.1:{served.port}/", "data:"))
        ]
        assert outside == []
    kept = os.environ.get("LOCALMEM_ARTEFACTS")
    folder = Path(kept) if kept else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tui-web.png").write_bytes(picture)
    assert len(picture) > 10_000


def _until(page: Browser, words: str) -> None:
    deadline = time.monotonic() + _START_S
    while words not in page.drawn():
        assert time.monotonic() < deadline, page.drawn()[-2000:]
        time.sleep(0.2)
