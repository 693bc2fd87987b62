"""One sequence's tokens, and the pages that it holds for them."""

from __future__ import annotations

from array import array

from structgen.engine.kv.radix import Node

__all__ = ["CachedSequence"]


class CachedSequence:
    """Known tokens, computed tokens, and a page table for each cache group.

    ::

        tokens   | full pages: nodes of the tree | partial page | known, not computed |
                                                 ^ page_size * len(nodes)
                                                                ^ computed            ^ len(tokens)

    Only :class:`~structgen.engine.kv.KVManager` changes what is here, except that the tokens' owner appends to them.

    Parameters
    ----------
    tokens : list of int
        The known tokens; the list is its owner's, and only grows.
    salt : str
        The namespace whose pages it may share.
    groups : int
        Number of cache groups.

    Attributes
    ----------
    computed : int
        Tokens whose keys and values are in the pages.
    tables : tuple of array
        For each group the page of each ``page_size`` tokens; -1 where no window reaches it any more. They may have
        pages behind the computed tokens already.
    first_kept : list of int
        For each group the first page in its table that is held.
    nodes : list of Node
        The node of each full page.
    tip : Node or None
        Where the next full page will hang; None while the sequence is not open.
    """

    def __init__(self, tokens: list[int], salt: str, groups: int) -> None:
        self.tokens = tokens
        self.salt = salt
        self.computed = 0
        self.tables = tuple(array("i") for _ in range(groups))
        self.first_kept = [0] * groups
        self.nodes: list[Node] = []
        self.tip: Node | None = None
