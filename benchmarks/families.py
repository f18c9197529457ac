"""What `colde dupes` finds on real documents, and what it costs.

    python benchmarks/families.py versions DATA/doc-versions     # precision and recall for versions of one document
    python benchmarks/families.py blocking DATA/contracts --most 300   # pairs that the blocking misses, of all pairs
    python benchmarks/families.py parts DATA/wiki                # documents and halves pasted into volumes
    python benchmarks/families.py growth DATA/*                  # time and memory of 500 to 5,000 texts
    python benchmarks/families.py planted DATA/* --most 100000   # edited copies among 100,000 passages
    python benchmarks/families.py passages DATA/* --most 3000    # 500 clauses planted in other documents

A folder of DATA holds `docs.jsonl.gz`, and for `versions` `pairs.jsonl.gz`.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from script import arguments, machine, records

from colde_cli.corpus.near_pairs import (
    NearPair,
    NearPairs,
    ShingleTable,
    Words,
    shared_words,
    shingles,
    text_words,
    word_numbers,
)
from colde_cli.corpus.reused_passages import Reuse, Spot
from colde_cli.documents.document import Part, assemble

SHARES = (0.3, 0.4, 0.5, 0.6)
SIZES = (500, 1000, 2000, 5000)


def text(document: dict[str, Any]) -> str:
    """The text of a document with its headings."""
    parts = (f"{section.get('heading') or ''}\n\n{section['text']}" for section in document["sections"])
    return "\n\n".join([document.get("title") or "", *parts])


def near(documents: Sequence[Words], both: float = 0.3, one: float = 0.8) -> list[NearPair]:
    """The pairs that `colde dupes` finds."""
    with NearPairs() as pairs:
        for words in documents:
            pairs.add(words)
        return list(pairs.pairs(both, one))


def smaller(pair: NearPair) -> float:
    """The share that decides whether two documents are versions."""
    return min(pair.share_a, pair.share_b)


def versions(folder: Path) -> None:
    """Precision and recall on labelled pairs, by `--min-share`."""
    documents = list(records(folder))
    numbers = {document["id"]: number for number, document in enumerate(documents)}
    started = time.process_time()
    found = {(pair.a, pair.b): pair for pair in near([word_numbers(text_words(text(item))) for item in documents])}
    print(f"{len(documents)} documents, {time.process_time() - started:.1f} s of processor time without reading")
    labelled = [
        (item["label"], found.get((min(a, b), max(a, b))))
        for item in records(folder, "pairs")
        for a, b in [(numbers[item["a"]], numbers[item["b"]])]
    ]
    groups = [document.get("group") for document in documents]
    print("min-share  recall  with parts  precision  pairs found  of one document  of others")
    for share in SHARES:
        hits = Counter(
            (label, "version" if smaller(pair) >= share else "part")
            for label, pair in labelled
            if pair and (smaller(pair) >= share or max(pair.share_a, pair.share_b) >= 0.8)
        )
        positives = sum(label for label, _ in labelled)
        wrong = hits[0, "version"] + hits[0, "part"]
        right = hits[1, "version"] + hits[1, "part"]
        listed = [pair for pair in found.values() if smaller(pair) >= share]
        own = sum(groups[pair.a] == groups[pair.b] for pair in listed)
        recall = f"{hits[1, 'version'] / positives:6.3f}  {right / positives:10.3f}"
        print(
            f"{share:9.1f}  {recall}  {right / (right + wrong):9.3f}  {len(listed):11}  {own:15}  {len(listed) - own:9}"
        )


def blocking(folder: Path, most: int) -> None:
    """All pairs compared, beside those that the blocking leaves to compare."""
    documents = [word_numbers(text_words(text(item))) for item in list(records(folder))[:most]]
    tables = [ShingleTable.of(words) for words in documents]
    listed = {(pair.a, pair.b) for pair in near(documents, 0.3, 0.8)}
    print(f"{folder.name}, {len(documents)} documents, {len(documents) * (len(documents) - 1) // 2:,} pairs")
    shares = {(a, b): shared_words(tables[a], tables[b]) for a, b in combinations(range(len(tables)), 2)}
    for share in SHARES:
        there = {pair for pair, both in shares.items() if min(both) >= share}
        print(f"    versions at {share:.1f}: {len(there)}, missed {len(there - listed)}")
    parts = {pair for pair, both in shares.items() if max(both) >= 0.8}
    print(f"    parts at 0.8: {len(parts)}, missed {len(parts - listed)}")


def parts(folder: Path) -> None:
    """Whole, halved, cut and edited documents in volumes of ten others."""
    choose = random.Random(0)
    documents = [text_words(text(item)) for item in records(folder)]
    documents = [words for words in documents if len(words) >= 600][:600]
    choose.shuffle(documents)
    kinds: dict[str, Any] = {
        "whole": lambda words: words,
        "half": lambda words: words[: len(words) // 2],
        "300 words": lambda words: words[100:400],
        "100 words": lambda words: words[100:200],
        "3% edited": lambda words: [word if choose.random() > 0.03 else "edited" for word in words],
        "6% edited": lambda words: [word if choose.random() > 0.06 else "edited" for word in words],
    }
    print("planted     found  of  others listed")
    for name, change in kinds.items():
        volumes = [list(chain.from_iterable(documents[start : start + 10])) for start in range(0, 500, 10)]
        planted = [change(words) for words in documents[0:500:10]]
        found = near([*map(word_numbers, volumes), *map(word_numbers, planted)], 0.4, 0.8)
        pairs = {(pair.a, pair.b) for pair in found}
        right = {(number, number + len(volumes)) for number in range(len(volumes))}
        print(f"{name:10}  {len(pairs & right):5}  {len(right)}  {len(pairs - right):5}")


def growth(folders: Sequence[Path]) -> None:
    """Time and memory by the number of texts, each size in a process of its own."""
    print("texts   words each  sketch ms  search ms  candidates  pairs  temporary KB  memory MB")
    for size in SIZES:
        subprocess.run([sys.executable, __file__, "one-size", *map(str, folders), "--most", str(size)], check=True)


def one_size(folders: Sequence[Path], most: int) -> None:
    """A line of `growth`; texts are spread over the sets, and read one at a time."""
    base = own_memory()
    spent, words, written = 0.0, 0, 0
    with NearPairs() as pairs:
        for document in taken_in_turn(folders, most):
            started = time.process_time()
            numbers = word_numbers(text_words(text(document)))
            pairs.add(numbers)
            spent += time.process_time() - started
            words += len(numbers)
        started = time.process_time()
        found = sum(1 for _ in pairs.pairs(0.4, 0.8))
        search = time.process_time() - started
        candidates = sum(1 for _ in pairs.candidates())
        written = sum(path.stat().st_size for path in Path(pairs.folder).iterdir())
        count = len(pairs)
        memory = own_memory()
    print(
        f"{count:5}   {words / count:10.0f}  {1000 * spent / count:9.2f}  {1000 * search / count:9.2f}  {candidates:10}"
        f"  {found:5}  {written / count / 1000:12.1f}  {memory:6.0f} ({memory - base:.0f} more)",
        flush=True,
    )


def planted(folders: Sequence[Path], most: int) -> None:
    """Recall of edited copies among so many texts of 500 words, with precision, time and memory.

    One text of five is a copy of the one before: 2 to 12 % of its words are others, and half of them are turned round.
    The originals are passages of real documents of all sets in turn, so that their number grows with that of the texts.
    """
    choose, base, copies = random.Random(0), own_memory(), set[tuple[int, int]]()
    started = time.process_time()
    with NearPairs() as pairs:
        documents = (text_words(text(item)) for item in taken_in_turn(folders, 10**9))
        parts = (words[at : at + 500] for words in documents for at in range(0, len(words) - 499, 500))
        while len(pairs) < most and (words := next(parts, None)) is not None:
            number = pairs.add(word_numbers(words))
            if number % 5 < 2:
                rate, half = choose.uniform(0.02, 0.12), choose.choice((0, 250))
                copy = [word if choose.random() > rate else "edited" for word in words[half:] + words[:half]]
                copies.add((number, pairs.add(word_numbers(copy))))
        found = {(pair.a, pair.b) for pair in pairs.pairs(0.4, 0.8)}
        count, memory, spent = len(pairs), own_memory(), time.process_time() - started
        right, crowded = [share_by_sets(pairs.folder, pair) >= 0.4 for pair in found], pairs.crowded
    print(
        f"{count:,} texts: recall {len(copies & found) / len(copies):.4f} of {len(copies):,} copies, {len(found):,}"
        f" pairs in all, precision {sum(right) / len(right):.4f}; {crowded:,} crowded;"
        f" {1000 * spent / count:.2f} ms each, {memory - base:.0f} MB",
        flush=True,
    )


def passages(folders: Sequence[Path], most: int) -> None:
    """Recall of 500 runs of 40 to 120 words, half of them edited, in other documents; time and temporary files."""
    choose = random.Random(0)
    documents = list(taken_in_turn(folders, most))
    texts = [text(item).split() for item in documents]
    places = choose.sample([place for place, words in enumerate(texts) if len(words) > 600], 1000)
    runs = []
    for source, target in zip(places[::2], places[1::2], strict=True):
        length = choose.randrange(40, 121)
        at = choose.randrange(len(texts[source]) - length)
        run = texts[source][at : at + length]
        rate = choose.choice((0, choose.uniform(0.01, 0.06)))
        into = choose.randrange(len(texts[target]))
        runs.append((source, target, text_words(" ".join(run)), rate))
        texts[target][into:into] = [word if choose.random() >= rate else "edited" for word in run]
    started = time.process_time()
    with NearPairs() as held:
        reuse = Reuse(held)
        read = []
        for number, words in enumerate(texts):
            document = assemble(str(number), str(number), [Part("", " ".join(words))])
            read.append(word_numbers(text_words(document.text)))
            held.add(read[-1])
            reuse.add(document)
        found = reuse.passages(np.arange(len(texts)), 10**6, lambda groups: False)
        spent = time.process_time() - started
        size = sum(path.stat().st_size for path in held.folder.iterdir())
    of_document: dict[int, dict[int, list[Spot]]] = {}
    for number, spots in enumerate(found):
        for spot in spots:
            of_document.setdefault(spot.document, {}).setdefault(number, []).append(spot)
    hits = Counter[tuple[bool, bool]]()
    for source, target, run, rate in runs:
        there, known = of_document.get(target, {}), set[int]()
        for place, spots in of_document.get(source, {}).items():
            if place in there:
                for spot in spots:
                    known.update(shingles(read[source][spot.start : spot.end]).tolist())
        covered = np.isin(shingles(word_numbers(run)), list(known)).mean()
        hits[bool(rate), covered >= 0.5] += 1
    for edited in (False, True):
        print(
            f"{'edited' if edited else 'as it was'}: {hits[edited, True]} of {hits[edited, True] + hits[edited, False]}"
        )
    length = sum(map(len, texts)) // len(texts)
    print(
        f"{len(texts):,} texts of {length:,} words, {len(found):,} passages, {1000 * spent / len(texts):.2f} ms and"
        f" {size / len(texts) / 1000:.0f} KB each"
    )


def share_by_sets(folder: Path, pair: tuple[int, int]) -> float:
    """The share of words of one text that lie in runs of five of the other, by sets of tuples: no code of `colde`."""
    a, b = (np.fromfile(folder / "words", np.uint32, 500, offset=2000 * number).tolist() for number in pair)
    runs = {tuple(b[place : place + 5]) for place in range(496)}
    return len({place + step for place in range(496) if tuple(a[place : place + 5]) in runs for step in range(5)}) / 500


def own_memory() -> float:
    """MB of memory that this process alone holds, without pages of mapped files (Linux)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) / 1000


def taken_in_turn(folders: Sequence[Path], most: int) -> Iterator[dict[str, Any]]:
    """Documents of all sets, one of each in turn."""
    sets = [records(folder) for folder in folders]
    count = 0
    while sets and count < most:
        for source in list(sets):
            document = next(source, None)
            if document is None:
                sets.remove(source)
            elif count < most:
                count += 1
                yield document


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, "what", "folders...", most=60)
    what = str(options.what)
    if what == "one-size":  # of `growth`, which has said which machine it is
        one_size(options.folders, options.most)
        return
    print(machine())
    if what == "growth":
        growth(options.folders)
    if what == "planted":
        planted(options.folders, options.most)
    if what == "passages":
        passages(options.folders, options.most)
    for folder in options.folders if what in ("versions", "parts", "blocking") else ():
        {"versions": versions, "parts": parts, "blocking": partial(blocking, most=options.most)}[what](folder)


if __name__ == "__main__":
    main()
