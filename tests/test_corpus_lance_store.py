"""An index in a data set of Lance: ranks as SQLite's, keeps what several writers bring, and says what is wrong."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from command_line import run, run_json

from colde_cli import open_index
from colde_cli.corpus import lance_store, lance_writer
from colde_cli.corpus.finding import Filter, is_index
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_update import IndexUpdate, update_index
from colde_cli.corpus.lance_store import LanceIndex
from colde_cli.corpus.lance_upkeep import compact_lance, lance_status, verify_lance
from colde_cli.corpus.lance_writer import Target, send_index
from colde_cli.corpus.rank_corpus import encode_query, rank_index
from colde_cli.encoder.encoder import Encoder
from colde_cli.errors import BadIndexError, ColdeError, OptionError, RemoteError

pytest.importorskip("lance")

WORDS = "pump well tower tax house council engine valve treaty harbour vessel court lease tenant wheat barley".split()


def text(seed: int) -> str:
    generator = random.Random(seed)
    return ". ".join(" ".join(generator.choices(WORDS, k=12)).capitalize() for _ in range(6)) + "."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    for number in range(12):
        write(folder / (f"deep/{number}.md" if number % 3 else f"{number}.txt"), f"# Part {number}\n\n{text(number)}")
    (folder / "copy.txt").write_text((folder / "0.txt").read_text())
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 no")
    age(folder)
    return folder


def write(path: Path, words: str) -> None:
    path.write_text(words)
    age(path)


def age(place: Path) -> None:
    """Make files older, so that a later change shows in their time."""
    for path in (place, *place.rglob("*")):
        os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A server that speaks S3, with one bucket."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    bucket(f"http://{host}:{port}").create_bucket(Bucket="papers")
    yield f"http://{host}:{port}"
    server.stop()


def bucket(endpoint: str) -> Any:
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "s3cr3t"}
    return pytest.importorskip("boto3").client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)


@pytest.fixture
def on_s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    values = {"ENDPOINT_URL": s3_endpoint, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "s3cr3t", "REGION": "us-east-1"}
    for name, value in values.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return f"s3://papers/{os.urandom(6).hex()}.lance"


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where there is no data set yet."""
    return str(tmp_path / "papers.lance") if request.param == "folder" else request.getfixturevalue("on_s3")


def counts(update: IndexUpdate) -> tuple[int, ...]:
    return update.documents, update.added, update.changed, update.renamed, update.removed


def held(place: str | Path) -> dict[str, str]:
    """All documents by path, with their text."""
    with open_index(place) as index, index.reading():
        return {item.path: index.document(item.number).text for item in index.documents()}


def test_ranks_are_those_of_sqlite(corpus: Path, place: str, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    small = corpus.parent / "papers.colde"
    update_index(small, [corpus], encoder)
    update_index(place, [corpus], encoder)
    assert is_index(place)
    assert held(place) == held(small)
    query = encode_query(corpus / "copy.txt", encoder)
    for most in (1_000, 5):  # all exactly; from candidates of Lance
        monkeypatch.setattr(lance_store, "EXACT", most)
        with Index.open(small) as one, LanceIndex.open(place) as other:
            for chosen in (Filter(), Filter(glob="deep/*"), Filter(section="Part [1-4]"), Filter(least_size=10**6)):
                rankings = [rank_index(query, index, encoder, chosen=chosen, explain=True) for index in (one, other)]
                assert rankings[0].to_dict() == rankings[1].to_dict()
            assert one.half_read() == other.half_read()
            assert one.roots() == other.roots()
            assert [item.path for item in one.bad_files()] == [item.path for item in other.bad_files()]
            number = other.numbers_of(corpus / "0.txt")[0]
            assert [passage.span for passage in other.passages(number)[1]] == [
                passage.span for passage in one.passages(one.numbers_of(corpus / "0.txt")[0])[1]
            ]


def test_a_query_finds_rows_by_indexes_and_none_but_documents(
    corpus: Path, place: str, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance_store, "EXACT", 5)
    monkeypatch.setattr(lance_writer, "EXACT", 5)
    update_index(place, [corpus], encoder)
    write(corpus / "3.txt", text(98))  # rows that no index holds yet are brought into it
    (corpus / "9.txt").unlink()
    update_index(place, [], encoder)
    query = encode_query(corpus / "copy.txt", encoder)
    with LanceIndex.open(place) as index:
        indexes = index.dataset.describe_indices()
        assert {name for one in indexes for name in one.field_names} == {"kind", "path", "size", "terms"}
        assert index.bad_files()  # rows that are not documents are there
        found = index.candidates(query, encoder, 1_000)
        assert found is not None
        assert set(found.numbers) == set(index.numbers())
        assert index.numbers_of(corpus / "3.txt")
        assert not index.numbers_of(corpus / "9.txt")


def test_an_update_brings_what_is_new_changed_renamed_and_gone(corpus: Path, place: str, encoder: Encoder) -> None:
    first = update_index(place, [corpus], encoder)
    assert counts(first) == (13, 13, 0, 0, 0)
    assert len(first.failed) == 1
    assert update_index(place, [], encoder).encoded == 0
    write(corpus / "new.txt", text(99))
    write(corpus / "3.txt", text(98))
    (corpus / "6.txt").rename(corpus / "sixth.txt")
    (corpus / "9.txt").unlink()
    again = update_index(place, [], encoder)
    assert counts(again) == (13, 1, 1, 1, 1)
    assert again.encoded == 2
    fresh = corpus.parent / "fresh.colde"
    update_index(fresh, [corpus], encoder)
    assert held(place) == held(fresh)
    status = lance_status(place, encoder)
    assert (status.documents, len(status.bad), status.staleness.stale) == (13, 1, False)
    assert verify_lance(place).problems == ()
    assert compact_lance(place) >= 0
    assert held(place) == held(fresh)


def test_a_folder_of_another_machine_stays(corpus: Path, tmp_path: Path, encoder: Encoder) -> None:
    place, other = str(tmp_path / "papers.lance"), tmp_path / "other"
    other.mkdir()
    write(other / "a.txt", text(50))
    update_index(place, [corpus], encoder)
    corpus.rename(tmp_path / "away")
    assert update_index(place, [other], encoder).documents == 14
    with pytest.raises(BadIndexError, match=r"corpus is gone or out of reach, and .*papers\.lance follows it"):
        update_index(place, [], encoder)
    assert update_index(place, [], encoder, forget=[corpus]).documents == 1


def test_who_makes_it_at_the_same_time_undoes_nothing(tmp_path: Path, encoder: Encoder) -> None:
    for number in range(8):
        target, together = Target(str(tmp_path / f"{number}.lance"), encoder), Barrier(3)

        def follow(name: str, target: Target = target, together: Barrier = together) -> None:
            together.wait(60)
            target.follow({name.encode(): None})

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(follow, ("/a", "/b", "/c")))
        with LanceIndex.open(target.place) as index:
            assert index.roots() == ("/a", "/b", "/c")


def test_two_writers_at_once_lose_nothing(corpus: Path, place: str, tmp_path: Path, encoder: Encoder) -> None:
    folders = [corpus, tmp_path / "more"]
    folders[1].mkdir()
    for number in range(12):
        write(folders[1] / f"{number}.txt", text(100 + number))
    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(update_index, place, [folder], encoder) for folder in (*folders, folders[0])]
        assert [len(writer.result().failed) for writer in writers] == [1, 0, 1]
    update_index(fresh := tmp_path / "fresh.colde", folders, encoder)
    with LanceIndex.open(place) as index:
        assert index.count() == 25  # none twice
        assert index.roots() == tuple(sorted(map(str, folders)))
    assert held(place) == held(fresh)
    assert verify_lance(place).problems == ()


def test_a_reader_keeps_its_version(corpus: Path, place: str, encoder: Encoder) -> None:
    update_index(place, [corpus], encoder)
    before = held(place)
    with LanceIndex.open(place) as index:
        write(corpus / "0.txt", text(77))
        (corpus / "3.txt").unlink()
        update_index(place, [], encoder)
        assert {item.path: index.document(item.number).text for item in index.documents()} == before
        assert rank_index(encode_query(corpus / "6.txt", encoder), index, encoder).searched == 12
    assert held(place) != before


def test_what_was_done_before_an_error_stays(
    corpus: Path, tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, done = str(tmp_path / "papers.lance"), 0

    def stop(number: int) -> None:
        nonlocal done
        done += number
        if done >= 8:  # two files of one content are counted together
            raise KeyboardInterrupt

    monkeypatch.setattr("colde_cli.corpus.index_update._COMMIT_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        update_index(place, [corpus], encoder, progress=stop)
    with LanceIndex.open(place) as index:
        assert 5 <= index.count() <= done
    assert update_index(place, [], encoder).documents == 13
    assert verify_lance(place).problems == ()


def test_an_index_is_sent_to_a_shared_one(
    corpus: Path, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], encoder: Encoder
) -> None:
    small, other = tmp_path / "small.colde", tmp_path / "other.colde"
    update_index(small, [corpus], encoder)
    said = run(capsys, "index", small, "--to", place)
    assert (said.status, said.err) == (0, f"{place}: 14 changes sent, 13 documents.\n")
    assert held(place) == held(small)
    write(corpus / "0.txt", text(60))
    (corpus / "3.txt").unlink()
    update_index(small, [], encoder)
    assert send_index(small, place, encoder) == (2, 12)
    assert send_index(small, place, encoder) == (0, 12)
    # From another machine, where another file lies at the same path.
    before = corpus / "0.txt"
    write(before, text(61))
    update_index(other, [before], encoder)
    assert send_index(other, place, encoder) == (1, 13)
    with LanceIndex.open(place) as index:
        texts = [index.document(item.number).text for item in index.documents() if item.path == str(before)]
    assert sorted(texts) == sorted([text(60), text(61)])


def test_commands_over_a_shared_index(corpus: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(capsys, "index", corpus, "-o", place)
    assert said.status == 0
    assert said.err.endswith(f"{place}: 13 documents, 13 added.\n")
    ranking = run_json(capsys, "rank", corpus / "0.txt", place)
    assert ranking["results"][0]["path"].endswith("copy.txt")
    assert run_json(capsys, "index", place, "--status")["status"]["documents"] == 13
    assert run_json(capsys, "index", place, "--verify")["verify"]["records"] == 26
    families = run_json(capsys, "dupes", place)
    assert [len(group["members"]) for group in families["groups"]] == [2]
    assert run_json(capsys, "clusters", place)["searched"] == 13


def test_a_flipped_byte_is_found(corpus: Path, tmp_path: Path, encoder: Encoder) -> None:
    place = tmp_path / "papers.lance"
    update_index(place, [corpus], encoder)
    file = max((place / "data").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    with LanceIndex.open(place) as index:
        record = next(index.rows(("vectors",)))["vectors"]
    content[content.index(record[200:260])] ^= 1
    file.write_bytes(content)
    assert verify_lance(str(place)).problems


def test_another_model_is_refused(corpus: Path, tmp_path: Path, encoder: Encoder) -> None:
    class Other:
        """The same model under another name."""

        def __getattr__(self, name: str) -> Any:
            return b"other" if name == "family" else getattr(encoder, name)

    place: Any = str(tmp_path / "papers.lance")
    other: Any = Other()
    update_index(place, [corpus], encoder)
    small = tmp_path / "small.colde"
    update_index(small, [corpus], other)
    for call in (lambda: update_index(place, [], other), lambda: send_index(small, place, other)):
        with pytest.raises(
            BadIndexError, match=r"holds vectors of another model, colde-minilm-l6; .* another data set"
        ):
            call()
    with LanceIndex.open(place) as index, pytest.raises(BadIndexError, match="another model"):
        rank_index(encode_query(corpus / "0.txt", encoder), index, other)


@pytest.mark.parametrize(
    ("wrong", "kind", "sentence"),
    [
        ("s3://nobucket/papers.lance", RemoteError, "there is no such bucket"),
        ("s3://papers/none.lance", BadIndexError, "There is no index at"),
        ("s3://papers", OptionError, "Name a place in a bucket"),
        ("s3://key:s3cr3t@papers/x.lance", OptionError, "without keys"),
    ],
)
def test_a_wrong_place_is_told(on_s3: str, wrong: str, kind: type[ColdeError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence) as told:
        open_index(wrong)
    assert "s3cr3t" not in str(told.value)


def test_a_bucket_that_vanishes(corpus: Path, on_s3: str, s3_endpoint: str, encoder: Encoder) -> None:
    client, place = bucket(s3_endpoint), on_s3.replace("papers", "short-lived", 1)
    client.create_bucket(Bucket="short-lived")
    update_index(place, [corpus], encoder)
    index = LanceIndex.open(place)
    for item in client.list_objects_v2(Bucket="short-lived")["Contents"]:
        client.delete_object(Bucket="short-lived", Key=item["Key"])
    client.delete_bucket(Bucket="short-lived")
    write(corpus / "0.txt", text(60))
    query = encode_query(corpus / "3.txt", encoder)
    for call in (
        lambda: rank_index(query, index, encoder),
        lambda: update_index(place, [corpus], encoder),
        lambda: LanceIndex.open(place),
    ):
        with pytest.raises(
            ColdeError, match=rf"{place} cannot be used: (there is no such bucket|a part of it is gone)"
        ):
            call()


def test_wrong_keys_are_told_and_not_shown(on_s3: str) -> None:
    @pytest.importorskip("moto.core").set_initial_no_auth_action_count(0)  # type: ignore[untyped-decorator]
    def opened() -> None:
        open_index(on_s3)

    with pytest.raises(RemoteError, match=r"the key is|access is denied") as told:
        opened()
    assert "s3cr3t" not in str(told.value)


def test_nothing_else_is_overwritten(corpus: Path, tmp_path: Path, encoder: Encoder) -> None:
    place = tmp_path / "mine.lance"
    place.mkdir()
    (place / "letter.txt").write_text("Dear all")
    with pytest.raises(OptionError, match="is no index and is not overwritten"):
        update_index(place, [corpus], encoder)
    assert [path.name for path in place.iterdir()] == ["letter.txt"]
