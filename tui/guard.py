"""Who may talk to the web version: this browser, from our own page, with our token.

Listening on this machine alone is not enough: any page that a browser has open could send
requests to it, or open a websocket. So every request must name us as its host (a name that was
made to point here does not), carry the token, and, where a page sends it, come from our page.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

COOKIE = "localmem_token"


@dataclass(frozen=True, slots=True)
class Guard:
    """What a request must show. `port` is the one that we listen on."""

    port: int
    token: str

    @classmethod
    def make(cls, port: int) -> Guard:
        """A guard with a token that nobody can guess."""
        return cls(port, secrets.token_urlsafe(32))

    @property
    def address(self) -> str:
        """The address to open; it carries the token once, then a cookie does."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names under which we may be called."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def refusal(self, headers: Mapping[str, str], *, must_come_from_us: bool) -> str:
        """Why a request is refused by where it goes and comes from; "" where it is not."""
        host = headers.get("Host", "")
        if host not in self.hosts:
            return "this host is not ours"
        origin = headers.get("Origin")
        if origin is None:
            return "the page is not told" if must_come_from_us else ""
        return "" if origin == f"http://{host}" else "this page is not ours"

    def knows(self, token: str | None) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest((token or "").encode(), self.token.encode())

    @property
    def cookie_name(self) -> str:
        """Cookies don't tell ports apart: each server has its own name."""
        return f"{COOKIE}_{self.port}"

    def policy(self) -> str:
        """What our page may load: its own files, and nothing from anywhere else."""
        sockets = " ".join(f"ws://{host}" for host in self.hosts)
        return (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
            f"font-src 'self'; img-src 'self' data:; connect-src 'self' {sockets}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )

    def middleware(self) -> Middleware:
        """What looks at each request before it is answered, and at each answer."""

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            is_socket = request.path == "/ws"
            refused = self.refusal(request.headers, must_come_from_us=is_socket)
            if refused:
                raise web.HTTPForbidden(text=refused)
            if request.path == "/" and "token" in request.query:
                return self._admitted(request)
            if not self.knows(request.cookies.get(self.cookie_name)):
                raise web.HTTPForbidden(text="open the address that localmem printed")
            return await handler(request)

        return guarded

    def _admitted(self, request: web.Request) -> web.StreamResponse:
        """The token of the address becomes a cookie, and leaves the address."""
        if not self.knows(request.query.get("token")):
            raise web.HTTPForbidden(text="open the address that localmem printed")
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.set_cookie(self.cookie_name, self.token, httponly=True, samesite="Strict", path="/")
        return answer

    async def seal(self, request: web.Request, response: web.StreamResponse) -> None:
        """Headers of every answer."""
        response.headers["Content-Security-Policy"] = self.policy()
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-store"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
