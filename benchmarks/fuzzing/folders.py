"""Readers of data, options, models, field profiles and indexes, and what a careful program would write for them."""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from fuzzing.changes import packed, unpacked
from fuzzing.shared import FOLDER, ROOT, check_document, file

from colde_cli import settings

# Data, options and rules.


def run_data(data: bytes) -> None:
    """Documents and labelled pairs of training, as JSON lines."""
    from colde_cli.errors import ColdeError
    from colde_cli.evaluation.data import read_data, read_pairs

    path = file("data.jsonl", data)
    known = {"a": 0, "b": 1}
    try:
        found = read_data([path])
        known = found.numbers()
        for item in found.documents:
            check_document(item.document)
    except ColdeError:
        pass
    read_pairs(path, known)


def data_seeds() -> Iterator[bytes]:
    """Lines of both kinds."""
    documents = [
        {"id": "a", "text": "Words of one.\n\n2 More\n\nWords.", "label": "x", "related": ["b"], "split": "train"},
        {"id": "b", "sections": [{"heading": "One", "text": "Words."}], "label": "x", "title": "B"},
        {"id": "c", "path": "data.jsonl.txt"},
    ]
    pairs = [
        {"a": "a", "b": "b", "related": True, "relation": "cites"},
        {"a": "b", "b": "a", "related": 1, "split": "test"},
    ]
    for lines in (documents[:2], pairs, documents[2:]):
        yield b"\n".join(json.dumps(line).encode() for line in lines)


def run_toml(data: bytes) -> None:
    """colde.toml, for one command after the other."""
    import typer
    from typer.main import get_command

    from colde_cli.commands import configuration
    from colde_cli.commands.app import app
    from colde_cli.errors import ColdeError

    group = _memo.setdefault("group", get_command(app))
    path = file("colde.toml", data)
    before = dict(os.environ)
    refused: ColdeError | None = None
    try:
        for name in ("diff", "rank", "train", "index"):
            context = typer.Context(group)
            context.invoked_subcommand = name
            try:
                configuration.apply(path, context, group.commands)
                for setting in ("cache_dir", "cache_limit", "default_threads", "model_search_path", "profiles_dir"):
                    getattr(settings, setting)()
            except ColdeError as error:
                refused = error
    finally:
        os.environ.clear()
        os.environ.update(before)
    if refused:
        raise refused


_memo: dict[str, Any] = {}


def toml_seeds() -> Iterator[bytes]:
    """Files as documented."""
    yield b'device = "cpu"\ncache-dir = "./x"\ncache-limit = "2GB"\nthreads = 2\nmodels = ["./a", "b"]\nquiet = true\n'
    yield (
        b'[diff]\nskip-sections = ["references"]\nformat = "json"\nignore-case = true\nwidth = 100\n'
        b'[rank]\ntop = 5\nglob = "*.pdf"\n'
    )
    yield (
        b'model = "colde-minilm-l6"\nverbose = false\n[train]\nepochs = 3\nseed = 1\n'
        b'[index]\nglob = ["*.txt"]\n[serve]\nport = 80\n'
    )


def run_rules(data: bytes) -> None:
    """What to ignore and to allow: patterns of sections and words, and the text of templates."""
    from colde_cli.documents.plain_text import read_text
    from colde_cli.documents.selection import section_pattern
    from colde_cli.errors import ColdeError
    from colde_cli.similarity import verification
    from colde_cli.similarity.boilerplate import Boilerplate
    from colde_cli.similarity.redline import IgnoreOptions

    text = data.decode("utf-8", "replace")
    warnings.simplefilter("ignore")  # of patterns that later versions of Python will read in another way
    for line in text.splitlines()[:20]:
        for read in (verification._rule, section_pattern):
            with suppress(ColdeError):
                read(line)
    template = read_text(data, "t.txt", "t.txt")
    own = "1 Fee\n\n" + text[::-1][:300].replace("\0", "") + "\n\n2 Term\n\nThe keeper pays the harbour dues at dawn.\n"
    ignore = IgnoreOptions(numbers=len(data) % 2 == 0, case=len(data) % 3 == 0, renumbering=len(data) % 5 == 0)
    for document in (template, read_text(own.encode("utf-8", "replace"), "o.txt", "o.txt")):
        with suppress(ColdeError):
            check_document(Boilerplate([template], ignore).without(document))


def rules_seeds() -> Iterator[bytes]:
    """Rules, and a contract."""
    yield b"references\n/\\d+ days?/\n/OLD (\\w+)/NEW \\1/\nre:[a-z]{2,9}(?=x)\n(?i)annex\n"
    fee, term = (
        b"1 Fee\n\nThe keeper pays the harbour dues at dawn.",
        b"(a) The term of this lease is nine (9) years.",
    )
    yield fee + b"\n\n2 Term\n\n" + term + b"\n"
    yield b"* a{3,}\n(?P<n>x)(?(n)y|z)\n[[:alpha:]]\n\\x{}\n/a\\/b/\n(((())))\n"


# Models, field profiles and indexes: an input is an archive of the folder, or the file.


def run_model(data: bytes) -> None:
    """The folder of a model from a stranger: an archive of its small files."""
    from colde_cli.documents.chunking import Chunker
    from colde_cli.documents.document import Part, assemble
    from colde_cli.encoder import encoder as encoders
    from colde_cli.encoder.layout import CONFIG, LEXICON, ModelFolder, weight_files
    from colde_cli.encoder.loading import open_model
    from colde_cli.encoder.tokenizer import open_tokenizer
    from colde_cli.errors import ColdeError
    from colde_cli.scoring import profile
    from colde_cli.scoring.config import Calibration, probability
    from colde_cli.scoring.lexicon import Lexicon

    folder = FOLDER / "model"
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, content in unpacked(data).items():
        if name in _MODEL_FILES:
            (folder / name).write_bytes(content)

    def chunk() -> None:
        tokenizer = open_tokenizer(folder / "tokenizer.json")
        Chunker(tokenizer, 16).chunk(assemble("", "", [Part("One", "The keeper rows out at dawn. " * 9)]))

    def check_curve(curve: Calibration) -> None:
        found = probability(np.linspace(-1, 1, 21), curve)
        assert np.isfinite(found).all(), "a probability is a number"
        assert found.min() >= 0, "a probability is at least 0"
        assert found.max() <= 1, "a probability is at most 1"
        assert (np.diff(found) >= 0).all() or curve.kind == "platt", "a curve does not fall"

    def field() -> None:
        *_, calibrated = profile._header(folder)
        if calibrated is not None:
            check_curve(calibrated.calibration)

    steps: list[Callable[[], Any]] = [
        chunk,
        lambda: weight_files(folder),
        lambda: profile.DomainFields.load(folder / "fields.npz"),
        lambda: Lexicon.load(folder / LEXICON, 1.0),
        field,
    ]
    refused: ColdeError | None = None
    if (folder / CONFIG).is_file():
        try:
            model = open_model(folder)
            config = model.config
            json.loads(config.to_json())
            curves = [config.calibration, *(one.calibration for one in getattr(config.score_weights, "domains", ()))]
            for curve in filter(None, curves):
                check_curve(curve)
            if isinstance(model, ModelFolder):
                steps += [lambda: encoders._open_domains(model), lambda: encoders._open_lexicon(model)]
        except ColdeError as error:
            refused = error
    for step in steps:
        try:
            step()
        except ColdeError as error:
            refused = error
    if refused:
        raise refused


_MODEL_FILES = frozenset(
    "config.json tokenizer.json domains.npz fields.npz lexicon.npz model.safetensors.index.json model-1.safetensors"
    " profile.json".split()
)


def model_seeds() -> Iterator[bytes]:
    """The shipped model with a small tokenizer, and a tower."""
    from colde_cli.scoring import profile

    shipped = ROOT / "models" / "colde-minilm-l6"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz.", *("##" + one for one in "aeiou")]
    digits = {"type": "Digits", "individual_digits": True}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": 2, "content": "[CLS]", "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True}],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}, digits]},
        "post_processor": None, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {one: number for number, one in enumerate(pieces)}},
    }  # fmt: skip
    config = json.loads((shipped / "config.json").read_bytes())
    curve = {"kind": "isotonic", "scores": [0, 1], "probabilities": [0, 1]}
    tower = {"model_type": "bert", "system": "bert", "packing": "flat", "row_tokens": 64, "max_rows": 1, "dim": 8,
             "network": {}, "vocab_size": 9, "calibration": curve}  # fmt: skip
    index = {"weight_map": {"a": "model-1.safetensors"}}
    both = {"model.safetensors.index.json": json.dumps(index).encode(), "model-1.safetensors": b"x"}
    for replacing in ("BertNormalizer", "Replace", "Prepend"):
        normalizers = {
            "BertNormalizer": tokenizer["normalizer"],
            "Replace": {"type": "Replace", "pattern": {"String": "a"}, "content": "bb"},
            "Prepend": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "_"}, {"type": "NFC"}]},
        }
        yield packed({"tokenizer.json": json.dumps({**tokenizer, "normalizer": normalizers[replacing]}).encode()})
    yield packed({"config.json": json.dumps(config).encode(), **both})
    yield packed({"config.json": json.dumps(tower).encode()})
    small: dict[str, Any] = {}
    with np.load(shipped / "domains.npz") as file:
        small = {name: file[name][..., :4] for name in file.files}
    written = io.BytesIO()
    np.savez(written, **small)
    yield packed({"domains.npz": written.getvalue()})
    platt = {"kind": "platt", "slope": 2.0, "intercept": 0.1}
    header = {"format": profile.FORMAT, "documents": 3, "name": "n", "model": "m",
              "calibrated": {"threshold": 0.5, "pairs": 9, "calibration": platt}}  # fmt: skip
    yield packed({profile.HEADER: json.dumps(header).encode()})


def run_candidates(data: bytes) -> None:
    """The side file of an index, which names its own sizes."""
    from colde_cli.corpus.first_stage import best
    from colde_cli.corpus.side_file import CandidateFile

    opened = CandidateFile.open(file("side", data), "mine")
    if opened is not None:
        assert opened.is_whole()
        assert all(len(best(segment.vector_scales, 3)) <= 3 for segment in opened.segments)


def candidate_seeds() -> Iterator[bytes]:
    """A side file."""
    from made_up import WEIGHTS, made

    from colde_cli.corpus.first_stage import Measure
    from colde_cli.corpus.side_file import build

    path = FOLDER / "made.side"
    build(path, "mine", 3, ((2 * number, made(number)) for number in range(3)), Measure(None, WEIGHTS))
    yield path.read_bytes()
