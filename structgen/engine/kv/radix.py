"""The radix tree over token ids: an edge is one full page of tokens."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NO_PAGE", "Node", "RadixTree"]

NO_PAGE = -1
"""Stands for a page that is not there."""


class Node:
    """One full page of tokens after all those of its ancestors, and where their keys and values are.

    Attributes
    ----------
    parent : Node or None
        None for the root of a namespace.
    tokens : tuple of int
        The page's tokens, the key among the parent's children; the root's are empty.
    pages : list of int
        For each cache group its page, ``NO_PAGE`` where it has none any more.
    children : dict
        By their tokens.
    latest : dict
        By a first token, the child that came last of those that begin so.
    users : int
        Sequences whose tokens go through this node.
    """

    __slots__ = ("children", "latest", "pages", "parent", "salt", "tokens", "users")

    def __init__(self, parent: Node | None, tokens: tuple[int, ...], pages: list[int], salt: str) -> None:
        self.parent = parent
        self.tokens = tokens
        self.pages = pages
        self.salt = salt
        self.children: dict[tuple[int, ...], Node] = {}
        self.latest: dict[int, Node] = {}
        self.users = 0


class RadixTree:
    """Finds the longest known prefix of a sequence, a page at a time, within a namespace.

    It only knows what follows what; who holds a node's pages, and which goes next, is the manager's.

    Parameters
    ----------
    page_size : int
        Tokens a page.
    """

    def __init__(self, page_size: int) -> None:
        self._page_size = page_size
        self._roots: dict[str, Node] = {}

    def root(self, salt: str) -> Node:
        """Return the root of a namespace; nothing in one namespace is ever found from another."""
        root = self._roots.get(salt)
        if root is None:
            root = self._roots[salt] = Node(None, (), [], salt)
        return root

    def walk(self, tokens: Sequence[int], salt: str) -> list[Node]:
        """Return the nodes of the longest known prefix, the first page's first; changes nothing."""
        path: list[Node] = []
        node = self._roots.get(salt)
        size = self._page_size
        for start in range(0, len(tokens) - size + 1, size):
            node = None if node is None else node.children.get(tuple(tokens[start : start + size]))
            if node is None:
                break
            path.append(node)
        return path

    @staticmethod
    def alike(parent: Node, tokens: Sequence[int]) -> tuple[Node, int] | None:
        """Return a child that begins as ``tokens`` do, and how many of them it has; None where none is known to."""
        node = parent.latest.get(tokens[0]) if tokens else None
        if node is None:
            return None
        pairs = zip(node.tokens, tokens, strict=False)
        return node, next((place for place, (one, other) in enumerate(pairs) if one != other), len(tokens))

    def insert(self, parent: Node, tokens: tuple[int, ...], pages: list[int]) -> Node:
        """Add a child that is not there yet."""
        node = parent.children[tokens] = parent.latest[tokens[0]] = Node(parent, tokens, pages, parent.salt)
        return node

    def prune(self, node: Node) -> None:
        """Take a node away if nothing speaks for it (a page, a child, a user), and its ancestors in the same way."""
        while not node.users and not node.children and all(page == NO_PAGE for page in node.pages):
            if node.parent is None:
                del self._roots[node.salt]
                return
            del node.parent.children[node.tokens]
            if node.parent.latest.get(node.tokens[0]) is node:
                del node.parent.latest[node.tokens[0]]
            node = node.parent

    def nodes(self) -> list[Node]:
        """Return all nodes but the roots; for checks."""
        found: list[Node] = []
        pending = list(self._roots.values())
        while pending:
            children = pending.pop().children.values()
            found.extend(children)
            pending.extend(children)
        return found
