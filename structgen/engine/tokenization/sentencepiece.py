"""SentencePiece's BPE, with byte fallback, as a ``tokenizers`` object.

SentencePiece (Kudo and Richardson 2018, arXiv:1808.06226) keeps a score for each piece and merges, again and again,
the neighbours whose union scores highest. ``tokenizers`` wants an ordered list of merges; the scores give it: every
split of a piece into two pieces is a merge, ranked by the score of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tokenizers import Tokenizer, decoders, normalizers
from tokenizers.models import BPE

__all__ = ["SPACE", "merges_from_scores", "sentencepiece_tokenizer"]

SPACE = "\u2581"
"""What stands for a space inside pieces."""


def merges_from_scores(vocabulary: Mapping[str, int], scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """Rebuild the merges, the most urgent first.

    Parameters
    ----------
    vocabulary : Mapping[str, int]
        Ids of all pieces that text can become, other than single bytes.
    scores : Mapping[str, float]
        Scores of the pieces that merging can make. Runs of spaces that are missing here are such that SentencePiece
        cuts out first, the longest first (user-defined pieces); merges that grow a run from its left do the same.

    Returns
    -------
    list of (str, str)
        Among the splits of one piece, the one with the smaller ids comes first.
    """
    runs = [piece for piece in vocabulary if piece not in scores and not piece.strip(SPACE)]
    merges = sorted(
        (split for run in runs for split in _splits(run, vocabulary)),
        key=lambda split: (len(split[0]), len(split[1])),
        reverse=True,
    )
    for piece in sorted(scores, key=scores.__getitem__, reverse=True):  # equal scores: in the vocabulary's order
        merges += sorted(_splits(piece, vocabulary), key=lambda split: (vocabulary[split[0]], vocabulary[split[1]]))
    return merges


def sentencepiece_tokenizer(
    vocabulary: Mapping[str, int],
    merges: Iterable[tuple[str, str]],
    *,
    unknown: str | None,
    add_space_prefix: bool,
) -> Tokenizer:
    """Build the tokenizer, without added tokens.

    Parameters
    ----------
    vocabulary : Mapping[str, int]
        All pieces, ``<0x00>`` to ``<0xFF>`` among them.
    merges : iterable of (str, str)
        See :func:`merges_from_scores`.
    unknown : str or None
        The piece for what cannot be written.
    add_space_prefix : bool
        Whether text begins as if a space stood before it.
    """
    model = BPE(dict(vocabulary), list(merges), unk_token=unknown, fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(model)
    spaces: normalizers.Normalizer = normalizers.Replace(" ", SPACE)
    steps: list[decoders.Decoder] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if add_space_prefix:
        spaces = normalizers.Sequence([normalizers.Prepend(SPACE), spaces])
        steps.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = spaces
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _splits(piece: str, vocabulary: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for middle in range(1, len(piece)):
        left, right = piece[:middle], piece[middle:]
        if left in vocabulary and right in vocabulary:
            yield left, right
