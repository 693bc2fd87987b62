"""Byte-level BPE (GPT-2 and almost everything since) as a ``tokenizers`` object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE

from structgen.engine.tokenization.pre_tokenization import PreTokenization

__all__ = ["byte_level_tokenizer"]


def byte_level_tokenizer(
    vocabulary: Mapping[str, int], merges: Iterable[tuple[str, str]], pre_tokenization: PreTokenization
) -> Tokenizer:
    """Build the tokenizer, without added tokens.

    Parameters
    ----------
    vocabulary : Mapping[str, int]
        Ids of the tokens, written in GPT-2's 256 printable stand-ins for bytes.
    merges : iterable of (str, str)
        The most urgent first.
    pre_tokenization : PreTokenization
        How text is split before.
    """
    model = BPE(dict(vocabulary), list(merges), ignore_merges=pre_tokenization.ignore_merges)
    tokenizer = Tokenizer(model)
    normalizer = pre_tokenization.normalizer()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenization.pre_tokenizer()
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
