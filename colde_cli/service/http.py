"""`colde serve`: rank, diff and report over HTTP, and a page for people. The bodies are those of `--format json`.

It needs the extra `serve`. FastAPI reads the annotations of the functions inside.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, File, Form, Query, UploadFile
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from colde_cli import Filter, IgnoreOptions
from colde_cli.errors import (
    BadIndexError,
    ColdeError,
    DocumentError,
    LimitError,
    MissingFileError,
    OptionError,
    RequestError,
    UnsupportedFormatError,
)
from colde_cli.service import web_page as page
from colde_cli.service.corpus import ServedCorpus, Wanted
from colde_cli.service.guard import COOKIE, Access, App, Guard
from colde_cli.service.jobs import BUDGET_TEXT, DATE_TEXT, GLOB_TEXT, SECTION_TEXT, Named, Service, asked_filter
from colde_cli.service.prometheus import Metrics
from colde_cli.settings import VERSION
from colde_cli.types import ignoring
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
    (LimitError, 413),
    (UnsupportedFormatError, 415),
    (DocumentError, 422),
    (OptionError, 422),
)
_KNOWN = {404: "There is nothing at this address; see /docs.", 405: "This address takes another method."}
_PATH = "Its path in the corpus, as GET /v1/documents lists it."
_EARLIER = f"The id of a document that was sent before, from the header {UPLOAD}."
_PASSWORD = "Password of encrypted PDFs."
_IGNORED = "Differences that do not count, with commas: as --ignore of colde diff."
_SCHEMAS = ("colde.rank.1", "colde.diff.2")
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence."},
    },
}


Document = Annotated[str | None, Form(max_length=4000, description=_PATH)]
Earlier = Annotated[str | None, Form(max_length=100, description=_EARLIER)]
Password = Annotated[str | None, Form(max_length=1000, description=_PASSWORD)]
First = Annotated[UploadFile | None, File(description="The first document itself.")]
Second = Annotated[UploadFile | None, File(description="The second document itself.")]


def create_app(corpus: ServedCorpus, access: Access) -> App:
    """The service as an application of ASGI, its guard before it."""
    service, metrics = Service(corpus, access.limits), Metrics()

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        yield
        service.workers.close()

    # What FastAPI measures of requests could be sent elsewhere if the environment asks for it.
    silent = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
    app = FastAPI(title="colde", version=VERSION, docs_url=None, redoc_url=None, lifespan=lifespan, telemetry=silent)
    for add in (_add_lists, _add_rank, _add_comparisons, _add_page):
        add(app, service)
    _add_state(app, service, metrics)
    _add_login(app, access)
    _add_schemas(app)

    def problem(request: Request, error: Exception) -> Response:
        return _problem(request, error, corpus)

    for kind in (ColdeError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, problem)

    async def refuse(scope: Any, receive: Any, send: Any, error: RequestError) -> None:  # noqa: ANN401
        await problem(Request(scope), error)(scope, receive, send)

    return Guard(app, access, refuse, metrics.count)


def _known_fields(app: FastAPI) -> Any:  # noqa: ANN401 - of FastAPI
    """What refuses a form with a field that the description of its address does not name."""

    async def refuse_others(request: Request) -> None:
        described = app.openapi()
        body = described["paths"][request.scope["route"].path]["post"]["requestBody"]["content"]
        name = next(iter(body.values()))["schema"]["$ref"].split("/")[-1]
        known = described["components"]["schemas"][name]["properties"]
        others = [name for name in await request.form() if name not in known]
        if others:
            raise OptionError(f"There is no field {short(others[0], 40)!r}; there are {', '.join(known)}.")

    return Depends(refuse_others)


def _add_lists(app: FastAPI, service: Service) -> None:
    @app.get("/v1/documents", responses=_problems(401, 422, 429, 503))
    async def documents(
        request: Request,
        glob: Annotated[str | None, Query(max_length=500, description=GLOB_TEXT)] = None,
        offset: Annotated[int, Query(ge=0, le=10**9, description="The first to list, from 0.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="The most to list.")] = 100,
    ) -> Response:
        """List the documents of the corpus, by path."""
        every = await service.workers.run(lambda _: service.corpus.documents(glob), request.is_disconnected)
        listed = [asdict(item) for item in every[offset : offset + limit]]
        return JSONResponse({"total": len(every), "offset": offset, "documents": listed})


def _add_state(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.get("/v1/health")
    async def health() -> dict[str, str]:
        """Say that the service answers."""
        return {"status": "ok", "version": VERSION}

    @app.get("/v1/ready", responses=_problems(503))
    async def ready() -> dict[str, str]:
        """Say that the corpus can be asked, and that a request would not be turned away."""
        if service.workers.full:
            raise RequestError(503, "Too many requests are waiting.", 1)
        try:
            await asyncio.to_thread(service.corpus.check)
        except ColdeError as error:
            raise RequestError(503, str(error), 5) from error
        return {"status": "ready"}

    @app.get("/v1/metrics", response_class=PlainTextResponse, responses=_problems(401))
    async def state() -> Response:
        """Counts and times of the answers, in the text format of Prometheus."""
        return Response(metrics.text(service.workers), media_type="text/plain; version=0.0.4")


def _asked(
    glob: Annotated[str | None, Form(max_length=500, description=GLOB_TEXT)] = None,
    newer: Annotated[str | None, Form(max_length=40, description=f"Changed since: {DATE_TEXT}")] = None,
    older: Annotated[str | None, Form(max_length=40, description=f"Not changed since: {DATE_TEXT}")] = None,
    min_size: Annotated[str | None, Form(max_length=20, description="Least size, such as 10kB.")] = None,
    max_size: Annotated[str | None, Form(max_length=20, description="Most, such as 5MB.")] = None,
    section: Annotated[str | None, Form(max_length=200, description=SECTION_TEXT)] = None,
) -> Filter:
    return asked_filter(glob=glob, newer=newer, older=older, min_size=min_size, max_size=max_size, section=section)


def _add_rank(app: FastAPI, service: Service) -> None:
    answers = {**_PROBLEMS, 200: _json_of("colde.rank.1")}

    @app.post("/v1/rank", responses=answers, dependencies=[_known_fields(app)])
    async def rank(
        request: Request,
        chosen: Annotated[Filter, Depends(_asked)],
        file: Annotated[UploadFile | None, File(description="The document itself.")] = None,
        document: Document = None,
        upload: Earlier = None,
        k: Annotated[int, Form(ge=1, le=1000, description="Documents to list.")] = 10,
        min_score: Annotated[float | None, Form(ge=-1, le=1, description="List none below.")] = None,
        explain: Annotated[bool, Form(description="Find the sections that match.")] = False,
        field: Annotated[Literal["corpus", "none"], Form(description="Statistics to score with.")] = "corpus",
        budget: Annotated[float | None, Form(ge=0, le=86_400, description=BUDGET_TEXT)] = None,
        password: Annotated[str | None, Form(max_length=1000, description="Of an encrypted PDF.")] = None,
    ) -> Response:
        """Order the documents of the corpus by their similarity to one: schema colde.rank/1."""
        wanted = Wanted(top=k, min_score=min_score, explain=explain, chosen=chosen, budget=budget)
        wanted["field"] = None if field == "none" else field
        query = Named(file, document, upload)
        ranking, sent = await service.rank(request.is_disconnected, query, password, **wanted)
        headers = {UPLOAD: sent} if sent else {}
        return Response(_sent(result_json(ranking)), media_type="application/json", headers=headers)


def _both(
    file_a: First = None,
    document_a: Document = None,
    upload_a: Earlier = None,
    file_b: Second = None,
    document_b: Document = None,
    upload_b: Earlier = None,
) -> tuple[Named, Named]:
    return Named(file_a, document_a, upload_a), Named(file_b, document_b, upload_b)


def _ignored(
    ignore: Annotated[str, Form(max_length=1000, description=_IGNORED)] = "",
    ignore_case: Annotated[bool, Form()] = False,
    ignore_whitespace: Annotated[bool, Form()] = False,
    ignore_numbers: Annotated[bool, Form()] = False,
    ignore_renumbering: Annotated[bool, Form()] = False,
    ignore_list_marks: Annotated[bool, Form()] = False,
) -> IgnoreOptions:
    return ignoring(
        [ignore],
        case=ignore_case,
        whitespace=ignore_whitespace,
        numbers=ignore_numbers,
        renumbering=ignore_renumbering,
        list_marks=ignore_list_marks,
    )


def _add_comparisons(app: FastAPI, service: Service) -> None:
    answers = {**_PROBLEMS, 200: _json_of("colde.diff.2")}

    @app.post("/v1/diff", responses=answers, dependencies=[_known_fields(app)])
    async def diff(
        request: Request,
        pair: Annotated[tuple[Named, Named], Depends(_both)],
        ignore: Annotated[IgnoreOptions, Depends(_ignored)],
        passages: Annotated[bool, Form(description="Also align the passages.")] = True,
        password: Password = None,
    ) -> Response:
        """Compare two documents: schema colde.diff/2."""
        shown = await service.compare(
            request.is_disconnected, pair, comparison_json, ignore, password, passages=passages
        )
        return Response(_sent(shown), media_type="application/json")

    @app.post("/v1/report", responses=_PROBLEMS, response_class=HTMLResponse, dependencies=[_known_fields(app)])
    async def report(
        request: Request,
        pair: Annotated[tuple[Named, Named], Depends(_both)],
        ignore: Annotated[IgnoreOptions, Depends(_ignored)],
        password: Password = None,
    ) -> Response:
        """Compare two documents: the report as an HTML page."""
        shown = await service.compare(request.is_disconnected, pair, comparison_html, ignore, password)
        return HTMLResponse(shown, headers={"Content-Security-Policy": _SANDBOX})


def _add_page(app: FastAPI, service: Service) -> None:
    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return HTMLResponse(page.shown("search"))

    @app.post("/", include_in_schema=False)
    async def search(
        request: Request, file: Annotated[UploadFile | None, File()] = None, k: Annotated[int, Form(ge=1, le=50)] = 10
    ) -> Response:
        if file is None or not file.filename:
            raise OptionError("Choose a document first.")
        ranking, sent = await service.rank(request.is_disconnected, Named(file), top=k, explain=True)
        return HTMLResponse(page.shown("search", ranking=ranking, upload=sent, k=k))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(page.shown("docs", openapi=app.openapi()))

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in page.FILES:
            raise RequestError(404, "There is no such file.")
        return Response(page.static_file(name), media_type=page.FILES[name])


def _add_login(app: FastAPI, access: Access) -> None:
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


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The descriptions of errors (RFC 9457)."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": "The error in a sentence.", "content": content} for status in statuses}


def _add_schemas(app: FastAPI) -> None:
    """Have the application describe itself with the schemas of the views."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document: dict[str, Any] = described()
        parts = document.setdefault("components", {}).setdefault("schemas", {})
        parts["Problem"] = _PROBLEM
        for name in _SCHEMAS:
            parts.setdefault(name, _schema(name))
        return document

    app.openapi = openapi


def _schema(name: str) -> dict[str, Any]:
    """A schema of the views, its inner references led through the document that holds it."""
    text = (files("colde_cli.views") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text.replace('"#/$defs/', f'"#/components/schemas/{name}/$defs/'))
    # With an $id, references would start at the schema, not at the document.
    return {key: value for key, value in schema.items() if key not in ("$id", "$schema")}


def _sent(text: str) -> bytes:
    """JSON as bytes; half a character, which a document may hold, is an escape of JSON too."""
    return text.encode("utf-8", "backslashreplace")


_PROBLEMS = _problems(400, 401, 404, 408, 413, 415, 422, 429, 503)


def _problem(request: Request, error: Exception, corpus: ServedCorpus) -> Response:
    """An error as a problem of RFC 9457; as a page for people."""
    status, sentence = _status_of(error)
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
    title = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Error"
    body = {"type": "about:blank", "title": title, "status": status, "detail": sentence}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def _status_of(error: Exception) -> tuple[int, str]:
    """The status of an error, and its sentence."""
    match error:
        case RequestError():
            return error.status, str(error)
        case RequestValidationError():
            return 422, _invalid(error.errors())
        case HTTPException(status_code=status):
            said = _KNOWN.get(status, str(error.detail))
            return status, said if said.endswith(".") else f"{said}."
        case ColdeError():
            return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500), str(error)
    return 500, "The service failed at this request; its log says more."


def _invalid(errors: Sequence[Any]) -> str:
    """What is wrong with the fields of a form, in words for those who do not know Python."""
    said = []
    for error in errors[:5]:
        words = str(error["msg"])
        meant = "send it as a file" if "UploadFile" in words else f"{words[:1].lower()}{words[1:]}"
        said.append(f"{error['loc'][-1]}: {meant}")
    return f"The request is not valid: {'; '.join(said)}."
