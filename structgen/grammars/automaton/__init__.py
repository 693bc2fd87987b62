"""Rule automata and stacks: what `TokenAutomaton` is built on.

::

    Expr rules --analysis--> facts --lowering--> NFA nodes --determinize--> rule states --stacks--> closed sets
                                                                                          --walk--> token masks
"""

from structgen.grammars.automaton.core import StackAutomaton

__all__ = ["StackAutomaton"]
