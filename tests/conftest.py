"""Fixtures for all tests: a clean environment, the shipped model, the team's shared data where it exists."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from late import import_late

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from colde_cli.encoder.encoder import Encoder
    from colde_cli.similarity.comparison import Comparison

# The models trained here are tiny: further threads cost them more than they save, and each worker has a core.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Hundreds of processes are started from this tree: each would compile it again if byte code were not kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Nothing here leaves this machine, and a proxy does not know its services.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"

# A machine that is busy is no failure: how long an example takes is measured in benchmarks/.
_PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples in each run of a commit: what CI says does not hang on luck. The deep profile draws new ones.
settings.register_profile("colde", derandomize=True, database=None, **_PATIENT)
# For hours at night: see "Tests" in docs/development.md.
settings.register_profile("deep", max_examples=75_000, database=None, **_PATIENT)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "colde")
settings.load_profile(_PROFILE)
if _PROFILE == "colde":
    # Hypothesis also tries constants of the modules that are loaded: those hang on the tests that ran before.
    with contextlib.suppress(ImportError, AttributeError):
        from hypothesis.internal.conjecture import providers

        vars(providers)["is_local_module_file"] = lambda path: False

# pytest parses the modules of its plugins again when they are imported, and Python 3.11 cannot parse in two threads at
# once (gh-106905): those that a service's threads need are imported here, before there are any.
with contextlib.suppress(ImportError):
    import anyio._backends._asyncio
    import anyio.from_thread  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports travel between processes as UTF-8, which names of files on disk need not be."""
    report = yield
    report.sections = [(title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections]
    return report


@pytest.fixture(scope="session", autouse=True)
def cache_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What was encoded for a test is there for the others, and for the processes that they start."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLDE_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def isolated(cache_of_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests leaks in, and their cache is left alone."""
    for name in [key for key in os.environ if key.startswith("COLDE_")]:
        monkeypatch.delenv(name)
    for name in (
        *("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"),
        *("GITHUB_ACTIONS", "PAGER", "LESS", "SOURCE_DATE_EPOCH", "AWS_ENDPOINT_URL", "AWS_REGION"),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(
        "COLDE_OCR", "never"
    )  # whether the extra is installed makes no difference, but where it is tested
    monkeypatch.setenv("COLDE_CACHE_DIR", str(cache_of_all))


def _kept(opens: Callable[..., Any]) -> Callable[..., Any]:
    """Open each file of the shipped models once."""
    opened: dict[Any, Any] = {}

    def open_once(file: Any, *rest: Any) -> Any:
        path = Path(getattr(file, "path", file))
        if not path.is_relative_to(ROOT / "models"):
            return opens(file, *rest)
        key = path, repr(getattr(file, "config", "")), *rest
        if key not in opened:
            opened[key] = opens(file, *rest)
        return opened[key]

    return open_once


@pytest.fixture(scope="session", autouse=True)
def opened_once() -> Iterator[None]:
    """What runs in this process opens each part of the shipped model once: a part has no state between its calls."""
    from colde_cli.encoder import encoder, runtime

    sessions: dict[tuple[Path, bool], runtime.Graph] = {}

    def open_session(
        graph: Path, contract: runtime.Contract, cuda: int | None = None, *, keep: bool = True
    ) -> runtime.Graph:
        if cuda is not None or not graph.is_relative_to(ROOT / "models"):
            return runtime.open_session(graph, contract, cuda, keep=keep)
        if (graph, keep) not in sessions:
            sessions[graph, keep] = runtime.open_session(graph, contract, keep=keep)
        same = sessions[graph, keep]
        return runtime.Graph(graph, same.session, same.inputs, same.cuda)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "open_session", open_session)
        for name in ("open_tokenizer", "file_digest", "_open_lexicon", "_open_domains"):
            patch.setattr(encoder, name, _kept(getattr(encoder, name)))
        yield


@pytest.fixture(scope="module")
def late_imports(request: pytest.FixtureRequest) -> None:
    """What these tests import `if TYPE_CHECKING`, imported after all; they are skipped where torch is absent."""
    pytest.importorskip("torch")
    import_late(request.module)


@pytest.fixture(scope="session")
def backbone_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT of random weights; the test is skipped where torch is absent."""
    pytest.importorskip("torch")
    from tiny_backbone import write_backbone

    return write_backbone(tmp_path_factory.mktemp("backbones") / "tiny")


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The shipped model."""
    return ROOT / "models" / "colde-minilm-l6"


@pytest.fixture
def own_cache(isolated: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, for tests of what is encoded and of the cache itself."""
    monkeypatch.setenv("COLDE_CACHE_DIR", str(tmp_path / "own cache"))


@pytest.fixture
def profiles(isolated: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of named field profiles; it is not there yet."""
    monkeypatch.setenv("COLDE_PROFILES", str(tmp_path / "profiles"))
    return tmp_path / "profiles"


@pytest.fixture(scope="session")
def encoder(model_folder: Path, cache_of_all: Path) -> Encoder:
    """The shipped model on the CPU, which encodes a text once for all tests."""
    from colde_cli.encoder.encoder import Encoder
    from colde_cli.encoder.vector_cache import Cache

    return Encoder.load(model_folder, device="cpu", cache=Cache(cache_of_all, 10**9))


@pytest.fixture(scope="session")
def field_study(encoder: Encoder) -> Comparison:
    """The two versions in examples/, compared."""
    from colde_cli.documents.reading import read
    from colde_cli.similarity.comparison import compare_encodings

    paths = [str(ROOT / "examples" / f"field-study-v{number}.pdf") for number in (1, 2)]
    a, b = encoder.encode_many([read(path) for path in paths])
    return compare_encodings(a, b, encoder)


@pytest.fixture(scope="session")
def strangers(encoder: Encoder, field_study: Comparison) -> Comparison:
    """Two different texts of examples/, compared."""
    from colde_cli.documents.reading import read
    from colde_cli.similarity.comparison import compare_encodings

    other = read(str(ROOT / "examples" / "supply-agreement.pdf"))
    return compare_encodings(field_study.a, encoder.encode(other), encoder)


_SHARED = Path(os.environ.get("COLDE_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The team's shared data; the test is skipped where it is absent."""
    if not (_SHARED / "pdfs").is_dir():
        pytest.skip("the shared data is not here")
    return _SHARED
