"""ASGI middleware: check host, origin, token, size and time of each request, and add security headers to each answer.

Rebinding of names (a page makes its own name mean 127.0.0.1) is stopped by the Host header, requests forged by other
pages by Origin and Sec-Fetch-Site, both of which browsers set and pages cannot.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from colde_cli.errors import OptionError, RequestError

Count = Callable[[str, int, float], None]
Refuse = Callable[[Request, RequestError], Response]

COOKIE = "colde-session"
SHORTEST_TOKEN = 16
_OPEN = frozenset(
    {"/login", "/v1/health", "/v1/ready", *(f"/static/{name}" for name in ("base.css", "page.css", "page.js"))}
)
"""Paths that need no token; they tell nothing of the corpus."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_DOCUMENTS = {"/": 1, "/v1/rank": 1, "/v1/diff": 2, "/v1/report": 2}
"""Documents that a form of each address may hold."""
_TAKE_FORMS = frozenset({"/login", *_DOCUMENTS})
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
_FIELDS, _FIELDS_SECONDS = 200_000, 30.0
"""Most bytes of a form beside its documents, and the time for one without any to arrive."""
_OTHER, _OTHER_SECONDS = 4_000, 10.0
"""The same of any other body, such as that of a login."""
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer" browsers would send forms of our own page with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken, and done at once.

    Attributes:
        upload_bytes: of one document that is sent.
        seconds: for a request in all, and for the documents in it to arrive.
        threads: requests worked on at the same time.
        waiting: requests that may wait beside them.
    """

    upload_bytes: int = 50_000_000
    seconds: float = 120
    threads: int = 2
    waiting: int = 64


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask, and how much.

    Attributes:
        hosts: names that a Host header may have; an address is always right, it cannot be rebound.
        token: None where none is needed.
    """

    hosts: frozenset[str]
    token: str | None
    limits: Limits

    @classmethod
    def of(cls, host: str, token: str | None, names: Iterable[str], limits: Limits) -> Access:
        """Check what was asked for on the command line.

        Raises:
            OptionError: an address that others can reach, and no token; or a token that is easily guessed.
        """
        local = host == "localhost"
        with suppress(ValueError):
            local = local or ipaddress.ip_address(host).is_loopback
        if token is None and not local:
            raise OptionError(
                f"Others can reach {host}: set COLDE_TOKEN to a secret of {SHORTEST_TOKEN} or more characters."
            )
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise OptionError(f"The token is too short; use {SHORTEST_TOKEN} characters or more.")
        known = {*_LOCAL, host.lower(), socket.gethostname().lower(), *(name.lower() for name in names)}
        return cls(frozenset(known), token, limits)

    def body(self, path: str, kind: str) -> tuple[int, float]:
        """The most bytes of a body of a content type, sent to an address, and the seconds it has to arrive."""
        seconds = self.limits.seconds
        if path not in _DOCUMENTS:
            return _OTHER, min(seconds, _OTHER_SECONDS)
        if kind != _FORMS[0]:  # in memory, while documents of the other kind of form lie on disk
            return _FIELDS, min(seconds, _FIELDS_SECONDS)
        return _DOCUMENTS[path] * self.limits.upload_bytes + _FIELDS, seconds

    def session(self) -> str:
        """What the cookie of a page holds: proof of the token, not the token."""
        return hmac.new((self.token or "").encode(), b"colde session 1", "sha256").hexdigest()

    def is_token(self, given: str) -> bool:
        """Compare in a time that does not depend on where the two differ."""
        return self.token is None or hmac.compare_digest(given.encode(), self.token.encode())

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether a request carries the token, as a bearer or as the page's cookie."""
        if self.token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return True
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return hmac.compare_digest(cookie.encode(), self.session().encode())

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Refuse a name that is not ours, with a `RequestError`."""
        known = False
        with suppress(ValueError):
            host = (urlsplit(f"//{headers.get('host', '')}").hostname or "").rstrip(".")
            known = host in self.hosts or bool(ipaddress.ip_address(host))
        if not known:
            wrong = "This service does not go by the name in the Host header; see --allow-host."
            raise RequestError(400, wrong)

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse what a page of another site sends, with a `RequestError`."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        same = origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
        if not same or site not in ("same-origin", "none"):
            wrong = "Another site's page sent this request; send it from this service's page."
            raise RequestError(403, wrong)


class Guard:
    """Lets through what is allowed, as middleware of ASGI."""

    def __init__(self, app: ASGIApp, access: Access, refuse: Refuse, count: Count) -> None:
        """`count` is told the path and status of each answer, and the seconds until it began."""
        self._app, self._access, self._refuse, self._count = app, access, refuse, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, count its body, and add headers to the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._answer(scope, send)
        if scope["method"] == "HEAD":  # the answer of GET; servers, which look at their own scope, leave out its body
            scope = {**scope, "method": "GET"}
        try:
            most, seconds = self._check(scope)
        except RequestError as error:
            await self._refuse(Request(scope), error)(scope, receive, answer)
            return
        await self._app(scope, _limited(receive, most, seconds), answer)

    def _check(self, scope: Scope) -> tuple[int, float]:
        """The most bytes of the body, and its seconds; refuses with a `RequestError`."""
        headers, access = Headers(scope=scope), self._access
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        access.check_host(headers)
        if scope["method"] not in _SAFE:
            access.check_origin(headers)
        if scope["method"] == "POST" and scope["path"] in _TAKE_FORMS and kind not in _FORMS:
            raise RequestError(415, f"The body of a request is a form; send it as {_FORMS[0]}.")
        if scope["path"] not in _OPEN and not access.admits(headers):
            wanted = "This service needs its token, as the header: Authorization: Bearer TOKEN."
            raise RequestError(401, wanted)
        most, seconds = access.body(scope["path"], kind)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > most:
            raise too_large(most)
        return most, seconds

    def _answer(self, scope: Scope, send: Send) -> Send:
        begun, path = time.monotonic(), scope["path"]

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(path, message["status"], time.monotonic() - begun)
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        return answer


def _limited(receive: Receive, most: int, seconds: float) -> Receive:
    """Receive at most so many bytes of a body, for at most so many seconds."""
    arrived, whole = 0, False
    end = asyncio.get_running_loop().time() + seconds

    async def limited() -> Message:
        nonlocal arrived, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(408, "The request took too long to arrive.") from error
        arrived += len(message.get("body", b""))
        if arrived > most:
            raise HTTPException(413, str(too_large(most)))
        whole = not message.get("more_body", False)
        return message

    return limited


def too_large(most: int) -> RequestError:
    """The error of a body over the limit."""
    size = f"{most / 1e6:g} MB" if most >= 1e6 else f"{most / 1e3:g} kB"
    return RequestError(413, f"The body, or a document in it, is larger than {size}, the most that is taken here.")
