"""A small BERT with a small vocabulary, made on the fly, and small training data for it."""

from __future__ import annotations

import json
import random
from pathlib import Path

SUBJECTS = {
    "bees": "hive queen brood honey frame swarm comb nectar mite wax pollen colony".split(),
    "boats": "keel mast sail hull tiller anchor rope deck harbour tide rudder bow".split(),
    "bread": "dough yeast crust oven flour starter knead proof crumb loaf salt bake".split(),
    "birds": "feather nest egg wing beak flock song perch migrate brood plume talon".split(),
}
COMMON = "the a of and in with for is was when that it they on by from we near then also".split()
HIDDEN = 32


def write_backbone(folder: Path, seed: int = 1, *, mask: bool = False, **changes: object) -> Path:
    """A random BERT of two layers in the Hugging Face shape."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(sum(SUBJECTS.values(), COMMON)), ".", ","]
    words += ["[MASK]"] if mask else []
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=48,
        **changes,
    )
    torch.manual_seed(seed)
    BertModel(config, add_pooling_layer=True).save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_documents(path: Path, per_subject: int = 6, seed: int = 0) -> Path:
    """Documents of four classes that share half of their words, two sections each; the last has one sentence."""
    generator = random.Random(seed)
    lines = []
    for subject, words in SUBJECTS.items():
        for number in range(per_subject):
            sections = [
                {"heading": "", "text": sentences(generator, words, generator.randint(4, 12))} for _ in range(2)
            ]
            lines.append({"id": f"{subject}-{number}", "label": subject, "sections": sections})
    lines.append({"id": "short", "related": ["bees-0"], "text": "The hive is near."})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def sentences(generator: random.Random, words: list[str], count: int) -> str:
    """So many sentences of ten words, half of them common ones."""
    drawn = (generator.choices(words, k=5) + generator.choices(COMMON, k=5) for _ in range(count))
    return " ".join(" ".join(generator.sample(sentence, 10)) + "." for sentence in drawn)


class Notes:
    """Remembers what it was told, and may ask for an end after some steps."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.losses: list[float] = []
        self.validations: list[dict[str, float]] = []
        self.stop_after = stop_after

    def started(self, steps: int, done: int) -> None:
        self.steps, self.done = steps, done

    def stepped(self, values: dict[str, float]) -> None:
        self.losses.append(values["loss"])

    def validated(self, values: dict[str, float]) -> None:
        self.validations.append(values)

    def stop(self) -> bool:
        return len(self.losses) == self.stop_after
