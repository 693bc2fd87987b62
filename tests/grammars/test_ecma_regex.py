"""Patterns of ECMA-262 against a JavaScript engine."""

from __future__ import annotations

from structgen.grammars.language import Language
from structgen.grammars.regex import ecma_language


def test_a_pattern_matches_anywhere_unless_it_says_where():
    assert [text for text in ["abc", "xabcx", "ab"] if ecma_language("abc").contains(text)] == ["abc", "xabcx"]
    assert ecma_language("^(foo|bar)$") is Language.finite(["bar", "foo"])
