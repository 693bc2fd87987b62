"""The pages of one cache group: which are free, which are held, and which are only kept."""

from __future__ import annotations

__all__ = ["PagePool"]


class PagePool:
    """Counts who holds each page. Every operation is O(1).

    A page is *free*; or *held* by as many sequences as share it; or *cached*: nobody's, kept for whoever comes next.

    ::

              take                release, cached
        free ------> held (1, 2, ...) ------> cached
          ^           |   ^                     | |
          '-----------'   '------ share --------' |
             release                              |
          ^------------------ evict --------------'

    Parameters
    ----------
    total : int
        Pages there are, numbered from 0.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.cached = 0
        """Pages that nobody holds and that are kept."""
        self._free = list(range(total - 1, -1, -1))
        self._holders = [0] * total

    @property
    def free(self) -> int:
        """Pages that anybody may take."""
        return len(self._free)

    @property
    def held(self) -> int:
        """Pages that some sequence holds."""
        return self.total - len(self._free) - self.cached

    def holders(self, page: int) -> int:
        """Return how many sequences hold a page."""
        return self._holders[page]

    def take(self) -> int:
        """Take a free page; there must be one. It has one holder now."""
        page = self._free.pop()
        self._holders[page] = 1
        return page

    def share(self, page: int) -> None:
        """Add a holder to a page that is held or cached."""
        if self._holders[page] == 0:
            self.cached -= 1
        self._holders[page] += 1

    def release(self, page: int, *, cached: bool) -> bool:
        """Take a holder from a page, and say whether that was the last.

        Parameters
        ----------
        page : int
            A held page.
        cached : bool
            Whether a page without holders is kept, or free again.
        """
        self._holders[page] -= 1
        if self._holders[page]:
            return False
        if cached:
            self.cached += 1
        else:
            self._free.append(page)
        return True

    def evict(self, page: int) -> None:
        """Make a cached page free."""
        self.cached -= 1
        self._free.append(page)
