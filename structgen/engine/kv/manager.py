"""KVManager: gives sequences what they need of pages, and keeps what may be used again."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from structgen.engine.kv.pages import PagePool
from structgen.engine.kv.radix import NO_PAGE, Node, RadixTree
from structgen.engine.kv.sequence import CachedSequence
from structgen.engine.step import CacheGroup

__all__ = ["KVManager", "PageCopy"]


class PageCopy(NamedTuple):
    """A page to be copied before the step that writes its copy."""

    group: int
    source: int
    target: int


class _Group:
    """The pages of one cache group, and those of its cached ones that go first."""

    def __init__(self, window: int | None, pages: int, page_size: int) -> None:
        self.window = window
        self.pool = PagePool(pages)
        self._page_size = page_size
        # Nodes whose page here is cached, the least recently used first. A sequence lets go of its pages from the last
        # to the first, and holds, in a group without a window, all ancestors of a page that it holds. So there children
        # stand before their parents, and the first is always a leaf.
        self.idle: OrderedDict[Node, None] = OrderedDict()

    @property
    def available(self) -> int:
        """Pages that are free or can be made so."""
        return self.pool.free + len(self.idle)

    @property
    def longest_sequence(self) -> int:
        """Tokens that a sequence alone can have here."""
        if self.window is not None and self.pool.total > -(-(self.window - 1) // self._page_size):
            return sys.maxsize
        return self.pool.total * self._page_size

    def first_needed(self, computed: int) -> int:
        """Return the first page that the token after ``computed`` others sees."""
        return 0 if self.window is None else max(0, computed - self.window + 1) // self._page_size


class KVManager:
    """Pages of all cache groups, shared among sequences.

    A sequence is opened, which gives it the longest prefix that the tree has in all groups; extended before each step;
    advanced after it, when its full pages go to the tree; forked; and released, when its full pages stay in the tree
    until others need the room. A page that more than one sequence holds, or that is in the tree, is never written: full
    pages are complete, and a partial one is copied first, as is the page of a prefix that ends within it. After every
    call, for each group,
    ``free + cached + held == total``.

    Parameters
    ----------
    groups : sequence of CacheGroup
        The runner's.
    pages : sequence of int
        For each group how many there are.
    page_size : int
        Tokens a page.
    """

    def __init__(self, groups: Sequence[CacheGroup], pages: Sequence[int], page_size: int) -> None:
        self.page_size = page_size
        self._groups = [_Group(group.window, count, page_size) for group, count in zip(groups, pages, strict=True)]
        self._tree = RadixTree(page_size)

    @property
    def pools(self) -> tuple[PagePool, ...]:
        """The pages of each group, to be looked at."""
        return tuple(group.pool for group in self._groups)

    @property
    def available(self) -> int:
        """Pages that are free, or can be made so, in the group that has fewest of them."""
        return min(group.available for group in self._groups)

    @property
    def longest_sequence(self) -> int:
        """Tokens that a sequence can have when it is alone; ``sys.maxsize`` where windows are all that is held."""
        return min(group.longest_sequence for group in self._groups)

    def new_sequence(self, tokens: list[int], salt: str = "") -> CachedSequence:
        """Return a sequence that holds nothing yet; ``tokens`` stays its owner's."""
        return CachedSequence(tokens, salt, len(self._groups))

    def found(self, sequence: CachedSequence) -> int:
        """Return how many full pages of a sequence's tokens the tree has in all groups; changes nothing.

        One token is left over always, for its logits.
        """
        return len(self._usable(sequence))

    def open(self, sequence: CachedSequence, *, from_scratch: bool = False) -> list[PageCopy] | None:
        """Give a sequence what the tree has of it, and room for all its known tokens where no window is.

        Of a page in the tree that begins as its own next page would, it gets a copy.

        Parameters
        ----------
        from_scratch : bool
            Nothing is taken from the tree.

        Returns
        -------
        list of PageCopy or None
            What must be copied before the next step; None, and nothing has changed: there are too few pages.
        """
        path = [] if from_scratch else self._usable(sequence)
        sequence.tip = self._tree.root(sequence.salt)
        sequence.tip.users += 1
        for node in path:
            self._enter(sequence, node)
        sequence.computed = self.page_size * len(path)
        for index, group in enumerate(self._groups):
            self._hold(sequence, index, group, path)
        copies = [] if from_scratch else self._begin_alike(sequence)
        unlimited = [index for index, group in enumerate(self._groups) if group.window is None]
        if self._grow(sequence, len(sequence.tokens), unlimited) is None:
            self.release(sequence)
            return None
        return copies

    def extend(self, sequence: CachedSequence, count: int) -> list[PageCopy] | None:
        """Give an open sequence pages that it may write its next ``count`` tokens to.

        Returns
        -------
        list of PageCopy or None
            What must be copied before the step; None, and nothing has changed: there are too few pages.
        """
        return self._grow(sequence, sequence.computed + count, range(len(self._groups)))

    def advance(self, sequence: CachedSequence, count: int) -> int:
        """Take note that the next ``count`` known tokens are computed, and return how many pages that made full.

        Full pages go to the tree; where it has them already, its own take the place of the sequence's. Pages that no
        window reaches any more are let go of.
        """
        sequence.computed += count
        before = len(sequence.nodes)
        while (len(sequence.nodes) + 1) * self.page_size <= sequence.computed:
            self._commit(sequence)
        for index, group in enumerate(self._groups):
            self._let_go(sequence, index, group.first_needed(sequence.computed))
        return len(sequence.nodes) - before

    def fork(self, sequence: CachedSequence, tokens: list[int]) -> CachedSequence:
        """Return a sequence that shares all computed tokens of an open one, a partial last page too.

        Parameters
        ----------
        sequence : CachedSequence
            Stays as it is.
        tokens : list of int
            The fork's own known tokens; they begin with the computed ones.
        """
        fork = self.new_sequence(tokens, sequence.salt)
        fork.computed, fork.tip, fork.nodes = sequence.computed, sequence.tip, list(sequence.nodes)
        fork.first_kept = list(sequence.first_kept)
        for node in (self._tree.root(sequence.salt), *fork.nodes):
            node.users += 1
        pages = -(-sequence.computed // self.page_size)
        for group, table, shared in zip(self._groups, fork.tables, sequence.tables, strict=True):
            table.extend(shared[:pages])
            for page in table:
                if page != NO_PAGE:
                    group.pool.share(page)
        return fork

    def release(self, sequence: CachedSequence) -> None:
        """Let go of everything that a sequence holds, open or not; its full pages are cached, the others free."""
        if sequence.tip is None:
            return
        for index, table in enumerate(sequence.tables):
            for place in range(len(table) - 1, sequence.first_kept[index] - 1, -1):
                self._drop(sequence, index, place)
            del table[:]
            sequence.first_kept[index] = 0
        for node in (self._tree.root(sequence.salt), *sequence.nodes):
            node.users -= 1
        self._tree.prune(sequence.tip)
        sequence.nodes.clear()
        sequence.computed, sequence.tip = 0, None

    def check(self) -> None:
        """Look at everything once, slowly.

        Raises
        ------
        RuntimeError
            The pages in the tree are not those that are kept, or some are lost.
        """
        nodes = self._tree.nodes()
        for index, group in enumerate(self._groups):
            kept = [node for node in nodes if node.pages[index] != NO_PAGE]
            idle = {node for node in kept if group.pool.holders(node.pages[index]) == 0}
            if idle != set(group.idle) or len(idle) != group.pool.cached:
                raise RuntimeError(f"group {index}: the cached pages are not those of the tree that nobody holds")
            if len({node.pages[index] for node in kept}) != len(kept):
                raise RuntimeError(f"group {index}: two nodes have one page")
        if any(not node.users and not node.children and set(node.pages) == {NO_PAGE} for node in nodes):
            raise RuntimeError("a node is there that nothing speaks for")

    def _usable(self, sequence: CachedSequence) -> list[Node]:
        """Return the longest known prefix whose pages are there in every group as far as its window reaches."""
        path = self._tree.walk(sequence.tokens[:-1], sequence.salt)
        usable = 0
        present = [0] * len(self._groups)  # how many pages up to here are there without a gap
        for count, node in enumerate(path, start=1):
            for index, page in enumerate(node.pages):
                present[index] = 0 if page == NO_PAGE else present[index] + 1
            needed = (count - group.first_needed(count * self.page_size) for group in self._groups)
            if all(have >= need for have, need in zip(present, needed, strict=True)):
                usable = count
        return path[:usable]

    def _begin_alike(self, sequence: CachedSequence) -> list[PageCopy]:
        """Copy the page that begins as a sequence's next one does, if there is such a page and room for its copies."""
        tokens, size = sequence.tokens, self.page_size
        parent = sequence.tip or self._tree.root(sequence.salt)
        found = self._tree.alike(parent, tokens[sequence.computed : min(sequence.computed + size, len(tokens) - 1)])
        if found is None or NO_PAGE in found[0].pages:
            return []
        node, count = found
        for group in self._groups:
            if group.available <= (node in group.idle):
                return []
        copies = [self._copy(sequence, index, node) for index in range(len(self._groups))]
        sequence.computed += count
        return copies

    def _copy(self, sequence: CachedSequence, index: int, node: Node) -> PageCopy:
        """Give a sequence a copy of a node's page, which is not taken for it."""
        group, page = self._groups[index], node.pages[index]
        group.pool.share(page)
        group.idle.pop(node, None)
        copy = PageCopy(index, page, self._take(index))
        if group.pool.release(page, cached=True):
            group.idle[node] = None
        sequence.tables[index].append(copy.target)
        return copy

    @staticmethod
    def _enter(sequence: CachedSequence, node: Node) -> None:
        node.users += 1
        sequence.nodes.append(node)
        sequence.tip = node

    def _hold(self, sequence: CachedSequence, index: int, group: _Group, path: list[Node]) -> None:
        """Hold the pages of a prefix that the sequence's next token sees."""
        first = sequence.first_kept[index] = group.first_needed(sequence.computed)
        table = sequence.tables[index]
        table.extend([NO_PAGE] * first)
        for node in path[first:]:
            page = node.pages[index]
            group.pool.share(page)
            group.idle.pop(node, None)
            table.append(page)

    def _grow(self, sequence: CachedSequence, end: int, groups: Sequence[int]) -> list[PageCopy] | None:
        """Give pages for all tokens up to ``end`` in some groups, and a page of its own to write on; all or nothing."""
        pages = -(-end // self.page_size)
        shared = [index for index in groups if self._shares_partial_page(sequence, index)]
        for index in groups:
            needed = max(0, pages - len(sequence.tables[index])) + (index in shared)
            if needed > self._groups[index].available:
                return None
        copies = [self._copy_partial_page(sequence, index) for index in shared]
        for index in groups:
            table = sequence.tables[index]
            while len(table) < pages:
                table.append(self._take(index))
        return copies

    def _shares_partial_page(self, sequence: CachedSequence, index: int) -> bool:
        place, filled = divmod(sequence.computed, self.page_size)
        return filled > 0 and self._groups[index].pool.holders(sequence.tables[index][place]) > 1

    def _copy_partial_page(self, sequence: CachedSequence, index: int) -> PageCopy:
        table, place = sequence.tables[index], sequence.computed // self.page_size
        copy = PageCopy(index, table[place], self._take(index))
        self._groups[index].pool.release(copy.source, cached=False)
        table[place] = copy.target
        return copy

    def _take(self, index: int) -> int:
        """Take a page, evicting the least recently used one if none is free; the caller knows that one is available."""
        group = self._groups[index]
        if not group.pool.free:
            self._evict(index, group)
        return group.pool.take()

    def _evict(self, index: int, group: _Group) -> None:
        node = next(iter(group.idle))
        # Without all tokens before it a page is of no use: where no window is, its node is a leaf, and goes whole.
        for other in range(len(self._groups)) if group.window is None else (index,):
            if node.pages[other] != NO_PAGE:
                del self._groups[other].idle[node]
                self._groups[other].pool.evict(node.pages[other])
                node.pages[other] = NO_PAGE
        self._tree.prune(node)

    def _commit(self, sequence: CachedSequence) -> None:
        """Hang the first full page that is not in the tree there; a node that is there already wins."""
        place, parent = len(sequence.nodes), sequence.tip or self._tree.root(sequence.salt)
        tokens = tuple(sequence.tokens[place * self.page_size : (place + 1) * self.page_size])
        pages = [table[place] for table in sequence.tables]
        node = parent.children.get(tokens)
        if node is None:
            node = self._tree.insert(parent, tokens, pages)
        else:
            for index, page in enumerate(pages):
                self._adopt(sequence, index, node, page)
        self._enter(sequence, node)

    def _adopt(self, sequence: CachedSequence, index: int, node: Node, page: int) -> None:
        """Take a node's page in place of the sequence's own, or leave it the own one where it has none."""
        group, kept = self._groups[index], node.pages[index]
        if kept == NO_PAGE:
            node.pages[index] = page
            return
        group.pool.share(kept)
        group.idle.pop(node, None)
        group.pool.release(page, cached=False)
        sequence.tables[index][len(sequence.nodes)] = kept

    def _let_go(self, sequence: CachedSequence, index: int, first_needed: int) -> None:
        """Let go of pages before ``first_needed``, all of them full."""
        for place in range(sequence.first_kept[index], first_needed):
            self._drop(sequence, index, place)
            sequence.tables[index][place] = NO_PAGE
        sequence.first_kept[index] = max(first_needed, sequence.first_kept[index])

    def _drop(self, sequence: CachedSequence, index: int, place: int) -> None:
        group, page = self._groups[index], sequence.tables[index][place]
        node = sequence.nodes[place] if place < len(sequence.nodes) else None
        if group.pool.release(page, cached=node is not None) and node is not None:
            group.idle[node] = None
