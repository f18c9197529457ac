"""The service over HTTP: its answers are those of the command, its errors sentences, and what is hostile is stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from command_line import V1, run, validate
from served import ADDRESS, HOSTILE, QUERY, TITLE, client, small_corpus, study

import colde_cli
from colde_cli.errors import RemoteError
from colde_cli.settings import INDEX_FILE
from colde_cli.types import Cache, Encoder

TOKEN = "correct horse battery"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_corpus(tmp_path_factory.mktemp("served") / "secret-place")


@pytest.fixture(scope="module")
def service(folder: Path, encoder: Encoder) -> Iterator[Any]:
    with client(folder, encoder) as found:
        yield found


def valid(name: str, answer: Any) -> dict[str, Any]:
    """The body of an answer, checked against a schema of the views."""
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    validate(body, name)
    return body


def handlers(page: str) -> list[str]:
    """The attributes of a page that would run a script."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(name for name, _ in attrs if name.startswith("on"))

    Reader().feed(page)
    return found


def problem(answer: Any, status: int, words: str) -> None:
    """The answer is a problem of RFC 9457 with one sentence."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert words in body["detail"]
    assert body["detail"].endswith(".")
    assert "\n" not in body["detail"]
    assert "secret-place" not in answer.text
    assert tempfile.gettempdir() not in answer.text


def test_documents_are_listed_by_their_path_in_the_corpus(service: Any) -> None:
    body = service.get("/v1/documents").json()
    names = ["broken.pdf", "field-study-v1.pdf", "field-study-v2.pdf", f"notes/{HOSTILE}"]
    assert [item["path"] for item in body["documents"]] == names
    assert body["total"] == 4
    page = service.get("/v1/documents", params={"glob": "*.pdf", "offset": 1, "limit": 1}).json()
    assert page["total"] == 3
    assert [item["path"] for item in page["documents"]] == ["field-study-v1.pdf"]


def test_what_cannot_be_listed_or_read_is_named(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from colde_cli.service.corpus import ServedCorpus

    (tmp_path / "papers" / "shut").mkdir(parents=True)
    (tmp_path / "papers" / "pump.md").write_bytes(QUERY)
    (tmp_path / "papers" / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing follows")
    colde_cli.Model(encoder).index(tmp_path / "i.colde", tmp_path / "papers")
    shut, list_folder = tmp_path / "papers" / "shut", os.scandir

    def scandir(folder: Any) -> Any:  # of root too, whom permissions do not stop
        if folder == str(shut):
            raise PermissionError(13, "Permission denied", str(shut))
        return list_folder(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    for place, named in ((tmp_path / "papers", ["shut"]), (tmp_path / "i.colde", ["broken.pdf"])):
        with client(place, encoder) as service:
            answer = service.get("/v1/documents")
        assert "pump.md" in [item["path"] for item in answer.json()["documents"]]
        assert [item["path"] for item in answer.json()["skipped"]] == named
        assert str(tmp_path) not in answer.text
    for name in ("pump.md", "broken.pdf"):
        (tmp_path / "papers" / name).unlink()
    assert [item.path for item in ServedCorpus(tmp_path / "papers", encoder).prepare(lambda _: None)] == [str(shut)]


def test_a_store_that_is_out_of_reach_is_said(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from colde_cli.service.corpus import ServedCorpus

    def fail(*_: object) -> None:
        raise RemoteError("The store cannot be reached.")

    for name, path in (("check", "/v1/ready"), ("documents", "/v1/documents")):
        monkeypatch.setattr(ServedCorpus, name, fail)
        answer = service.get(path)
        problem(answer, 503, "cannot be reached")
        assert answer.headers["retry-after"]


@pytest.mark.slow
def test_a_document_that_is_sent_is_ranked_as_the_command_ranks_it(
    service: Any, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = valid("colde.rank.1", service.post("/v1/rank", files={"file": study()}, data={"explain": "true"}))
    copy = tmp_path / "study.pdf"
    copy.write_bytes(Path(V1).read_bytes())
    printed = json.loads(run(capsys, "rank", copy, folder, "--explain", "--format", "json", "--device", "cpu").out)
    assert body["query"] == {"path": "study.pdf", "title": printed["query"]["title"]}
    for here, there in zip(body["results"], printed["results"], strict=True):
        assert here == {**there, "path": Path(there["path"]).relative_to(folder).as_posix()}
    assert [item["path"] for item in body["skipped"]] == ["broken.pdf"]
    assert "secret-place" not in json.dumps(body)


@pytest.mark.slow
def test_a_document_of_the_corpus_is_ranked_without_itself(service: Any) -> None:
    body = valid("colde.rank.1", service.post("/v1/rank", data={"document": "field-study-v1.pdf", "k": 1}))
    assert [hit["path"] for hit in body["results"]] == ["field-study-v2.pdf"]
    assert body["query"]["path"] == "field-study-v1.pdf"


@pytest.mark.slow
def test_an_index_is_served_without_its_files(folder: Path, service: Any, encoder: Encoder, tmp_path: Path) -> None:
    copies = shutil.copytree(folder, tmp_path / "secret-place")
    colde_cli.Model(encoder).index(tmp_path / "secret-index.colde", copies)
    shutil.rmtree(copies)
    asked = {"explain": "true", "k": "5"}
    pair = {"document_a": "field-study-v1.pdf", "document_b": "field-study-v2.pdf"}
    with client(tmp_path / "secret-index.colde", encoder) as indexed:
        for path, sent in (("/v1/rank", asked), ("/v1/rank", {**asked, "document": "field-study-v2.pdf"})):
            files = None if "document" in sent else {"file": study()}
            there = valid("colde.rank.1", service.post(path, files=files, data=sent))
            here = valid("colde.rank.1", indexed.post(path, files=files, data=sent))
            assert [hit["path"] for hit in here["results"]] == [hit["path"] for hit in there["results"]]
            assert here["skipped"] == there["skipped"]
            # An index keeps vectors in few bits.
            assert here["results"][0]["score"] == pytest.approx(there["results"][0]["score"], abs=0.005)
            assert here["results"][0]["matches"][0]["hit"]["text"]
            assert "secret" not in json.dumps(here)
        compared = valid("colde.diff.2", indexed.post("/v1/diff", data=pair))
        assert compared["summary"] == valid("colde.diff.2", service.post("/v1/diff", data=pair))["summary"]
        assert compared["a"]["path"] == "field-study-v1.pdf"
        listed = indexed.get("/v1/documents", params={"glob": "*.pdf"}).json()["documents"]
        assert [item["path"] for item in listed] == ["field-study-v1.pdf", "field-study-v2.pdf"]
        assert listed[0]["title"].startswith("Sensors on the Sill")
        problem(indexed.post("/v1/rank", data={"document": "../elsewhere/broken.pdf"}), 404, "no document")
        shutil.rmtree(tmp_path / "secret-index.colde")
        lost = indexed.post("/v1/rank", data={"document": "field-study-v1.pdf"})
        assert (lost.status_code, "the corpus" in lost.json()["detail"]) == (503, True)
        assert "secret" not in lost.text


def test_documents_of_two_folders_have_names_of_their_own(encoder: Encoder, tmp_path: Path) -> None:
    folders = [tmp_path / "one" / "papers", tmp_path / "two" / "papers"]
    for place in folders:
        place.mkdir(parents=True)
        (place / "a.md").write_bytes(QUERY + place.parent.name.encode())
    colde_cli.Model(encoder).index(tmp_path / "i.colde", folders)
    with client(tmp_path / "i.colde", encoder) as indexed:
        names = [item["path"] for item in indexed.get("/v1/documents").json()["documents"]]
        assert names == ["papers-2/a.md", "papers/a.md"]
        for name in names:
            assert indexed.post("/v1/rank", data={"document": name}).json()["searched"] == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode there")
def test_a_name_that_is_no_text_can_be_asked_for(encoder: Encoder, tmp_path: Path) -> None:
    for name in (b"caf\xe9.md", b"b.md"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(QUERY + name[:1])
    with client(tmp_path, encoder) as odd:
        names = [item["path"] for item in odd.get("/v1/documents").json()["documents"]]
        assert names == ["b.md", "caf\\udce9.md"]
        body = valid("colde.rank.1", odd.post("/v1/rank", data={"document": names[1]}))
        assert [hit["path"] for hit in body["results"]] == ["b.md"]
        body = valid("colde.rank.1", odd.post("/v1/rank", data={"document": names[0]}))
        assert [hit["path"] for hit in body["results"]] == [names[1]]
        assert odd.post("/", files={"file": study()}).status_code == 200


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> Iterator[tuple[Any, Any]]:
    """The service over a folder, all of whose files but one are old, and over its index."""
    base = tmp_path_factory.mktemp("dated")
    folder = small_corpus(base / "secret-place")
    for path in (folder / "field-study-v2.pdf", folder / "notes" / HOSTILE):
        os.utime(path, (1_500_000_000, 1_500_000_000))
    colde_cli.Model(encoder).index(base / "secret-index.colde", folder)
    with client(folder, encoder) as one, client(base / "secret-index.colde", encoder) as other:
        yield one, other


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"newer": "1h"}, {"field-study-v1.pdf"}),
        ({"older": "999999999w"}, None),
        ({"max_size": "10kB"}, {f"notes/{HOSTILE}"}),
        ({"section": "calibration", "budget": "100"}, {"field-study-v1.pdf", "field-study-v2.pdf"}),
        ({"section": "Calibration|Instruments"}, None),  # words, no pattern
        ({"glob": "*.pdf", "min_score": "1", "field": "none"}, set()),
    ],
)
def test_names_dates_sizes_sections_and_scores_choose(
    both: tuple[Any, Any], asked: dict[str, str], found: set[str] | None
) -> None:
    for service in both:
        answer = service.post("/v1/rank", files={"file": ("q.md", QUERY)}, data=asked)
        if found is None:
            problem(answer, 422, "the corpus")
        else:
            assert {hit["path"] for hit in valid("colde.rank.1", answer)["results"]} == found


@pytest.mark.parametrize(
    "asked", [{"newer": "soon"}, {"min_size": "large"}, {"budget": "-1"}, {"budget": "nan"}, {"newer": "9" * 41}]
)
def test_filters_that_mean_nothing_are_told(service: Any, asked: dict[str, str]) -> None:
    problem(service.post("/v1/rank", files={"file": ("q.md", QUERY)}, data=asked), 422, next(iter(asked)))


def test_a_file_that_is_named_like_one_of_the_corpus_is_not_taken_for_it(
    folder: Path, service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name in ("field-study-v2.pdf", str(folder / "field-study-v2.pdf")):
        sent = {"file": (name, *study()[1:])}
        body = valid("colde.rank.1", service.post("/v1/rank", files=sent, data={"glob": "*.pdf"}))
        assert [hit["path"] for hit in body["results"]] == ["field-study-v1.pdf", "field-study-v2.pdf"]
        assert body["query"]["path"] == "field-study-v2.pdf"


def test_a_link_that_leads_out_of_the_corpus_is_no_document(encoder: Encoder, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for place in (inside, outside):
        place.mkdir()
        (place / "pump.md").write_bytes(QUERY)
    (inside / "link.md").symlink_to(outside / "pump.md")
    (inside / "folder").symlink_to(outside)
    (inside / "again.md").symlink_to(inside / "pump.md")
    with client(inside, encoder) as service:
        listed = service.get("/v1/documents").json()["documents"]
        assert [item["path"] for item in listed] == ["again.md"]
        for name in ("link.md", "folder/pump.md"):
            problem(service.post("/v1/rank", data={"document": name}), 404, "no document")
        found = valid("colde.rank.1", service.post("/v1/rank", files={"file": ("q.md", QUERY)}))
        assert [hit["path"] for hit in found["results"]] == ["again.md"]


def test_a_folder_with_a_file_named_like_that_of_an_index_is_a_folder(encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "pump.md").write_bytes(QUERY)
    (tmp_path / INDEX_FILE).write_bytes(b"another program's file")
    with client(tmp_path, encoder) as service:
        assert [item["path"] for item in service.get("/v1/documents").json()["documents"]] == ["pump.md"]


@pytest.mark.slow
def test_two_documents_are_compared_however_they_are_named(service: Any) -> None:
    ranked = service.post("/v1/rank", files={"file": study()})
    sent = {"upload_a": ranked.headers["colde-upload"], "document_b": "field-study-v2.pdf"}
    by_id = valid("colde.diff.2", service.post("/v1/diff", data=sent))
    by_file = service.post("/v1/diff", files={"file_a": study()}, data={"document_b": "field-study-v2.pdf"})
    assert valid("colde.diff.2", by_file) == by_id
    assert by_id["a"]["path"] == "study.pdf"
    assert by_id["b"]["path"] == "field-study-v2.pdf"
    assert by_id["summary"]["edited"] > 0


def test_a_comparison_ignores_what_it_is_asked_to(service: Any) -> None:
    texts = {
        "file_a": ("a.txt", b"The tank holds 12 litres of water.", "text/plain"),
        "file_b": ("b.txt", b"The tank holds 13 litres of water.", "text/plain"),
    }
    found = valid("colde.diff.2", service.post("/v1/diff", files=texts))
    ignoring = valid("colde.diff.2", service.post("/v1/diff", files=texts, data={"ignore_numbers": "true"}))
    assert found["summary"]["edited"] == 1
    assert ignoring["summary"]["edited"] == 0
    for name in ("renumbering", "list_marks"):
        asked = service.post("/v1/diff", files=texts, data={f"ignore_{name}": "true"})
        assert valid("colde.diff.2", asked)["ignored"][name]
    short = valid("colde.diff.2", service.post("/v1/diff", files=texts, data={"passages": "false"}))
    assert short["passages"] is None


def test_a_report_is_a_page_that_cannot_ask_the_service(service: Any) -> None:
    sent = {"document_a": "field-study-v1.pdf", "document_b": f"notes/{HOSTILE}"}
    answer = service.post("/v1/report", data=sent)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    assert TITLE not in answer.text


@pytest.mark.parametrize("path", ["/v1/rank", "/v1/diff", "/v1/report"])
@pytest.mark.parametrize("name", ["../broken.pdf", "/etc/passwd", "notes/../broken.pdf", "", "a\x00b", "x" * 5000])
def test_no_path_leads_out_of_the_corpus(service: Any, path: str, name: str) -> None:
    if path == "/v1/rank":
        answer = service.post(path, data={"document": name})
    else:
        answer = service.post(path, data={"document_a": name, "document_b": "field-study-v1.pdf"})
    assert answer.status_code in (404, 422)
    assert "root:" not in answer.text
    assert "secret-place" not in answer.text


@pytest.mark.parametrize("glob", ["../*", "/etc/*", "..", "**/../../*"])
def test_no_pattern_leads_out_of_the_corpus(service: Any, glob: str) -> None:
    assert service.get("/v1/documents", params={"glob": glob}).json()["documents"] == []


@pytest.mark.parametrize("name", ["../../etc/passwd.md", "C:\\Windows\\x.md", "\x1b[31mx\u202e.md", f"{'x' * 900}.md"])
def test_a_file_name_is_only_text(service: Any, name: str) -> None:
    body = valid("colde.rank.1", service.post("/v1/rank", files={"file": (name, QUERY, "text/plain")}))
    shown = body["query"]["path"]
    assert not set(shown) & set("/\\\x1b\u202e")
    assert len(shown) <= 120
    assert shown.endswith(".md")


@pytest.mark.parametrize(
    ("name", "content", "status", "words"),
    [
        ("scan.png", b"\x89PNG\r\n\x1a\n", 415, "scan.png: it is a picture"),
        ("data.xyz", b"words", 415, ".xyz files are not supported"), ("empty.txt", b"", 422, "empty.txt: it is empty"),
        ("blank.txt", b" \n ", 422, "blank.txt"), ("broken.pdf", b"%PDF-1.7\nnothing", 422, "broken.pdf"),
        ("-", b"", 422, "upload"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_in_a_sentence(
    service: Any, name: str, content: bytes, status: int, words: str
) -> None:
    problem(service.post("/v1/rank", files={"file": (name, content, "application/pdf")}), status, words)


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        ({"k": "5"}, 422, "Name one document"),
        ({"document": "field-study-v1.pdf", "upload": "x"}, 422, "Name one document"),
        ({"document": "nowhere.pdf"}, 404, "no document 'nowhere.pdf'"),
        ({"document": "broken.pdf"}, 422, "broken.pdf"),
        ({"upload": "guess"}, 404, "not kept any more"),
        ({"file": "words"}, 422, "file: send it as a file"),
        ({"document": "field-study-v1.pdf", "k": "0"}, 422, "k: "),
        ({"document": "field-study-v1.pdf", "min_score": "90"}, 422, "min_score: "),
        ({"document": "field-study-v1.pdf", "min_score": "nan"}, 422, "min_score: "),
        ({"document": "field-study-v1.pdf", "field": "/etc"}, 422, "field: "),
    ],
)
def test_what_is_asked_wrongly_is_said_in_a_sentence(
    service: Any, sent: dict[str, str], status: int, words: str
) -> None:
    problem(service.post("/v1/rank", data=sent), status, words)


@pytest.mark.parametrize(("address", "known"), [("rank", "min_score"), ("diff", "passages"), ("report", "password")])
def test_a_field_that_there_is_not_is_refused_by_name(service: Any, address: str, known: str) -> None:
    answer = service.post(f"/v1/{address}", data={"foo": "1"})
    problem(answer, 422, "no field 'foo'")
    fields = answer.json()["detail"].partition("there are ")[2].rstrip(".").split(", ")
    assert known in fields
    described = service.get("/openapi.json").json()
    body = described["paths"][f"/v1/{address}"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert fields == list(described["components"]["schemas"][body["$ref"].split("/")[-1]]["properties"])


def test_other_bodies_addresses_and_methods(service: Any) -> None:
    problem(service.post("/v1/rank", json={"document": "field-study-v1.pdf"}), 415, "form")
    problem(service.post("/v1/rank", content=QUERY), 415, "form")
    wrong = {"content-type": "multipart/form-data; boundary=x"}
    problem(service.post("/v1/rank", content=b"no boundary", headers=wrong), 400, "multipart")
    problem(service.get("/v1/nothing"), 404, "see /docs")
    problem(service.get("/v1/rank"), 405, "method")
    problem(service.request("TRACE", "/v1/health"), 405, "method")


def test_large_bodies_are_refused_by_their_length_and_by_their_bytes(folder: Path, encoder: Encoder) -> None:
    with client(folder, encoder, upload_bytes=1000) as small:
        large = b"x" * 300_000
        problem(small.post("/v1/rank", files={"file": ("a.txt", large)}), 413, "the most")
        kind = {"content-type": "multipart/form-data; boundary=b"}
        head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        unknown = iter([head, *[b"x" * 10_000] * 50])  # without a Content-Length
        problem(small.post("/v1/rank", content=unknown, headers=kind), 413, "the most")
        # Beside the limit of a body, each document has its own.
        problem(small.post("/v1/rank", files={"file": ("a.txt", large[:2000])}), 413, "1 kB")


@pytest.mark.parametrize(
    ("address", "kind", "most"),
    [
        ("/login", "application/x-www-form-urlencoded", 4_000),
        ("/v1/nothing", "multipart/form-data; boundary=b", 4_000),
        ("/v1/rank", "application/x-www-form-urlencoded", 200_000),
        ("/v1/rank", "multipart/form-data; boundary=b", 700_000),
        ("/v1/diff", "multipart/form-data; boundary=b", 1_200_000),
    ],
)
def test_each_address_takes_as_much_as_it_needs(
    folder: Path, encoder: Encoder, address: str, kind: str, most: int
) -> None:
    with client(folder, encoder, upload_bytes=500_000) as small:
        for length, refused in ((most + 1, True), (most, False)):
            for body in (b"x" * length, iter([b"x" * (length // 4)] * 4 + [b"x" * (length % 4)])):
                answer = small.post(address, content=body, headers={"content-type": kind})
                assert (answer.status_code == 413) is refused or address == "/v1/nothing"
        problem(small.post(address, content=b"x" * (most + 1), headers={"content-type": kind}), 413, "the most")


def test_uploads_are_forgotten_one_by_one_and_after_a_while(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def send() -> str:
        return str(service.post("/v1/rank", files={"file": ("q.md", QUERY)}).headers["colde-upload"])

    def ask(upload: str) -> Any:
        return service.post("/v1/rank", data={"upload": upload})

    monkeypatch.setattr("colde_cli.service.jobs._KEPT", 1)
    first, second = send(), send()
    problem(ask(first), 404, "not kept any more")
    assert ask(second).status_code == 200
    monkeypatch.setattr("colde_cli.service.jobs._MINUTES", 0)
    problem(ask(send()), 404, "not kept any more")


def test_head_is_answered_as_get_without_the_body(service: Any) -> None:
    for path in ("/", "/v1/health", "/v1/documents", "/static/page.css"):
        whole, head = service.get(path), service.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]
        assert head.headers["content-length"] == str(len(whole.content))
    assert service.head("/v1/rank").status_code == 405


def test_metrics_count_what_was_answered(folder: Path, encoder: Encoder, tmp_path: Path) -> None:
    place = shutil.copytree(folder, tmp_path / "secret-place")
    with client(place, encoder, TOKEN) as closed:
        right = {"authorization": f"Bearer {TOKEN}"}
        assert closed.get("/v1/metrics").status_code == 401
        assert closed.get("/v1/ready").json() == {"status": "ready"}
        for path in ("/v1/documents", "/v1/documents", "/v1/secret"):
            closed.get(path, headers=right)
        answer = closed.get("/v1/metrics", headers=right)
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = answer.text.splitlines()
        for path, status, number in (("/v1/documents", 200, 2), ("other", 404, 1), ("/v1/metrics", 401, 1)):
            assert f'colde_answers_total{{path="{path}",status="{status}"}} {number}' in lines
        assert all(re.fullmatch(r'# (HELP|TYPE) .+|[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [\d.]+', line) for line in lines)
        assert "secret" not in answer.text
        shutil.rmtree(place)
        problem(closed.get("/v1/ready"), 503, "the corpus is gone")


def test_only_the_names_of_this_service_are_answered(service: Any) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1"):
        problem(service.get("/v1/documents", headers={"host": host}), 400, "Host")
    for host in ("localhost:8765", "127.0.0.1", "[::1]:8765", "papers.example", "10.0.0.7"):
        assert service.get("/v1/documents", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        *({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9999"}),
        *({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}),
    ],
)
def test_pages_of_others_cannot_send_forms(service: Any, headers: dict[str, str]) -> None:
    sent = {"document": "field-study-v1.pdf"}
    problem(service.post("/v1/rank", data=sent, headers=headers), 403, "Another site")
    own = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
    assert service.post("/v1/rank", data=sent, headers=own).status_code == 200


def test_a_token_is_asked_for(folder: Path, encoder: Encoder) -> None:
    with client(folder, encoder, TOKEN) as closed:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}):
            answer = closed.get("/v1/documents", headers=headers)
            problem(answer, 401, "Authorization: Bearer")
            assert answer.headers["www-authenticate"] == "Bearer"
        for cookie in ("", TOKEN, "x" * 64, '"', "\xe4"):
            answer = closed.get("/v1/documents", headers={"cookie": f"colde-session={cookie}".encode("latin-1")})
            assert answer.status_code == 401
        assert closed.get("/openapi.json").status_code == 401
        right = {"authorization": f"Bearer {TOKEN}"}
        assert closed.get("/v1/documents", headers=right).json()["total"] == 4
        assert closed.get("/v1/health").json()["status"] == "ok"


def test_the_page_lets_in_with_a_cookie_that_is_not_the_token(folder: Path, encoder: Encoder) -> None:
    with client(folder, encoder, TOKEN) as closed:
        answer = closed.get("/", headers={"accept": "text/html"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        wrong = closed.post("/login", data={"token": "wrong"})
        assert wrong.status_code == 401
        assert "This is not the token." in wrong.text
        assert "set-cookie" not in wrong.headers
        answer = closed.post("/login", data={"token": TOKEN})
        cookie = answer.headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert TOKEN not in cookie
        assert closed.get("/v1/documents").json()["total"] == 4


def test_more_requests_than_places_are_told_to_come_again(
    folder: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from colde_cli.service.corpus import ServedCorpus

    busy, free = threading.Event(), threading.Event()
    listing = ServedCorpus.documents

    def slow(corpus: ServedCorpus, glob: str | None = None) -> Any:
        busy.set()
        free.wait(120)
        return listing(corpus, glob)

    monkeypatch.setattr(ServedCorpus, "documents", slow)
    with client(folder, encoder, threads=1, waiting=0) as narrow:
        first = threading.Thread(target=narrow.get, args=("/v1/documents",))
        first.start()
        assert busy.wait(120)
        answer = narrow.get("/v1/documents")
        problem(narrow.get("/v1/ready"), 503, "Too many requests")
        assert narrow.get("/v1/health").status_code == 200
        assert "colde_jobs_running 1\n" in narrow.get("/v1/metrics").text
        free.set()
        first.join()
        problem(answer, 429, "Too many requests")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert narrow.get("/v1/documents").status_code == 200


def test_a_request_has_a_time_limit_and_leaves_no_work_behind(
    folder: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from colde_cli.service.corpus import ServedCorpus

    begun, ended = threading.Event(), threading.Event()

    def endless(corpus: ServedCorpus, query: object, options: object, progress: Any) -> None:
        begun.set()
        try:
            while True:
                progress(1)
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(ServedCorpus, "rank", endless)
    for seconds in (0.5, 5, 50, 500):
        with client(folder, encoder, seconds=seconds) as hasty:
            answer = hasty.post("/v1/rank", files={"file": ("q.md", QUERY)})
            if begun.is_set():  # else the machine was too busy to begin in time
                problem(answer, 503, f"longer than {seconds:g} seconds")
                assert ended.wait(120)
                return
    pytest.fail("the request never began")


LONG = " ".join(f"The pump of well {number} lifts water into tower {number % 97}." for number in range(8_000))
"""A dozen seconds' work of one core."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "fields", "sent"),
    [
        pytest.param("rank", {}, LONG, id="sent"),
        pytest.param("rank", {"budget": "1"}, "A pump.", id="in the search with a budget"),
    ],
)
def test_encoding_stops_when_the_time_of_a_request_is_up(
    model_folder: Path, tmp_path: Path, address: str, fields: dict[str, str], sent: str
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "long.txt").write_text(LONG)
    cache = Cache(tmp_path / "vectors", 10**9)
    slow = Encoder.load(model_folder, device="cpu", cache=cache, threads=1)
    with client(corpus, slow, seconds=1.5, threads=1) as hasty:
        files = {"file": ("q.txt", sent.encode())} if sent else None
        problem(hasty.post(f"/v1/{address}", data=fields, files=files), 503, "longer than 1.5 seconds")
        while hasty.get("/v1/documents").status_code in (429, 503):  # one thread: it waits for what is still at work
            time.sleep(0.1)
    assert cache.count() < 10  # chunks are kept when all of a document are encoded


def test_every_answer_has_the_headers_that_protect(service: Any) -> None:
    for path in ("/", "/docs", "/v1/documents", "/v1/nothing", "/static/page.js"):
        headers = service.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
    refused = service.get("/v1/documents", headers={"host": "evil.example"})
    assert refused.headers["cache-control"] == "no-store"


def test_a_page_shows_hits_without_scripts_and_escapes_what_documents_say(service: Any) -> None:
    shown = service.post("/", files={"file": (f"{TITLE}.md", QUERY, "text/markdown")}, data={"k": "5"})
    assert shown.status_code == 200
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown.text
    assert "<img" not in shown.text
    assert 'name="upload_a"' in shown.text
    for page in (shown.text, service.get("/").text, service.get("/docs").text, service.get("/login").text):
        assert "http://" not in page
        assert "https://" not in page
        assert "<style" not in page
        assert " style=" not in page
        assert handlers(page) == []


def test_an_error_stands_on_the_page(service: Any) -> None:
    asks = {"accept": "text/html"}
    answer = service.post("/", files={"file": ("x.png", b"\x89PNG\r\n\x1a\n")}, headers=asks)
    assert answer.status_code == 415
    assert "it is a picture" in answer.text
    assert 'role="alert"' in answer.text
    answer = service.post("/", data={"k": "10"}, headers=asks)
    assert (answer.status_code, "Choose a document first." in answer.text) == (422, True)


def test_the_description_is_whole(service: Any) -> None:
    described = service.get("/openapi.json").json()
    posts = [path for path, methods in described["paths"].items() if "post" in methods]
    assert posts == ["/v1/rank", "/v1/diff", "/v1/report"]
    references = json.dumps(described).split('"$ref": "#/')[1:]
    for reference in references:
        found: Any = described
        for part in reference.partition('"')[0].split("/"):
            found = found[part]
    assert "colde.diff.2" in described["components"]["schemas"]
    for path in posts:
        assert path in service.get("/docs").text
