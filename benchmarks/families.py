"""What `colde dupes` and `colde clusters` find on real documents, and what it costs.

    python benchmarks/families.py versions DATA/doc-versions     # precision and recall for versions of one document
    python benchmarks/families.py strangers DATA/contracts DATA/wiki   # what is found where nothing is known
    python benchmarks/families.py blocking DATA/contracts --most 300   # pairs that the blocking misses, of all pairs
    python benchmarks/families.py parts DATA/wiki                # documents and halves pasted into volumes
    python benchmarks/families.py growth DATA/*                  # time and memory of 500 to 5,000 texts
    python benchmarks/families.py subjects FOLDER DATA/contracts # clusters beside those of TF-IDF

A folder of DATA holds `docs.jsonl.gz`, and for `versions` `pairs.jsonl.gz`. `subjects` takes documents as files:
FOLDER has a folder for each subject, of which `--most` files are taken; the files of the second are grouped by the
`label` of their documents, found by the names of the files. Vectors in COLDE_CACHE_DIR are used.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from colde_cli.corpus.near_pairs import (
    NearPair,
    NearPairs,
    ShingleTable,
    Words,
    shared_words,
    text_words,
    word_numbers,
)
from colde_cli.evaluation.data import json_lines

SHARES = (0.3, 0.4, 0.5, 0.6)
SIZES = (500, 1000, 2000, 5000)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON Lines."""
    return (item for _, item in json_lines(path))


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
    documents = list(lines(folder / "docs.jsonl.gz"))
    numbers = {document["id"]: number for number, document in enumerate(documents)}
    started = time.process_time()
    found = {(pair.a, pair.b): pair for pair in near([word_numbers(text_words(text(item))) for item in documents])}
    print(f"{len(documents)} documents, {time.process_time() - started:.1f} s of processor time without reading")
    labelled = [
        (item["label"], found.get((min(a, b), max(a, b))))
        for item in lines(folder / "pairs.jsonl.gz")
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


def strangers(folder: Path) -> None:
    """How many pairs are found where versions are rare, and what they are."""
    documents = list(lines(folder / "docs.jsonl.gz"))
    found = near([word_numbers(text_words(text(item))) for item in documents])
    counts = "  ".join(f"{share:.1f}: {sum(smaller(pair) >= share for pair in found)}" for share in SHARES)
    print(f"{folder.name}: {len(documents)} documents; pairs of versions by --min-share  {counts}")
    for pair in sorted(found, key=lambda pair: -smaller(pair))[:: max(1, len(found) // 8)][:8]:
        titles = [str(documents[number].get("title"))[:40] for number in (pair.a, pair.b)]
        print(f"    {pair.share_a:.2f} {pair.share_b:.2f}  {titles[0]}  |  {titles[1]}")


def blocking(folder: Path, most: int) -> None:
    """All pairs compared, beside those that the blocking leaves to compare."""
    documents = [word_numbers(text_words(text(item))) for item in list(lines(folder / "docs.jsonl.gz"))[:most]]
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
    documents = [text_words(text(item)) for item in lines(folder / "docs.jsonl.gz")]
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


def own_memory() -> float:
    """MB of memory that this process alone holds, without pages of mapped files (Linux)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) / 1000


def taken_in_turn(folders: Sequence[Path], most: int) -> Iterator[dict[str, Any]]:
    """Documents of all sets, one of each in turn."""
    sets = [lines(folder / "docs.jsonl.gz") for folder in folders]
    count = 0
    while sets and count < most:
        for source in list(sets):
            document = next(source, None)
            if document is None:
                sets.remove(source)
            elif count < most:
                count += 1
                yield document


def subjects(folder: Path, labelled: Path, most: int) -> None:
    """Purity and adjusted Rand index of clusters, with documents that are alone as clusters of one."""
    sets = [
        sorted(place.iterdir())[:: max(1, len(list(place.iterdir())) // most)][:most]
        for place in sorted(folder.iterdir())
    ]
    files = [file for chosen in sets for file in chosen]
    grouped(f"{len(sets)} sets", files, [file.parent.name for file in files])
    labels = {plain_name(item["id"]): item.get("label") for item in lines(labelled / "docs.jsonl.gz")}
    files = [file for file in sorted((folder / labelled.name).iterdir()) if labels.get(plain_name(file.stem))]
    files = files[:: max(1, len(files) // (4 * most))][: 4 * most]
    grouped(f"{labelled.name} by label", files, [str(labels[plain_name(file.stem)]) for file in files])


def plain_name(name: str) -> str:
    """A name with letters and digits alone."""
    return "".join(filter(str.isalnum, name))


def grouped(name: str, files: Sequence[Path], known: Sequence[str]) -> None:
    """Clusters of these files beside those of TF-IDF, on what is known of their subjects."""
    from sklearn.cluster import KMeans

    from colde_cli.corpus.subjects import communities, find_clusters
    from colde_cli.documents.reading import read
    from colde_cli.encoder.loading import open_encoder
    from colde_cli.encoder.vector_cache import Cache
    from colde_cli.settings import DEFAULT_MODEL

    print(f"{name}: {len(files)} documents, {len(set(known))} subjects")
    encoder = open_encoder(DEFAULT_MODEL, cache=Cache.open())
    started = time.process_time()
    found = find_clusters(files, encoder)
    spent = time.process_time() - started
    places = {str(file): place for place, file in enumerate(files)}
    groups = [[places[member.path] for member in cluster.members] for cluster in found.clusters]
    judged("colde clusters", groups, known)
    print(f"    {spent / len(files) * 1000:.0f} ms of processor time a document, {found.encoded} encoded")
    matrix = tf_idf([read(file).text for file in files])
    judged("TF-IDF, the same method", communities(len(files), nearest(matrix)), known)
    exact = KMeans(len(set(known)), n_init=10, random_state=0).fit_predict(matrix)
    judged(
        "TF-IDF, k-means, number of subjects given",
        [np.flatnonzero(exact == number).tolist() for number in set(exact.tolist())],
        known,
    )


def tf_idf(texts: Sequence[str]) -> Any:  # noqa: ANN401 - a sparse matrix
    """TF-IDF vectors of unit length."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2).fit_transform(texts)


def nearest(matrix: Any, most: int = 15) -> dict[tuple[int, int], float]:  # noqa: ANN401 - a sparse matrix
    """The closest others of each document."""
    cosines = (matrix @ matrix.T).toarray()
    np.fill_diagonal(cosines, -1)
    links = {}
    for number, row in enumerate(cosines):
        for other in np.argsort(-row, kind="stable")[:most].tolist():
            links[min(number, other), max(number, other)] = float(row[other])
    return links


def judged(name: str, groups: Sequence[Sequence[int]], known: Sequence[str]) -> None:
    """Print purity and adjusted Rand index."""
    from sklearn.metrics import adjusted_rand_score

    numbers = list(range(-len(known), 0))  # a document in no group is one of its own
    for place, group in enumerate(groups):
        for member in group:
            numbers[member] = place
    sizes = Counter(numbers)
    purity = sum(
        Counter(label for label, number in zip(known, numbers, strict=True) if number == one).most_common(1)[0][1]
        for one in sizes
    ) / len(known)
    alone = sum(size == 1 for size in sizes.values())
    rand = adjusted_rand_score(list(known), numbers)
    median = statistics.median(len(group) for group in groups) if groups else 0
    sizes_shown = f"{len(groups):3} clusters (median {median:.0f}), {alone:3} alone"
    print(f"    {name:42} {sizes_shown}, purity {purity:.3f}, ARI {rand:.3f}")


def end_to_end(folder: Path) -> None:
    """`colde dupes` on files of a set, in a process of its own."""
    with TemporaryDirectory() as place:
        for number, document in enumerate(lines(folder / "docs.jsonl.gz")):
            Path(place, f"{number}.txt").write_text(text(document), encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        command = [sys.executable, "-m", "colde_cli", "dupes", place, "-q", "-o", f"{place}/found.json"]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        value = json.loads(Path(place, "found.json").read_text(encoding="utf-8"))
    sizes = sorted((len(group["members"]) for group in value["groups"]), reverse=True)
    print(
        f"colde dupes, files and start included: {time.monotonic() - started:.1f} s,"
        f" {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.1f} s of processor time,"
        f" {after.ru_maxrss / 1000:.0f} MB; {len(sizes)} groups, the largest {sizes[:5]},"
        f" {len(value['contained'])} parts"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("what", choices="versions strangers blocking parts growth one-size subjects".split())
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=60)
    options = parser.parse_args()
    if options.what != "one-size":
        print(f"{platform.machine()}, {os.cpu_count()} cores")
    if options.what == "growth":
        growth(options.folders)
    elif options.what == "one-size":
        one_size(options.folders, options.most)
    elif options.what == "subjects":
        subjects(options.folders[0], options.folders[1], options.most)
    else:
        for folder in options.folders:
            if options.what == "blocking":
                blocking(folder, options.most)
            else:
                {"versions": versions, "strangers": strangers, "parts": parts}[options.what](folder)
            if options.what in ("versions", "strangers"):
                end_to_end(folder)


if __name__ == "__main__":
    main()
