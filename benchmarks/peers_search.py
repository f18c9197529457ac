"""What a plain script with sentence-transformers does for `colde rank` and `colde diff`; `peers.py` times it.

    python peers_search.py BACKBONE TOKENS QUERY.pdf FILE.pdf...

Reads each PDF with pypdf, cuts the text into pieces of as many words as fill a chunk, encodes them all, and orders the
files by the mean of the best cosines of the query's pieces.
"""

from __future__ import annotations

import sys

import numpy as np
from pypdf import PdfReader
from sentence_transformers import SentenceTransformer

WORDS_PER_TOKEN = 0.75


def pieces(path: str, tokens: int) -> list[str]:
    """The text of a PDF in pieces of about `tokens` tokens."""
    words = " ".join(page.extract_text() for page in PdfReader(path).pages).split()
    size = int(tokens * WORDS_PER_TOKEN)
    return [" ".join(words[start : start + size]) for start in range(0, len(words), size)]


def main() -> None:
    """Read, encode, compare, print."""
    backbone, tokens, *paths = sys.argv[1:]
    model = SentenceTransformer(backbone, device="cpu")
    model.max_seq_length = int(tokens)
    texts = [pieces(path, int(tokens)) for path in paths]
    vectors = model.encode([text for each in texts for text in each], normalize_embeddings=True)
    parts = np.split(vectors, np.cumsum([len(each) for each in texts])[:-1])
    scores = [float((parts[0] @ part.T).max(1).mean()) if len(part) else -1.0 for part in parts]
    for place in np.argsort(scores)[::-1]:
        print(f"{scores[place]:.3f} {paths[place]}")


if __name__ == "__main__":
    main()
