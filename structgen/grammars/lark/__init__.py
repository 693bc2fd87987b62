"""Grammars in Lark's syntax, with the meaning that `lark` gives them.

::

    start: "{" [pair ("," pair)*] "}"
    pair: NAME "=" NUMBER

    %import common.CNAME -> NAME
    %import common.NUMBER
    %import common.WS
    %ignore WS

The `lark` package loads the grammar. The tables of its parser and the orders of its lexers are made here as it makes
them; what lexers and parsers do with a text becomes rules over bytes::

    text -> embedded -> loading -> patterns -> scanning -> lexing -> moves -> token_places -> product -> writing
            (runs)     (imports)-> tries -> tables -> rests -> lalr -> uniting -> lists -> machines ----^
                            (terminal_orders)        -> earley --------------^

An indenter (`indenter`) has line breaks parted after their last line feed (`newlines`); blocks and what lines of theirs
begin with are rules of `structgen.grammars.indentation`. What took long is kept on disk (`kept`).
"""

from structgen.grammars.lark.compile import compile_lark

__all__ = ["compile_lark"]
