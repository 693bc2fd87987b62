"""Grammars that people want, in Lark's syntax, by name.

::

    from structgen.grammars import compile_lark, library

    library.names()                                     # ['arithmetic', 'csv', 'email', ...]
    compile_lark(library.text("sql"), vocabulary)
    llm.generate(prompt, grammar=library.text("sql"))
    structgen check library:sql                         # on the command line

What a grammar leaves open, because it is not context-free, is said in its first lines.
"""

from __future__ import annotations

import difflib
from importlib.resources import files

from structgen.errors import InvalidGrammar

__all__ = ["names", "text"]

_SUFFIX = ".lark"


def names() -> list[str]:
    """The grammars that there are, sorted."""
    found = (file.name for file in files(__name__).iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))


def text(name: str) -> str:
    """The grammar of that name, whose rule to begin with is ``start``.

    Raises
    ------
    InvalidGrammar
        There is none; near names are shown.
    """
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known) or known
        raise InvalidGrammar(f"no grammar of the library is called {name!r}; there is {', '.join(near)}")
    return files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")
