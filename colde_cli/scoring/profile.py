"""Field profiles: what is usual among the documents of a field, learned from documents without labels.

Two papers of one field are alike in what the whole field has in common. A profile knows what that is: the mean chunk
vector of the field and the directions in which its chunk vectors vary, the chunks that it repeats (notices, forms), how
many of its documents hold a word, and how alike two of its documents are that were drawn at random. Scores then rest on
what sets documents apart within their field.

A small field teaches little, so its statistics are blended with those of the model by the number of its documents.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import ModelError
from colde_cli.files import load_arrays
from colde_cli.scoring.config import PARTS, Calibration, Scorable, ScoreWeights, calibration_of, is_sound
from colde_cli.scoring.domains import Domains, shared_domains
from colde_cli.scoring.lexicon import BUCKETS, Lexicon, Terms
from colde_cli.scoring.whitening import (
    RANK,
    Whitening,
    blended_covariance,
    composed,
    covariance_of,
    mean_of_means,
    principal,
    unit_rows,
)

FloatArray = NDArray[np.float32]
Floats = NDArray[np.float64]

FORMAT = 4
HEADER = "profile.json"
STATISTICS = "profile.npz"

PRIOR_DOCUMENTS = 10
"""Documents that the model's centre and spreads count for. Of 0, 2, 5, 10 and 20, chosen on validation pairs of three
fields with 3 to 122 documents: with 0 a field of three loses, with 20 one of ten gains less."""

PRIOR_TEXTS = 200
"""Documents at which the field has half the weight in word statistics that it can have, which is one half. Chosen on
the same pairs. A small field calls every word rare that it lacks."""

MIN_DOCUMENTS = 15
"""Fewer documents have fewer than 105 pairs: too few for a percentile."""

MIN_NEARNESS = 0.75
"""Cosine of a domain with the field's documents that lie near it, below which they are of another domain. On validation
documents it is 0.85 to 0.99 for a domain of the model, from 13 documents on, and at most 0.70 for one that was left out
of it. Single documents do not tell: internet standards have 0.44 with patents (median), encyclopaedia articles 0.46
with their own domain."""

REPEATED = 0.7
"""Cosine within the field from which two chunks count as the same. Where a field has no notices or forms, chunks hardly
come so near: one in a hundred has a cosine of 0.5 with some chunk of five other documents."""

_LIKE_REPEATED, _WIDTH, _LEAST = 0.45, 0.05, 1e-3
"""The nearer a chunk is to a repeated chunk, the less it weighs: the cosine at which it has half its weight, the width
of the fall around it, and the least weight. On validation pairs of internet standards 0.35 to 0.5 do equally well; with
a least weight of 0.01 the gain is a fifth smaller."""

_USUAL_SPREADS = np.array([0.18, 0.09, 0.08, 0.14, 0.21, 0.13, 0.02])
"""Spreads of `PARTS` over random pairs of a field: about the means of seven fields (validation)."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelStatistics:
    """What a model knows of the texts that it was trained on.

    Attributes:
        centre: [H], the vector that it subtracts from chunk vectors.
        fingerprint: names the model; of all its files that a profile depends on.
        covariance: [H, H], of the chunk vectors of a usual field, with trace 1; None if the model knows none.
        domains: the prototypes of its domains; None if it has none.
    """

    centre: FloatArray
    lexicon: Lexicon
    fingerprint: str
    covariance: Floats | None = None
    domains: Domains | None = None


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """A field in a result: its name, and the number of documents that its profile was learned from."""

    name: str
    documents: int


@dataclass(frozen=True, slots=True)
class FieldCalibration:
    """What labelled pairs of a field taught; see `scoring.fit.fit_within_field`.

    Attributes:
        threshold: score within the field from which two documents count as related.
    """

    threshold: float
    calibration: Calibration
    pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class FieldProfile:
    """The statistics of a field.

    Attributes:
        documents: how many it was learned from.
        fingerprint: of the model that encoded them, see `ModelStatistics`.
        centre: [H], the mean over documents of their mean chunk vectors.
        directions: [k, H], of the whitening (`Whitening`), in which the covariance of the model has a part.
        gains: [k], of these directions.
        frequencies: uint16 [2 * BUCKETS], documents that hold a term of each bucket.
        spreads: [7], standard deviations of `PARTS` over random pairs, blended with usual ones.
        scores: float32 [r], scores of random pairs of documents, ascending.
        nearness: [K], of the field's documents to each domain of the model (`Domains.nearness`); [0] where the model
            has none.
        repeated: [r, H], whitened unit vectors of chunks that many documents of the field hold; r is often 0.
        calibrated: threshold and probability; None without labelled pairs.
    """

    name: str
    documents: int
    fingerprint: str
    centre: FloatArray
    directions: FloatArray
    gains: FloatArray
    frequencies: NDArray[np.uint16]
    spreads: Floats
    scores: FloatArray
    nearness: FloatArray
    repeated: FloatArray
    calibrated: FieldCalibration | None = None

    @classmethod
    def of_arrays(cls, name: str, documents: int, fingerprint: str, arrays: Mapping[str, NDArray[Any]]) -> FieldProfile:
        """A profile from arrays that were kept of one; further arrays are passed over.

        Raises:
            KeyError: one of them is missing.
        """
        known: dict[str, Any] = {item: arrays[item] for item in ARRAYS}
        return cls(name, documents, fingerprint, **known)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The data to keep besides name, number of documents and fingerprint."""
        return {item: getattr(self, item) for item in ARRAYS}

    @property
    def info(self) -> FieldInfo:
        """Name and size."""
        return FieldInfo(self.name, self.documents)

    def percentile(self, score: float) -> float | None:
        """The share of random pairs of the field with a lower score, in [0, 1]; None in too small a field."""
        if self.documents < MIN_DOCUMENTS or not len(self.scores):
            return None
        # Scores are kept as float32: compare like with like, or a pair of the field would be above itself.
        return float(np.searchsorted(self.scores, np.float32(score), "left")) / len(self.scores)

    def save(self, folder: Path) -> None:
        """Write the profile into an empty folder; the same content gives the same bytes."""
        header: dict[str, Any] = {
            "kind": "colde field profile",
            "format": FORMAT,
            "name": self.name,
            "documents": self.documents,
            "model": self.fingerprint,
        }
        if self.calibrated is not None:
            header["calibrated"] = asdict(self.calibrated)
        text = json.dumps(header, indent=2, ensure_ascii=False) + "\n"
        (folder / HEADER).write_text(text, encoding="utf-8")
        with (folder / STATISTICS).open("wb") as file:
            arrays: dict[str, Any] = self.arrays | {"directions": self.directions.astype(np.float16)}
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, folder: Path) -> FieldProfile:
        """Read a profile.

        Raises:
            ModelError: the folder holds none, a damaged one, or one of a later version.
        """
        name, documents, fingerprint, calibrated = _header(folder)
        path = folder / STATISTICS
        try:
            arrays: dict[str, Any] = dict(zip(ARRAYS, load_arrays(path, *ARRAYS), strict=True))
            arrays["directions"] = arrays["directions"].astype(np.float32)
            profile = cls(name, documents, fingerprint, **arrays, calibrated=calibrated)
        except ModelError as error:
            raise ModelError(f"{path} {_DAMAGED}") from error
        if not profile._is_sound():
            raise ModelError(f"{path} {_DAMAGED}")
        return profile

    def _is_sound(self) -> bool:
        """Whether the arrays can be those of a profile: their shapes, kinds and order."""
        arrays = list(self.arrays.values())
        size = len(self.centre) if self.centre.ndim == 1 else 0
        kept = (min(RANK, size),)
        shapes = [(size,), (*kept, size), kept, (2 * BUCKETS,), (len(PARTS),)]
        shapes += [(self.scores.size,), (self.nearness.size,), (len(self.repeated), size)]
        return bool(
            [array.shape for array in arrays] == shapes
            and "".join(array.dtype.kind for array in arrays) == "fffuffff"
            and all(np.isfinite(array).all() for array in arrays)
            and (np.diff(self.scores) >= 0).all()
            and self.frequencies.max() <= self.documents
        )


ARRAYS = ("centre", "directions", "gains", "frequencies", "spreads", "scores", "nearness", "repeated")
"""The arrays of a profile, as they are kept."""

_DAMAGED = "is damaged; make the profile again with colde adapt."


def _header(folder: Path) -> tuple[str, int, str, FieldCalibration | None]:
    """Name, number of documents, model and calibration of the profile in a folder."""
    path = folder / HEADER
    if not path.is_file():
        raise ModelError(f"{folder} is not a field profile; make one with: colde adapt DOCUMENTS -o NAME")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        version, documents = int(values["format"]), int(values["documents"])
        name, fingerprint = str(values["name"]), str(values["model"])
        known, calibrated = values.get("calibrated"), None
        if known is not None:
            threshold, calibration = float(known["threshold"]), calibration_of(known["calibration"])
            if not math.isfinite(threshold) or not is_sound(calibration):
                raise ValueError("no calibration")
            calibrated = FieldCalibration(threshold, calibration, int(known["pairs"]))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelError(f"{path} {_DAMAGED}") from error
    if documents < 1:
        raise ModelError(f"{path} {_DAMAGED}")
    if version < FORMAT:
        raise ModelError(f"{path} was written by an earlier colde; make the profile again with colde adapt.")
    if version > FORMAT:
        raise ModelError(f"{path} was written by a later colde; upgrade with: pip install -U colde")
    return name, documents, fingerprint, calibrated


@dataclass(frozen=True, slots=True, eq=False)
class FieldDocument:
    """A document as it looks within a field; a `Scorable`.

    Attributes:
        document: as it is.
        chunk_vectors: [n, H], whitened within the field.
        centred_unit_vectors: [n, H], the same at unit length.
        chunk_weights: [n], how much each chunk counts, at most 1; None where all count the same.
    """

    document: Scorable
    chunk_vectors: FloatArray
    centred_unit_vectors: FloatArray
    terms: Terms | None
    chunk_weights: FloatArray | None = None

    @property
    def document_vector(self) -> FloatArray | None:
        """[D], that of the document."""
        return self.document.document_vector

    @property
    def shares(self) -> FloatArray:
        """[n], those of the document, by the weights of its chunks."""
        if self.chunk_weights is None:
            return self.document.shares
        weighted = self.document.shares * self.chunk_weights
        shares: FloatArray = weighted / weighted.sum()
        return shares

    @property
    def domains(self) -> FloatArray:
        """[1 + K], those of the document."""
        return self.document.domains

    @property
    def opening(self) -> Terms | None:
        """Those of the document: they name its kind, so words that the whole field shares count too."""
        return self.document.opening


def within(document: Scorable, whitening: Whitening, terms: Terms | None) -> FieldDocument:
    """The document with its chunk vectors whitened, and with these weighted words."""
    whitened = whitening.apply(document.chunk_vectors)
    return FieldDocument(document, whitened, unit_rows(whitened), terms)


@dataclass(frozen=True, slots=True, eq=False)
class DomainFields:
    """What a model knows of its own domains: a pair of documents is whitened within the domain it belongs to most.

    Attributes:
        whitenings: of each domain, in the order of `ScoreWeights.domains`. Documents of no known domain have the
            centre of the model alone.
        covariance: [H, H], the mean of the domains' covariances, with trace 1.
    """

    whitenings: tuple[Whitening, ...]
    covariance: Floats

    @classmethod
    def learn(cls, documents: Sequence[Sequence[FloatArray]]) -> DomainFields:
        """Learn them from the chunk vectors [n, H] of each domain's documents."""
        centres = [mean_of_means(vectors) for vectors in documents]
        covariances = [covariance_of(vectors, centre) for vectors, centre in zip(documents, centres, strict=True)]
        common = composed(*principal(np.mean(covariances, axis=0)))
        blended = [
            blended_covariance(covariance, len(vectors), common)
            for covariance, vectors in zip(covariances, documents, strict=True)
        ]
        return cls(tuple(map(Whitening.learn, centres, blended)), common)

    @classmethod
    def load(cls, path: Path) -> DomainFields:
        """Read the fields of a model.

        Raises:
            ModelError: the file is damaged.
        """
        arrays = load_arrays(path, *_DOMAIN_ARRAYS)
        centres, directions, gains, *common = arrays
        known, size = centres.shape if centres.ndim == 2 else (0, 0)
        kept = min(RANK, size)
        shapes = [(known, size), (known, kept, size), (known, kept), (kept, size), (kept,), ()]
        if [array.shape for array in arrays] != shapes or {array.dtype.kind for array in arrays} != {"f"}:
            raise ModelError(f"{path} is damaged; fetch or train the model again.")
        whitenings = map(Whitening, centres, directions.astype(np.float32), gains)
        return cls(tuple(whitenings), composed(common[0].astype(np.float32), common[1], float(common[2])))

    def save(self, path: Path) -> None:
        """Write them; the same content gives the same bytes."""
        directions, variances, rest = principal(self.covariance)
        each = self.whitenings
        arrays: tuple[NDArray[Any], ...] = (
            np.stack([item.centre for item in each]),
            np.stack([item.directions for item in each]).astype(np.float16),
            np.stack([item.gains for item in each]),
            directions.astype(np.float16),
            variances,
            np.asarray(rest, np.float64),
        )
        with path.open("wb") as file:
            values: dict[str, Any] = dict(zip(_DOMAIN_ARRAYS, arrays, strict=True))
            np.savez(file, **values)

    def row(self, a: Scorable, b: Scorable) -> int:
        """The domain of a pair, of those with a whitening: 0 for "other", else its number from 1."""
        return int(self.rows(a, [b])[0])

    def rows(self, a: Scorable, others: Sequence[Scorable]) -> NDArray[np.int64]:
        """The domains of the pairs of one document with N others, [N]; see `row`."""
        if not others:
            return np.zeros(0, np.int64)
        found: NDArray[np.int64] = shared_domains(a.domains, np.stack([b.domains for b in others])).argmax(1)
        return found

    def adapt_pair(self, a: Scorable, b: Scorable) -> tuple[Scorable, Scorable]:
        """Both documents within the domain of the pair; unchanged in no known domain."""
        row = self.row(a, b)
        if not row:
            return a, b
        whitening = self.whitenings[row - 1]
        return within(a, whitening, a.terms), within(b, whitening, b.terms)

    def weights_by_kind(self, score_weights: ScoreWeights) -> Floats:
        """Those of the model."""
        return score_weights.by_kind


_DOMAIN_ARRAYS = tuple("centres directions gains common_directions common_variances common_rest".split())


class Field:
    """A profile with the statistics of its model: adapts documents and weighs the parts of their score."""

    def __init__(self, profile: FieldProfile, statistics: ModelStatistics) -> None:
        """Blend the two.

        Raises:
            ModelError: the profile was made with another model, or is damaged.
        """
        if profile.fingerprint != statistics.fingerprint:
            raise ModelError(f"The profile {profile.name} was made with another model; make it again with colde adapt.")
        if profile.centre.shape != statistics.centre.shape:
            raise ModelError(f"The profile {profile.name} {_DAMAGED}")
        self.profile = profile
        self._lexicon = statistics.lexicon
        centre = blended_centre(profile.centre, profile.documents, statistics.centre)
        self.whitening = Whitening(centre, profile.directions, profile.gains)
        self._repeated = profile.repeated.astype(np.float32)

    def adapt_pair(self, a: Scorable, b: Scorable) -> tuple[Scorable, Scorable]:
        """Both documents within the field."""
        return self.adapt(a), self.adapt(b)

    def adapt(self, document: Scorable) -> FieldDocument:
        """The document with the field's whitening and word weights; unchanged where it has them already."""
        if isinstance(document, FieldDocument):
            return document
        terms, profile = document.terms, self.profile
        if terms is not None:
            share = share_of_texts(profile.documents)
            terms = self._lexicon.in_field(terms, profile.frequencies, profile.documents, share)
        adapted = within(document, self.whitening, terms)
        return replace(adapted, chunk_weights=self.chunk_weights(adapted.centred_unit_vectors))

    def chunk_weights(self, vectors: FloatArray) -> FloatArray | None:
        """How much chunks with these whitened unit vectors [n, H] count, [n]: little if the field repeats them.

        Each is below 1 and above 0; None where the field repeats nothing.
        """
        if not len(self._repeated):
            return None
        nearest = (vectors @ self._repeated.T).max(axis=1)
        weights: FloatArray = _LEAST + (1 - _LEAST) / (1 + np.exp((nearest - _LIKE_REPEATED) / _WIDTH))
        return weights

    def weights_by_kind(self, score_weights: ScoreWeights) -> Floats:
        """Weights of `PARTS` for each kind of text, see `ScoreWeights.by_kind`.

        For documents of no known domain each part is divided by its spread over random pairs of the field, and weighted
        by `ScoreWeights.in_field`. A domain of the model keeps the weights that labelled pairs gave it, unless the
        field's documents together lie too far from it (`MIN_NEARNESS`): then they only look like its own. Short texts
        are scored as long ones: see `ScoreWeights.of_long_texts`.
        """
        weights = score_weights.by_kind
        standard = np.array(score_weights.in_field) / np.maximum(self.profile.spreads, 1e-3)
        unknown = np.zeros(len(weights), bool)
        domains = len(score_weights.domains)
        if self.profile.documents >= MIN_DOCUMENTS and len(self.profile.nearness) == domains:
            unknown[1 : 1 + domains] = self.profile.nearness < MIN_NEARNESS
        unknown[0] = True
        weights[unknown] = standard / standard.sum()
        return weights

    @cached_property
    def word_factors(self) -> FloatArray:
        """The factor by which the field changes the weight of each bucket, [2 * BUCKETS]."""
        profile, share = self.profile, share_of_texts(self.profile.documents)
        factors = self._lexicon.field_factors(profile.frequencies, profile.documents, share, slice(None))
        return factors.astype(np.float32)


def blended_centre(field: FloatArray, documents: int, model: FloatArray) -> FloatArray:
    """The centre [H] of a field, averaged with the model's, which counts for `PRIOR_DOCUMENTS` documents."""
    share = documents / (documents + PRIOR_DOCUMENTS)
    blended: FloatArray = (share * field + (1 - share) * model).astype(np.float32)
    return blended


def blended_spreads(spreads: Floats, documents: int) -> Floats:
    """Spreads [7] of a field; the usual variances count for `PRIOR_DOCUMENTS` documents."""
    share = documents / (documents + PRIOR_DOCUMENTS)
    blended: Floats = np.sqrt(share * spreads**2 + (1 - share) * _USUAL_SPREADS**2)
    return blended


def share_of_texts(documents: int) -> float:
    """The weight of the field in word statistics, below one half; see `PRIOR_TEXTS`."""
    return 0.5 * documents / (documents + PRIOR_TEXTS)
