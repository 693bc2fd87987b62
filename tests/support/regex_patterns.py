"""Random patterns of the supported syntax, each with a text that it matches but for its anchors."""

from __future__ import annotations

from hypothesis import strategies as st

LETTERS = "abA\né ,sk\N{LATIN SMALL LETTER LONG S}"
ATOMS = [
    *((letter, letter) for letter in "abA\né,s"),
    ("[ab]", "b"),
    ("[^a\n]", "é"),
    ("[\\w-]", "k"),
    ("[^\\W\\d]", "b"),
    ("[a-s\\n]", "k"),
    ("[\\]^,-]", ","),
    ("\\w", "a"),
    ("\\W", " "),
    ("\\s", "\n"),
    ("\\S", "A"),
    ("\\D", "a"),
    (".", "a"),
    ("\\x61", "a"),
    ("\\u00e9", "é"),
    ("\\N{LATIN SMALL LETTER B}", "b"),
    ("\\101", "A"),
    ("(?:)", ""),
    ("(?#nothing)", ""),
]
ANCHORS = ["^", "$", "\\A", "\\Z", "(?m:^)", "(?m:$)"]
EDGES = ["\\b", "\\B", "(?a:\\b)"]
LOOKS = ["(?=", "(?!"]
LOOKS_BACK = ["(?<=", "(?<!"]
QUANTIFIERS = [("*", 2), ("+", 2), ("?", 1), ("{2}", 2), ("{,2}", 2), ("{1,3}", 3), ("{2,}", 3), ("{0}", 0)]
GROUPS = ["(", "(?:", "(?i:", "(?a:", "(?s:", "(?-s:", "(?s-i:", "(?m:", "(?ai:"]

Matched = tuple[str, str]


def _anything(anchors: bool, looks: bool) -> st.SearchStrategy[Matched]:
    leaves = st.sampled_from(ATOMS)
    if anchors:
        empty = ANCHORS + EDGES if looks else ANCHORS
        leaves = st.one_of(leaves, st.sampled_from(empty).map(lambda anchor: (anchor, "")))
    return st.recursive(leaves, lambda inner: _larger(inner, looks), max_leaves=8)


def _larger(inner: st.SearchStrategy[Matched], looks: bool) -> st.SearchStrategy[Matched]:
    atoms = st.sampled_from([atom for atom in ATOMS if atom[1]])
    around = [
        st.builds(lambda look, one: (f"{look}{one[0]})", ""), st.sampled_from(LOOKS), inner),
        st.builds(lambda look, one: (f"{look}{one[0]})", ""), st.sampled_from(LOOKS_BACK), atoms),
    ]
    return st.one_of(
        *(around if looks else []),
        st.lists(inner, min_size=2, max_size=4).map(
            lambda parts: ("".join(pattern for pattern, _ in parts), "".join(text for _, text in parts))
        ),
        st.builds(lambda one, other: (f"(?:{one[0]}|{other[0]})", other[1]), inner, inner),
        st.builds(lambda group, one: (f"{group}{one[0]})", one[1]), st.sampled_from(GROUPS), inner),
        st.builds(
            lambda one, quantifier, lazy: (f"(?:{one[0]}){quantifier[0]}{lazy}", one[1] * quantifier[1]),
            inner,
            st.sampled_from(QUANTIFIERS),
            st.sampled_from(["", "?"]),
        ),
    )


@st.composite
def patterns_and_texts(draw: st.DrawFn, anchors: bool, looks: bool = False) -> tuple[str, list[str]]:
    """A pattern, and texts that it matches or nearly matches."""
    pattern, text = draw(_anything(anchors, looks))
    flags = draw(st.sampled_from(["", "", "(?i)", "(?s)", "(?m)", "(?a)", "(?im)"]))
    return flags + pattern, [text, *(draw(_changed(text)) for _ in range(6))]


@st.composite
def _changed(draw: st.DrawFn, text: str) -> str:
    place, letter = draw(st.integers(0, len(text))), draw(st.sampled_from(LETTERS))
    kept = draw(st.sampled_from([place, place + 1]))
    return draw(st.sampled_from([text[:place] + letter + text[kept:], text[:place] + text[kept:], text.swapcase()]))
