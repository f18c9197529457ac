"""`colde serve`: rank, diff and report over HTTP, and a page for people. The bodies are those of `--format json`.

It needs the extra `serve`. FastAPI reads the annotations of the functions inside.
"""

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from http.client import responses
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, File, Form, Query, UploadFile
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from colde_cli import Comparison, IgnoreOptions, Ranking
from colde_cli.errors import (
    BadIndexError,
    ColdeError,
    DocumentError,
    LimitError,
    MissingFileError,
    OptionError,
    RemoteError,
    RequestError,
    UnsupportedFormatError,
)
from colde_cli.service import web_page as page
from colde_cli.service.corpus import GLOB, Progress, RankOptions, ServedCorpus
from colde_cli.service.guard import COOKIE, Access, Guard
from colde_cli.service.jobs import Service, Upload
from colde_cli.service.prometheus import Metrics
from colde_cli.settings import VERSION
from colde_cli.types import compare_encodings, ignoring
from colde_cli.views.escaping import short
from colde_cli.views.json import comparison_json, result_json
from colde_cli.views.report.report_page import comparison_html

UPLOAD = "Colde-Upload"
"""Header of an answer: the id of the document that was sent, for `upload` of a later request."""
_SANDBOX = "sandbox allow-scripts allow-popups"
"""For reports: their scripts run, but as those of a stranger, who cannot ask this service."""
_STATUSES: tuple[tuple[type[ColdeError], int], ...] = (
    (MissingFileError, 404),
    (BadIndexError, 503),
    (RemoteError, 503),
    (LimitError, 413),
    (UnsupportedFormatError, 415),
    (DocumentError, 422),
    (OptionError, 422),
)
_KNOWN = {404: "There is nothing at this address; see /docs.", 405: "This address takes another method."}
_IGNORED = "Differences that do not count, with commas: as --ignore of colde diff."
_SCHEMAS = ("colde.rank.1", "colde.diff.2")

Document = Annotated[str, Field(max_length=4000, description="Its path in the corpus, as GET /v1/documents lists it.")]
Earlier = Annotated[str, Field(max_length=100, description=f"The id of a document sent before: header {UPLOAD}.")]
Password = Annotated[str, Field(max_length=1000, description="Password of encrypted PDFs.")]


class Problem(BaseModel):
    """An error, as RFC 9457 describes it."""

    type: str
    title: str
    status: int
    detail: str = Field(description="One sentence.")


class QueryForm(BaseModel):
    """The document of a request to rank."""

    file: UploadFile | None = Field(default=None, description="The document itself.")
    document: Document = ""
    upload: Earlier = ""
    password: Password = ""


class RankForm(RankOptions, QueryForm):
    """The body of a request to rank."""


class PairForm(BaseModel, extra="forbid"):
    """The body of a request for the report of two documents."""

    file_a: UploadFile | None = Field(default=None, description="The first document itself.")
    document_a: Document = ""
    upload_a: Earlier = ""
    file_b: UploadFile | None = Field(default=None, description="The second document itself.")
    document_b: Document = ""
    upload_b: Earlier = ""
    ignore: str = Field(default="", max_length=1000, description=_IGNORED)
    ignore_case: bool = False
    ignore_whitespace: bool = False
    ignore_numbers: bool = False
    ignore_renumbering: bool = False
    ignore_list_marks: bool = False
    password: Password = ""

    def ignored(self) -> IgnoreOptions:
        """What counts as no difference."""
        switches = {name.removeprefix("ignore_"): on for name, on in self if name.startswith("ignore_")}
        return ignoring([self.ignore], **switches)


class DiffForm(PairForm):
    """The body of a request to compare two documents."""

    passages: bool = Field(default=True, description="Also align the passages.")


def create_app(corpus: ServedCorpus, access: Access) -> ASGIApp:
    """The service as an application of ASGI, its guard before it."""
    service, metrics = Service(corpus, access.limits), Metrics()

    # What FastAPI measures of requests could be sent elsewhere if the environment asks for it.
    silent = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
    problems = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    app = FastAPI(
        title="colde",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        telemetry=silent,
        responses={"default": {"description": "The error in a sentence.", "content": problems}},
    )
    for add in (_add_lists, _add_rank, _add_comparisons):
        add(app, service)
    _add_state(app, service, metrics)
    _add_page(app, access)
    # Have the application describe itself with the schemas of the views.
    parts = app.openapi()["components"]["schemas"]
    parts.update({name: _schema(name) for name in _SCHEMAS}, Problem=Problem.model_json_schema())

    problem = partial(_problem, corpus)
    for kind in (ColdeError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, problem)

    return Guard(app, access, problem, metrics.count)


def _add_lists(app: FastAPI, service: Service) -> None:
    @app.get("/v1/documents")
    async def documents(
        request: Request,
        glob: Annotated[str | None, Query(max_length=500, description=GLOB)] = None,
        offset: Annotated[int, Query(ge=0, le=10**9, description="The first to list, from 0.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="The most to list.")] = 100,
    ) -> Response:
        """List the documents of the corpus, by path, and what could not be listed, or of an index not be read."""
        every, unread = await service.workers.run(lambda _: service.corpus.documents(glob), request.is_disconnected)
        skipped, listed = list(map(asdict, unread)), every[offset : offset + limit]
        return JSONResponse({"total": len(every), "offset": offset, "documents": listed, "skipped": skipped})


def _add_state(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.get("/v1/health")
    async def health() -> dict[str, str]:
        """Say that the service answers."""
        return {"status": "ok", "version": VERSION}

    @app.get("/v1/ready")
    async def ready() -> dict[str, str]:
        """Say that the corpus can be asked, and that a request would not be turned away."""
        if service.workers.full:
            raise RequestError(503, "Too many requests are waiting.", 1)
        await asyncio.to_thread(service.corpus.check)
        return {"status": "ready"}

    @app.get("/v1/metrics", response_class=PlainTextResponse)
    async def state() -> Response:
        """Counts and times of the answers, in the text format of Prometheus."""
        return Response(metrics.text(service.workers), media_type="text/plain; version=0.0.4")


def _add_rank(app: FastAPI, service: Service) -> None:
    async def ranked(request: Request, form: RankForm) -> tuple[Ranking, str]:
        """The ranking as clients may see it, and the id of the document that was sent, "" if none was."""

        def job(progress: Progress) -> tuple[Ranking, Upload]:
            query = service.read(form, "", progress)
            return service.corpus.shown(service.corpus.rank(query.encoding, form, progress), query.name), query

        ranking, query = await service.workers.run(job, request.is_disconnected)
        return ranking, service.keep(query) if form.file else form.upload

    @app.post("/v1/rank", responses={200: _json_of("colde.rank.1")})
    async def rank(request: Request, form: Annotated[RankForm, File()]) -> Response:
        """Order the documents of the corpus by their similarity to one: schema colde.rank/1."""
        ranking, sent = await ranked(request, form)
        headers = {UPLOAD: sent} if sent else {}
        return Response(_sent(result_json(ranking)), media_type="application/json", headers=headers)

    @app.post("/", include_in_schema=False)
    async def search(
        request: Request, file: Annotated[UploadFile | None, File()] = None, k: Annotated[int, Form(ge=1, le=50)] = 10
    ) -> Response:
        if file is None or not file.filename:
            raise OptionError("Choose a document first.")
        ranking, sent = await ranked(request, RankForm(file=file, k=k, explain=True))
        return HTMLResponse(page.shown("search", ranking=ranking, upload=sent, k=k))


def _add_comparisons(app: FastAPI, service: Service) -> None:
    async def compared(request: Request, form: PairForm, view: Callable[[Comparison], str]) -> str:
        ignored, passages = form.ignored(), getattr(form, "passages", True)

        def job(progress: Progress) -> str:
            a, b = (service.read(form, end, progress).named() for end in ("_a", "_b"))
            encoder = service.corpus.encoder
            comparison = compare_encodings(a, b, encoder, ignored, passages=passages, progress=progress)
            progress(0)  # showing a long comparison takes time as well
            return view(comparison)

        return await service.workers.run(job, request.is_disconnected)

    @app.post("/v1/diff", responses={200: _json_of("colde.diff.2")})
    async def diff(request: Request, form: Annotated[DiffForm, File()]) -> Response:
        """Compare two documents: schema colde.diff/2."""
        return Response(_sent(await compared(request, form, comparison_json)), media_type="application/json")

    @app.post("/v1/report", response_class=HTMLResponse)
    async def report(request: Request, form: Annotated[PairForm, File()]) -> Response:
        """Compare two documents: the report as an HTML page."""
        shown = await compared(request, form, comparison_html)
        return HTMLResponse(shown, headers={"Content-Security-Policy": _SANDBOX})


def _add_page(app: FastAPI, access: Access) -> None:
    app.mount("/static", StaticFiles(packages=[("colde_cli.service", "static"), ("colde_cli.views", "templates")]))

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return HTMLResponse(page.shown("search"))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(page.shown("docs", openapi=app.openapi()))

    @app.get("/login", include_in_schema=False)
    async def ask() -> Response:
        return HTMLResponse(page.shown("login"))

    @app.post("/login", include_in_schema=False)
    async def take(request: Request, token: Annotated[str, Form(max_length=1000)] = "") -> Response:
        if not access.is_token(token):
            return HTMLResponse(page.shown("login", error="This is not the token."), 401)
        answer = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, access.session(), max_age=86_400, httponly=True, samesite="strict", secure=secure)
        return answer


def _json_of(schema: str) -> dict[str, Any]:
    """The description of an answer of one of the schemas."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": "As `colde --format json` writes it.", "content": content}


def _schema(name: str) -> dict[str, Any]:
    """A schema of the views, its inner references led through the document that holds it."""
    text = (files("colde_cli.views") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text.replace('"#/$defs/', f'"#/components/schemas/{name}/$defs/'))
    # With an $id, references would start at the schema, not at the document.
    return {key: value for key, value in schema.items() if key not in ("$id", "$schema")}


def _sent(text: str) -> bytes:
    """JSON as bytes; half a character, which a document may hold, is an escape of JSON too."""
    return text.encode("utf-8", "backslashreplace")


def _problem(corpus: ServedCorpus, request: Request, error: Exception) -> Response:
    """An error as a problem of RFC 9457; as a page for people."""
    status, sentence = _status_of(request, error)
    sentence = corpus.concealed(sentence)
    headers = dict(getattr(error, "headers", None) or {})
    retry = getattr(error, "retry", None) or (5 if status == 503 else None)
    if retry is not None:
        headers["Retry-After"] = str(math.ceil(retry))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if request.url.path in ("/", "/v1/report") and "text/html" in request.headers.get("accept", ""):
        if status == 401:
            return RedirectResponse("/login", 303)
        return HTMLResponse(page.shown("search", error=sentence), status, headers)
    body = Problem(type="about:blank", title=responses.get(status, "Error"), status=status, detail=sentence)
    return JSONResponse(body.model_dump(), status, headers, media_type="application/problem+json")


def _status_of(request: Request, error: Exception) -> tuple[int, str]:
    """The status of an error, and its sentence."""
    match error:
        case RequestError():
            return error.status, str(error)
        case RequestValidationError():
            return 422, _invalid(request, error.errors())
        case HTTPException(status_code=status):
            said = _KNOWN.get(status, str(error.detail))
            return status, said if said.endswith(".") else f"{said}."
        case ColdeError():
            return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500), str(error)
    return 500, "The service failed at this request; its log says more."


def _invalid(request: Request, errors: Sequence[Any]) -> str:
    """What is wrong with the fields of a form, in words for those who do not know Python."""
    for name in (error["loc"][-1] for error in errors if error["type"] == "extra_forbidden"):
        known = request.scope["route"].body_field.field_info.annotation.model_fields
        return f"There is no field {short(name, 40)!r}; there are {', '.join(known)}."
    said = []
    for error in errors[:5]:
        words = str(error["msg"])
        meant = "send it as a file" if "UploadFile" in words else f"{words[:1].lower()}{words[1:]}"
        said.append(f"{error['loc'][-1]}: {meant}")
    return f"The request is not valid: {'; '.join(said)}."
