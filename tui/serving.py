"""The web version: the same app in a browser on this machine, through textual-serve.

textual-serve starts one app for each page and carries its bytes. Its own page loads fonts from
outside, and its socket asks nobody who they are: page and routes are ours, with a guard before.
"""

from __future__ import annotations

import asyncio
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib import resources
from pathlib import Path
from string import Template

import textual_serve
from aiohttp import web
from localmem_tui.guard import Guard
from textual_serve.server import Server

from localmem.errors import UsageError

_MOST_PAGES = 4
"""Each is a process of its own with its own index in memory."""

_FONT_SIZES = range(8, 33)
_PAGE_FILES = {"page.css": "text/css", "page.js": "text/javascript"}


class WebServer(Server):
    """Serves the app to the browser of this machine's owner."""

    def __init__(self, command: Sequence[str], guard: Guard) -> None:
        """`command` starts the app; it is run once for each page that is opened."""
        super().__init__(_shell_line(command), host="127.0.0.1", port=guard.port, title="localmem")
        self._guard = guard
        self._pages = 0

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard.middleware()])
        app.on_response_prepare.append(self._guard.seal)
        static = Path(textual_serve.__file__).parent / "static"
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/page/{name}", self._page_file),
                web.get("/ws", self._socket),
                web.static("/static", static, show_index=False, follow_symlinks=False),
            ]
        )
        return app

    async def _index(self, request: web.Request) -> web.Response:
        wanted = request.query.get("fontsize", "")
        size = int(wanted) if wanted.isascii() and wanted.isdigit() else 16
        page = Template(_page_text("index.html")).substitute(
            websocket_url=f"ws://{request.headers['Host']}/ws",
            font_size=min(max(size, _FONT_SIZES.start), _FONT_SIZES.stop - 1),
        )
        return web.Response(text=page, content_type="text/html")

    async def _page_file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in _PAGE_FILES:
            raise web.HTTPNotFound
        return web.Response(text=_page_text(name), content_type=_PAGE_FILES[name])

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if self._pages >= _MOST_PAGES:
            raise web.HTTPServiceUnavailable(text=f"{_MOST_PAGES} pages are open already")
        self._pages += 1
        try:
            return await self.handle_websocket(request)
        finally:
            self._pages -= 1


def serve(command: Sequence[str], *, port: int = 0, on_ready: Callable[[str], None]) -> None:
    """Serve the app that a command starts, until Ctrl+C; `on_ready` hears the address.

    `port` 0 takes a free one.

    Raises:
        UsageError: the port is taken.
    """
    with closing(_listening(port)) as listener:
        guard = Guard.make(listener.getsockname()[1])
        server = WebServer(command, guard)
        on_ready(guard.address)
        with asyncio.Runner() as runner:
            web.run_app(
                server._make_app(),
                sock=listener,
                loop=runner.get_loop(),
                print=None,
                access_log=None,
                handle_signals=True,
            )


def _listening(port: int) -> socket.socket:
    """A socket on this machine alone."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":  # there it would let two programs share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise UsageError(f"port {port} is taken", hint="another --port, or none") from error
    return listener


def _page_text(name: str) -> str:
    return (resources.files("localmem_tui") / "web" / name).read_text(encoding="utf-8")


def _shell_line(command: Sequence[str]) -> str:
    """The command as textual-serve hands it to a shell."""
    return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)
