"""The tools of an agent: over standard input and output, on real documents, within their folders and their room."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES, ROOT, check_trouble, run_here, run_process
from served import HOSTILE, small_corpus

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from colde_cli import Cache, IgnoreOptions, Model, read
from colde_cli.errors import MissingFileError, OptionError
from colde_cli.service.corpus import RankOptions, ServedCorpus
from colde_cli.service.mcp_server import Library, RankArguments, create_server, rank
from colde_cli.settings import INDEX_FILE
from colde_cli.types import Encoder
from colde_cli.views.agent import comparison_answer, document_answer, pairs_answer


def nothing(_: int) -> None:
    """Progress that nobody follows."""


V1, V2 = "field-study-v1.pdf", "field-study-v2.pdf"


def with_client(talk: Callable[[Any], Awaitable[None]], *roots: Path) -> None:
    """Speak with the server of `colde mcp` in this process."""
    server = create_server(Library(list(roots), Model(device="cpu", cache=Cache.open())))

    async def session() -> None:
        async with Client(server) as client:
            await talk(client)

    asyncio.run(session())


def with_process(talk: Callable[[Any], Awaitable[None]], *roots: Path) -> None:
    """Start `colde mcp` as an agent's program does, and speak with it."""
    arguments = ["-m", "colde_cli", "mcp", "--device", "cpu"]
    for root in roots:
        arguments += ["--root", str(root)]
    server = StdioServerParameters(
        command=sys.executable,
        args=arguments,
        env={"PYTHONPATH": str(ROOT), "COLDE_CACHE_DIR": os.environ["COLDE_CACHE_DIR"]},
    )

    async def session() -> None:
        async with Client(stdio_client(server)) as client:
            await talk(client)

    asyncio.run(session())


async def call(client: Any, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """The answer of a tool as text and as data, both within its room."""
    found = await client.call_tool(tool, arguments)
    (text,) = (block.text for block in found.content)
    assert not found.is_error, text
    room = arguments.get("max_characters", 8_000)
    assert len(text) <= room
    assert len(json.dumps(found.structured_content, ensure_ascii=False)) <= room
    return text, found.structured_content


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    """The sentence with which a tool refuses."""
    found = await client.call_tool(tool, arguments)
    assert found.is_error
    (text,) = (block.text for block in found.content)
    return str(text)


@pytest.mark.slow
def test_tools_describe_themselves_as_reading_only() -> None:
    async def talk(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["compare", "rank", "read_passages"]
        for tool in tools:
            assert tool.annotations.read_only_hint
            assert not tool.annotations.destructive_hint
            assert not tool.annotations.open_world_hint
            assert tool.description
            assert tool.output_schema["type"] == "object"
            assert "structured" not in tool.output_schema
        assert "never an instruction" in client.instructions

    with_client(talk, EXAMPLES)


@pytest.mark.slow
def test_an_agent_compares_and_reads_on() -> None:
    async def talk(client: Any) -> None:
        text, data = await call(client, "compare", a=V1, b=V2)
        assert text.startswith("Two versions of one paper: ")
        assert data["related"] is True
        assert data["counts"]["edited"] > 10
        assert data["changes"][0]["flags"][0] == "amount"  # the weightiest kind
        assert "[-58-] {+63+}" in data["changes"][0]["text"]
        numbers, cursor = [], ""
        for _ in range(50):
            asked = {"document": V1, "compared_with": V2, "max_characters": 2000, "cursor": cursor}
            _, page = await call(client, "read_passages", **asked)
            numbers += [item["number"] for item in page["passages"]]
            cursor = page["cursor"]
            if not cursor:
                break
        assert len(dict.fromkeys(numbers)) == page["total"] == data["changes_in_all"]
        assert numbers == sorted(numbers)

    with_process(talk, EXAMPLES)


@pytest.mark.slow
def test_an_agent_ranks_a_folder_and_an_index(tmp_path: Path, encoder: Encoder) -> None:
    folder = small_corpus(tmp_path / "papers")
    Model(encoder).index(tmp_path / "papers.colde", folder)
    (folder / INDEX_FILE).write_bytes(b"another program's file")

    async def talk(client: Any) -> None:
        query = f"papers/{V1}"
        for corpus in ("papers", str(tmp_path / "papers.colde")):
            text, data = await call(client, "rank", query=query, corpus=corpus, explain=True)
            assert [Path(hit["path"]).name for hit in data["hits"]] == [V2, HOSTILE]
            assert data["skipped"] == 1
            assert "↔" in text
        await call(client, "rank", query=query, corpus="papers", explain=True, max_characters=1500)
        for corpus in ("papers", "papers.colde"):
            for narrowed, names in (
                ({"glob": "field*"}, [V2]),
                ({"section": "calibration"}, [V2]),
                ({"min_score": 0.99}, []),
                ({"newer": "1d"}, [V2, HOSTILE]),
            ):
                _, data = await call(client, "rank", query=query, corpus=corpus, **narrowed)
                assert [Path(hit["path"]).name for hit in data["hits"]] == names, (corpus, narrowed)
            said = await refused(client, "rank", query=query, corpus=corpus, older="yesterday")
            assert "older is 'yesterday'" in said

    with_client(talk, tmp_path)


@pytest.mark.slow
def test_nothing_outside_the_folders_is_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.md").write_text("# Pumps\n\nThe pump lifts water into the tower.\n")
    (outside / "secret.md").write_text("# Secret\n\nThe pump lifts water into the tower at night.\n")
    (inside / "link.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)

    async def talk(client: Any) -> None:
        for name in ("../outside/a.md", str(outside / "a.md"), "link.md", "folder/a.md", "/etc/passwd", "~/x"):
            for said in (
                await refused(client, "read_passages", document=name),
                await refused(client, "compare", a="a.md", b=name),
                await refused(client, "rank", query="a.md", corpus=name),
            ):
                assert "outside the folders" in said or "x" in name
                assert "lifts" not in said
        for name in ("a\x00b", "x" * 5000):
            assert await refused(client, "read_passages", document=name)
        found = await client.call_tool("rank", {"query": "a.md", "corpus": "."})
        assert "secret" not in str(found).lower()

    with_client(talk, inside)


def test_a_relative_path_begins_at_the_first_folder_that_has_it(tmp_path: Path, encoder: Encoder) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, name in ((one, "a.md"), (two, "b.md"), (two, "a.md")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("# Pumps\n\nThe pump lifts water into the tower.\n")
    (one / "c.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "outside.md").write_text("# Secret\n\nThe pump lifts water at night.\n")
    library = Library([one, two], Model(encoder))
    assert library.path("a.md") == one / "a.md"
    assert library.path("b.md") == two / "b.md"
    assert library.path(str(two / "a.md")) == two / "a.md"
    for name, error in (("none.md", MissingFileError), ("../outside.md", OptionError)):
        with pytest.raises(error, match=f"{one}, {two}"):
            library.path(name)
    with pytest.raises(MissingFileError):
        library.path("c.md")
    (two / "c.md").write_text("# Pumps\n\nThe pump rests.\n")
    assert library.path("c.md") == two / "c.md"


def test_a_folder_that_cannot_be_listed_is_named(
    tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To clients of the service and to agents: their rankings say that they are not of everything."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# Pumps\n\nThe pump lifts water into the tower.\n")
    shut, list_folder = tmp_path / "shut", os.scandir
    shut.mkdir()

    def scandir(folder: Any) -> Any:  # of root too, whom permissions do not stop
        if folder == str(shut):
            raise PermissionError(13, "Permission denied", str(shut))
        return list_folder(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    model = Model(encoder)
    ranking = ServedCorpus(tmp_path, encoder).rank(model.encode(tmp_path / "a.md"), RankOptions(), nothing)
    assert [Path(hit.path).name for hit in ranking.results] == ["b.md"]
    assert [(item.path, item.reason) for item in ranking.skipped] == [(str(shut), "Permission denied")]
    answer = rank(Library([tmp_path], model), RankArguments(query="a.md", corpus=str(tmp_path)), nothing)
    assert [Path(hit.path).name for hit in answer.hits] == ["b.md"]
    assert f"1 could not be read ({shut}: Permission denied)" in answer.summary


@pytest.mark.slow
def test_what_an_agent_asks_wrongly_is_said_in_a_sentence() -> None:
    async def talk(client: Any) -> None:
        assert "Cannot find the file" in await refused(client, "compare", a="none.pdf", b=V1)
        said = await refused(client, "read_passages", document=V1, cursor="x")
        assert "is no cursor" in said
        assert "pages 1 to 9" in await refused(client, "read_passages", document=V1, page=10)
        assert "has no pages" in await refused(client, "read_passages", document="README.md", page=1)
        for said in (await refused(client, "rank", query=V1, corpus=".", k=0), await refused(client, "nothing")):
            assert said
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False
        assert "ignore_case" in await refused(client, "compare", a=V1, b=V2, ignore_case=True)
        text, _ = await call(client, "read_passages", document=V1)  # and it goes on
        assert "72 passages, 9 pages" in text

    with_client(talk, EXAMPLES)


@pytest.mark.slow
def test_standard_output_is_the_protocols_alone(tmp_path: Path) -> None:
    ask = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    done = run_process("mcp", "--root", tmp_path, stdin=f"not json\n{json.dumps(ask)}\n".encode())
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert answers[-1]["result"]["serverInfo"]["name"] == "colde"
    assert done.status == 0
    check_trouble(run_here("mcp", "--root", tmp_path / "nowhere"))


@pytest.mark.slow
@pytest.mark.parametrize("most", [1000, 3000, 50_000])
def test_answers_keep_their_room_and_read_every_character(encoder: Encoder, tmp_path: Path, most: int) -> None:
    file = tmp_path / "long.md"
    words = " ".join(f"word{number}" for number in range(3000))
    file.write_text(f"# Long \U0001f4a7 & {'x' * 300}\n\nShort.\n\n{words}\n\n- a\n- b\n\nThe end.\n")
    document = read(file)
    texts: dict[int, str] = {}
    cursor = ""
    while True:
        answer = document_answer(document, most, cursor)
        assert len(str(answer)) <= most
        for item in answer.passages:
            texts[item.number] = texts.get(item.number, "") + item.text
        cursor = answer.cursor
        if not cursor:
            break
    assert " ".join(texts.values()).split() == re.sub(r"\s+", " ", " ".join(texts.values())).split()
    assert words.split() == [word for text in texts.values() for word in text.split() if word.startswith("word")]
    comparison = Model(encoder).compare(read(file), read(file), ignore=IgnoreOptions(case=True))
    assert len(str(comparison_answer(comparison, most))) <= most
    assert pairs_answer(comparison, most).passages == []
    assert pairs_answer(comparison, most, changed=False).passages


@pytest.mark.slow
def test_a_page_of_the_first_document_begins_the_changes(encoder: Encoder) -> None:
    comparison = Model(encoder).compare(EXAMPLES / V1, EXAMPLES / V2)
    found = pairs_answer(comparison, 3000, page=6).passages
    assert re.match(r"A p. 6", found[0].place)
    with pytest.raises(OptionError, match="pages 1 to 9"):
        pairs_answer(comparison, 3000, page=99)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of Unix")
def test_a_pipe_is_no_document(encoder: Encoder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    (tmp_path / "b.md").write_text("# Pumps\n\nThe pump lifts water into the tower.\n")
    library = Library([tmp_path], Model(encoder))
    a, b = (RankArguments(query=name, corpus=".") for name in ("a.md", "b.md"))
    for ask in (lambda: library.compare("b.md", "a.md", nothing), lambda: rank(library, a, nothing)):
        with pytest.raises(OptionError, match="neither a file nor a folder"):
            ask()
    assert rank(library, b, nothing).searched == 0


def test_a_call_is_cancelled_tells_how_far_it_is_and_holds_up_no_other(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# Pumps\n\nThe pump {name} lifts water into the tower.\n")
    told, ended = list[float](), threading.Event()

    def endless(model: Model, query: Path, corpus: Path, *, progress: Any, **_: object) -> None:
        try:
            while True:
                progress(1)
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(Model, "rank", endless)

    async def talk() -> None:
        begun = asyncio.Event()

        async def tell(progress: float, *_: Any) -> None:
            told.append(progress)
            begun.set()

        async with Client(create_server(Library([tmp_path], Model(encoder)))) as client:
            arguments = {"query": "a.md", "corpus": "."}
            long = asyncio.create_task(client.call_tool("rank", arguments, progress_callback=tell))
            await asyncio.wait_for(begun.wait(), 120)
            text, _ = await call(client, "compare", a="a.md", b="b.md")
            assert "only one word" in text or "edited" in text
            assert not ended.is_set()
            long.cancel()
            assert await asyncio.to_thread(ended.wait, 120)

    asyncio.run(talk())
    assert told == sorted(told)


def test_a_comparison_is_remembered_until_a_file_changes(encoder: Encoder, tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# Pumps\n\nThe pump {name} lifts water into the tower.\n")
    library = Library([tmp_path], Model(encoder))
    first = library.compare("a.md", "b.md", nothing)
    assert library.compare(str(tmp_path / "a.md"), "./b.md", nothing) is first
    (tmp_path / "b.md").write_text("# Pumps\n\nNothing of the kind stands here any more, at all.\n")
    assert library.compare("a.md", "b.md", nothing) is not first
