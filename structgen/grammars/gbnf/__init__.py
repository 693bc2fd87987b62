r"""GBNF, the grammars of llama.cpp; XGrammar's dialect of it is `structgen.grammars.ebnf`.

::

    # a list of numbers
    root   ::= "[" ws ( number ("," ws number)* )? "]"
    number ::= "-"? [0-9]{1,15}
    ws     ::= [ \t\n]*

A rule may come first within itself (``sum ::= sum "+" term | term``), which llama.cpp does not take.
"""

from structgen.grammars.gbnf.compile import compile_gbnf

__all__ = ["compile_gbnf"]
