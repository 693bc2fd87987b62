r"""EBNF as XGrammar has it: GBNF whose rules may go on over lines, with prose that tags interrupt.

::

    root ::= TagDispatch(("<call>", call), excludes=("</call>",))
    call ::= name "(" [^()\n]* ")</call>"
    name ::= [a-z_.]+ | Token(128010)

Against GBNF: a rule ends where the next one begins, at the start of a line; names may have dots; ``[^]`` is any
character, and ``.`` none; ``\x1F600`` takes all hexadecimal digits that follow. What XGrammar's own matcher does not
hold, as lookahead assertions, or what is about more than texts, as sampling temperatures, is refused.
"""

from structgen.grammars.ebnf.compile import compile_ebnf

__all__ = ["compile_ebnf"]
