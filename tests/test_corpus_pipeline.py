"""Reading, chunking and encoding at the same time: windows, stages, errors, and an end in the middle."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from colde_cli.corpus import pipeline
from colde_cli.corpus.pipeline import CorpusReader, PipelineProgress, StageClock, StageTimes, encode_files
from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.layout import open_folder
from colde_cli.encoder.runtime import DevicePlan, Progress
from colde_cli.errors import ModelError

READER = CorpusReader()


class Watched(Encoder):
    """The shipped model, which remembers the windows that it was given."""

    def __init__(self, folder: Path) -> None:
        super().__init__(open_folder(folder), DevicePlan("cpu", "int8", ""), cache=None, threads=1)
        self.windows: list[list[int]] = []
        self.breaks = False

    def encode_chunked(
        self, documents: Sequence[Document], chunked: Sequence[tuple[Chunk, ...]], progress: Progress | None = None
    ) -> list[Encoding]:
        self.windows.append([sum(len(chunk.ids) for chunk in chunks) for chunks in chunked])
        if self.breaks:
            raise ModelError("The graph is damaged.")
        return super().encode_chunked(documents, chunked, progress)


@pytest.fixture
def encoder(model_folder: Path) -> Watched:
    return Watched(model_folder)


def texts(folder: Path, *words: int) -> list[Path]:
    paths = []
    for number, count in enumerate(words):
        paths.append(folder / f"{number}.txt")
        paths[-1].write_text(f"Valve {number} leaks. " * (count // 3))
    return paths


@pytest.mark.slow
def test_windows_hold_a_bounded_number_of_tokens(
    tmp_path: Path, encoder: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "CPU_WINDOW", 2000)
    files = texts(tmp_path, *[90] * 20, 3000, *[90] * 20)
    clock = StageClock()
    items = list(encode_files(files, encoder, READER, clock))
    assert len(items) == 41
    alone = [window for window in encoder.windows if max(window) > 2000]
    assert [len(window) for window in alone] == [1], "a document larger than a window is encoded alone"
    assert all(sum(window) <= 2000 for window in encoder.windows if window not in alone)
    assert max(map(len, encoder.windows)) > 1
    assert clock.times.documents == 41
    assert clock.times.tokens == sum(map(sum, encoder.windows))


def test_the_caller_writes_while_the_next_window_is_encoded(
    tmp_path: Path, encoder: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "CPU_WINDOW", 300)
    with closing(encode_files(texts(tmp_path, *[60] * 8), encoder, READER)) as items:
        next(items)
        for _ in range(60_000):
            if len(encoder.windows) > 1:
                break
            time.sleep(0.01)
        assert len(encoder.windows) > 1


def test_stages_add_up(tmp_path: Path, encoder: Watched) -> None:
    clock = StageClock()
    for _ in encode_files(texts(tmp_path, 300, 300), encoder, READER, clock):
        time.sleep(0.05)
    times = clock.times
    assert times.write >= 0.1
    assert 0 < times.encode <= times.total
    assert times.wait == pytest.approx(times.total - times.encode)
    assert times.read > 0 < times.chunk
    assert times.share("total") == 1
    assert StageTimes().share("read") == 0


def test_a_file_without_a_token_is_refused_and_the_others_are_encoded(tmp_path: Path, encoder: Watched) -> None:
    files = texts(tmp_path, 30, 30)
    files[0].write_text("\u200b\n\n\u200b")
    found = list(encode_files(files, encoder, READER))
    assert sorted(type(item).__name__ for item in found) == ["Encoding", "Skipped"]


def test_an_error_of_the_model_ends_the_run(tmp_path: Path, encoder: Watched) -> None:
    encoder.breaks = True
    with pytest.raises(ModelError):
        list(encode_files(texts(tmp_path, *[60] * 8), encoder, READER))


@pytest.mark.slow
def test_closing_ends_the_encoder_in_the_middle_of_a_window(tmp_path: Path, encoder: Watched) -> None:
    """The second document has 120 chunks, of which few are encoded when it ends. It waits when the first is done."""
    done: list[int] = []
    going, clock = threading.Event(), StageClock()

    class Counted(Watched):
        def encode_chunked(
            self, documents: Sequence[Document], chunked: Sequence[tuple[Chunk, ...]], progress: Progress | None = None
        ) -> list[Encoding]:
            def advance(number: int) -> None:
                done.append(number)
                assert progress is not None
                progress(number)
                while len(done) >= 4:  # goes on for ever, unless it is ended
                    going.set()
                    time.sleep(0.01)
                    progress(0)

            while clock.progress.read < 2:
                time.sleep(0.3)
            return super().encode_chunked(documents, chunked, advance)

    counted = Counted(encoder.folder.path)
    with closing(encode_files(texts(tmp_path, 30, 40_000), counted, READER, clock)) as items:
        next(items)
        assert going.wait(120)
    assert len(done) < 100


def test_the_clock_does_not_go_back() -> None:
    clock = StageClock()
    clock.count(expected=2)
    clock.count(read=1, chunks=1)
    clock.count(encoded=1)
    assert clock.progress == PipelineProgress(2, 1, 1)
    clock.count(read=1, chunks=99)
    assert clock.progress == PipelineProgress(2, 2, 1)
    clock.count(encoded=99)
    assert clock.progress == PipelineProgress(2, 2, 2)


def test_the_clock_says_how_far_the_work_is(tmp_path: Path, encoder: Watched) -> None:
    clock = StageClock()
    assert clock.progress == PipelineProgress(None, 0, 0)
    files = texts(tmp_path, 30, 60, 3_000, 3_000)  # the last has the chunks of the third
    files[0].write_text("\u200b\n\n\u200b")
    clock.count(expected=len(files))
    seen = [clock.progress.encoded for _ in encode_files(files, encoder, READER, clock)]
    assert seen == sorted(seen)
    assert clock.progress == PipelineProgress(4, 4, 4)
    clock.count(expected=1)
    clock.count(finished=1)
    assert clock.progress == PipelineProgress(5, 5, 5)
