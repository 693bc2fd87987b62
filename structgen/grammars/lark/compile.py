"""From a grammar in Lark's syntax to its automaton."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from typing_extensions import Unpack

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.expr import Rule
from structgen.grammars.lark.embedded import without_foreign
from structgen.grammars.lark.indenter import lines_of, plain_postlex
from structgen.grammars.lark.kept import through_disk
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

if TYPE_CHECKING:
    from lark.indenter import Indenter

__all__ = ["compile_lark"]


@front_end("lark", plain={"postlex": plain_postlex})
def compile_lark(
    text: str,
    vocabulary: TokenVocabulary,
    start: str = "start",
    parser: Literal["auto", "lalr", "earley"] = "auto",
    name: str = "the grammar",
    postlex: Indenter | type[Indenter] | Mapping[str, Any] | None = None,
    **limits: Unpack[Limits],
) -> TokenAutomaton:
    """The automaton of the texts that `lark` parses with a grammar.

    With ``"lalr"`` these are the texts that ``Lark(text, parser="lalr")`` parses, its contextual lexer included: what
    is a keyword and what a name, which terminal is taken where several match, and how far, is as Lark decides it.
    With ``"earley"`` they are those of ``Lark(text, parser="earley", lexer="dynamic_complete")``: any way to part a
    text into tokens will do. ``"auto"`` is LALR(1) where the grammar is, and Earley where it has
    conflicts, also those that Lark's LALR parser decides, as it does with a dangling ``else``.

    Rules may hold what Lark's may not. ``<|name|>``, ``<name>`` or ``<[id]>`` is a special token of the vocabulary: a
    symbol of its own and no characters, which ends whatever token is before it. ``%json {...}`` is a JSON value under
    that schema, as `compile_json_schema` has it; it follows a token that its first character could not go on with.
    Terminals may hold ``%regex {"substring_words": text}``: any words of the text that follow each other there, the
    most that there are; a word is a run of letters, digits and underscores, of white space, or of other characters.
    With ``substring_chars`` these are its characters, with ``substring_chunks`` the texts of a list. No word at all
    will do as well, unless nothing else is in the terminal: Lark takes none that is empty.

    What has taken long to compile is kept on disk beside compiled code (in ``$STRUCTGEN_CACHE`` or
    ``~/.cache/structgen``) for this grammar, vocabulary and version; a damaged file is written anew. Grammars that
    import others from the user's files, or hold special tokens or ``%json``, are not kept.

    Parameters
    ----------
    text : str
        The grammar.
    vocabulary : TokenVocabulary
        The model's tokens.
    start : str
        The rule to begin with.
    parser : {"auto", "lalr", "earley"}
        Whose language it is.
    name : str
        Of the grammar, for messages: its file. Imports of other grammars are looked for in its folder, which by default
        is the working directory; take no grammar from strangers that may read files there.
    postlex : lark.indenter.Indenter, its class or a mapping, optional
        The post-lexer that makes indentation into tokens, as in Lark's ``Lark(postlex=PythonIndenter())``; in place of
        it a mapping with the names and values of its six attributes. It is for the LALR parser, so ``"auto"`` is
        ``"lalr"``. No block is indented by more than 100 columns. A bracket is closed in the rule that opens it,
        and so is a block.
    **limits
        On time, states and memory; see `Limits`.

    Raises
    ------
    InvalidGrammar
        The grammar is malformed, with line, column and what was expected; or it is not for the parser asked for,
        or names a special token that the vocabulary does not have, or ``postlex`` is no indenter.
    SchemaError
        A schema after ``%json`` is malformed or cannot be held.
    UnsupportedGrammar
        A terminal cannot be held exactly. Terminals are regular expressions as `compile_regex` takes them; lookbehind
        sees one character, and none before its terminal; with Earley a lookahead sees no further than to the end of its
        terminal.
    EmptyLanguage
        No text matches.
    GrammarLimitExceeded
        The terminals are too large, or a limit is passed.
    """
    if not isinstance(cast("object", text), str):
        raise InvalidGrammar(f"a grammar is a string, not {type(text).__name__}")
    if not isinstance(cast("object", start), str):
        raise InvalidGrammar(f"start is the name of a rule, not {start!r}")
    if parser not in ("auto", "lalr", "earley"):
        raise InvalidGrammar(f'parser is "auto", "lalr" or "earley", not {parser!r}')
    lines = None if postlex is None else lines_of(postlex)
    if lines is not None and parser == "earley":
        raise InvalidGrammar('a postlex is for Lark\'s LALR parser; leave parser at "auto"')
    try:
        embedded = without_foreign(text, vocabulary, name)

        def make() -> Rule:
            from structgen.grammars.lark.building import build_rule  # `lark` takes a third of a second to import

            return build_rule(embedded, start, parser, name, lines)

        if embedded.foreign:
            return TokenAutomaton(make(), vocabulary)
        options: dict[str, object] = {"start": start, "parser": parser, "lines": lines, "runs": embedded.runs}
        return through_disk(embedded.text, options, vocabulary, make)
    except RecursionError as error:
        raise GrammarLimitExceeded("the grammar is nested too deeply; give its inner groups names") from error
