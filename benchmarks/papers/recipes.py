"""The recipes of the papers' tables and figures: heads on frozen chunk vectors.

The paper trains BERT with learning rate 5e-5; heads from scratch on frozen vectors get 1e-4, of 1e-3, 3e-4 and 1e-4
the one with the best validation AUC for CoLDE on 300 patents (seed 0). All else that the paper states is kept
(τ = 0.5, AdamW with weight decay 0.01, two sections, four attention heads, Bi-LSTM of 2 x 256, projection to 256),
with batches of 32 documents and eight epochs, if not said otherwise, of which the one with the best validation AUC
counts. The untrained head is a row of its own.
"""

from __future__ import annotations

from dataclasses import replace

from colde_cli.learning.recipe import Recipe

PAPER = Recipe(
    freeze_backbone=True,
    epochs=8,
    patience=0,
    batch_size=32,
    learning_rate=1e-4,
    temperature=0.5,
    residual="none",
    combine=False,
)
OURS = replace(PAPER, temperature=0.1, residual="mean")

TABLE_2: dict[str, Recipe] = {
    "CoLDE": PAPER,
    "CoLDE, our recipe": OURS,
    "−Aug": replace(PAPER, ablations=("no-aug",)),
    "−LSTM": replace(PAPER, ablations=("no-lstm",)),
    "−CL": replace(PAPER, ablations=("no-cl",)),
}
"""Rows of CoLDE's Table 2 that are CoLDE, and ours."""

BATCHES = (16, 32, 64, 128)
CAPS = {"1k": 1024, "2k": 2048, "4k": 4096, "8k": 8192}
"""Tokens of a section in training."""
SECTIONS = (2, 3, 4, 5)


def figure_6() -> dict[str, Recipe]:
    """Accuracy over epochs by batch size."""
    return {f"batch {size}": replace(PAPER, batch_size=size) for size in BATCHES}


def figure_7(chunk_tokens: int) -> dict[str, Recipe]:
    """Tokens of a section that training sees, from its first one on; tests read whole documents."""
    return {
        f"{name} tokens": replace(PAPER, window=cap // chunk_tokens, window_start="first") for name, cap in CAPS.items()
    }


def sections() -> dict[str, Recipe]:
    """Into how many sections training cuts a document."""
    return {f"{count} sections": replace(PAPER, sections=count) for count in SECTIONS}


def seeded(recipe: Recipe, seed: int) -> Recipe:
    """The recipe with another seed."""
    return replace(recipe, seed=seed)
