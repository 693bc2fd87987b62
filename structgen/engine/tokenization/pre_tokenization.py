"""How byte-level vocabularies split text into words, by the names that GGUF files use (``tokenizer.ggml.pre``).

A GGUF file names its splitting and does not describe it. What follows is what the original tokenizers' own
``tokenizer.json`` files say; the tests hold the names for which an original can be fetched to it. ``default`` is what
converters wrote before there were names; it means the splitting that llama.cpp has always used for such files.
"""

from __future__ import annotations

from typing import NamedTuple

from tokenizers import Regex, normalizers, pre_tokenizers

__all__ = ["PRE_TOKENIZATIONS", "PreTokenization"]


class PreTokenization(NamedTuple):
    """One way to prepare text for byte-level merges."""

    patterns: tuple[str, ...] = ()
    """Each cuts the pieces further: what it matches, and what lies between the matches (Oniguruma's syntax)."""
    single_digits: bool = False
    """Every digit is then a piece of its own."""
    gpt2_words: bool = False
    """The pieces are at last cut by GPT-2's pattern, which ``tokenizers`` has inside its ByteLevel step."""
    nfc: bool = False
    """Text is first brought to Unicode's composed form."""
    ignore_merges: bool = False
    """A piece that is in the vocabulary is one token, whatever the merges would make of it."""
    adds_bos: bool = False
    """Text begins with the beginning-of-text token where the file does not say otherwise."""

    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """Build the steps."""
        steps: list[pre_tokenizers.PreTokenizer] = [
            pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in self.patterns
        ]
        if self.single_digits:
            steps.append(pre_tokenizers.Digits(individual_digits=True))
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=self.gpt2_words))
        return pre_tokenizers.Sequence(steps)

    def normalizer(self) -> normalizers.Normalizer | None:
        """Build the normalizer, None where text is taken as it is."""
        return normalizers.NFC() if self.nfc else None


_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_LOWER_WORD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
_UPPER_WORD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_CL100K = rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACE}"
_QWEN2 = rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACE}"
_TEKKEN = rf"{_LOWER_WORD}|{_UPPER_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACE}"
_O200K = (
    rf"{_LOWER_WORD}{_CONTRACTIONS}?|{_UPPER_WORD}{_CONTRACTIONS}?|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACE}"
)
_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACE}",
)
_DEEPSEEK_CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_CJK)
_CASED_LETTERS = (
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376"
    "\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d"
    "\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4"
    "\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
    "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a"
    "\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
    "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
_DEEPSEEK_LLM = (
    r"[\r\n]",
    rf"\s?[{_CASED_LETTERS}]+",
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    r"\s+$",
    _DEEPSEEK_CJK,
)
_LLAMA_CPP_DEFAULT = (
    r"[\p{P}\$\+<=>\^~\|]+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
    r"\p{N}+",
    r"[0-9][0-9][0-9]",
)

_GPT2 = PreTokenization(gpt2_words=True)
_STARCODER = PreTokenization(single_digits=True, gpt2_words=True)
_LLAMA3 = PreTokenization((_CL100K,), ignore_merges=True, adds_bos=True)
_QWEN = PreTokenization((_QWEN2,), nfc=True)

PRE_TOKENIZATIONS: dict[str, PreTokenization] = {
    "command-r": PreTokenization(single_digits=True, gpt2_words=True, nfc=True),
    "dbrx": PreTokenization((_CL100K,)),
    "deepseek-coder": PreTokenization(_DEEPSEEK_CODER, single_digits=True),
    "deepseek-llm": PreTokenization(_DEEPSEEK_LLM, single_digits=True),
    "deepseek-r1-qwen": _QWEN,
    "deepseek-v3": PreTokenization(_DEEPSEEK_V3),
    "default": PreTokenization(_LLAMA_CPP_DEFAULT),
    "gpt-2": _GPT2,
    "gpt-4o": PreTokenization((_O200K,), ignore_merges=True),
    "llama-bpe": _LLAMA3,
    "llama-v3": _LLAMA3,
    "llama3": _LLAMA3,
    "phi-2": _GPT2,
    "qwen2": _QWEN,
    "refact": _STARCODER,
    "smaug-bpe": PreTokenization((_CL100K,), ignore_merges=True),
    "smollm": _STARCODER,
    "starcoder": _STARCODER,
    "tekken": PreTokenization((_TEKKEN,), ignore_merges=True, adds_bos=True),
}
"""Every known name."""
